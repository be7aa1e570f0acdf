// Conditionals with a known predicate become the branch that it picks.
#include "compiler/make.h"
#include "compiler/simplify/simplify.h"
#include "hlo/analysis/pattern.h"

namespace xc {

absl::StatusOr<bool> SimplifyConditionals(HloModule* module, PassContext& context) {
  bool changed = false;
  for (HloComputation* computation : module->ComputationPostOrder()) {
    std::vector<HloInstruction*> conditionals;
    for (const auto& instruction : computation->instructions()) {
      if (instruction->opcode() == HloOpcode::kConditional) conditionals.push_back(instruction.get());
    }
    for (HloInstruction* conditional : conditionals) {
      const int64_t count = static_cast<int64_t>(conditional->called_computations().size());
      int64_t branch = -1;
      if (count == 1) {
        branch = 0;
      } else if (const auto selector = AsBroadcastScalar(conditional->operand(0))) {
        const int64_t value = selector->literal->GetInt(0);
        // A pred picks the first branch if it is true; an index outside the range picks the last.
        branch = conditional->operand(0)->type() == ElementType::kPred ? (value != 0 ? 0 : 1)
                 : value < 0 || value >= count                         ? count - 1
                                                                       : value;
      }
      if (branch < 0) continue;
      InlineComputation(conditional, conditional->called(branch), {conditional->operand(branch + 1)});
      context.Count("conditionals.known_branch");
      changed = true;
    }
  }
  if (changed) module->RemoveUnusedComputations();
  return changed;
}

}  // namespace xc
