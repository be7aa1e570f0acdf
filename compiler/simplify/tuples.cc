// Removes tuples that are only taken apart again.
#include "compiler/simplify/simplify.h"

namespace xc {
namespace {

// The tuple whose elements `tuple` lists in order, if there is one of the same shape.
HloInstruction* WholeOf(const HloInstruction* tuple) {
  HloInstruction* whole = nullptr;
  for (int64_t i = 0; i < tuple->operand_count(); ++i) {
    const HloInstruction* element = tuple->operand(i);
    if (element->opcode() != HloOpcode::kGetTupleElement || element->tuple_index() != i) return nullptr;
    if (whole != nullptr && whole != element->operand(0)) return nullptr;
    whole = element->operand(0);
  }
  if (whole == nullptr || whole->shape().tuple_size() != tuple->operand_count()) return nullptr;
  return SameShape(whole->shape(), tuple->shape()) ? whole : nullptr;
}

}  // namespace

absl::StatusOr<bool> SimplifyTuples(HloModule* module, PassContext& context) {
  bool changed = false;
  for (HloComputation* computation : module->ComputationPostOrder()) {
    // Operands first, so that an element of an element of nested tuples falls in one sweep.
    for (HloInstruction* instruction : computation->PostOrder()) {
      if (!instruction->control_predecessors().empty() || !instruction->control_successors().empty()) continue;
      HloInstruction* replacement = nullptr;
      if (instruction->opcode() == HloOpcode::kGetTupleElement &&
          instruction->operand(0)->opcode() == HloOpcode::kTuple) {
        replacement = instruction->operand(0)->operand(instruction->tuple_index());
        context.Count("tuples.element_of_tuple");
      } else if (instruction->opcode() == HloOpcode::kTuple) {
        replacement = WholeOf(instruction);
        if (replacement != nullptr) context.Count("tuples.tuple_of_elements");
      }
      if (replacement == nullptr) continue;
      instruction->ReplaceAllUsesWith(replacement);
      changed = true;
    }
    // What became unused is removed together: removal of single instructions would invalidate the order above.
    if (changed) computation->RemoveDead();
  }
  return changed;
}

}  // namespace xc
