#include "compiler/simplify/may_move.h"

namespace xc {

bool MayMove(const HloInstruction* i) {
  switch (i->opcode()) {
    case HloOpcode::kParameter:
    case HloOpcode::kOptBarrier:
    case HloOpcode::kAfterAll:
    case HloOpcode::kAddDependency:
    case HloOpcode::kDomain:
    case HloOpcode::kWhile:
    case HloOpcode::kConditional:
    case HloOpcode::kCall:
    case HloOpcode::kCustomCall:
      return false;
    default:
      return !i->HasSideEffect() && i->control_predecessors().empty() && i->control_successors().empty() &&
             !i->shape().is_dynamic();
  }
}

}  // namespace xc
