// Comparisons in total order of numbers that have one zero and one NaN, as searches and comparators of sorts make them:
// they are the machine's own comparisons and a test for NaN.
#include <bit>
#include <cmath>
#include <cstdint>

#include "compiler/expand/expand.h"
#include "compiler/make.h"
#include "hlo/analysis/pattern.h"

namespace xc {
namespace {

using I = HloInstruction;

bool IsFloatCompare(const I* i, CompareDirection direction) {
  return i->opcode() == HloOpcode::kCompare && i->direction() == direction &&
         i->attr_or<AttrKind::kCompareType>(CompareType::kFloat) != CompareType::kTotalOrder;
}

// x, where `i` is select(x != x, NaN, select(x == 0, 0, x)) with a NaN that is larger than all numbers; else null.
I* Canonicalized(const I* i) {
  if (i->opcode() != HloOpcode::kSelect || !IsFloatCompare(i->operand(0), CompareDirection::kNe)) return nullptr;
  I* const x = i->operand(0)->operand(0);
  const auto nan = AsBroadcastScalar(i->operand(1));
  if (i->operand(0)->operand(1) != x || !nan || !std::isnan(nan->number()) || std::signbit(nan->number())) {
    return nullptr;
  }
  const I* inner = i->operand(2);
  if (inner->opcode() != HloOpcode::kSelect || inner->operand(2) != x || !IsAll(inner->operand(1), 0.0)) return nullptr;
  const I* is_zero = inner->operand(0);
  if (!IsFloatCompare(is_zero, CompareDirection::kEq) || is_zero->operand(0) != x) return nullptr;
  return IsAll(is_zero->operand(1), 0.0) || IsAll(is_zero->operand(1), -0.0) ? x : nullptr;
}

// x < y with NaN above all numbers: x is a number, and not x >= y.
I* Less(I* x, I* y) {
  return make::Binary(HloOpcode::kAnd, make::Compare(CompareDirection::kEq, x, x),
                      make::Unary(HloOpcode::kNot, make::Compare(CompareDirection::kGe, x, y)));
}

// The opposite of x < y.
I* NotLess(I* x, I* y) {
  return make::Binary(HloOpcode::kOr, make::Compare(CompareDirection::kNe, x, x),
                      make::Compare(CompareDirection::kGe, x, y));
}

I* CompareCanonical(I* compare) {
  if (compare->attr_or<AttrKind::kCompareType>(CompareType::kFloat) != CompareType::kTotalOrder) return nullptr;
  if (!IsFloating(compare->operand(0)->type()) || compare->shape().is_dynamic()) return nullptr;
  I *const x = Canonicalized(compare->operand(0)), *const y = Canonicalized(compare->operand(1));
  if (x == nullptr || y == nullptr) return nullptr;
  const auto nan = [&](int side) {
    return std::bit_cast<uint64_t>(AsBroadcastScalar(compare->operand(side)->operand(1))->number());
  };
  if (nan(0) != nan(1)) return nullptr;
  switch (compare->direction()) {
    case CompareDirection::kLt:
      return Less(x, y);
    case CompareDirection::kGt:
      return Less(y, x);
    case CompareDirection::kGe:
      return NotLess(x, y);
    case CompareDirection::kLe:
      return NotLess(y, x);
    default:
      return nullptr;
  }
}

}  // namespace

absl::StatusOr<bool> ExpandTotalOrder(HloModule* module, PassContext& context) {
  bool changed = false;
  for (HloComputation* computation : module->ComputationPostOrder()) {
    for (I* op : computation->PostOrder()) {
      // A comparator that is one comparison is known to sorts as it is.
      if (op->opcode() != HloOpcode::kCompare || op == computation->root()) continue;
      I* value = CompareCanonical(op);
      if (value == nullptr) continue;
      context.Count("total_order.expanded");
      computation->Replace(op, value);
      changed = true;
    }
    if (changed && computation->RemoveDead()) changed = true;
  }
  return changed;
}

}  // namespace xc
