// Kernels of fusions and of single ops that the fused emitter knows: loop nests over the output, in vectors along its
// minor dimension, cut along the outer dimensions for threads.
#include <algorithm>
#include <functional>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "backends/codegen/fused_emitter.h"
#include "backends/cpu/ir_emitter.h"
#include "backends/cpu/ir_emitter_impl.h"
#include "backends/cpu/kernel_analysis.h"
#include "backends/cpu/kernel_writer.h"
#include "hlo/base/status.h"

namespace xc::cpu {
namespace {

using codegen::FusedEmitter;
using codegen::Index;
using codegen::Loop;
using codegen::Term;
using V = llvm::Value*;

// Writes loops over `shape`. `body` gets an emitter for some lanes and the position.
class Nest {
 public:
  using Body = std::function<absl::Status(FusedEmitter&, const Index&)>;
  Nest(codegen::ElementEmitter& e, const KernelShape& plan, std::function<void(FusedEmitter&)> bind, Body body)
      : e_(e), plan_(plan), bind_(std::move(bind)), body_(std::move(body)) {}

  // The whole nest, for outer iterations [begin, end).
  absl::Status Write(V begin, V end) {
    auto& b = e_.builder();
    if (plan_.flat || plan_.outer.empty()) return Row({}, begin, end, plan_.inner_size);
    Loop loop(b, begin, end, 1, "outer");
    codegen::IndexArithmetic arithmetic(b, 1);
    std::vector<int64_t> sizes, order;
    for (int64_t d : plan_.outer) sizes.push_back(plan_.dims[d]);
    for (int64_t i = static_cast<int64_t>(sizes.size()) - 1; i >= 0; --i) order.push_back(i);
    std::vector<Term> outer = arithmetic.Delinearize(arithmetic.Uniform(loop.index()), sizes, order);
    XC_RETURN_IF_ERROR(Row(outer, b.getInt64(0), b.getInt64(plan_.inner_size), plan_.inner_size));
    loop.End();
    return absl::OkStatus();
  }

 private:
  // Elements [begin, end) along the inner dimension; begin is a multiple of the lanes, and so is end unless it is size.
  absl::Status Row(const std::vector<Term>& outer, V begin, V end, int64_t size) {
    auto& b = e_.builder();
    const int lanes = plan_.lanes;
    if (lanes == 1) return Steps(outer, begin, end, 1);
    auto* fixed_begin = llvm::dyn_cast<llvm::ConstantInt>(begin);
    auto* fixed_end = llvm::dyn_cast<llvm::ConstantInt>(end);
    const int64_t rest = size % lanes;
    if (fixed_begin != nullptr && fixed_end != nullptr) {
      const int64_t middle = size - rest;
      if (middle > 0) XC_RETURN_IF_ERROR(Steps(outer, begin, b.getInt64(middle), lanes));
      if (rest == 0) return absl::OkStatus();
      if (!e_.target().masked_memory) return Steps(outer, b.getInt64(middle), end, 1);
      std::vector<llvm::Constant*> bits;
      for (int i = 0; i < lanes; ++i) bits.push_back(b.getInt1(i < rest));
      return One(outer, b.getInt64(middle), lanes, llvm::ConstantVector::get(bits));
    }
    if (rest == 0) return Steps(outer, begin, end, lanes);
    V middle = b.CreateAdd(begin, b.CreateAnd(b.CreateSub(end, begin), b.getInt64(-lanes)));
    XC_RETURN_IF_ERROR(Steps(outer, begin, middle, lanes));
    if (!e_.target().masked_memory) return Steps(outer, middle, end, 1);
    llvm::Function* function = b.GetInsertBlock()->getParent();
    auto* tail = llvm::BasicBlock::Create(b.getContext(), "tail", function);
    auto* done = llvm::BasicBlock::Create(b.getContext(), "done", function);
    b.CreateCondBr(b.CreateICmpSLT(middle, end), tail, done);
    b.SetInsertPoint(tail);
    std::vector<llvm::Constant*> numbers;
    for (int i = 0; i < lanes; ++i) numbers.push_back(b.getInt64(i));
    V left = b.CreateVectorSplat(lanes, b.CreateSub(end, middle));
    XC_RETURN_IF_ERROR(One(outer, middle, lanes, b.CreateICmpULT(llvm::ConstantVector::get(numbers), left)));
    b.CreateBr(done);
    b.SetInsertPoint(done);
    return absl::OkStatus();
  }

