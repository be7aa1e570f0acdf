// Rewrite rows of comparisons, selections and bit logic.
#include "compiler/make.h"
#include "compiler/simplify/simplify.h"
#include "hlo/analysis/pattern.h"

namespace xc {
namespace {

using I = HloInstruction;

I* Pred(const I* like, bool value) {
  return make::Full(like->parent(), ElementType::kPred, like->shape().dims(), value ? 1 : 0);
}

// Whether all bits of all elements are set.
bool IsAllOnes(const I* x) {
  if (x->type() == ElementType::kPred) return IsAll(x, 1.0);
  if (!IsIntegral(x->type())) return false;
  const auto scalar = AsBroadcastScalar(x);
  if (!scalar) return false;
  const int bits = ElementBits(x->type());
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  return (static_cast<uint64_t>(scalar->literal->GetInt(0)) & mask) == mask;
}
bool IsAllZeros(const I* x) { return (x->type() == ElementType::kPred || IsIntegral(x->type())) && IsAll(x, 0.0); }

auto AllOnes(I** capture = nullptr) { return m::Where(m::Any(capture), IsAllOnes); }
auto AllZeros(I** capture = nullptr) { return m::Where(m::Any(capture), IsAllZeros); }

// x & ones -> x, x & 0 -> 0
I* AndConstant(I* i, PassContext&) {
  I* x;
  if (m::Match(i, m::And(m::Any(&x), AllOnes()))) return x;
  if (m::Match(i, m::And(m::Any(), AllZeros(&x)))) return x;
  return nullptr;
}

// x | 0 -> x, x | ones -> ones
I* OrConstant(I* i, PassContext&) {
  I* x;
  if (m::Match(i, m::Or(m::Any(&x), AllZeros()))) return x;
  if (m::Match(i, m::Or(m::Any(), AllOnes(&x)))) return x;
  return nullptr;
}

// x ^ 0 -> x, x ^ x -> 0, x ^ ones -> not x
I* XorConstant(I* i, PassContext&) {
  I* x;
  if (m::Match(i, m::Xor(m::Any(&x), m::Same(&x)))) return make::Full(i->parent(), i->type(), i->shape().dims(), 0);
  if (m::Match(i, m::Xor(m::Any(&x), AllZeros()))) return x;
  if (m::Match(i, m::Xor(m::Any(&x), AllOnes()))) return make::Unary(HloOpcode::kNot, x);
  return nullptr;
}

// compare(x, x) for integers
I* CompareSelf(I* i, PassContext&) {
  if (i->operand(0) != i->operand(1)) return nullptr;
  const ElementType type = i->operand(0)->type();
  if (!IsIntegral(type) && type != ElementType::kPred) return nullptr;
  switch (i->direction()) {
    case CompareDirection::kEq:
    case CompareDirection::kGe:
    case CompareDirection::kLe:
      return Pred(i, true);
    default:
      return Pred(i, false);
  }
}

// p == true -> p, p != false -> p, p == false -> not p, p != true -> not p
I* ComparePred(I* i, PassContext&) {
  const bool eq = i->direction() == CompareDirection::kEq;
  if (i->operand(0)->type() != ElementType::kPred || (!eq && i->direction() != CompareDirection::kNe)) return nullptr;
  for (int side : {0, 1}) {
    const I* c = i->operand(side);
    I* p = i->operand(1 - side);
    if (IsAll(c, eq ? 1.0 : 0.0)) return p;
    if (IsAll(c, eq ? 0.0 : 1.0)) return make::Unary(HloOpcode::kNot, p);
  }
  return nullptr;
}

// unsigned x < 0 -> false, x >= 0 -> true
I* CompareUnsignedZero(I* i, PassContext&) {
  if (!IsUnsignedInt(i->operand(0)->type()) || !IsAll(i->operand(1), 0.0)) return nullptr;
  if (i->direction() == CompareDirection::kLt) return Pred(i, false);
  if (i->direction() == CompareDirection::kGe) return Pred(i, true);
  return nullptr;
}

// iota < c and the like where the answer is the same for every element
I* CompareIota(I* i, PassContext&) {
  const I* x = i->operand(0);
  while (x->opcode() == HloOpcode::kBroadcast || x->opcode() == HloOpcode::kReshape) x = x->operand(0);
  const auto scalar = AsBroadcastScalar(i->operand(1));
  if (x->opcode() != HloOpcode::kIota || !scalar || !IsIntegral(x->type())) return nullptr;
  const int64_t last = x->shape().dim(x->attr<AttrKind::kIotaDimension>()) - 1;
  const int bits = ElementBits(x->type()) - (IsSignedInt(x->type()) ? 1 : 0);
  if (last < 0 || (bits < 63 && last >= (int64_t{1} << bits))) return nullptr;  // wraps
  const int64_t c = scalar->literal->GetInt(0);
  if (IsUnsignedInt(x->type()) && c < 0) return nullptr;  // u64 beyond int64
  switch (i->direction()) {
    case CompareDirection::kLt:
      return c > last ? Pred(i, true) : c <= 0 ? Pred(i, false) : nullptr;
    case CompareDirection::kLe:
      return c >= last ? Pred(i, true) : c < 0 ? Pred(i, false) : nullptr;
    case CompareDirection::kGt:
      return c < 0 ? Pred(i, true) : c >= last ? Pred(i, false) : nullptr;
    case CompareDirection::kGe:
      return c <= 0 ? Pred(i, true) : c > last ? Pred(i, false) : nullptr;
    case CompareDirection::kEq:
      return c < 0 || c > last ? Pred(i, false) : nullptr;
    case CompareDirection::kNe:
      return c < 0 || c > last ? Pred(i, true) : nullptr;
  }
  return nullptr;
}

CompareDirection Inverse(CompareDirection d) {
  switch (d) {
    case CompareDirection::kEq:
      return CompareDirection::kNe;
    case CompareDirection::kNe:
      return CompareDirection::kEq;
    case CompareDirection::kGe:
      return CompareDirection::kLt;
    case CompareDirection::kLt:
      return CompareDirection::kGe;
    case CompareDirection::kGt:
      return CompareDirection::kLe;
    case CompareDirection::kLe:
      return CompareDirection::kGt;
  }
  return d;
}

// not (a < b) -> a >= b; floats only for == and !=, where NaN says the same
I* NotCompare(I* i, PassContext&) {
  I* c = i->operand(0);
  if (c->opcode() != HloOpcode::kCompare || c->user_count() != 1) return nullptr;
  const ElementType type = c->operand(0)->type();
  const bool equality = c->direction() == CompareDirection::kEq || c->direction() == CompareDirection::kNe;
  if (!equality && !IsIntegral(type) && type != ElementType::kPred) return nullptr;
  I* inverse = i->parent()->Add(c->CloneWith(c->shape(), c->operands()));
  inverse->set_attr<AttrKind::kDirection>(Inverse(c->direction()));
  return inverse;
}

// select(p, x, x) -> x
I* SelectSame(I* i, PassContext&) {
  I* x;
  return m::Match(i, m::Select(m::Any(), m::Any(&x), m::Same(&x))) ? x : nullptr;
}

// select(true, a, b) -> a, select(false, a, b) -> b
I* SelectConstant(I* i, PassContext&) {
  I* x;
  if (m::Match(i, m::Select(m::BroadcastScalar(1), m::Any(&x), m::Any()))) return x;
  if (m::Match(i, m::Select(m::BroadcastScalar(0), m::Any(), m::Any(&x)))) return x;
  return nullptr;
}

// select(not p, a, b) -> select(p, b, a)
I* SelectNot(I* i, PassContext&) {
  I *p, *a, *b;
  return m::Match(i, m::Select(m::Not(m::Any(&p)), m::Any(&a), m::Any(&b))) ? make::Select(p, b, a) : nullptr;
}

// select(p, true, false) -> p, select(p, false, true) -> not p
I* SelectOfPreds(I* i, PassContext&) {
  I* p;
  if (i->type() != ElementType::kPred || !SameDims(i->operand(0)->shape(), i->shape())) return nullptr;
  if (m::Match(i, m::Select(m::Any(&p), m::BroadcastScalar(1), m::BroadcastScalar(0)))) return p;
  if (m::Match(i, m::Select(m::Any(&p), m::BroadcastScalar(0), m::BroadcastScalar(1))))
    return make::Unary(HloOpcode::kNot, p);
  return nullptr;
}

}  // namespace

absl::Span<const RewriteRow> LogicRows() {
  static constexpr RewriteRow kRows[] = {
      {"and_constant", HloOpcode::kAnd, AndConstant},
      {"or_constant", HloOpcode::kOr, OrConstant},
      {"xor_constant", HloOpcode::kXor, XorConstant},
      {"compare_self", HloOpcode::kCompare, CompareSelf},
      {"compare_pred", HloOpcode::kCompare, ComparePred},
      {"compare_unsigned_zero", HloOpcode::kCompare, CompareUnsignedZero},
      {"compare_iota", HloOpcode::kCompare, CompareIota},
      {"not_compare", HloOpcode::kNot, NotCompare},
      {"select_same", HloOpcode::kSelect, SelectSame},
      {"select_constant", HloOpcode::kSelect, SelectConstant},
      {"select_not", HloOpcode::kSelect, SelectNot},
      {"select_of_preds", HloOpcode::kSelect, SelectOfPreds},
  };
  return kRows;
}

}  // namespace xc
