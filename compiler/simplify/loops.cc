// Loops: dead, constant and invariant state, invariant code, known trip counts.
#include <algorithm>

#include "compiler/cost_analysis.h"
#include "compiler/make.h"
#include "compiler/memory/in_place.h"
#include "compiler/simplify/simplify.h"

namespace xc {
namespace {

// A loop whose state is a tuple taken apart and put together by elements, as almost all are.
struct PlainLoop {
  HloInstruction* loop;
  HloComputation *condition, *body;
  HloInstruction *condition_state, *body_state, *next;
  int64_t size;

  static bool OnlyElements(const HloInstruction* value) {
    return !value->IsRoot() && std::all_of(value->users().begin(), value->users().end(), [](const HloInstruction* u) {
      return u->opcode() == HloOpcode::kGetTupleElement;
    });
  }

  // Nothing for other forms and for computations that others call too.
  static std::optional<PlainLoop> Of(HloInstruction* loop,
                                     const absl::flat_hash_map<const HloComputation*, int>& callers) {
    PlainLoop l;
    l.loop = loop;
    l.condition = loop->while_condition();
    l.body = loop->while_body();
    if (callers.at(l.condition) != 1 || callers.at(l.body) != 1 || l.condition == l.body) return {};
    l.condition_state = l.condition->parameter(0);
    l.body_state = l.body->parameter(0);
    l.next = l.body->root();
    if (!loop->shape().IsTuple() || l.next->opcode() != HloOpcode::kTuple || !l.next->users().empty()) return {};
    if (!OnlyElements(loop) || !OnlyElements(l.condition_state) || !OnlyElements(l.body_state)) return {};
    if (loop->operand(0)->opcode() != HloOpcode::kTuple) return {};
    if (loop->shape().is_dynamic()) return {};
    l.size = loop->shape().tuple_size();
    return l;
  }

  HloInstruction* init(int64_t k) const { return loop->operand(0)->operand(k); }

  bool IsInvariant(int64_t k) const {
    const HloInstruction* value = next->operand(k);
    return value->opcode() == HloOpcode::kGetTupleElement && value->operand(0) == body_state &&
           value->tuple_index() == k;
  }

