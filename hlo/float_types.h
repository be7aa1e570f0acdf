// The narrow floating-point types as storage classes: exact conversion to f32, round-to-nearest-even from f32 and f64.
#ifndef XC_HLO_FLOAT_TYPES_H_
#define XC_HLO_FLOAT_TYPES_H_

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "hlo/element_type.h"

namespace xc {

// What the encodings beyond the finite numbers mean.
enum class FloatKind {
  kIeee,      // infinities and NaNs as in IEEE 754
  kFn,        // no infinity; NaN is all ones below the sign (f8e4m3fn)
  kFnuz,      // no infinity, no negative zero; NaN is the encoding of -0
  kFinite,    // neither infinity nor NaN (f4e2m1fn, f6*): overflow and infinity saturate, NaN becomes -0
  kExponent,  // f8e8m0fnu: unsigned power of two, NaN is 0xFF
};

// A float of 1 sign bit, `E` exponent bits and `M` mantissa bits, stored in the low bits of `Bits`.
template <typename Bits, int E, int M, int kBias, FloatKind kKind>
struct NarrowFloat {
  Bits bits = 0;

  static constexpr int kWidth = kKind == FloatKind::kExponent ? 8 : 1 + E + M;
  static constexpr int kMantissaBits = M;
  static constexpr int kExponentBits = E;
  static constexpr int kExponentBias = kBias;
  static constexpr FloatKind kFloatKind = kKind;

  NarrowFloat() = default;
  explicit NarrowFloat(double value) : bits(FromDouble(value)) {}
  explicit NarrowFloat(float value) : bits(FromDouble(static_cast<double>(value))) {}
  static NarrowFloat FromBits(Bits b) {
    NarrowFloat f;
    f.bits = b;
    return f;
  }
  explicit operator float() const { return static_cast<float>(ToDouble()); }
  explicit operator double() const { return ToDouble(); }

  static constexpr Bits SignBit() { return static_cast<Bits>(Bits{1} << (E + M)); }
  static constexpr Bits MaxFinite() {
    if constexpr (kKind == FloatKind::kIeee) return static_cast<Bits>(((Bits{1} << E) - 1) << M) - 1;
    if constexpr (kKind == FloatKind::kFn) return static_cast<Bits>((Bits{1} << (E + M)) - 2);
    return static_cast<Bits>((Bits{1} << (E + M)) - 1);
  }
  static constexpr Bits Nan() {
    if constexpr (kKind == FloatKind::kIeee)
      return static_cast<Bits>((((Bits{1} << E) - 1) << M) | (Bits{1} << (M - 1)));
    if constexpr (kKind == FloatKind::kFn) return static_cast<Bits>((Bits{1} << (E + M)) - 1);
    if constexpr (kKind == FloatKind::kFnuz) return SignBit();
    return SignBit();  // kFinite: NaN has no encoding; -0 stands for it
  }

  double ToDouble() const {
    const double sign = (bits & SignBit()) ? -1.0 : 1.0;
    const int exponent = (bits >> M) & ((1 << E) - 1);
    const int mantissa = bits & ((1 << M) - 1);
    if constexpr (kKind == FloatKind::kIeee) {
      if (exponent == (1 << E) - 1) {
        if (mantissa) return std::copysign(std::numeric_limits<double>::quiet_NaN(), sign);
        return sign * std::numeric_limits<double>::infinity();
      }
    } else if constexpr (kKind == FloatKind::kFn) {
      if ((bits & (SignBit() - 1)) == SignBit() - 1) {
        return std::copysign(std::numeric_limits<double>::quiet_NaN(), sign);
      }
    } else if constexpr (kKind == FloatKind::kFnuz) {
      if (bits == SignBit()) return std::numeric_limits<double>::quiet_NaN();
    }
    if (exponent == 0) return sign * std::ldexp(static_cast<double>(mantissa), 1 - kBias - M);
    return sign * std::ldexp(static_cast<double>(mantissa | (1 << M)), exponent - kBias - M);
  }

