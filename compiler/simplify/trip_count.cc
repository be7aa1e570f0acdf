// Trip counts of loops with a constant counter.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "compiler/make.h"
#include "compiler/simplify/simplify.h"

namespace xc {
namespace {

// The state element that `x` reads from `parameter`, or -1.
int64_t StateElement(const HloInstruction* x, const HloInstruction* parameter) {
  return x->opcode() == HloOpcode::kGetTupleElement && x->operand(0) == parameter ? x->tuple_index() : -1;
}

std::optional<int64_t> ConstantInt(const HloInstruction* x) {
  if (!x->IsConstant() || !x->shape().IsScalar() || !IsIntegral(x->type()) || x->literal().elided()) return {};
  return x->literal().GetInt(0);
}

// How often the body runs until `compare`, of the condition, does not hold.
std::optional<int64_t> RoundsUntil(const HloInstruction* loop, const HloInstruction* compare) {
  const HloComputation *condition = loop->while_condition(), *body = loop->while_body();
  if (compare->opcode() != HloOpcode::kCompare || body->root()->opcode() != HloOpcode::kTuple ||
      loop->operand(0)->opcode() != HloOpcode::kTuple) {
    return {};
  }
  const int64_t k = StateElement(compare->operand(0), condition->parameter(0));
  const std::optional<int64_t> bound = ConstantInt(compare->operand(1));
  if (k < 0 || !bound) return {};
  const std::optional<int64_t> start = ConstantInt(loop->operand(0)->operand(k));
  const HloInstruction* next = body->root()->operand(k);
  if (!start || next->opcode() != HloOpcode::kAdd) return {};
  std::optional<int64_t> step;
  for (int side : {0, 1}) {
    if (StateElement(next->operand(side), body->parameter(0)) == k) step = ConstantInt(next->operand(1 - side));
  }
  if (!step || *step <= 0) return {};
  __int128 limit = *bound;
  if (compare->direction() == CompareDirection::kLe) {
    ++limit;
  } else if (compare->direction() != CompareDirection::kLt) {
    return {};
  }
  const int bits = ElementBits(compare->operand(0)->type());
  const bool is_signed = IsSignedInt(compare->operand(0)->type());
  if (!is_signed && (*start < 0 || *bound < 0)) return {};  // u64 beyond int64
  if (limit <= *start) return 0;
  const __int128 trips = (limit - *start + *step - 1) / *step;
  // The last value of the counter must not wrap around.
  const __int128 last = *start + trips * *step;
  if (last > (static_cast<__int128>(1) << (is_signed ? bits - 1 : bits)) - 1) return {};
  return static_cast<int64_t>(trips);
}

}  // namespace

std::optional<int64_t> TripCount(const HloInstruction* loop) {
  return RoundsUntil(loop, loop->while_condition()->root());
}

std::optional<int64_t> MaxTripCount(const HloInstruction* loop) {
  std::optional<int64_t> least;
  std::vector<const HloInstruction*> terms = {loop->while_condition()->root()};
  absl::flat_hash_set<const HloInstruction*> seen;
  while (!terms.empty()) {
    const HloInstruction* term = terms.back();
    terms.pop_back();
    if (!seen.insert(term).second) continue;
    if (term->opcode() == HloOpcode::kAnd) {
      for (const HloInstruction* operand : term->operands()) terms.push_back(operand);
    } else if (const std::optional<int64_t> rounds = RoundsUntil(loop, term)) {
      least = std::min(*rounds, least.value_or(*rounds));
    }
  }
  return least;
}

}  // namespace xc
