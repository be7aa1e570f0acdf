// Elementwise kernels that follow a convolution, on some targets a product, become part of its step: each part of the
// result is read while it is in the cache or in registers, and by the thread that made it.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "backends/plan/expression.h"
#include "backends/plan/overlap.h"
#include "backends/plan/planner_impl.h"

namespace xc::plan {
namespace {

// Scalar operations below which a kernel is not worth a place in another step.
constexpr int64_t kSmallCost = 4096;

// Whether `instruction` reads `value` just at the positions that it computes: of the same coordinates or, where
// `linear`, of the same number.
bool ReadsInPlace(const HloInstruction& instruction, const HloInstruction* value, bool linear) {
  const Shape& shape = value->shape();
  const auto pointwise = [&](const HloInstruction& i) {
    if (!i.shape().IsArray()) return false;
    if (i.IsElementwise() && i.shape().dims() == shape.dims()) return true;
    const bool in_order = i.IsElementwise() || i.opcode() == HloOpcode::kReshape || i.opcode() == HloOpcode::kBitcast;
    return linear && in_order && i.shape().IsRowMajor() && i.shape().ElementCount() == shape.ElementCount();
  };
  if (instruction.opcode() != HloOpcode::kFusion) return pointwise(instruction);
  const HloComputation& computation = *instruction.fused_computation();
  absl::flat_hash_set<const HloInstruction*> depend;
  for (int64_t i = 0; i < instruction.operand_count(); ++i) {
    if (instruction.operand(i) == value) depend.insert(computation.parameter(i));
  }
  for (const HloInstruction* i : computation.PostOrder()) {
    const auto depends = [&](const HloInstruction* operand) { return depend.contains(operand); };
    if (std::none_of(i->operands().begin(), i->operands().end(), depends)) continue;
    if (i == computation.root() && i->opcode() == HloOpcode::kTuple) continue;
    if (!pointwise(*i)) return false;
    depend.insert(i);
  }
  return true;
}

// Whether a kernel is worth a place in another step. A start takes microseconds; code stands in many places.
bool IsWorthIt(const TargetInfo& target, const HloInstruction& instruction, const Kernel& kernel) {
  constexpr int64_t kMostInstructions = 32;
  if (!target.products_take_kernels) return kernel.cost.constant() >= kSmallCost;
  return instruction.opcode() != HloOpcode::kFusion ||
         instruction.fused_computation()->instruction_count() <= kMostInstructions;
}

// Whether `operand` has the elements of `result`, at their places and in their order.
bool IsResult(const Planner& planner, const HloInstruction* operand, const HloInstruction* result) {
  if (operand == result) return true;
  return planner.target().products_take_kernels && operand->shape().IsArray() && operand->type() == result->type() &&
         operand->shape().IsRowMajor() && operand->shape().ElementCount() == result->shape().ElementCount() &&
         planner.Slice(operand) == planner.Slice(result);
}

bool CanFollow(const Planner& planner, const Step& product, const LibraryCall& call, const HloInstruction* instruction,
               const Kernel& kernel) {
  const HloInstruction* const result = product.instruction;
  if (kernel.form != Form::kLoop || kernel.nests.size() != 1) return false;
  if (!IsWorthIt(planner.target(), *instruction, kernel)) return false;
  const bool linear = planner.target().products_take_kernels;  // a thread knows an element by its number
  if (linear && !result->shape().IsRowMajor()) return false;
  const Nest& nest = kernel.nests[0];
  if (nest.access.row_reduce || nest.access.contiguous >= 0) return false;
  const BufferSlice& made = planner.Slice(result);
  const HloInstruction* read = nullptr;
  for (const HloInstruction* operand : instruction->operands()) {
    const bool is_result = IsResult(planner, operand, result);
    if (!is_result && operand->shape().IsArray() && Overlap(planner.Slice(operand), made)) return false;
    if (is_result && read != nullptr && read != operand) return false;
    if (is_result) read = operand;
  }
  if (read == nullptr || !ReadsInPlace(*instruction, read, linear)) return false;
  int64_t count = 1;
  for (const Size& size : nest.dims) count *= size.constant();
  const auto same = [](const Size& size, int64_t dim) { return size.constant() == dim; };
  const auto& dims = read->shape().dims();
  if (linear ? count != read->shape().ElementCount()
             : !std::equal(nest.dims.begin(), nest.dims.end(), dims.begin(), dims.end(), same)) {
    return false;
  }
  // What it writes must not be what the product still reads, nor other parts of its result.
  for (const Argument& argument : kernel.arguments) {
    if (!argument.written) continue;
    if (Overlap(argument.slice, made) && !(argument.slice == made)) return false;
    for (const CallArgument& read : call.arguments) {
      const auto* slice = std::get_if<BufferSlice>(&read);
      if (slice != nullptr && !(*slice == made) && Overlap(argument.slice, *slice)) return false;
    }
  }
  return true;
}

}  // namespace

void AttachEpilogues(const Planner& planner, std::vector<Step>* steps) {
  for (size_t i = 0; i < steps->size(); ++i) {
    auto* call = std::get_if<LibraryCall>(&(*steps)[i].action);
    if (call == nullptr || (call->function != "xc_rt_convolution" &&
                            !(planner.target().products_take_kernels && call->function == "xc_rt_matmul"))) {
      continue;
    }
    size_t next = i + 1;
    while (next < steps->size() && std::holds_alternative<Alias>((*steps)[next].action)) ++next;
    if (next == steps->size()) break;
    Step& after = (*steps)[next];
    auto* kernel = std::get_if<Kernel>(&after.action);
    if (kernel == nullptr || !CanFollow(planner, (*steps)[i], *call, after.instruction, *kernel)) continue;
    // One step of the instruction: no other kernel computes a part of it.
    if (next + 1 < steps->size() && (*steps)[next + 1].instruction == after.instruction) continue;
    call->function += "_then";
    call->then = std::make_shared<const Kernel>(std::move(*kernel));
    call->then_of = after.instruction;
    after.action = Alias{};
  }
}

}  // namespace xc::plan