  static Bits FromDouble(double value) {
    const uint64_t raw = std::bit_cast<uint64_t>(value);
    const Bits sign = (raw >> 63) ? SignBit() : Bits{0};
    if (std::isnan(value)) return kKind == FloatKind::kFnuz || kKind == FloatKind::kFinite ? Nan() : (Nan() | sign);
    const Bits overflow = kKind == FloatKind::kIeee     ? static_cast<Bits>(MaxFinite() + 1)
                          : kKind == FloatKind::kFinite ? MaxFinite()
                                                        : Nan();
    const auto with_sign = [&](Bits magnitude) -> Bits {
      if constexpr (kKind == FloatKind::kFnuz) {
        if (magnitude == 0 || magnitude == Nan()) return magnitude;
      }
      return magnitude | sign;
    };
    if (std::isinf(value)) return with_sign(overflow);
    const uint64_t fraction = raw & ((uint64_t{1} << 52) - 1);
    int exponent = static_cast<int>((raw >> 52) & 0x7FF);
    if (exponent == 0) return with_sign(0);                 // zeros and f64 denormals are below every narrow type
    uint64_t significand = fraction | (uint64_t{1} << 52);  // value = significand * 2^(exponent - 1075)
    int target = exponent - 1023 + kBias;
    int shift = 52 - M;
    if (target < 1) {
      shift += 1 - target;
      target = 0;
    }
    if (shift > 60) return with_sign(0);
    uint64_t rounded = significand >> shift;
    const uint64_t rest = significand & ((uint64_t{1} << shift) - 1);
    const uint64_t half = uint64_t{1} << (shift - 1);
    if (rest > half || (rest == half && (rounded & 1))) ++rounded;
    // A normal significand carries its hidden bit into the exponent field; a denormal that rounds up does so by itself.
    const uint64_t encoded = (target == 0 ? 0 : (static_cast<uint64_t>(target - 1) << M)) + rounded;
    if (encoded > MaxFinite()) return with_sign(overflow);
    return with_sign(static_cast<Bits>(encoded));
  }
};

using F8E5M2 = NarrowFloat<uint8_t, 5, 2, 15, FloatKind::kIeee>;
using F8E4M3 = NarrowFloat<uint8_t, 4, 3, 7, FloatKind::kIeee>;
using F8E3M4 = NarrowFloat<uint8_t, 3, 4, 3, FloatKind::kIeee>;
using F8E4M3FN = NarrowFloat<uint8_t, 4, 3, 7, FloatKind::kFn>;
using F8E4M3B11FNUZ = NarrowFloat<uint8_t, 4, 3, 11, FloatKind::kFnuz>;
using F8E5M2FNUZ = NarrowFloat<uint8_t, 5, 2, 16, FloatKind::kFnuz>;
using F8E4M3FNUZ = NarrowFloat<uint8_t, 4, 3, 8, FloatKind::kFnuz>;
using F4E2M1FN = NarrowFloat<uint8_t, 2, 1, 1, FloatKind::kFinite>;
using F6E2M3FN = NarrowFloat<uint8_t, 2, 3, 1, FloatKind::kFinite>;
using F6E3M2FN = NarrowFloat<uint8_t, 3, 2, 3, FloatKind::kFinite>;

// f16 and bf16 convert by bit operations on f32, which is much quicker than the general path.
struct F16 : NarrowFloat<uint16_t, 5, 10, 15, FloatKind::kIeee> {
  using Base = NarrowFloat<uint16_t, 5, 10, 15, FloatKind::kIeee>;
  F16() = default;
  explicit F16(double value) : Base(value) {}
  explicit F16(float value) : Base(static_cast<double>(value)) {}
  F16(const Base& base) : Base(base) {}  // NOLINT: same value
};

struct BF16 {
  uint16_t bits = 0;
  BF16() = default;
  explicit BF16(float value) {
    const uint32_t raw = std::bit_cast<uint32_t>(value);
    if (std::isnan(value)) {
      bits = static_cast<uint16_t>((raw >> 16) | 0x40);
    } else {
      bits = static_cast<uint16_t>((raw + 0x7FFF + ((raw >> 16) & 1)) >> 16);
    }
  }
  // Rounds once: through f32 with round-to-odd, so that no double rounding occurs.
  explicit BF16(double value) {
    float f = static_cast<float>(value);
    if (std::isfinite(f) && static_cast<double>(f) != value) {
      uint32_t raw = std::bit_cast<uint32_t>(f);
      if (std::fabs(static_cast<double>(f)) > std::fabs(value)) --raw;
      raw |= 1;
      f = std::bit_cast<float>(raw);
    }
    *this = BF16(f);
  }
  static BF16 FromBits(uint16_t b) {
    BF16 f;
    f.bits = b;
    return f;
  }
  explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
  explicit operator double() const { return static_cast<float>(*this); }
};

// f8e8m0fnu: the value 2^(bits - 127); 0xFF is NaN. From other values: rounded to the nearest power, ties to the larger
// one; zero, negative values and NaN have no place and become NaN.
struct F8E8M0FNU {
  uint8_t bits = 0;
  F8E8M0FNU() = default;
  explicit F8E8M0FNU(double value) {
    if (std::isnan(value) || value <= 0 || std::isinf(value)) {
      bits = 0xFF;
      return;
    }
    int exponent;
    const double fraction = std::frexp(value, &exponent);  // fraction in [0.5, 1)
    const int power = exponent - 1 + 127 + (fraction >= 0.75 ? 1 : 0);
    bits = power < 0 ? 0 : power > 254 ? 0xFF : static_cast<uint8_t>(power);
  }
  explicit F8E8M0FNU(float value) : F8E8M0FNU(static_cast<double>(value)) {}
  static F8E8M0FNU FromBits(uint8_t b) {
    F8E8M0FNU f;
    f.bits = b;
    return f;
  }
  explicit operator double() const {
    return bits == 0xFF ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, bits - 127);
  }
  explicit operator float() const { return static_cast<float>(static_cast<double>(*this)); }
};