  absl::Status Steps(const std::vector<Term>& outer, V begin, V end, int lanes) {
    auto& b = e_.builder();
    auto* fixed_begin = llvm::dyn_cast<llvm::ConstantInt>(begin);
    auto* fixed_end = llvm::dyn_cast<llvm::ConstantInt>(end);
    if (fixed_begin != nullptr && fixed_end != nullptr &&
        fixed_end->getSExtValue() - fixed_begin->getSExtValue() == lanes) {
      return One(outer, begin, lanes, nullptr);
    }
    Loop loop(b, begin, end, lanes, "inner");
    XC_RETURN_IF_ERROR(One(outer, loop.index(), lanes, nullptr));
    loop.End();
    return absl::OkStatus();
  }

  absl::Status One(const std::vector<Term>& outer, V at, int lanes, V mask) {
    FusedEmitter fused(e_, lanes);
    fused.SetTail(mask);
    bind_(fused);
    Term inner{at, lanes > 1 ? 1 : 0, nullptr, lanes > 1};
    Index position;
    if (plan_.flat) {
      position.linear = inner;
      position.sizes = plan_.dims;
      position.order = Layout::Descending(plan_.dims.size()).minor_to_major;
    } else {
      position.dims.assign(plan_.dims.size(), fused.index().Constant(0));
      for (size_t i = 0; i < plan_.outer.size(); ++i) position.dims[plan_.outer[i]] = outer[i];
      if (plan_.inner >= 0) position.dims[plan_.inner] = inner;
    }
    return body_(fused, position);
  }

