// Loops: dead, constant and invariant state, invariant code, known trip counts.
#include <algorithm>

#include "compiler/make.h"
#include "compiler/simplify/plain_loop.h"
#include "compiler/simplify/simplify.h"
#include "hlo/base/choices.h"

namespace xc {
namespace {

// State elements that nobody needs: not read after the loop, nor by its condition, nor for an element that is needed.
bool RemoveDeadState(PlainLoop& l, PassContext& context) {
  std::vector<bool> live(l.size);
  std::vector<const HloInstruction*> work;
  absl::flat_hash_set<const HloInstruction*> seen;
  const auto need = [&](int64_t k) {
    if (live[k]) return;
    live[k] = true;
    work.push_back(l.next->operand(k));
  };
  for (const HloInstruction* user : l.loop->users()) need(user->tuple_index());
  for (const HloInstruction* user : l.condition_state->users()) {
    if (!user->IsDead() || user->HasSideEffect()) need(user->tuple_index());
  }
  for (const auto& instruction : l.body->instructions()) {
    if (instruction->HasSideEffect() || !instruction->control_successors().empty()) work.push_back(instruction.get());
  }
  while (!work.empty()) {
    const HloInstruction* at = work.back();
    work.pop_back();
    if (!seen.insert(at).second) continue;
    if (at->opcode() == HloOpcode::kGetTupleElement && at->operand(0) == l.body_state) need(at->tuple_index());
    for (const HloInstruction* operand : at->operands()) work.push_back(operand);
    for (const HloInstruction* before : at->control_predecessors()) work.push_back(before);
  }
  std::vector<int64_t> kept;
  for (int64_t k = 0; k < l.size; ++k) {
    if (live[k]) kept.push_back(k);
  }
  if (static_cast<int64_t>(kept.size()) == l.size || kept.empty()) return false;
  // Readers of dropped elements in the condition are dead instructions; remove them before numbers change.
  l.condition->RemoveDead();
  // In the body, dropped elements are read only for dropped elements.
  for (int64_t k = l.size - kept.size(); k > 0; --k) context.Count("loops.dead_state");
  l.Rebuild(kept, {});
  return true;
}

// Constant state that never changes becomes a constant in condition and body; invariant state is the init afterwards.
bool PropagateInvariants(PlainLoop& l, PassContext& context) {
  bool changed = false;
  for (int64_t k = 0; k < l.size; ++k) {
    if (!l.IsInvariant(k)) continue;
    for (HloInstruction* user : std::vector<HloInstruction*>(l.loop->users())) {
      if (user->tuple_index() != k || user->IsDead() || !user->control_successors().empty()) continue;
      user->ReplaceAllUsesWith(l.init(k));
      context.Count("loops.invariant_result");
      changed = true;
    }
    const HloInstruction* init = l.init(k);
    const HloInstruction* constant = init;
    const bool broadcast = init->opcode() == HloOpcode::kBroadcast && init->operand(0)->IsConstant();
    if (broadcast) constant = init->operand(0);
    if (!constant->IsConstant() || !constant->shape().IsScalar()) continue;
    for (HloInstruction* state : {l.condition_state, l.body_state}) {
      for (HloInstruction* user : std::vector<HloInstruction*>(state->users())) {
        if (user->tuple_index() != k || user->IsDead() || !user->control_successors().empty()) continue;
        // The element itself stays in the next state, so that it is seen to be invariant.
        bool other_use = false;
        for (const HloInstruction* reader : user->users()) other_use |= reader != l.next;
        if (!other_use) continue;
        HloInstruction* copy = state->parent()->Add(HloInstruction::CreateConstant(constant->shared_literal()));
        if (broadcast) copy = make::Broadcast(copy, init->shape().dims(), {});
        for (HloInstruction* reader : std::vector<HloInstruction*>(user->users())) {
          if (reader == l.next) continue;
          for (int64_t o = 0; o < reader->operand_count(); ++o) {
            if (reader->operand(o) == user) reader->ReplaceOperand(o, copy);
          }
        }
        context.Count("loops.constant_state");
        changed = true;
      }
    }
  }
  return changed;
}

// Computes what is the same in every round once, before the loop, if it costs something and is not much larger than
// what it is made from; or if it is one of a few arrays that caches hold, and reading its elements takes less than
// computing them, as of distances between all pairs of points.
bool HoistInvariants(PlainLoop& l, PassContext& context) {
  constexpr int64_t kCacheBytes = 1 << 20, kReadAsOperations = 8;
  InvariantCode code(l);
  std::vector<HloInstruction*> hoisted;
  int64_t cached = 0;
  for (HloInstruction* i : code.order()) {
    if (!code.Costs(i) || !i->shape().IsArray()) continue;
    const bool needed =
        std::any_of(i->users().begin(), i->users().end(), [&](const HloInstruction* u) { return !code.Contains(u); });
    if (!needed) continue;
    const int64_t bytes = i->shape().ByteSize();
    if (ChooseAny(bytes <= std::max<int64_t>(2 * code.SourceBytes(i), 4096))) {
      hoisted.push_back(i);
      continue;
    }
    const auto takes_more = [&] {
      const int64_t reading = kReadAsOperations * i->shape().ElementCount();
      return code.Work(i, reading) == reading;
    };
    if (ChooseAny(bytes <= kCacheBytes - cached && takes_more())) {
      hoisted.push_back(i);
      cached += bytes;
    }
  }
  if (hoisted.empty()) return false;
  if (hoisted.size() > 64) hoisted.resize(64);
  std::vector<HloInstruction*> inits;
  for (const HloInstruction* i : hoisted) {
    inits.push_back(code.CloneBefore(i));
    context.Count("loops.hoisted");
  }
  const std::vector<HloInstruction*> reads = l.AddInvariants(inits);
  for (size_t h = 0; h < hoisted.size(); ++h) hoisted[h]->ReplaceAllUsesWith(reads[h]);
  l.body->RemoveDead();
  return true;
}

}  // namespace

absl::StatusOr<bool> SimplifyLoops(HloModule* module, PassContext& context) {
  bool changed = false;
  const std::vector<HloComputation*> order = module->ComputationPostOrder();
  absl::flat_hash_map<const HloComputation*, int> callers;
  for (const HloComputation* computation : order) {
    for (const auto& instruction : computation->instructions()) {
      for (const HloComputation* callee : instruction->called_computations()) ++callers[callee];
    }
  }
  for (HloComputation* computation : order) {
    std::vector<HloInstruction*> loops;
    for (const auto& instruction : computation->instructions()) {
      if (instruction->opcode() == HloOpcode::kWhile) loops.push_back(instruction.get());
    }
    bool here = false;
    for (HloInstruction* loop : loops) {
      if (loop->IsDead() && !loop->HasSideEffect()) continue;
      const bool free = loop->control_predecessors().empty() && loop->control_successors().empty();
      if (const std::optional<int64_t> trips = TripCount(loop); free && trips && *trips <= 1) {
        const bool effects = loop->HasSideEffect();
        if (*trips == 0 && !effects) {
          context.Count("loops.never_runs");
          loop->ReplaceAllUsesWith(loop->operand(0));
          here = true;
          continue;
        }
        if (*trips == 1 && callers.at(loop->while_body()) == 1) {
          bool condition_effects = false;
          for (const auto& i : loop->while_condition()->instructions()) condition_effects |= i->HasSideEffect();
          if (!condition_effects) {
            context.Count("loops.runs_once");
            InlineComputation(loop, loop->while_body(), {loop->operand(0)});
            here = true;
            continue;
          }
        }
      }
      std::optional<PlainLoop> plain = PlainLoop::Of(loop, callers);
      if (!plain) continue;
      here |= PropagateInvariants(*plain, context);
      here |= RemoveDeadState(*plain, context);
      here |= HoistInvariants(*plain, context);
      here |= HoistDots(*plain, context);
    }
    if (here) computation->RemoveDead();
    changed |= here;
  }
  if (changed) module->RemoveUnusedComputations();
  return changed;
}

}  // namespace xc
