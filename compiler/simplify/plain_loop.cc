// The plain form of loops: taking it apart, changing its state, and finding its invariant code.
#include "compiler/simplify/plain_loop.h"

#include <algorithm>

#include "compiler/cost_analysis.h"

namespace xc {
namespace {

bool OnlyElements(const HloInstruction* value) {
  return !value->IsRoot() && std::all_of(value->users().begin(), value->users().end(), [](const HloInstruction* u) {
    return u->opcode() == HloOpcode::kGetTupleElement;
  });
}

bool IsFree(const HloInstruction* i) {
  const HloOpcode opcode = i->opcode();
  return opcode == HloOpcode::kConvert || (OpcodeCost(opcode) == OpCost::kNone && opcode != HloOpcode::kCopy);
}

// Of what no reader computes on its way: the value is written and read again.
bool IsKernelOfItsOwn(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kDot:
    case HloOpcode::kConvolution:
    case HloOpcode::kFft:
    case HloOpcode::kSort:
    case HloOpcode::kScatter:
    case HloOpcode::kCholesky:
    case HloOpcode::kTriangularSolve:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::optional<PlainLoop> PlainLoop::Of(HloInstruction* loop,
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

bool PlainLoop::IsInvariant(int64_t k) const {
  const HloInstruction* value = next->operand(k);
  return value->opcode() == HloOpcode::kGetTupleElement && value->operand(0) == body_state && value->tuple_index() == k;
}

void PlainLoop::Rebuild(const std::vector<int64_t>& elements,
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

std::vector<HloInstruction*> PlainLoop::AddInvariants(const std::vector<HloInstruction*>& inits) {
  std::vector<int64_t> elements(size);
  for (int64_t k = 0; k < size; ++k) elements[k] = k;
  // The new elements are read from the state before it has them.
  std::vector<std::pair<HloInstruction*, HloInstruction*>> added;
  std::vector<HloInstruction*> reads;
  for (HloInstruction* init : inits) {
    HloInstruction* read = body->Add(HloOpcode::kGetTupleElement, init->shape(), {body_state});
    read->set_attr<AttrKind::kIndex>(size + static_cast<int64_t>(reads.size()));
    reads.push_back(read);
    added.push_back({init, read});
    elements.push_back(-1);
  }
  Rebuild(elements, added);
  return reads;
}

InvariantCode::InvariantCode(const PlainLoop& loop) : loop_(loop), order_(loop.body->PostOrder()) {
  for (const HloInstruction* i : order_) {
    if (i->opcode() == HloOpcode::kGetTupleElement && i->operand(0) == loop.body_state) {
      if (!loop.IsInvariant(i->tuple_index())) continue;
      invariant_.insert(i);
      source_bytes_[i] = i->shape().TotalByteSize();
      continue;
    }
    if (!MayMove(i)) continue;
    bool all = true;
    int64_t bytes = 0;
    bool costs = !IsFree(i);
    for (const HloInstruction* operand : i->operands()) {
      all &= invariant_.contains(operand);
      if (!all) break;
      bytes += source_bytes_[operand];
      costs |= costly_.contains(operand);
    }
    if (!all) continue;
    invariant_.insert(i);
    source_bytes_[i] = bytes;
    if (costs) costly_.insert(i);
  }
}

int64_t InvariantCode::Work(const HloInstruction* root, int64_t most) const {
  constexpr int64_t kEach = 8;
  int64_t work = 0;
  std::vector<const HloInstruction*> stack = {root};
  absl::flat_hash_set<const HloInstruction*> seen = {root};
  while (!stack.empty() && work < most) {
    const HloInstruction* const at = stack.back();
    stack.pop_back();
    if (!costly_.contains(at)) continue;
    const InstructionCost cost = CostOf(at);
    work += std::min(cost.flops, most) + kEach * std::min(cost.transcendentals, most);
    if (at->shape().IsArray() && IsKernelOfItsOwn(at->opcode())) work += kEach * at->shape().ElementCount();
    for (const HloInstruction* operand : at->operands()) {
      if (seen.insert(operand).second) stack.push_back(operand);
    }
  }
  return std::min(work, most);
}

HloInstruction* InvariantCode::CloneBefore(const HloInstruction* root) {
  std::vector<const HloInstruction*> stack = {root};
  while (!stack.empty()) {
    const HloInstruction* at = stack.back();
    if (clones_.contains(at)) {
      stack.pop_back();
      continue;
    }
    if (at->opcode() == HloOpcode::kGetTupleElement && at->operand(0) == loop_.body_state) {
      clones_[at] = loop_.init(at->tuple_index());
      continue;
    }
    bool ready = true;
    for (const HloInstruction* operand : at->operands()) {
      if (!clones_.contains(operand)) {
        stack.push_back(operand);
        ready = false;
      }
    }
    if (!ready) continue;
    std::vector<HloInstruction*> operands;
    for (const HloInstruction* operand : at->operands()) operands.push_back(clones_.at(operand));
    clones_[at] = loop_.loop->parent()->Add(at->CloneWith(at->shape(), operands));
  }
  return clones_.at(root);
}

}  // namespace xc
