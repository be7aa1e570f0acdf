// Copies parts of matrices into panels, in the order in which the kernels of gemm_kernels.cc read them.
#ifndef XC_BACKENDS_RUNTIME_GEMM_PACK_H_
#define XC_BACKENDS_RUNTIME_GEMM_PACK_H_

#include <stdint.h>

#include <utility>

#include "backends/runtime/gemm_elements.h"

namespace xc::XC_GEMM_ISA {

// Sums in registers at a time: so many elements of A by so many vectors of B.
inline constexpr int kRows = kVectorBytes == 64 ? 8 : 4, kVectors = kVectorBytes == 16 ? 2 : 3;

template <typename Acc>
constexpr int64_t NR() {
  return kVectors * kVectorBytes / static_cast<int64_t>(sizeof(Acc));
}

template <typename T, typename U>
constexpr bool kSame = false;
template <typename T>
constexpr bool kSame<T, T> = true;

constexpr int64_t RoundUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// One step of a transposition: pairs of elements `step` apart of rows `step` apart change places. `I`: 0 to lanes - 1.
template <int step, typename Vec, int... I>
inline void Exchange(Vec* rows, std::integer_sequence<int, I...>) {
  constexpr int lanes = sizeof...(I);
#pragma GCC unroll 8
  for (int i = 0; i < lanes; ++i) {
    if ((i & step) != 0) continue;
    const Vec x = rows[i], y = rows[i + step];
    rows[i] = __builtin_shufflevector(x, y, ((I & step) != 0 ? I - step + lanes : I)...);
    rows[i + step] = __builtin_shufflevector(x, y, ((I & step) != 0 ? I + lanes : I + step)...);
  }
}

// Whether `n` rows of `n` elements, `n` a vector's, are transposed in registers.
template <typename Acc, typename T>
constexpr bool kInRegisters = kSame<Acc, T> && sizeof(Acc) == 8 && kVectorBytes == 64 && kRows == 8;

// to[p * pitch + i] = from[i * row_stride + p] for i and p below 8.
template <typename Acc>
inline void Transpose8(const Acc* from, int64_t row_stride, int64_t pitch, Acc* to) {
  typedef Acc Vec __attribute__((vector_size(kVectorBytes), may_alias, aligned(alignof(Acc))));
  constexpr auto lanes = std::make_integer_sequence<int, 8>();
  Vec rows[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) rows[i] = *reinterpret_cast<const Vec*>(from + i * row_stride);
  Exchange<4>(rows, lanes);
  Exchange<2>(rows, lanes);
  Exchange<1>(rows, lanes);
#pragma GCC unroll 8
  for (int p = 0; p < 8; ++p) *reinterpret_cast<Vec*>(to + p * pitch) = rows[p];
}

// A panel of `count` rows, `pitch` wide, missing rows as 0; elements of one step are neighbours in memory.
template <typename Acc, typename T>
void PackRows(const T* from, int64_t count, int64_t k, int64_t k_stride, int64_t pitch, Acc* to) {
  if constexpr (kSame<Acc, T>) {
    typedef Acc Vec __attribute__((vector_size(kVectorBytes), may_alias, aligned(alignof(Acc))));
    if (count == NR<Acc>() && pitch == NR<Acc>()) {
      for (int64_t p = 0; p < k; ++p, from += k_stride, to += NR<Acc>()) {
#pragma GCC unroll 4
        for (int j = 0; j < kVectors; ++j) reinterpret_cast<Vec*>(to)[j] = reinterpret_cast<const Vec*>(from)[j];
      }
      return;
    }
  }
  for (int64_t p = 0; p < k; ++p, from += k_stride, to += pitch) {
    LoadRun(from, count, to);
    for (int64_t i = count; i < pitch; ++i) to[i] = 0;
  }
}

// Copies `rows` x `k` elements into panels of `width` rows, k-major within a panel; the last is as wide as the next
// multiple of `unit`, missing rows as 0. Element (i, p) stands at from[i * row_stride + p * k_stride].
template <typename Acc, typename T>
void Pack(const T* from, int64_t rows, int64_t k, int64_t row_stride, int64_t k_stride, int64_t width, int64_t unit,
          Acc* to) {
  constexpr int64_t kSteps = 16;  // what is written at a time stays in the nearest cache
  if (row_stride == 1) {
    // A few steps of all panels at a time: memory is read along its lines.
    for (int64_t p0 = 0; p0 < k; p0 += kSteps) {
      const int64_t steps = k - p0 < kSteps ? k - p0 : kSteps;
      for (int64_t i0 = 0; i0 < rows; i0 += width) {
        const int64_t count = rows - i0 < width ? rows - i0 : width;
        const int64_t pitch = count < width ? RoundUp(count, unit) : width;
        PackRows(from + i0 + p0 * k_stride, count, steps, k_stride, pitch, to + i0 * k + p0 * pitch);
      }
    }
    return;
  }
  for (int64_t i0 = 0; i0 < rows; i0 += width) {
    const int64_t count = rows - i0 < width ? rows - i0 : width;
    const int64_t pitch = count < width ? RoundUp(count, unit) : width;
    const T* panel = from + i0 * row_stride;
    for (int64_t p0 = 0; p0 < k; p0 += kSteps) {
      const int64_t end = k - p0 < kSteps ? k : p0 + kSteps;
      const bool whole = k_stride == 1 && end == p0 + kSteps;
      int64_t i = 0;
      if constexpr (kInRegisters<Acc, T>) {
        for (; whole && i + 8 <= count; i += 8) {
          for (int64_t p = p0; p < end; p += 8) {
            Transpose8(panel + i * row_stride + p, row_stride, pitch, to + p * pitch + i);
          }
        }
      }
      for (; i < count; ++i) {
        const T* row = panel + i * row_stride;
        if (whole) {
          Acc steps[kSteps];
          LoadRun(row + p0, kSteps, steps);
          for (int64_t p = 0; p < kSteps; ++p) to[(p0 + p) * pitch + i] = steps[p];
          continue;
        }
        for (int64_t p = p0; p < end; ++p) to[p * pitch + i] = Load<Acc>(row[p * k_stride]);
      }
      for (i = count; i < pitch; ++i) {
        for (int64_t p = p0; p < end; ++p) to[p * pitch + i] = 0;
      }
    }
    to += k * pitch;
  }
}

// Vectors of `Bytes` of a part, and the places of real and imaginary parts in two of them.
template <typename Acc, int Bytes>
struct Parts {
  static constexpr int kLanes = Bytes / sizeof(Acc);
  typedef Acc Vec __attribute__((vector_size(Bytes), may_alias, aligned(alignof(Acc))));

