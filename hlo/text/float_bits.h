// NaNs with payloads, and how many digits a float type needs in text.
#ifndef XC_HLO_TEXT_FLOAT_BITS_H_
#define XC_HLO_TEXT_FLOAT_BITS_H_

#include <bit>
#include <cstdint>

#include "hlo/float_types.h"

namespace xc {

// For each float type T: kMantissa bits, kPayloadMask, kQuietPayload (the NaN that text writes as plain `nan`),
// MakeNan, and Payload/Negative of a NaN. Types with one NaN (per sign) only have payload = mask.
template <typename T>
struct FloatBits;

template <typename T, typename Bits, int kMantissaBits, int kExponentBits>
struct IeeeFloatBits {
  static constexpr int kMantissa = kMantissaBits;
  static constexpr uint64_t kPayloadMask = (uint64_t{1} << kMantissaBits) - 1;
  static constexpr uint64_t kQuietPayload = uint64_t{1} << (kMantissaBits - 1);
  static T MakeNan(bool negative, uint64_t payload) {
    const uint64_t exponent = ((uint64_t{1} << kExponentBits) - 1) << kMantissaBits;
    const uint64_t sign = negative ? uint64_t{1} << (kMantissaBits + kExponentBits) : 0;
    return std::bit_cast<T>(static_cast<Bits>(sign | exponent | payload));
  }
  static uint64_t Payload(T value) { return std::bit_cast<Bits>(value) & kPayloadMask; }
  static bool Negative(T value) { return (std::bit_cast<Bits>(value) >> (kMantissaBits + kExponentBits)) & 1; }
};

template <>
struct FloatBits<float> : IeeeFloatBits<float, uint32_t, 23, 8> {};
template <>
struct FloatBits<double> : IeeeFloatBits<double, uint64_t, 52, 11> {};
template <>
struct FloatBits<F16> : IeeeFloatBits<F16, uint16_t, 10, 5> {};
template <>
struct FloatBits<BF16> : IeeeFloatBits<BF16, uint16_t, 7, 8> {};
template <>
struct FloatBits<F8E5M2> : IeeeFloatBits<F8E5M2, uint8_t, 2, 5> {};
template <>
struct FloatBits<F8E4M3> : IeeeFloatBits<F8E4M3, uint8_t, 3, 4> {};
template <>
struct FloatBits<F8E3M4> : IeeeFloatBits<F8E3M4, uint8_t, 4, 3> {};

// Types whose NaN has one form (or none: then the conversion of a NaN stands for it).
template <typename T, int kMantissaBits>
struct SingleNanBits {
  static constexpr int kMantissa = kMantissaBits;
  static constexpr uint64_t kPayloadMask = 1;
  static constexpr uint64_t kQuietPayload = 1;
  static T MakeNan(bool negative, uint64_t) {
    return T(std::copysign(std::numeric_limits<double>::quiet_NaN(), negative ? -1.0 : 1.0));
  }
  static uint64_t Payload(T) { return kQuietPayload; }
  static bool Negative(T value) { return std::signbit(static_cast<double>(value)); }
};
template <typename Bits, int E, int M, int kBias, FloatKind kKind>
struct FloatBits<NarrowFloat<Bits, E, M, kBias, kKind>> : SingleNanBits<NarrowFloat<Bits, E, M, kBias, kKind>, M> {};
template <>
struct FloatBits<F8E8M0FNU> : SingleNanBits<F8E8M0FNU, 0> {};

}  // namespace xc

#endif  // XC_HLO_TEXT_FLOAT_BITS_H_
