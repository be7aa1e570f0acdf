// Dead code elimination.
#include "compiler/simplify/simplify.h"

namespace xc {

absl::StatusOr<bool> EliminateDeadCode(HloModule* module, PassContext& context) {
  bool changed = false;
  // Callers first: a dead loop's body need not be looked at.
  std::vector<HloComputation*> order = module->ComputationPostOrder();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const int64_t before = (*it)->instruction_count();
    if (!(*it)->RemoveDead()) continue;
    for (int64_t i = (*it)->instruction_count(); i < before; ++i) context.Count("dead_code.instruction");
    changed = true;
  }
  if (module->RemoveUnusedComputations()) {
    context.Count("dead_code.computations");
    changed = true;
  }
  return changed;
}

}  // namespace xc
