// Numbers of 16 bits and less: conversions with exactly one rounding, and the not-a-number that devices give.
#ifndef XC_BACKENDS_GPU_EMULATOR_FLOATS_H_
#define XC_BACKENDS_GPU_EMULATOR_FLOATS_H_

#include <immintrin.h>

#include <cmath>
#include <cstdint>
#include <cstring>

namespace xc::emulator {

template <typename To, typename From>
To BitsAs(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(To));
  return to;
}

enum class Rounding : uint8_t { kNearest, kZero, kDown, kUp };

// Sets how the processor rounds, until the end of the scope. Values that it applies to must be read after `Sees` of
// their memory, and be written before the scope ends.
class RoundingScope {
 public:
  explicit RoundingScope(Rounding rounding) : before_(_mm_getcsr()) {
    constexpr unsigned kModes[] = {_MM_ROUND_NEAREST, _MM_ROUND_TOWARD_ZERO, _MM_ROUND_DOWN, _MM_ROUND_UP};
    if (rounding != Rounding::kNearest) _mm_setcsr((before_ & ~_MM_ROUND_MASK) | kModes[static_cast<int>(rounding)]);
  }
  ~RoundingScope() {
    asm volatile("" ::: "memory");
    _mm_setcsr(before_);
  }
  static void Sees(const void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

 private:
  const unsigned before_;
};

inline float Flushed(float a) { return std::fabs(a) < 1.17549435e-38f ? std::copysign(0.0f, a) : a; }
inline double Flushed(double a) { return a; }

inline float HalfToFloat(uint16_t a) { return _cvtsh_ss(a); }
inline uint16_t FloatToHalf(float a, Rounding rounding = Rounding::kNearest) {
  if (std::isnan(a)) return 0x7FFF;
  switch (rounding) {
    case Rounding::kNearest:
      return _cvtss_sh(a, _MM_FROUND_TO_NEAREST_INT);
    case Rounding::kZero:
      return _cvtss_sh(a, _MM_FROUND_TO_ZERO);
    case Rounding::kDown:
      return _cvtss_sh(a, _MM_FROUND_TO_NEG_INF);
    case Rounding::kUp:
      return _cvtss_sh(a, _MM_FROUND_TO_POS_INF);
  }
  return 0;
}
inline float Bf16ToFloat(uint16_t a) { return BitsAs<float>(static_cast<uint32_t>(a) << 16); }
inline uint16_t FloatToBf16(float a, Rounding rounding = Rounding::kNearest) {
  if (std::isnan(a)) return 0x7FFF;
  const uint32_t bits = BitsAs<uint32_t>(a);
  switch (rounding) {
    case Rounding::kNearest:
      return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
    case Rounding::kZero:
      return static_cast<uint16_t>(bits >> 16);
    case Rounding::kDown:
      return static_cast<uint16_t>((bits >> 16) + ((bits & 0xFFFF) != 0 && bits >> 31 && !std::isinf(a)));
    case Rounding::kUp:
      return static_cast<uint16_t>((bits >> 16) + ((bits & 0xFFFF) != 0 && !(bits >> 31) && !std::isinf(a)));
  }
  return 0;
}

// Rounded to odd: a further rounding to a narrower type then is as if there had been only that.
inline float ToOddFloat(double a) {
  const float near = static_cast<float>(a);
  if (static_cast<double>(near) == a || std::isnan(a)) return near;
  uint32_t bits = BitsAs<uint32_t>(near);
  if (std::fabs(static_cast<double>(near)) > std::fabs(a)) --bits;
  return BitsAs<float>(bits | 1);
}
// a * b + c rounded to odd in double, for a and b of at most 26 bits.
inline double OddFma(float a, float b, float c) {
  const double product = static_cast<double>(a) * b;
  const double sum = product + c;
  if (!std::isfinite(sum)) return sum;
  const double part = sum - product;
  const double error = (product - (sum - part)) + (c - part);
  if (error == 0) return sum;
  uint64_t bits = BitsAs<uint64_t>(sum);
  if ((error < 0) != (sum < 0)) --bits;
  return BitsAs<double>(bits | 1);
}

// How an arithmetic type is kept in registers, and in what its operations are computed.
struct Float32 {
  using Storage = float;
  using Value = float;
  static float Load(float a) { return a; }
  static float Store(float a) { return std::isnan(a) ? BitsAs<float>(0x7FFFFFFFu) : a; }
};
struct Float64 {
  using Storage = double;
  using Value = double;
  static double Load(double a) { return a; }
  static double Store(double a) { return a; }
};
struct Float16 {
  using Storage = uint16_t;
  using Value = float;
  static float Load(uint16_t a) { return HalfToFloat(a); }
  static uint16_t Store(float a) { return FloatToHalf(a); }
  static uint16_t StoreOdd(double a) { return FloatToHalf(ToOddFloat(a)); }
};
struct BFloat16 {
  using Storage = uint16_t;
  using Value = float;
  static float Load(uint16_t a) { return Bf16ToFloat(a); }
  static uint16_t Store(float a) { return FloatToBf16(a); }
  static uint16_t StoreOdd(double a) { return FloatToBf16(ToOddFloat(a)); }
};

// f8 as PTX converts it: to nearest, what is too large becomes the largest number.
uint8_t FloatToF8(float a, bool is_e5m2);
float F8ToFloat(uint8_t a, bool is_e5m2);

}  // namespace xc::emulator

#endif  // XC_BACKENDS_GPU_EMULATOR_FLOATS_H_