  codegen::ElementEmitter& e_;
  const KernelShape& plan_;
  std::function<void(FusedEmitter&)> bind_;
  Body body_;
};

}  // namespace

IrEmitter::Leaves IrEmitter::CollectLeaves(const HloInstruction* instruction, KernelWriter& kernel) {
  Leaves leaves;
  auto written_by = [&](const BufferSlice& slice) {
    for (int64_t i = 0; i < instruction->shape().LeafCount(); ++i) {
      if (buffers_.Slice(instruction, i) == slice) return true;
    }
    return false;
  };
  absl::flat_hash_set<const HloInstruction*> seen;
  for (int64_t i = 0; i < instruction->operand_count(); ++i) {
    const HloInstruction* operand = instruction->operand(i);
    const bool fusion = instruction->opcode() == HloOpcode::kFusion;
    const HloInstruction* key = fusion ? instruction->fused_computation()->parameter(i) : operand;
    if (!seen.insert(key).second) continue;
    if (operand->IsSplatConstant() && !operand->literal().elided()) {
      if (fusion) leaves.aliases.push_back({key, operand});
      continue;
    }
    const BufferSlice& slice = buffers_.Slice(operand);
    const int argument = kernel.Argument(Pointer(slice), false);
    if (written_by(slice)) kernel.set_aliased(argument);
    leaves.memory.push_back({key, argument});
  }
  if (instruction->opcode() == HloOpcode::kFusion) {
    for (const HloInstruction* constant : InnerConstants(*instruction->fused_computation())) {
      leaves.memory.push_back({constant, kernel.Argument(ConstantPointer(constant->shared_literal()), false)});
    }
  }
  return leaves;
}

std::vector<int> IrEmitter::OutputArguments(const HloInstruction* instruction, KernelWriter& kernel) {
  std::vector<int> outputs;
  for (int64_t i = 0; i < instruction->shape().LeafCount(); ++i) {
    const BufferSlice& slice = buffers_.Slice(instruction, i);
    outputs.push_back(kernel.Argument(Pointer(slice), true));
    for (const HloInstruction* operand : instruction->operands()) {
      if (operand->shape().IsArray() && buffers_.Slice(operand) == slice) kernel.set_aliased(outputs.back());
    }
  }
  return outputs;
}

absl::Status IrEmitter::EmitFused(const HloInstruction* instruction) {
  const bool fusion = instruction->opcode() == HloOpcode::kFusion;
  const HloInstruction* root = fusion ? instruction->fused_root() : instruction;
  // What each output leaf holds: an array of the expression, or one result of a reduce with several.
  std::vector<const HloInstruction*> values;
  const bool several = root->opcode() == HloOpcode::kReduce && root->shape().IsTuple();
  if (root->opcode() == HloOpcode::kTuple) {
    values.assign(root->operands().begin(), root->operands().end());
  } else {
    values.assign(1, root);
  }
  KernelWriter kernel(this, impl_.get(), target_);
  Leaves leaves = CollectLeaves(instruction, kernel);
  const std::vector<int> outputs = OutputArguments(instruction, kernel);
  // Outputs of equal dimensions share a nest.
  std::vector<std::vector<size_t>> groups;
  for (size_t i = 0; i < values.size(); ++i) {
    bool placed = false;
    for (auto& group : groups) {
      if (!several && SameDims(values[group[0]]->shape(), values[i]->shape())) {
        group.push_back(i);
        placed = true;
        break;
      }
    }
    if (!placed) groups.push_back({i});
  }
  std::vector<KernelShape> plans;
  for (auto& group : groups) {
    std::vector<const HloInstruction*> members;
    for (size_t i : group) members.push_back(values[i]);
    plans.push_back(PlanKernel(members, fusion, codegen_target_));
  }
  const int64_t cost = ExpressionCost(*instruction);
  const bool single = groups.size() == 1;
  const int64_t work = single ? plans[0].Work() : 1;
  const int64_t grain = single ? plans[0].Grain() : 1;
  if (single && plans[0].elements == 0) return absl::OkStatus();
  return kernel.Write(work, grain, cost, [&](V begin, V end) -> absl::Status {
    codegen::ElementEmitter element(b(), codegen_target_);
    auto bind = [&](FusedEmitter& fused) {
      for (auto& [leaf, argument] : leaves.memory) fused.BindMemory(leaf, kernel.argument(argument));
      for (auto& [leaf, constant] : leaves.aliases) fused.BindAlias(leaf, constant);
    };
    for (size_t g = 0; g < groups.size(); ++g) {
      if (plans[g].elements == 0) continue;
      auto body = [&](FusedEmitter& fused, const Index& position) -> absl::Status {
        if (several) {
          XC_ASSIGN_OR_RETURN(std::vector<codegen::Element> results, fused.GetReduce(root, position));
          for (size_t i = 0; i < results.size(); ++i) {
            fused.Store(root->shape().tuple_shape(i), kernel.argument(outputs[i]), position, results[i]);
          }
          return absl::OkStatus();
        }
        // All values are read before any is written: an output may lie over an operand.
        std::vector<codegen::Element> results;
        for (size_t i : groups[g]) {
          XC_ASSIGN_OR_RETURN(codegen::Element value, fused.Get(values[i], position));
          results.push_back(value);
        }
        for (size_t k = 0; k < results.size(); ++k) {
          const size_t i = groups[g][k];
          fused.Store(values[i]->shape(), kernel.argument(outputs[i]), position, results[k]);
        }
        return absl::OkStatus();
      };
      Nest nest(element, plans[g], bind, body);
      V first = single ? begin : b().getInt64(0);
      V last = single ? end : b().getInt64(plans[g].Work());
      XC_RETURN_IF_ERROR(nest.Write(first, last));
    }
    return absl::OkStatus();
  });
}

absl::Status IrEmitter::EmitDynamicUpdateSlice(const HloInstruction* instruction, const HloInstruction* dus) {
  // The operand is in place already, or is copied first; then only the window is written.
  const HloInstruction* updated = dus->operand(0);
  if (dus == instruction && !(buffers_.Slice(instruction) == buffers_.Slice(updated))) {
    Copy(Pointer(instruction), Pointer(updated), instruction->shape().ByteSize());
  }
  const HloInstruction* update = dus->operand(1);
  KernelWriter kernel(this, impl_.get(), target_);
  Leaves leaves = CollectLeaves(instruction, kernel);
  const std::vector<int> outputs = OutputArguments(instruction, kernel);
  KernelShape plan =
      dus == instruction ? PlanArray(update->shape(), codegen_target_) : PlanKernel({update}, true, codegen_target_);
  if (plan.elements == 0) return absl::OkStatus();
  plan.MakeNested();
  const int64_t cost =
      plan.elements *
      std::max<int64_t>(2, ExpressionCost(*instruction) / std::max<int64_t>(1, instruction->shape().ElementCount()));
  return kernel.Write(plan.Work(), plan.Grain(), cost, [&](V begin, V end) -> absl::Status {
    codegen::ElementEmitter element(b(), codegen_target_);
    auto bind = [&](FusedEmitter& fused) {
      for (auto& [leaf, argument] : leaves.memory) fused.BindMemory(leaf, kernel.argument(argument));
      for (auto& [leaf, constant] : leaves.aliases) fused.BindAlias(leaf, constant);
    };
    // The window's place, once.
    FusedEmitter scalar(element, 1);
    bind(scalar);
    XC_ASSIGN_OR_RETURN(std::vector<Term> starts, scalar.Starts(dus, 2, update->shape().dims()));
    auto body = [&](FusedEmitter& fused, const Index& position) -> absl::Status {
      XC_ASSIGN_OR_RETURN(codegen::Element value, fused.Get(update, position));
      Index target;
      std::vector<Term> at = fused.Coordinates(position, update->shape());
      for (size_t d = 0; d < at.size(); ++d) target.dims.push_back(fused.index().Add(starts[d], at[d]));
      fused.Store(dus->shape(), kernel.argument(outputs[0]), target, value);
      return absl::OkStatus();
    };
    Nest nest(element, plan, bind, body);
    return nest.Write(begin, end);
  });
}

}  // namespace xc::cpu