  // Gives the loop the state `elements` (old numbers, -1 for new ones, whose init and next value are in `added`). Reads
  // of the i-th new element have the number size + i before.
  void Rebuild(const std::vector<int64_t>& elements,
               const std::vector<std::pair<HloInstruction*, HloInstruction*>>& added) {
    std::vector<int64_t> place(size + added.size(), -1);
    std::vector<Shape> shapes;
    std::vector<HloInstruction*> inits, nexts;
    size_t a = 0;
    for (size_t i = 0; i < elements.size(); ++i) {
      if (elements[i] >= 0) {
        place[elements[i]] = i;
        inits.push_back(init(elements[i]));
        nexts.push_back(next->operand(elements[i]));
      } else {
        place[size + a] = i;
        inits.push_back(added[a].first);
        nexts.push_back(added[a].second);
        ++a;
      }
      shapes.push_back(inits.back()->shape());
    }
    const Shape state = Shape::Tuple(shapes);
    for (HloInstruction* value : {loop, condition_state, body_state}) {
      *value->mutable_shape() = state;
      for (HloInstruction* user : value->users()) {
        if (place[user->tuple_index()] >= 0) user->set_attr<AttrKind::kIndex>(place[user->tuple_index()]);
      }
    }
    HloInstruction* old_next = next;
    body->set_root(body->Add(HloOpcode::kTuple, state, nexts));
    next = body->root();
    HloInstruction* old_init = loop->operand(0);
    loop->ReplaceOperand(0, loop->parent()->Add(HloOpcode::kTuple, state, inits));
    if (old_init->IsDead()) loop->parent()->Remove(old_init);
    if (old_next->IsDead()) body->Remove(old_next);
    // Elements that were dropped have no readers that matter: what is left of them is dead.
    body->RemoveDead();
    size = static_cast<int64_t>(elements.size());
  }
};

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
    const bool splat = init->opcode() == HloOpcode::kBroadcast && init->operand(0)->IsConstant();
    if (splat) constant = init->operand(0);
    if (!constant->IsConstant() || !constant->shape().IsScalar()) continue;
    for (HloInstruction* state : {l.condition_state, l.body_state}) {
      for (HloInstruction* user : std::vector<HloInstruction*>(state->users())) {
        if (user->tuple_index() != k || user->IsDead() || !user->control_successors().empty()) continue;
        // The element itself stays in the next state, so that it is seen to be invariant.
        bool other_use = false;
        for (const HloInstruction* reader : user->users()) other_use |= reader != l.next;
        if (!other_use) continue;
        HloInstruction* copy = state->parent()->Add(HloInstruction::CreateConstant(constant->shared_literal()));
        if (splat) copy = make::Broadcast(copy, init->shape().dims(), {});
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

bool IsFree(const HloInstruction* i) {
  switch (i->opcode()) {
    case HloOpcode::kConstant:
    case HloOpcode::kIota:
    case HloOpcode::kBroadcast:
    case HloOpcode::kReshape:
    case HloOpcode::kBitcast:
    case HloOpcode::kBitcastConvert:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kTuple:
    case HloOpcode::kSlice:
    case HloOpcode::kConvert:
      return true;
    default:
      return false;
  }
}

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

// Computes what is the same in every round once, before the loop, if it costs something and is not much larger than
// what it is made from.
bool HoistInvariants(PlainLoop& l, PassContext& context) {
  absl::flat_hash_set<const HloInstruction*> invariant;
  absl::flat_hash_map<const HloInstruction*, int64_t> source_bytes;  // of state that an invariant value is made from
  absl::flat_hash_set<const HloInstruction*> costly;
  const std::vector<HloInstruction*> order = l.body->PostOrder();
  for (const HloInstruction* i : order) {
    if (i->opcode() == HloOpcode::kGetTupleElement && i->operand(0) == l.body_state) {
      if (!l.IsInvariant(i->tuple_index())) continue;
      invariant.insert(i);
      source_bytes[i] = i->shape().TotalByteSize();
      continue;
    }
    if (!MayMove(i)) continue;
    bool all = true;
    int64_t bytes = 0;
    bool costs = !IsFree(i);
    for (const HloInstruction* operand : i->operands()) {
      all &= invariant.contains(operand);
      if (!all) break;
      bytes += source_bytes[operand];
      costs |= costly.contains(operand);
    }
    if (!all) continue;
    invariant.insert(i);
    source_bytes[i] = bytes;
    if (costs) costly.insert(i);
  }
  std::vector<HloInstruction*> hoisted;
  for (HloInstruction* i : order) {
    if (!costly.contains(i) || !i->shape().IsArray()) continue;
    const bool needed = std::any_of(i->users().begin(), i->users().end(),
                                    [&](const HloInstruction* u) { return !invariant.contains(u); });
    if (needed && i->shape().ByteSize() <= std::max<int64_t>(2 * source_bytes[i], 4096)) hoisted.push_back(i);
  }
  if (hoisted.empty()) return false;
  if (hoisted.size() > 64) hoisted.resize(64);
  // Clone each with all it is made from.
  HloComputation* outside = l.loop->parent();
  absl::flat_hash_map<const HloInstruction*, HloInstruction*> map;
  const auto clone = [&](const HloInstruction* root) {
    std::vector<const HloInstruction*> stack = {root};
    while (!stack.empty()) {
      const HloInstruction* at = stack.back();
      if (map.contains(at)) {
        stack.pop_back();
        continue;
      }
      if (at->opcode() == HloOpcode::kGetTupleElement && at->operand(0) == l.body_state) {
        map[at] = l.init(at->tuple_index());
        continue;
      }
      bool ready = true;
      for (const HloInstruction* operand : at->operands()) {
        if (!map.contains(operand)) {
          stack.push_back(operand);
          ready = false;
        }
      }
      if (!ready) continue;
      std::vector<HloInstruction*> operands;
      for (const HloInstruction* operand : at->operands()) operands.push_back(map.at(operand));
      map[at] = outside->Add(at->CloneWith(at->shape(), operands));
    }
    return map.at(root);
  };
  std::vector<int64_t> elements(l.size);
  for (int64_t k = 0; k < l.size; ++k) elements[k] = k;
  // The new elements are read from the state before it has them: the loop is rebuilt with them, then users are moved.
  std::vector<std::pair<HloInstruction*, HloInstruction*>> added;
  std::vector<HloInstruction*> reads;
  for (size_t h = 0; h < hoisted.size(); ++h) {
    HloInstruction* init = clone(hoisted[h]);
    HloInstruction* read = l.body->Add(HloOpcode::kGetTupleElement, hoisted[h]->shape(), {l.body_state});
    read->set_attr<AttrKind::kIndex>(l.size + static_cast<int64_t>(h));
    reads.push_back(read);
    added.push_back({init, read});
    elements.push_back(-1);
    context.Count("loops.hoisted");
  }
  for (size_t h = 0; h < hoisted.size(); ++h) hoisted[h]->ReplaceAllUsesWith(reads[h]);
  l.Rebuild(elements, added);
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
    }
    if (here) computation->RemoveDead();
    changed |= here;
  }
  if (changed) module->RemoveUnusedComputations();
  return changed;
}

}  // namespace xc