// Integers narrower than a byte, one per byte. Conversion from wider integers keeps the low bits.
template <int kBits, bool kSigned>
struct NarrowInt {
  using Storage = std::conditional_t<kSigned, int8_t, uint8_t>;
  Storage value = 0;
  NarrowInt() = default;
  explicit NarrowInt(int64_t v) {
    if constexpr (kSigned) {
      value = static_cast<Storage>(static_cast<int64_t>(static_cast<uint64_t>(v) << (64 - kBits)) >> (64 - kBits));
    } else {
      value = static_cast<Storage>(static_cast<uint64_t>(v) & ((1u << kBits) - 1));
    }
  }
  explicit operator int64_t() const { return value; }
};
using S1 = NarrowInt<1, true>;
using S2 = NarrowInt<2, true>;
using S4 = NarrowInt<4, true>;
using U1 = NarrowInt<1, false>;
using U2 = NarrowInt<2, false>;
using U4 = NarrowInt<4, false>;

// The C++ type in which one element of an array is stored.
template <ElementType>
struct NativeTypeOf;
#define XC_NATIVE_TYPES(X)         \
  X(kPred, bool)                   \
  X(kS8, int8_t)                   \
  X(kS16, int16_t)                 \
  X(kS32, int32_t)                 \
  X(kS64, int64_t)                 \
  X(kU8, uint8_t)                  \
  X(kU16, uint16_t)                \
  X(kU32, uint32_t)                \
  X(kU64, uint64_t)                \
  X(kF16, F16)                     \
  X(kF32, float)                   \
  X(kF64, double)                  \
  X(kC64, std::complex<float>)     \
  X(kC128, std::complex<double>)   \
  X(kBF16, BF16)                   \
  X(kF8E5M2, F8E5M2)               \
  X(kF8E4M3FN, F8E4M3FN)           \
  X(kS4, S4)                       \
  X(kU4, U4)                       \
  X(kF8E4M3B11FNUZ, F8E4M3B11FNUZ) \
  X(kF8E5M2FNUZ, F8E5M2FNUZ)       \
  X(kF8E4M3FNUZ, F8E4M3FNUZ)       \
  X(kS2, S2)                       \
  X(kU2, U2)                       \
  X(kF8E4M3, F8E4M3)               \
  X(kF8E3M4, F8E3M4)               \
  X(kS1, S1)                       \
  X(kU1, U1)                       \
  X(kF4E2M1FN, F4E2M1FN)           \
  X(kF8E8M0FNU, F8E8M0FNU)         \
  X(kF6E2M3FN, F6E2M3FN)           \
  X(kF6E3M2FN, F6E3M2FN)
#define XC_X(e, T)                      \
  template <>                           \
  struct NativeTypeOf<ElementType::e> { \
    using type = T;                     \
  };
XC_NATIVE_TYPES(XC_X)
#undef XC_X
template <ElementType kType>
using Native = typename NativeTypeOf<kType>::type;

// Calls `f.template operator()<ElementType>()` for the array type `type`; `f` is a generic lambda
// `[&]<ElementType kType>() { … }`. Non-array types reach `otherwise`.
template <typename F, typename Otherwise>
auto DispatchArrayType(ElementType type, F&& f, Otherwise&& otherwise) {
  switch (type) {
#define XC_X(e, T)     \
  case ElementType::e: \
    return f.template operator()<ElementType::e>();
    XC_NATIVE_TYPES(XC_X)
#undef XC_X
    default:
      return otherwise();
  }
}

}  // namespace xc

#endif  // XC_HLO_FLOAT_TYPES_H_
