// Elementwise arithmetic of two operands, and comparisons.
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "backends/interpreter/elementwise.h"
#include "backends/interpreter/elementwise_loops.h"
#include "backends/runtime/complex_power.h"

namespace xc::interp {
namespace {

// Integers wrap: computed on uint64_t.
template <typename C>
inline constexpr bool kInt = std::is_integral_v<C>;

// fma(a, c, -(b * d)) + fma(a, d, b * c) i in the precision of `type`: products of f32 are exact in f64.
Complex MultiplyComplex(ElementType type, Complex x, Complex y) {
  if (type == ElementType::kC64) {
    // Multiplied as floats: GCC 12 sometimes drops two roundings of doubles to float side by side.
    const float im = static_cast<float>(x.imag());
    const float bd = im * static_cast<float>(y.imag()), bc = im * static_cast<float>(y.real());
    return Complex(x.real() * y.real() - bd, x.real() * y.imag() + bc);
  }
  const double bd = x.imag() * y.imag(), bc = x.imag() * y.real();
  return Complex(std::fma(x.real(), y.real(), -bd), std::fma(x.real(), y.imag(), bc));
}

XC_OP2(Add, if constexpr (kInt<C>) return static_cast<C>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
       else return x + y)
XC_OP2(Subtract, if constexpr (kInt<C>) return static_cast<C>(static_cast<uint64_t>(x) - static_cast<uint64_t>(y));
       else return x - y)
XC_OP2(Multiply, if constexpr (kInt<C>) return static_cast<C>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
       else if constexpr (std::is_same_v<C, Complex>) return MultiplyComplex(op.out, x, y); else return x * y)
XC_OP2(
    Divide,
    if constexpr (kInt<C>) {
      if (y == 0) return static_cast<C>(-1);
      if (std::is_signed_v<C> && y == static_cast<C>(-1)) return static_cast<C>(-static_cast<uint64_t>(x));
      return static_cast<C>(x / y);
    } else return x /
        y)
XC_OP2(
    Remainder, if constexpr (kInt<C>) {
      if (y == 0) return x;
      if (std::is_signed_v<C> && y == static_cast<C>(-1)) return C(0);
      return static_cast<C>(x % y);
    } else return std::fmod(x, y))
XC_OP2(
    Maximum, if constexpr (kInt<C>) return x > y ? x : y; else {
      if (std::isnan(x)) return x;
      if (std::isnan(y)) return y;
      if (x == y) return std::signbit(x) ? y : x;
      return x > y ? x : y;
    })
XC_OP2(
    Minimum, if constexpr (kInt<C>) return x < y ? x : y; else {
      if (std::isnan(x)) return x;
      if (std::isnan(y)) return y;
      if (x == y) return std::signbit(x) ? x : y;
      return x < y ? x : y;
    })

template <typename C>
C IntPower(C base, C exponent) {
  if (std::is_signed_v<C> && exponent < 0) {
    if (base == 1) return 1;
    if (base == static_cast<C>(-1)) return exponent % 2 == 0 ? C(1) : static_cast<C>(-1);
    return 0;
  }
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (uint64_t e = static_cast<uint64_t>(exponent); e != 0; e >>= 1) {
    if (e & 1) result *= square;
    square *= square;
  }
  return static_cast<C>(result);
}
Complex ComplexPower(Complex x, Complex y) {
  if (const std::optional<Complex> special = SpecialPower(x, y)) return *special;
  if (y == Complex(1)) return x;
  if (y == Complex(2)) return MultiplyComplex(ElementType::kC128, x, x);
  return std::pow(x, y);
}
XC_OP2(Power, if constexpr (kInt<C>) return IntPower(x, y);
       else if constexpr (std::is_same_v<C, Complex>) return ComplexPower(x, y); else return std::pow(x, y))
XC_OP2(
    Atan2, if constexpr (std::is_same_v<C, Complex>) {
      const Complex i(0, 1);
      return -i * std::log((y + i * x) / std::sqrt(x * x + y * y));
    } else return std::atan2(x, y))

struct MakeComplex {
  Complex operator()(const ElementwiseOp&, double x, double y) const { return {x, y}; }
};

// Signed integers in the order -NaN < -inf < … < -0 < +0 < … < +inf < +NaN.
int64_t TotalOrderKey(double x) {
  const int64_t bits = std::bit_cast<int64_t>(x);
  return bits < 0 ? std::numeric_limits<int64_t>::min() - bits - 1 : bits;
}
int64_t TotalOrderKey(float x) {
  const int32_t bits = std::bit_cast<int32_t>(x);
  return bits < 0 ? std::numeric_limits<int32_t>::min() - int64_t{bits} - 1 : bits;
}

template <CompareDirection kDirection>
struct Compare {
  template <typename C>
  uint64_t operator()(const ElementwiseOp&, C x, C y) const {
    if constexpr (kDirection == CompareDirection::kEq) return x == y;
    if constexpr (kDirection == CompareDirection::kNe) return x != y;
    if constexpr (!std::is_same_v<C, Complex>) {
      if constexpr (kDirection == CompareDirection::kLt) return x < y;
      if constexpr (kDirection == CompareDirection::kLe) return x <= y;
      if constexpr (kDirection == CompareDirection::kGt) return x > y;
      if constexpr (kDirection == CompareDirection::kGe) return x >= y;
    }
    return 0;
  }
};
template <CompareDirection kDirection>
struct CompareTotal {
  template <typename C>
  uint64_t operator()(const ElementwiseOp& op, C x, C y) const {
    return Compare<kDirection>()(op, TotalOrderKey(x), TotalOrderKey(y));
  }
};

template <CompareDirection kDirection>
ElementwiseFn CompareOf(const ElementwiseOp& op) {
  const ElementType type = op.in[0];
  if (IsComplex(type)) {
    if (kDirection != CompareDirection::kEq && kDirection != CompareDirection::kNe) return nullptr;
    return &BinaryLoop<Complex, uint64_t, Compare<kDirection>>;
  }
  if (IsFloating(type)) {
    if (type == ElementType::kF64) {
      return op.total_order ? &BinaryLoop<double, uint64_t, CompareTotal<kDirection>>
                            : &BinaryLoop<double, uint64_t, Compare<kDirection>>;
    }
    return op.total_order ? &BinaryLoop<float, uint64_t, CompareTotal<kDirection>>
                          : &BinaryLoop<float, uint64_t, Compare<kDirection>>;
  }
  return IsSignedInt(type) ? &BinaryLoop<int64_t, uint64_t, Compare<kDirection>>
                           : &BinaryLoop<uint64_t, uint64_t, Compare<kDirection>>;
}

ElementwiseFn FindCompare(const ElementwiseOp& op) {
  switch (op.direction) {
    case CompareDirection::kEq:
      return CompareOf<CompareDirection::kEq>(op);
    case CompareDirection::kNe:
      return CompareOf<CompareDirection::kNe>(op);
    case CompareDirection::kGe:
      return CompareOf<CompareDirection::kGe>(op);
    case CompareDirection::kGt:
      return CompareOf<CompareDirection::kGt>(op);
    case CompareDirection::kLe:
      return CompareOf<CompareDirection::kLe>(op);
    case CompareDirection::kLt:
      return CompareOf<CompareDirection::kLt>(op);
  }
  return nullptr;
}

// In f32 for f32 and narrower floats: + - * / are then rounded as if once, because f32 has more than twice the bits of
// every narrower type.
template <typename F>
ElementwiseFn Numeric(const ElementwiseOp& op) {
  const ElementType type = op.in[0];
  if (type == ElementType::kF64) return &BinaryLoop<double, double, F>;
  if (IsFloating(type)) return &BinaryLoop<float, float, F>;
  if (IsSignedInt(type)) return &BinaryLoop<int64_t, int64_t, F>;
  return IsArrayType(type) && !IsComplex(type) ? &BinaryLoop<uint64_t, uint64_t, F> : nullptr;
}
template <typename F>
ElementwiseFn NumericOrComplex(const ElementwiseOp& op) {
  return IsComplex(op.in[0]) ? &BinaryLoop<Complex, Complex, F> : Numeric<F>(op);
}
// Through f64.
template <typename F>
ElementwiseFn Transcendental(const ElementwiseOp& op) {
  if (IsComplex(op.in[0])) return &BinaryLoop<Complex, Complex, F>;
  return IsFloating(op.in[0]) ? &BinaryLoop<double, double, F> : nullptr;
}

}  // namespace

ElementwiseFn FindBinary(const ElementwiseOp& op) {
  if (op.operands != 2) return nullptr;
  if (op.opcode == HloOpcode::kComplex) {
    return IsFloating(op.in[0]) && IsComplex(op.out) ? &BinaryLoop<double, Complex, MakeComplex> : nullptr;
  }
  if (op.in[0] != op.in[1]) return nullptr;
  // On pred, sums are or and products are and.
  const bool pred = op.in[0] == ElementType::kPred;
  switch (op.opcode) {
    case HloOpcode::kAdd:
      return pred ? Numeric<Maximum>(op) : NumericOrComplex<Add>(op);
    case HloOpcode::kSubtract:
      return NumericOrComplex<Subtract>(op);
    case HloOpcode::kMultiply:
      return pred ? Numeric<Minimum>(op) : NumericOrComplex<Multiply>(op);
    case HloOpcode::kDivide:
      return NumericOrComplex<Divide>(op);
    case HloOpcode::kRemainder:
      return Numeric<Remainder>(op);
    case HloOpcode::kMaximum:
      return Numeric<Maximum>(op);
    case HloOpcode::kMinimum:
      return Numeric<Minimum>(op);
    case HloOpcode::kPower:
      return IsIntegral(op.in[0]) ? Numeric<Power>(op) : Transcendental<Power>(op);
    case HloOpcode::kAtan2:
      return Transcendental<Atan2>(op);
    case HloOpcode::kCompare:
      return FindCompare(op);
    default:
      return nullptr;
  }
}

}  // namespace xc::interp
