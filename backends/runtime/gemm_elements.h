// What the matrix kernels of one instruction set share: the width of its vectors, elements and their conversions. All
// in a namespace of that set, so that no code compiled for a newer CPU leaks into other files.
#ifndef XC_BACKENDS_RUNTIME_GEMM_ELEMENTS_H_
#define XC_BACKENDS_RUNTIME_GEMM_ELEMENTS_H_

#include <stdint.h>
#include <string.h>

namespace xc::XC_GEMM_ISA {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

struct BF16 {
  uint16_t bits;
};

inline float ToFloat(BF16 x) {
  uint32_t bits = static_cast<uint32_t>(x.bits) << 16;
  float f;
  memcpy(&f, &bits, 4);
  return f;
}

inline BF16 ToBF16(float f) {
  uint32_t bits;
  memcpy(&bits, &f, 4);
  if ((bits & 0x7fffffff) > 0x7f800000) return BF16{static_cast<uint16_t>((bits >> 16) | 0x40)};
  return BF16{static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
}

// The value of an element as the accumulator's (real) type.
template <typename Acc, typename T>
inline Acc Load(T x) {
  return static_cast<Acc>(x);
}
template <>
inline float Load<float, BF16>(BF16 x) {
  return ToFloat(x);
}

template <typename Acc, typename T>
inline void Store(Acc x, T* to) {
  *to = static_cast<T>(x);
}
template <>
inline void Store<float, BF16>(float x, BF16* to) {
  *to = ToBF16(x);
}

}  // namespace xc::XC_GEMM_ISA

#endif  // XC_BACKENDS_RUNTIME_GEMM_ELEMENTS_H_
