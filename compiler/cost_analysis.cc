// Costs by op: operations, transcendental functions, bytes; sums saturate.
#include "compiler/cost_analysis.h"

#include <algorithm>
#include <limits>

#include "absl/container/inlined_vector.h"

namespace xc {
namespace {

int64_t Add(int64_t a, int64_t b) {
  int64_t out;
  return __builtin_add_overflow(a, b, &out) ? std::numeric_limits<int64_t>::max() : out;
}
int64_t Mul(int64_t a, int64_t b) {
  int64_t out;
  return __builtin_mul_overflow(a, b, &out) ? std::numeric_limits<int64_t>::max() : out;
}
InstructionCost Times(InstructionCost cost, int64_t n) {
  return {Mul(cost.flops, n), Mul(cost.transcendentals, n), Mul(cost.bytes_read, n), Mul(cost.bytes_written, n)};
}

int64_t Elements(const Shape& shape) { return shape.IsArray() ? shape.ElementCount() : 0; }

// Operations of a scalar computation run `times` times.
InstructionCost Applied(const HloComputation* scalar, int64_t times) {
  InstructionCost cost = Times(CostOf(scalar), times);
  cost.bytes_read = cost.bytes_written = 0;
  return cost;
}

// Bytes of `value`, a parameter of a fusion, that are read: all, or of one that is only sliced, gathered from or
// updated in place, what its users look at.
int64_t BytesOfParameter(const HloInstruction* value) {
  const int64_t all = value->shape().TotalByteSize();
  int64_t bytes = 0;
  for (const HloInstruction* user : value->users()) {
    const bool is_first = user->operand_count() > 0 && user->operand(0) == value &&
                          std::count(user->operands().begin(), user->operands().end(), value) == 1;
    if (!is_first) return all;
    switch (user->opcode()) {
      case HloOpcode::kBitcast:
        bytes = Add(bytes, BytesOfParameter(user));
        break;
      case HloOpcode::kSlice:
      case HloOpcode::kDynamicSlice:
      case HloOpcode::kGather:
        bytes = Add(bytes, user->shape().TotalByteSize());
        break;
      case HloOpcode::kDynamicUpdateSlice:
        break;
      default:
        return all;
    }
  }
  return value->users().empty() ? 0 : std::min(all, bytes);
}

// Bytes that a fusion with this root writes: of updates in place, the updates.
int64_t BytesWritten(const HloInstruction* root) {
  switch (root->opcode()) {
    case HloOpcode::kTuple: {
      int64_t bytes = 0;
      for (const HloInstruction* operand : root->operands()) bytes = Add(bytes, BytesWritten(operand));
      return bytes;
    }
    case HloOpcode::kBitcast:
      return BytesWritten(root->operand(0));
    case HloOpcode::kDynamicUpdateSlice:
      return root->operand(1)->shape().TotalByteSize();
    default:
      return root->shape().TotalByteSize();
  }
}

int64_t Log2(int64_t n) {
  int64_t log = 1;
  while ((int64_t{1} << log) < n && log < 62) ++log;
  return log;
}

// What an instruction reads of each operand: all, or of one that it only slices, gathers from or updates in place, what
// it looks at.
absl::InlinedVector<int64_t, 8> BytesOfOperands(const HloInstruction& instruction) {
  absl::InlinedVector<int64_t, 8> bytes(instruction.operand_count());
  const auto all = [&](size_t i) { return instruction.operand(i)->shape().TotalByteSize(); };
  switch (instruction.opcode()) {
    case HloOpcode::kFusion:
      for (size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = BytesOfParameter(instruction.fused_computation()->parameter(i));
      }
      break;
    case HloOpcode::kSlice:
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kGather:
      bytes[0] = instruction.shape().TotalByteSize();
      break;
    case HloOpcode::kDynamicUpdateSlice:
      bytes[1] = all(1);
      break;
    case HloOpcode::kScatter:
      bytes[0] = bytes.back() = all(bytes.size() - 1);
      break;
    default:
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = all(i);
  }
  return bytes;
}

// Of all operands.
int64_t BytesRead(const HloInstruction& instruction) {
  int64_t sum = 0;
  for (int64_t bytes : BytesOfOperands(instruction)) sum = Add(sum, bytes);
  return sum;
}

}  // namespace

InstructionCost& InstructionCost::operator+=(const InstructionCost& other) {
  flops = Add(flops, other.flops);
  transcendentals = Add(transcendentals, other.transcendentals);
  bytes_read = Add(bytes_read, other.bytes_read);
  bytes_written = Add(bytes_written, other.bytes_written);
  return *this;
}

InstructionCost CostOf(const HloInstruction* instruction) {
  InstructionCost cost;
  if (OpcodeAccess(instruction->opcode()) == OpAccess::kStructure) return cost;
  const int64_t out = Elements(instruction->shape());
  switch (instruction->opcode()) {
    case HloOpcode::kWhile:
      cost += CostOf(instruction->while_condition());
      cost += CostOf(instruction->while_body());
      return cost;
    case HloOpcode::kConditional:
      for (const HloComputation* branch : instruction->called_computations()) {
        const InstructionCost one = CostOf(branch);
        if (Add(one.flops, one.bytes_read) > Add(cost.flops, cost.bytes_read)) cost = one;
      }
      return cost;
    case HloOpcode::kCall:
      return CostOf(instruction->to_apply());
    case HloOpcode::kFusion: {
      cost = CostOf(instruction->fused_computation());
      cost.bytes_read = BytesRead(*instruction);
      cost.bytes_written = BytesWritten(instruction->fused_computation()->root());
      return cost;
    }
    case HloOpcode::kSlice:
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kGather:
    case HloOpcode::kBroadcast:
    case HloOpcode::kIota:
      cost.bytes_read = BytesRead(*instruction);
      cost.bytes_written = instruction->shape().TotalByteSize();
      return cost;
    case HloOpcode::kDynamicUpdateSlice:
      cost.bytes_written = cost.bytes_read = BytesRead(*instruction);
      return cost;
    case HloOpcode::kScatter: {
      const HloInstruction* updates = instruction->operand(instruction->operand_count() - 1);
      cost += Applied(instruction->to_apply(), Elements(updates->shape()));
      cost.bytes_read = BytesRead(*instruction);
      cost.bytes_written = updates->shape().TotalByteSize();
      return cost;
    }
    case HloOpcode::kDot: {
      int64_t contracted = 1;
      for (int64_t d : instruction->dot_dims().lhs_contracting) {
        contracted = Mul(contracted, instruction->operand(0)->shape().dim(d));
      }
      cost.flops = Mul(2, Mul(out, contracted));
      break;
    }
    case HloOpcode::kConvolution: {
      const Shape& kernel = instruction->operand(1)->shape();
      const int64_t features = kernel.dim(instruction->conv_dims().kernel_output_feature);
      cost.flops = features == 0 ? 0 : Mul(2, Mul(out, Elements(kernel) / features));
      break;
    }
    case HloOpcode::kReduce:
    case HloOpcode::kMap:
    case HloOpcode::kScan:
      cost += Applied(instruction->to_apply(), Elements(instruction->operand(0)->shape()));
      break;
    case HloOpcode::kReduceWindow:
    case HloOpcode::kSelectAndScatter: {
      int64_t window = 1;
      for (const WindowDim& d : instruction->window().dims) window = Mul(window, d.size);
      cost += Applied(instruction->called(0), Mul(out, window));
      break;
    }
    case HloOpcode::kSort: {
      const int64_t n = Elements(instruction->operand(0)->shape());
      cost += Applied(instruction->to_apply(), Mul(n, Log2(n)));
      break;
    }
    case HloOpcode::kFft:
      cost.flops = Mul(5, Mul(out, Log2(out)));
      break;
    case HloOpcode::kCholesky:
    case HloOpcode::kTriangularSolve: {
      const Shape& a = instruction->operand(0)->shape();
      cost.flops = Mul(out, a.rank() > 0 ? a.dim(a.rank() - 1) : 1);
      break;
    }
    default:
      if (IsTranscendental(instruction->opcode())) {
        cost.transcendentals = out;
      } else if (instruction->IsElementwise() && OpcodeCost(instruction->opcode()) != OpCost::kNone) {
        cost.flops = out;
      }
  }
  cost.bytes_read = BytesRead(*instruction);
  cost.bytes_written = instruction->shape().TotalByteSize();
  return cost;
}

InstructionCost CostOf(const HloComputation* computation) {
  InstructionCost cost;
  for (const auto& instruction : computation->instructions()) cost += CostOf(instruction.get());
  return cost;
}

namespace {

void AddOperandCosts(const HloComputation* computation, std::vector<OperandCost>* costs) {
  for (const auto& instruction : computation->instructions()) {
    if (OpcodeAccess(instruction->opcode()) == OpAccess::kStructure) continue;
    switch (instruction->opcode()) {
      case HloOpcode::kConditional:
        continue;
      case HloOpcode::kWhile:
      case HloOpcode::kCall:
        for (const HloComputation* called : instruction->called_computations()) AddOperandCosts(called, costs);
        continue;
      default:
        break;
    }
    const auto bytes = BytesOfOperands(*instruction);
    if (bytes.size() > costs->size()) costs->resize(bytes.size());
    for (size_t i = 0; i < bytes.size(); ++i) {
      (*costs)[i].bytes = Add((*costs)[i].bytes, bytes[i]);
      ++(*costs)[i].uses;
    }
  }
}

}  // namespace

std::vector<OperandCost> OperandCostsOf(const HloComputation* computation) {
  std::vector<OperandCost> costs;
  AddOperandCosts(computation, &costs);
  return costs;
}

}  // namespace xc
