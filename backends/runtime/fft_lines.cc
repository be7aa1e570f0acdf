// Moves complex numbers between memory and the split arrays of transforms side by side: lines by transposing blocks in
// registers, columns by taking vectors apart. As gemm_kernels.cc, compiled several times and free of any library.
#include <stdint.h>
#include <string.h>

#include <utility>

#include "backends/runtime/fft_kernels.h"

namespace xc::XC_FFT_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif
constexpr int kWords = kVectorBytes / 8;

typedef int64_t Words __attribute__((vector_size(kVectorBytes), may_alias, aligned(4)));

template <typename T>
struct Floats;
template <>
struct Floats<float> {
  typedef float Vector __attribute__((vector_size(kVectorBytes), may_alias, aligned(4)));
};
template <>
struct Floats<double> {
  typedef double Vector __attribute__((vector_size(kVectorBytes), may_alias, aligned(4)));
};

// Complex numbers in a vector, and vectors of complex numbers that one of each part holds.
template <typename T>
constexpr int kNumbers = kVectorBytes / (2 * sizeof(T));
template <typename T>
constexpr int kLanes = kVectorBytes / sizeof(T);

// The numbers of `a` and `b`, one after the other, that At(0), At(1), … name.
template <auto At, typename Vector, int... I>
inline Vector Pick(Vector a, Vector b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, At(I)...);
}

// Exchanges the blocks of H numbers beside the diagonal of every two rows H apart, then those of half as many.
template <typename T, int H>
inline void TransposeBlocks(Words* rows) {
  if constexpr (H >= 1) {
    constexpr int kUnit = sizeof(T) / 4;  // words of a number
    constexpr auto low = [](int w) { return (w / kUnit & H) != 0 ? kWords + w - H * kUnit : w; };
    constexpr auto high = [](int w) { return (w / kUnit & H) != 0 ? kWords + w : w + H * kUnit; };
    constexpr std::make_integer_sequence<int, kWords> words;
#pragma GCC unroll 8
    for (int i = 0; i < kNumbers<T>; ++i) {
      if ((i & H) != 0) continue;
      const Words a = rows[i], b = rows[i + H];
      rows[i] = Pick<low>(a, b, words);
      rows[i + H] = Pick<high>(a, b, words);
    }
    TransposeBlocks<T, H / 2>(rows);
  }
}

template <typename T>
inline void Transpose(Words* rows) {
  TransposeBlocks<T, kNumbers<T> / 2>(rows);
}

// Two vectors of complex numbers as one of each part, and back.
template <typename T>
inline void Split(Words first, Words second, T* re, T* im) {
  using Vector = typename Floats<T>::Vector;
  constexpr std::make_integer_sequence<int, kLanes<T>> lanes;
  const Vector a = reinterpret_cast<Vector>(first), b = reinterpret_cast<Vector>(second);
  *reinterpret_cast<Vector*>(re) = Pick<[](int i) { return 2 * i; }>(a, b, lanes);
  *reinterpret_cast<Vector*>(im) = Pick<[](int i) { return 2 * i + 1; }>(a, b, lanes);
}

template <typename T>
inline void Join(const T* re, const T* im, T scale, Words* first, Words* second) {
  using Vector = typename Floats<T>::Vector;
  constexpr std::make_integer_sequence<int, kLanes<T>> lanes;
  constexpr auto low = [](int i) { return i / 2 + i % 2 * kLanes<T>; };
  constexpr auto high = [](int i) { return i / 2 + i % 2 * kLanes<T> + kLanes<T> / 2; };
  const Vector a = *reinterpret_cast<const Vector*>(re) * scale, b = *reinterpret_cast<const Vector*>(im) * scale;
  *first = reinterpret_cast<Words>(Pick<low>(a, b, lanes));
  *second = reinterpret_cast<Words>(Pick<high>(a, b, lanes));
}

template <typename T>
inline Words ReadLine(const T* from, bool wanted) {
  return wanted ? *reinterpret_cast<const Words*>(from) : Words{};
}

template <typename T>
void GatherLines(const T* in, int64_t line, int64_t count, int64_t n, T* re, T* im) {
  constexpr int kBlock = kNumbers<T>, kAcross = kLanes<T>;
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    Words first[kBlock], second[kBlock];
#pragma GCC unroll 8
    for (int r = 0; r < kBlock; ++r) {
      first[r] = ReadLine(in + 2 * (r * line + i), r < count);
      second[r] = ReadLine(in + 2 * ((kBlock + r) * line + i), kBlock + r < count);
    }
    Transpose<T>(first);
    Transpose<T>(second);
#pragma GCC unroll 8
    for (int r = 0; r < kBlock; ++r) Split(first[r], second[r], re + (i + r) * kAcross, im + (i + r) * kAcross);
  }
  for (; i < n; ++i) {
    for (int lane = 0; lane < kAcross; ++lane) {
      re[i * kAcross + lane] = lane < count ? in[2 * (lane * line + i)] : 0;
      im[i * kAcross + lane] = lane < count ? in[2 * (lane * line + i) + 1] : 0;
    }
  }
}

