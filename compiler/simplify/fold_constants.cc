// Constant folding, bounded by bytes and operations.
#include "compiler/cost_analysis.h"
#include "compiler/simplify/may_move.h"
#include "compiler/simplify/simplify.h"
#include "hlo/base/choices.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// Whether it is worth trying; the bounds come after.
bool Foldable(const HloInstruction* instruction) {
  switch (instruction->opcode()) {
    case HloOpcode::kBroadcast:  // cheap to emit anywhere, costly to keep
    case HloOpcode::kFusion:
    case HloOpcode::kRngBitGenerator:
    case HloOpcode::kStochasticConvert:
      return false;
    default:
      break;
  }
  if (!MayMove(instruction) || instruction->operand_count() == 0 || !instruction->shape().IsArray()) return false;
  for (const HloInstruction* operand : instruction->operands()) {
    if (!operand->IsConstant() || !operand->shape().IsArray() || operand->literal().elided() ||
        operand->shape().is_dynamic()) {
      return false;
    }
  }
  return true;
}

// The constant that the instruction is; null: it is none, or more than the bounds allow.
absl::StatusOr<HloInstruction*> Folded(HloInstruction* instruction, PassContext& context) {
  if (!Foldable(instruction)) return nullptr;
  const InstructionCost cost = CostOf(instruction);
  if (instruction->shape().ByteSize() > context.options.fold_max_bytes ||
      cost.flops + cost.transcendentals > context.options.fold_max_flops) {
    return nullptr;
  }
  XC_RETURN_IF_ERROR(context.CheckDeadline());
  std::vector<const Literal*> operands;
  for (const HloInstruction* operand : instruction->operands()) operands.push_back(&operand->literal());
  absl::StatusOr<Literal> value = context.evaluator->Evaluate(instruction, operands);
  // What the evaluator cannot do is left for run time, where its error belongs to the instruction.
  if (!value.ok() || !SameShape(value->shape(), instruction->shape())) return nullptr;
  return instruction->parent()->Add(HloInstruction::CreateConstant(*std::move(value)));
}

}  // namespace

absl::StatusOr<bool> FoldConstants(HloModule* module, PassContext& context) {
  if (context.evaluator == nullptr) return false;
  bool changed = false;
  Attempts attempts;
  int64_t number = 0;
  for (HloComputation* computation : module->ComputationPostOrder()) {
    for (HloInstruction* instruction : computation->PostOrder()) {
      if (!attempts.Wanted(number++)) continue;
      XC_ASSIGN_OR_RETURN(HloInstruction * constant, Folded(instruction, context));
      attempts.Attempted(constant != nullptr);
      if (constant == nullptr) continue;
      instruction->ReplaceAllUsesWith(constant);
      context.Count("fold_constants.instruction");
      changed = true;
    }
    if (changed) computation->RemoveDead();
  }
  attempts.Done();
  return changed;
}

}  // namespace xc
