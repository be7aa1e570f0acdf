// Removes what only orders, once nothing reorders any more; makes the call graph flat and schedules it.
#include "compiler/expand/expand.h"
#include "compiler/memory/buffer_assignment.h"
#include "compiler/memory/schedule.h"
#include "hlo/base/status.h"

namespace xc {

absl::StatusOr<bool> ExpandBarriers(HloModule* module, PassContext& context) {
  bool changed = false;
  for (HloComputation* computation : module->ComputationPostOrder()) {
    for (HloInstruction* instruction : computation->PostOrder()) {
      switch (instruction->opcode()) {
        case HloOpcode::kOptBarrier:
        case HloOpcode::kDomain:
        case HloOpcode::kAddDependency: {
          HloInstruction* value = instruction->operand(0);
          if (instruction->opcode() == HloOpcode::kAddDependency) {
            // What the token stands for still comes first.
            HloInstruction* token = instruction->operand(1);
            for (HloInstruction* user : std::vector<HloInstruction*>(instruction->users())) {
              if (user != token) user->AddControlPredecessor(token);
            }
          }
          if (!instruction->control_predecessors().empty() || !instruction->control_successors().empty()) {
            const auto before = instruction->control_predecessors();
            const auto after = instruction->control_successors();
            instruction->RemoveControlDependencies();
            for (HloInstruction* a : after) {
              for (HloInstruction* b : before) a->AddControlPredecessor(b);
              a->AddControlPredecessor(value);
            }
          }
          instruction->ReplaceAllUsesWith(value);
          context.Count("barriers.removed");
          changed = true;
          break;
        }
        default:
          break;
      }
    }
    if (changed) computation->RemoveDead();
  }
  return changed;
}

absl::StatusOr<bool> FlattenCallGraph(HloModule* module, PassContext& context) { return FlattenCalls(module); }

absl::StatusOr<bool> Schedule(HloModule* module, PassContext& context) {
  XC_RETURN_IF_ERROR(ScheduleModule(module));
  // The module's text is the same: a schedule is no change that others need to look at.
  return false;
}

}  // namespace xc
