// Kernels of stitched fusions: for each row, what the row has in common (reductions, one value each), then the loop
// along the row that uses it.
#include <optional>
#include <utility>
#include <vector>

#include "backends/codegen/fused_emitter.h"
#include "backends/cpu/ir_emitter.h"
#include "backends/cpu/ir_emitter_impl.h"
#include "backends/cpu/kernel_analysis.h"
#include "backends/cpu/kernel_writer.h"
#include "backends/cpu/loop_nest.h"
#include "compiler/fuse/emittable.h"
#include "hlo/base/choices.h"
#include "hlo/base/status.h"
#include "llvm/IR/IRBuilder.h"

namespace xc::cpu {
namespace {

using codegen::Element;
using codegen::FusedEmitter;
using codegen::Index;
using codegen::RowPosition;
using codegen::Term;
using V = llvm::Value*;

// Whether `a` in the computation of fusion `in_a` and `b` in that of `in_b` have the same value at each position. False
// after `steps` instructions.
bool SameValue(const HloInstruction* a, const HloInstruction* in_a, const HloInstruction* b, const HloInstruction* in_b,
               int64_t* steps) {
  if (--*steps < 0 || a->opcode() != b->opcode() || a->shape() != b->shape()) return false;
  switch (a->opcode()) {
    case HloOpcode::kParameter:
      return in_a->operand(a->parameter_number()) == in_b->operand(b->parameter_number());
    case HloOpcode::kConstant:
      return a->shape().IsScalar() && a->literal().BitEqual(b->literal());
    case HloOpcode::kBroadcast:
      if (a->dimensions() != b->dimensions()) return false;
      break;
    case HloOpcode::kAdd:
    case HloOpcode::kSubtract:
    case HloOpcode::kMultiply:
    case HloOpcode::kDivide:
    case HloOpcode::kConvert:
    case HloOpcode::kReshape:
    case HloOpcode::kBitcast:
      break;
    default:
      return false;
  }
  for (int64_t i = 0; i < a->operand_count(); ++i) {
    if (!SameValue(a->operand(i), in_a, b->operand(i), in_b, steps)) return false;
  }
  return true;
}

// Appends the values that `i` is computed from element by element, itself the first.
void ValuesAlong(const HloInstruction* i, const Shape& shape, std::vector<const HloInstruction*>* values) {
  constexpr size_t kMany = 32;
  if (!i->IsElementwise() || !SameDims(i->shape(), shape) || values->size() == kMany) return;
  values->push_back(i);
  for (const HloInstruction* operand : i->operands()) ValuesAlong(operand, shape, values);
}

constexpr int64_t kMostElements = 4096;  // of a kept row

// A value along the rows that the root and a stage before it both compute, and that costs more than memory in the
// nearest cache: arithmetic with rounding to a narrow type.
std::optional<codegen::KeptRow> FindKeptRow(const std::vector<const HloInstruction*>& stages,
                                            const HloInstruction* root) {
  constexpr int64_t kMostSteps = 100;
  const Shape& shape = root->shape();
  const int64_t last = shape.rank() - 1;
  if (last < 0 || shape.dim(last) == 1 || !ChooseSafe(shape.dim(last) <= kMostElements)) return std::nullopt;
  std::vector<const HloInstruction*> taken;
  ValuesAlong(root->fused_root(), shape, &taken);
  std::erase_if(taken, [](const HloInstruction* i) {
    const bool arithmetic = i->opcode() == HloOpcode::kAdd || i->opcode() == HloOpcode::kSubtract ||
                            i->opcode() == HloOpcode::kMultiply || i->opcode() == HloOpcode::kDivide;
    return !arithmetic || !IsFloating(i->type()) || ElementBits(i->type()) >= 32;
  });
  for (const HloInstruction* stage : stages) {
    if (stage->opcode() != HloOpcode::kFusion) continue;
    for (const HloInstruction* reduce : stage->fused_computation()->PostOrder()) {
      if (!IsRowReduce(*reduce) || reduce->dimensions() != Int64List{last}) continue;
      std::vector<const HloInstruction*> made;
      ValuesAlong(reduce->operand(0), shape, &made);
      for (const HloInstruction* t : taken) {
        for (const HloInstruction* m : made) {
          int64_t steps = kMostSteps;
          if (SameValue(m, stage, t, root, &steps)) return codegen::KeptRow{m, t};
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace

absl::Status IrEmitter::EmitStitched(const HloInstruction* fusion, const plan::Kernel& kernel) {
  const HloInstruction* root = fusion->fused_root();
  const std::vector<const HloInstruction*>& stages = kernel.stages;
  KernelWriter writer(this, impl_.get(), target_, kernel);
  KernelShape plan = ShapeOf(kernel.nests[0], codegen_target_);
  plan.MakeNested();
  plan.contiguous = -1;
  // The root has an element for each row, like the other stages, or goes along the rows.
  const bool along = stages.empty() || root->shape().ElementCount() != stages[0]->shape().ElementCount();
  if (!along) plan.lanes = 1;
  return writer.Write(plan.Work(), plan.Grain(), [&](V begin, V end) -> absl::Status {
    codegen::ElementEmitter element(b(), codegen_target_);
    std::vector<std::pair<const HloInstruction*, Element>> known;  // the row's values so far
    std::optional<codegen::KeptRow> kept = along ? FindKeptRow(stages, root) : std::nullopt;
    if (kept.has_value()) {
      llvm::IRBuilder<> head(impl_->scope->jump);
      const int64_t row_size = root->shape().dim(root->shape().rank() - 1);
      const int64_t elements = (ForAllSizes() ? kMostElements : row_size) + plan.lanes;
      llvm::AllocaInst* row =
          head.CreateAlloca(llvm::ArrayType::get(element.RegisterType(kept->made->type()), elements), nullptr, "row");
      row->setAlignment(llvm::Align(64));
      kept->memory = row;
    }
    auto bind = [&](FusedEmitter& emitter) {
      writer.Bind(emitter);
      for (auto& [stage, value] : known) emitter.BindValue(stage, value);
      if (kept.has_value()) emitter.BindRow(&*kept);
    };
    auto start_row = [&](const std::vector<Term>& row) -> absl::Status {
      known.clear();
      for (const HloInstruction* stage : stages) {
        FusedEmitter scalar(element, 1);
        bind(scalar);
        XC_ASSIGN_OR_RETURN(Element value, scalar.Get(stage, RowPosition(stage->shape(), row, scalar.index())));
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
      emitter.Store(root->shape(), writer.output(0), position, value);
      return absl::OkStatus();
    };
    LoopNest nest(element, plan, bind, body);
    if (along) nest.set_before_row(start_row);
    return nest.Write(begin, end);
  });
}

}  // namespace xc::cpu
