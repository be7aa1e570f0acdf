// Kernels of stitched fusions: for each row, what the row has in common (reductions, one value each), then the loop
// along the row that uses it.
#include "backends/codegen/fused_emitter.h"
#include "backends/cpu/ir_emitter.h"
#include "backends/cpu/ir_emitter_impl.h"
#include "backends/cpu/kernel_analysis.h"
#include "backends/cpu/kernel_writer.h"
#include "backends/cpu/loop_nest.h"
#include "hlo/base/status.h"

namespace xc::cpu {
namespace {

using codegen::Element;
using codegen::FusedEmitter;
using codegen::Index;
using codegen::Term;
using V = llvm::Value*;

// The row's coordinates as a position in an array that has one element for each row.
Index RowPosition(const Shape& shape, const std::vector<Term>& row, FusedEmitter& fused) {
  Index position;
  size_t next = 0;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    position.dims.push_back(shape.dim(d) == 1 ? fused.index().Constant(0) : row[next++]);
  }
  return position;
}

}  // namespace

absl::Status IrEmitter::EmitStitched(const HloInstruction* fusion) {
  const HloComputation* fused = fusion->fused_computation();
  const HloInstruction* root = fused->root();
  std::vector<const HloInstruction*> stages;  // those before the root, in order
  for (const HloInstruction* i : fused->PostOrder()) {
    const bool stage = i->opcode() == HloOpcode::kFusion || i->opcode() == HloOpcode::kReduce;
    if (stage && i != root) stages.push_back(i);
  }
  KernelWriter kernel(this, impl_.get(), target_);
  Leaves leaves = CollectLeaves(fusion, kernel);
  const std::vector<int> outputs = OutputArguments(fusion, kernel);
  kernel.set_key(KernelKey("stitched", fusion, leaves));
  KernelShape plan = PlanKernel({root->fused_root()}, true, codegen_target_);
  if (plan.elements == 0) return absl::OkStatus();
  plan.MakeNested();
  plan.contiguous = -1;
  // The root has an element for each row, like the other stages, or goes along the rows.
  const bool along = stages.empty() || root->shape().ElementCount() != stages[0]->shape().ElementCount();
  if (!along) plan.lanes = 1;
  return kernel.Write(plan.Work(), plan.Grain(), ExpressionCost(*fusion), [&](V begin, V end) -> absl::Status {
    codegen::ElementEmitter element(b(), codegen_target_);
    std::vector<std::pair<const HloInstruction*, Element>> known;  // the row's values so far
    auto bind = [&](FusedEmitter& emitter) {
      for (auto& [leaf, argument] : leaves.memory) emitter.BindMemory(leaf, kernel.argument(argument));
      for (auto& [leaf, constant] : leaves.aliases) emitter.BindAlias(leaf, constant);
      for (auto& [stage, value] : known) emitter.BindValue(stage, value);
    };
    auto start_row = [&](const std::vector<Term>& row) -> absl::Status {
      known.clear();
      for (const HloInstruction* stage : stages) {
        FusedEmitter scalar(element, 1);
        bind(scalar);
        XC_ASSIGN_OR_RETURN(Element value, scalar.Get(stage, RowPosition(stage->shape(), row, scalar)));
        known.push_back({stage, value});
      }
      return absl::OkStatus();
    };
    auto body = [&](FusedEmitter& emitter, const Index& position) -> absl::Status {
      if (!along) {
        std::vector<Term> row;
        for (int64_t d = 0; d < root->shape().rank(); ++d) {
          if (root->shape().dim(d) != 1) row.push_back(position.dims[d]);
        }
        XC_RETURN_IF_ERROR(start_row(row));
        bind(emitter);
      }
      XC_ASSIGN_OR_RETURN(Element value, emitter.Get(root, position));
      emitter.Store(root->shape(), kernel.argument(outputs[0]), position, value);
      return absl::OkStatus();
    };
    LoopNest nest(element, plan, bind, body);
    if (along) nest.set_before_row(start_row);
    return nest.Write(begin, end);
  });
}

}  // namespace xc::cpu
