// Rewrite rows of arithmetic. Floats keep every bit of strict IEEE results, the sign of zero included; which NaN comes
// out of an operation on NaNs is not specified.
#include <algorithm>
#include <bit>
#include <cmath>

#include "compiler/make.h"
#include "compiler/simplify/simplify.h"
#include "hlo/analysis/pattern.h"
#include "hlo/base/choices.h"

namespace xc {
namespace {

using I = HloInstruction;

bool IsInt(const I* x) { return IsIntegral(x->type()); }
bool IsReal(const I* x) { return IsFloating(x->type()); }

// x + 0 -> x for integers; x + -0 -> x for floats (x + +0 turns -0 into +0).
I* AddZero(I* i, PassContext&) {
  I* x;
  return (IsInt(i) || IsReal(i)) && m::Match(i, m::Add(m::Any(&x), m::BroadcastScalar(IsInt(i) ? 0.0 : -0.0)))
             ? x
             : nullptr;
}

// x + -y -> x - y
I* AddNegate(I* i, PassContext&) {
  I *x, *y;
  if (IsComplex(i->type()) || !m::Match(i, m::Add(m::Any(&x), m::OneUse(m::Negate(m::Any(&y)))))) return nullptr;
  return make::Binary(HloOpcode::kSubtract, x, y);
}

// x - 0 -> x
I* SubtractZero(I* i, PassContext&) {
  I* x;
  return (IsInt(i) || IsReal(i)) && m::Match(i, m::Subtract(m::Any(&x), m::BroadcastScalar(0))) ? x : nullptr;
}

// x - -y -> x + y
I* SubtractNegate(I* i, PassContext&) {
  I *x, *y;
  if (IsComplex(i->type()) || !m::Match(i, m::Subtract(m::Any(&x), m::OneUse(m::Negate(m::Any(&y)))))) return nullptr;
  return make::Binary(HloOpcode::kAdd, x, y);
}

// x - x -> 0, integers
I* SubtractSelf(I* i, PassContext&) {
  I* x;
  if (!IsInt(i) || !m::Match(i, m::Subtract(m::Any(&x), m::Same(&x)))) return nullptr;
  return make::Full(i->parent(), i->type(), i->shape().dims(), 0);
}

// x * 1 -> x
I* MultiplyOne(I* i, PassContext&) {
  I* x;
  return !IsComplex(i->type()) && m::Match(i, m::Multiply(m::Any(&x), m::BroadcastScalar(1))) ? x : nullptr;
}

// x * 0 -> 0, integers
I* MultiplyZero(I* i, PassContext&) {
  I* zero;
  return IsInt(i) && m::Match(i, m::Multiply(m::Any(), m::BroadcastScalar(&zero, 0))) ? zero : nullptr;
}

// x * -1 -> -x
I* MultiplyMinusOne(I* i, PassContext&) {
  I* x;
  if (!IsReal(i) && !IsSignedInt(i->type())) return nullptr;
  return m::Match(i, m::Multiply(m::Any(&x), m::BroadcastScalar(-1))) ? make::Unary(HloOpcode::kNegate, x) : nullptr;
}

// x / 1 -> x
I* DivideOne(I* i, PassContext&) {
  I* x;
  return !IsComplex(i->type()) && m::Match(i, m::Divide(m::Any(&x), m::BroadcastScalar(1))) ? x : nullptr;
}

// x / 2^k -> x * 2^-k where both are normal numbers of the type: the same rounding of the same number.
I* DividePowerOfTwo(I* i, PassContext&) {
  const ElementType type = i->type();
  if (type != ElementType::kF32 && type != ElementType::kF64 && type != ElementType::kBF16 &&
      type != ElementType::kF16) {
    return nullptr;
  }
  const auto scalar = AsBroadcastScalar(i->operand(1));
  if (!scalar) return nullptr;
  int exponent;
  const double c = scalar->number();
  const bool power = std::isfinite(c) && std::fabs(std::frexp(c, &exponent)) == 0.5 && c != 0;
  const int limit = type == ElementType::kF16 ? 13 : 120;
  // A size may be such a number by chance.
  if (!ChooseSafe(power && exponent >= -limit && exponent <= limit)) return nullptr;
  return make::Binary(HloOpcode::kMultiply, i->operand(0), make::Full(i->parent(), type, i->shape().dims(), 1.0 / c));
}

// log2 of a positive power of two that all elements of `x` are, or -1.
int64_t PowerOfTwo(const I* x) {
  const auto scalar = AsBroadcastScalar(x);
  if (!scalar || !IsIntegral(x->type())) return -1;
  const uint64_t c = static_cast<uint64_t>(scalar->literal->GetInt(0));
  const bool power = c != 0 && (c & (c - 1)) == 0 && !(IsSignedInt(x->type()) && scalar->literal->GetInt(0) < 0);
  return ChooseSafe(power ? std::countr_zero(c) + 1 : 0) - 1;
}

// x / 2^k -> x >> k, unsigned
I* UnsignedDivide(I* i, PassContext&) {
  const int64_t k = PowerOfTwo(i->operand(1));
  if (!IsUnsignedInt(i->type()) || k <= 0) return nullptr;
  return make::Binary(HloOpcode::kShiftRightLogical, i->operand(0),
                      make::Full(i->parent(), i->type(), i->shape().dims(), static_cast<double>(k)));
}

// x % 2^k -> x & (2^k - 1), unsigned
I* UnsignedRemainder(I* i, PassContext&) {
  const int64_t k = PowerOfTwo(i->operand(1));
  if (!IsUnsignedInt(i->type()) || k < 0 || k > 52) return nullptr;
  return make::Binary(
      HloOpcode::kAnd, i->operand(0),
      make::Full(i->parent(), i->type(), i->shape().dims(), static_cast<double>((int64_t{1} << k) - 1)));
}

// An integer that all elements of a constant are.
const I* UniformConstant(const I* x) {
  if (x->opcode() == HloOpcode::kBroadcast) x = x->operand(0);
  return IsInt(x) && x->IsBroadcastScalarConstant() && x->literal().size() > 0 ? x : nullptr;
}

// The largest number that elements of x may be, where all are known to be in [0, 2^32); else -1.
int64_t MostOf(const I* x, int depth = 6) {
  const auto bounded = [](int64_t most) { return most >= 0 && most >> 32 == 0 ? most : -1; };
  if (!IsInt(x) || depth == 0) return -1;
  if (const I* constant = UniformConstant(x)) return bounded(constant->literal().GetInt(0));
  const int bits = ElementBits(x->type());
  switch (x->opcode()) {
    case HloOpcode::kIota: {
      const int64_t most = x->shape().dim(x->attr<AttrKind::kIotaDimension>()) - 1;
      return bits == 64 || (bits == 32 && most >> 31 == 0) ? bounded(most) : -1;  // others may have wrapped
    }
    case HloOpcode::kBroadcast:
    case HloOpcode::kReshape:
    case HloOpcode::kTranspose:
    case HloOpcode::kSlice:
      return MostOf(x->operand(0), depth - 1);
    case HloOpcode::kConvert: {
      const ElementType from = x->operand(0)->type();
      if (bits < 64) return -1;
      const int64_t most = MostOf(x->operand(0), depth - 1);
      return most < 0 && IsUnsignedInt(from) && ElementBits(from) <= 32 ? (int64_t{1} << ElementBits(from)) - 1 : most;
    }
    case HloOpcode::kDivide:
    case HloOpcode::kRemainder: {
      const int64_t by = UniformConstant(x->operand(1)) == nullptr ? -1 : MostOf(x->operand(1), 1);
      const int64_t most = by <= 0 ? -1 : MostOf(x->operand(0), depth - 1);
      return x->opcode() == HloOpcode::kDivide ? most : std::min(most, by - 1);
    }
    case HloOpcode::kAdd:
    case HloOpcode::kSelect: {
      const bool add = x->opcode() == HloOpcode::kAdd;
      if (add && bits < 64) return -1;
      const int64_t one = MostOf(x->operand(add ? 0 : 1), depth - 1);
      const int64_t other = one < 0 ? -1 : MostOf(x->operand(add ? 1 : 2), depth - 1);
      return other < 0 ? -1 : bounded(add ? one + other : std::max(one, other));
    }
    default:
      return -1;
  }
}

// x / c and x % c in 64 bits, where x and c are known to have 32 -> the same in 32 bits: machines divide vectors by a
// constant with products of twice the width, which 64 bits lack.
I* SmallDivision(I* i, PassContext&) {
  I *x = i->operand(0), *y = i->operand(1);
  if (!IsInt(i) || ElementBits(i->type()) != 64 || i->shape().IsScalar()) return nullptr;
  if (UniformConstant(y) == nullptr || !ChooseSafe(MostOf(x) >= 0 && MostOf(y) > 0)) return nullptr;
  I* narrow = x->opcode() == HloOpcode::kIota
                  ? x->parent()->Add(x->CloneWith(Shape(ElementType::kU32, x->shape().dims()), {}))
                  : make::Convert(x, ElementType::kU32);
  I* by = make::Broadcast(make::ScalarInt(i->parent(), ElementType::kU32, MostOf(y)), i->shape().dims(), {});
  return make::Convert(make::Binary(i->opcode(), narrow, by), i->type());
}

// --x -> x; the same for not
I* TwiceUndone(I* i, PassContext&) {
  return i->operand(0)->opcode() == i->opcode() ? i->operand(0)->operand(0) : nullptr;
}

// |-x| -> |x|, ||x|| -> |x|
I* AbsOfSign(I* i, PassContext&) {
  I *x = i->operand(0), *y;
  if (IsComplex(x->type())) return nullptr;
  if (m::Match(x, m::Abs(m::Any(&y))) && !IsComplex(y->type())) return x;
  if (m::Match(x, m::Negate(m::Any(&y))) && !IsUnsignedInt(x->type())) return make::Unary(HloOpcode::kAbs, y);
  return nullptr;
}

// op(op(x)) -> op(x) for floor, ceil and the roundings
I* TwiceTheSame(I* i, PassContext&) { return i->operand(0)->opcode() == i->opcode() ? i->operand(0) : nullptr; }

// max(x, x) -> x, min(x, x) -> x, x & x -> x, x | x -> x
I* SameOperands(I* i, PassContext&) { return i->operand(0) == i->operand(1) ? i->operand(0) : nullptr; }

// x^1 -> x, x^2 -> x * x (correctly rounded, as a power function may but need not be), x^-1 -> 1 / x
I* SimplePower(I* i, PassContext&) {
  I* x;
  if (!IsReal(i) && !IsInt(i)) return nullptr;
  if (m::Match(i, m::Power(m::Any(&x), m::BroadcastScalar(1)))) return x;
  if (m::Match(i, m::Power(m::Any(&x), m::BroadcastScalar(2)))) return make::Binary(HloOpcode::kMultiply, x, x);
  if (IsReal(i) && m::Match(i, m::Power(m::Any(&x), m::BroadcastScalar(-1)))) {
    return make::Binary(HloOpcode::kDivide, make::Full(i->parent(), i->type(), i->shape().dims(), 1.0), x);
  }
  return nullptr;
}

// x << 0 -> x and so on
I* ShiftZero(I* i, PassContext&) { return IsAll(i->operand(1), 0.0) ? i->operand(0) : nullptr; }

// real(complex(a, b)) -> a, imag(complex(a, b)) -> b
I* PartOfComplex(I* i, PassContext&) {
  I *a, *b;
  if (!m::Match(i->operand(0), m::Complex(m::Any(&a), m::Any(&b)))) return nullptr;
  return i->opcode() == HloOpcode::kReal ? a : b;
}

// complex(real(z), imag(z)) -> z
I* ComplexOfParts(I* i, PassContext&) {
  I* z;
  if (!m::Match(i, m::Complex(m::Real(m::Any(&z)), m::Imag(m::Same(&z))))) return nullptr;
  return IsComplex(z->type()) ? z : nullptr;
}

}  // namespace

absl::Span<const RewriteRow> ArithmeticRows() {
  static constexpr RewriteRow kRows[] = {
      {"add_zero", HloOpcode::kAdd, AddZero},
      {"add_negate", HloOpcode::kAdd, AddNegate},
      {"subtract_zero", HloOpcode::kSubtract, SubtractZero},
      {"subtract_negate", HloOpcode::kSubtract, SubtractNegate},
      {"subtract_self", HloOpcode::kSubtract, SubtractSelf},
      {"multiply_one", HloOpcode::kMultiply, MultiplyOne},
      {"multiply_zero", HloOpcode::kMultiply, MultiplyZero},
      {"multiply_minus_one", HloOpcode::kMultiply, MultiplyMinusOne},
      {"divide_one", HloOpcode::kDivide, DivideOne},
      {"divide_power_of_two", HloOpcode::kDivide, DividePowerOfTwo},
      {"small_division", HloOpcode::kDivide, SmallDivision},
      {"small_division", HloOpcode::kRemainder, SmallDivision},
      {"unsigned_divide", HloOpcode::kDivide, UnsignedDivide},
      {"unsigned_remainder", HloOpcode::kRemainder, UnsignedRemainder},
      {"negate_twice", HloOpcode::kNegate, TwiceUndone},
      {"not_twice", HloOpcode::kNot, TwiceUndone},
      {"abs_of_sign", HloOpcode::kAbs, AbsOfSign},
      {"floor_twice", HloOpcode::kFloor, TwiceTheSame},
      {"ceil_twice", HloOpcode::kCeil, TwiceTheSame},
      {"round_twice", HloOpcode::kRoundNearestEven, TwiceTheSame},
      {"max_self", HloOpcode::kMaximum, SameOperands},
      {"min_self", HloOpcode::kMinimum, SameOperands},
      {"and_self", HloOpcode::kAnd, SameOperands},
      {"or_self", HloOpcode::kOr, SameOperands},
      {"simple_power", HloOpcode::kPower, SimplePower},
      {"shift_left_zero", HloOpcode::kShiftLeft, ShiftZero},
      {"shift_right_arithmetic_zero", HloOpcode::kShiftRightArithmetic, ShiftZero},
      {"shift_right_logical_zero", HloOpcode::kShiftRightLogical, ShiftZero},
      {"real_of_complex", HloOpcode::kReal, PartOfComplex},
      {"imag_of_complex", HloOpcode::kImag, PartOfComplex},
      {"complex_of_parts", HloOpcode::kComplex, ComplexOfParts},
  };
  return kRows;
}

}  // namespace xc