  template <int... I>
  static inline void Split(const Acc* from, Acc* re, Acc* im, std::integer_sequence<int, I...>) {
    const Vec x = *reinterpret_cast<const Vec*>(from), y = *reinterpret_cast<const Vec*>(from + kLanes);
    *reinterpret_cast<Vec*>(re) = __builtin_shufflevector(x, y, (2 * I)...);
    *reinterpret_cast<Vec*>(im) = __builtin_shufflevector(x, y, (2 * I + 1)...);
  }
};

// Splits neighbouring complex numbers into their parts.
template <typename Acc>
inline void SplitParts(const Acc* from, int64_t count, Acc* re, Acc* im) {
  int64_t i = 0;
  const auto vectors = [&](auto parts) {
    constexpr int lanes = decltype(parts)::kLanes;
    for (; i + lanes <= count; i += lanes) {
      parts.Split(from + 2 * i, re + i, im + i, std::make_integer_sequence<int, lanes>());
    }
  };
  vectors(Parts<Acc, kVectorBytes>());
  if constexpr (kVectorBytes > 32) vectors(Parts<Acc, 32>());
  for (; i < count; ++i) {
    re[i] = from[2 * i];
    im[i] = from[2 * i + 1];
  }
}

// Pack of complex numbers, whose parts go into panels of their own. Strides are in complex numbers.
template <typename Acc>
void PackParts(const Acc* from, int64_t rows, int64_t k, int64_t row_stride, int64_t k_stride, int64_t width,
               int64_t unit, Acc* re, Acc* im) {
  constexpr int64_t kSteps = 16;
  // Pairs of floats are transposed as doubles.
  constexpr bool kInPairs = sizeof(Acc) == 4 && kVectorBytes == 64 && kRows == 8;
  for (int64_t i0 = 0; i0 < rows; i0 += width) {
    const int64_t count = rows - i0 < width ? rows - i0 : width;
    const int64_t pitch = count < width ? RoundUp(count, unit) : width;
    const Acc* panel = from + 2 * i0 * row_stride;
    for (int64_t p0 = 0; p0 < k; p0 += kSteps) {
      const int64_t end = k - p0 < kSteps ? k : p0 + kSteps;
      int64_t i = row_stride == 1 ? count : 0;
      if (row_stride == 1) {
        for (int64_t p = p0; p < end; ++p) {
          SplitParts(panel + 2 * p * k_stride, count, re + p * pitch, im + p * pitch);
        }
      } else if (k_stride == 1) {
        if constexpr (kInPairs) {
          for (; end == p0 + kSteps && i + 8 <= count; i += 8) {
            for (int64_t p = p0; p < end; p += 8) {
              double pairs[64];
              Transpose8(reinterpret_cast<const double*>(panel + 2 * (i * row_stride + p)), row_stride, 8, pairs);
              for (int64_t q = 0; q < 8; ++q) {
                const int64_t at = (p + q) * pitch + i;
                SplitParts(reinterpret_cast<const Acc*>(pairs + 8 * q), 8, re + at, im + at);
              }
            }
          }
        }
        for (; i < count; ++i) {
          Acc parts[2][kSteps];
          SplitParts(panel + 2 * (i * row_stride + p0), end - p0, parts[0], parts[1]);
          for (int64_t p = p0; p < end; ++p) {
            re[p * pitch + i] = parts[0][p - p0];
            im[p * pitch + i] = parts[1][p - p0];
          }
        }
      }
      for (; i < count; ++i) {
        for (int64_t p = p0; p < end; ++p) {
          const Acc* number = panel + 2 * (i * row_stride + p * k_stride);
          re[p * pitch + i] = number[0];
          im[p * pitch + i] = number[1];
        }
      }
      for (i = count; i < pitch; ++i) {
        for (int64_t p = p0; p < end; ++p) re[p * pitch + i] = im[p * pitch + i] = 0;
      }
    }
    re += k * pitch;
    im += k * pitch;
  }
}

}  // namespace xc::XC_GEMM_ISA

#endif  // XC_BACKENDS_RUNTIME_GEMM_PACK_H_