template <typename T>
void ScatterLines(const T* re, const T* im, int64_t n, T scale, T* out, int64_t line, int64_t count) {
  constexpr int kBlock = kNumbers<T>, kAcross = kLanes<T>;
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    Words first[kBlock], second[kBlock];
#pragma GCC unroll 8
    for (int r = 0; r < kBlock; ++r) {
      Join(re + (i + r) * kAcross, im + (i + r) * kAcross, scale, &first[r], &second[r]);
    }
    Transpose<T>(first);
    Transpose<T>(second);
#pragma GCC unroll 8
    for (int r = 0; r < kBlock; ++r) {
      if (r < count) *reinterpret_cast<Words*>(out + 2 * (r * line + i)) = first[r];
      if (kBlock + r < count) *reinterpret_cast<Words*>(out + 2 * ((kBlock + r) * line + i)) = second[r];
    }
  }
  for (; i < n; ++i) {
    for (int lane = 0; lane < count; ++lane) {
      out[2 * (lane * line + i)] = re[i * kAcross + lane] * scale;
      out[2 * (lane * line + i) + 1] = im[i * kAcross + lane] * scale;
    }
  }
}

// Pairs of neighbouring real numbers move as complex ones do.
template <typename T>
void GatherReals(const T* in, int64_t line, int64_t count, int64_t n, T* out) {
  constexpr int kBlock = kNumbers<T>, kAcross = kLanes<T>;
  int64_t i = 0;
  for (; i + 2 * kBlock <= n; i += 2 * kBlock) {
    Words first[kBlock], second[kBlock];
#pragma GCC unroll 8
    for (int r = 0; r < kBlock; ++r) {
      first[r] = ReadLine(in + r * line + i, r < count);
      second[r] = ReadLine(in + (kBlock + r) * line + i, kBlock + r < count);
    }
    Transpose<T>(first);
    Transpose<T>(second);
#pragma GCC unroll 8
    for (int r = 0; r < kBlock; ++r) {
      T* to = out + (i + 2 * r) * kAcross;
      Split(first[r], second[r], to, to + kAcross);
    }
  }
  for (; i < n; ++i) {
    for (int lane = 0; lane < kAcross; ++lane) out[i * kAcross + lane] = lane < count ? in[lane * line + i] : 0;
  }
}

template <typename T>
void ScatterReals(const T* in, int64_t n, T scale, T* out, int64_t line, int64_t count) {
  constexpr int kBlock = kNumbers<T>, kAcross = kLanes<T>;
  int64_t i = 0;
  for (; i + 2 * kBlock <= n; i += 2 * kBlock) {
    Words first[kBlock], second[kBlock];
#pragma GCC unroll 8
    for (int r = 0; r < kBlock; ++r) {
      const T* from = in + (i + 2 * r) * kAcross;
      Join(from, from + kAcross, scale, &first[r], &second[r]);
    }
    Transpose<T>(first);
    Transpose<T>(second);
#pragma GCC unroll 8
    for (int r = 0; r < kBlock; ++r) {
      if (r < count) *reinterpret_cast<Words*>(out + r * line + i) = first[r];
      if (kBlock + r < count) *reinterpret_cast<Words*>(out + (kBlock + r) * line + i) = second[r];
    }
  }
  for (; i < n; ++i) {
    for (int lane = 0; lane < count; ++lane) out[lane * line + i] = in[i * kAcross + lane] * scale;
  }
}

template <typename T>
void GatherColumns(const T* in, int64_t stride, int64_t n, T* re, T* im) {
  for (int64_t i = 0; i < n; ++i) {
    const Words* row = reinterpret_cast<const Words*>(in + 2 * i * stride);
    Split(row[0], row[1], re + i * kLanes<T>, im + i * kLanes<T>);
  }
}

template <typename T>
void ScatterColumns(const T* re, const T* im, int64_t n, T scale, T* out, int64_t stride) {
  for (int64_t i = 0; i < n; ++i) {
    Words* row = reinterpret_cast<Words*>(out + 2 * i * stride);
    Join(re + i * kLanes<T>, im + i * kLanes<T>, scale, &row[0], &row[1]);
  }
}

template <typename T>
void Multiply(int64_t count, const T* by_re, const T* by_im, T* re, T* im) {
  for (int64_t i = 0; i < count; ++i) {
    const T a = re[i], b = im[i];
    re[i] = a * by_re[i] - b * by_im[i];
    im[i] = a * by_im[i] + b * by_re[i];
  }
}

}  // namespace

const FftMoves<float> kMovesF32 = {GatherLines<float>,   ScatterLines<float>,   GatherReals<float>, ScatterReals<float>,
                                   GatherColumns<float>, ScatterColumns<float>, Multiply<float>};
const FftMoves<double> kMovesF64 = {GatherLines<double>,  ScatterLines<double>,  GatherReals<double>,
                                    ScatterReals<double>, GatherColumns<double>, ScatterColumns<double>,
                                    Multiply<double>};

}  // namespace xc::XC_FFT_ISA
