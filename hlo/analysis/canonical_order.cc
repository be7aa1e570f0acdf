#include "hlo/analysis/canonical_order.h"

#include "absl/container/flat_hash_set.h"

namespace xc {

std::vector<const HloInstruction*> CanonicalOrder(const HloComputation& computation) {
  std::vector<const HloInstruction*> order;
  order.reserve(computation.instruction_count());
  absl::flat_hash_set<const HloInstruction*> entered;
  entered.reserve(computation.instruction_count());
  struct Frame {
    const HloInstruction* instruction;
    size_t next;
  };
  std::vector<Frame> stack;
  auto visit = [&](const HloInstruction* start) {
    if (start == nullptr || !entered.insert(start).second) return;
    stack.push_back({start, 0});
    while (!stack.empty()) {
      const HloInstruction* instruction = stack.back().instruction;
      size_t operands = instruction->operands().size(), i = stack.back().next++;
      if (i == operands + instruction->control_predecessors().size()) {
        order.push_back(instruction);
        stack.pop_back();
        continue;
      }
      const HloInstruction* before =
          i < operands ? instruction->operand(i) : instruction->control_predecessors()[i - operands];
      if (entered.insert(before).second) stack.push_back({before, 0});
    }
  };
  for (const HloInstruction* parameter : computation.parameters()) visit(parameter);
  visit(computation.root());
  for (const auto& instruction : computation.instructions()) visit(instruction.get());
  return order;
}

ComputationOrder CanonicalComputationOrder(absl::Span<const HloComputation* const> roots) {
  ComputationOrder order;
  absl::flat_hash_set<const HloComputation*> entered;
  struct Frame {
    const HloComputation* computation;
    std::vector<const HloInstruction*> instructions;
    std::vector<const HloComputation*> callees;
    size_t next = 0;
  };
  std::vector<Frame> stack;
  auto enter = [&](const HloComputation* computation) {
    if (!entered.insert(computation).second) return;
    Frame frame{computation, CanonicalOrder(*computation), {}};
    for (const HloInstruction* instruction : frame.instructions) {
      for (const HloComputation* callee : instruction->called_computations()) frame.callees.push_back(callee);
    }
    stack.push_back(std::move(frame));
  };
  for (const HloComputation* root : roots) {
    enter(root);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.next < frame.callees.size()) {
        enter(frame.callees[frame.next++]);
        continue;
      }
      order.number.emplace(frame.computation, static_cast<int64_t>(order.computations.size()));
      order.computations.push_back(frame.computation);
      order.instructions.push_back(std::move(frame.instructions));
      stack.pop_back();
    }
  }
  return order;
}

}  // namespace xc
