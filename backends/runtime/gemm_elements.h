// What the matrix kernels of one instruction set share: the width of its vectors, elements and their conversions. All
// in a namespace of that set, so that no code compiled for a newer CPU leaks into other files.
#ifndef XC_BACKENDS_RUNTIME_GEMM_ELEMENTS_H_
#define XC_BACKENDS_RUNTIME_GEMM_ELEMENTS_H_

#include <immintrin.h>
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

// Tiles of convolutions whose sums fit into registers (DirectTile).
#if defined(__AVX512F__)
inline constexpr int kDirectRows = 14, kDirectBlocks = 2, kChannelRows = 7;
#elif defined(__AVX2__)
inline constexpr int kDirectRows = 6, kDirectBlocks = 1, kChannelRows = 6;
#else
inline constexpr int kDirectRows = 2, kDirectBlocks = 1, kChannelRows = 4;
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

// The same for `n` neighbours.
template <typename Acc, typename T>
inline void LoadRun(const T* from, int64_t n, Acc* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = Load<Acc>(from[i]);
}
template <typename Acc, typename T>
inline void StoreRun(const Acc* from, int64_t n, T* to) {
  for (int64_t i = 0; i < n; ++i) Store(from[i], to + i);
}

#if defined(__F16C__)
// The compiler converts one by one.
template <>
inline void LoadRun<float, _Float16>(const _Float16* from, int64_t n, float* to) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  }
  for (; i < n; ++i) to[i] = static_cast<float>(from[i]);
}
template <>
inline void StoreRun<float, _Float16>(const float* from, int64_t n, _Float16* to) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m128i narrow = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), narrow);
  }
  for (; i < n; ++i) to[i] = static_cast<_Float16>(from[i]);
}
#endif

}  // namespace xc::XC_GEMM_ISA

#endif  // XC_BACKENDS_RUNTIME_GEMM_ELEMENTS_H_
