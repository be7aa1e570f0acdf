// Products with the inverse of a small triangle, and matrices less products of small depth: what factorizations are
// made of, of f32 and f64. Compiled for several instruction sets, like gemm_kernels.cc, and as self-contained.
#include <stdint.h>
#include <string.h>

#include "backends/runtime/gemm_elements.h"
#include "backends/runtime/gemm_kernels.h"

namespace xc::XC_GEMM_ISA {
namespace {

// `V` vectors of rows of y, all columns. R columns are made at a time: first less what the columns before them
// contribute, with the sums in registers, then among themselves.
template <typename T, int V, int R>
void SolveColumns(int64_t i, const T* u, int64_t ldu, bool unit, T* y, int64_t ldy) {
  typedef T Vec __attribute__((vector_size(kVectorBytes), may_alias, aligned(alignof(T))));
  Vec sum[R][V];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) sum[r][v] = reinterpret_cast<const Vec*>(y + (i + r) * ldy)[v];
  }
  for (int64_t p = 0; p < i; ++p) {
    Vec x[V];
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) x[v] = reinterpret_cast<const Vec*>(y + p * ldy)[v];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const Vec factor = u[p + (i + r) * ldu] - Vec{};
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) sum[r][v] -= x[v] * factor;
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    const T* column = u + (i + r) * ldu + i;
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
#pragma GCC unroll 4
      for (int s = 0; s < r; ++s) sum[r][v] -= sum[s][v] * (column[s] - Vec{});
      if (!unit) sum[r][v] /= column[r] - Vec{};
      reinterpret_cast<Vec*>(y + (i + r) * ldy)[v] = sum[r][v];
    }
  }
}

template <typename T, int V>
void SolveRows(int64_t n, const T* u, int64_t ldu, bool unit, T* y, int64_t ldy) {
  constexpr int kColumns = 4;
  int64_t i = 0;
  for (; i + kColumns <= n; i += kColumns) SolveColumns<T, V, kColumns>(i, u, ldu, unit, y, ldy);
  for (; i < n; ++i) SolveColumns<T, V, 1>(i, u, ldu, unit, y, ldy);
}

template <typename T>
void SolveAll(int64_t n, const T* u, int64_t ldu, bool unit, int64_t rows, T* y, int64_t ldy) {
  constexpr int64_t kLanes = kVectorBytes / sizeof(T);
  int64_t j = 0;
  for (; j + 2 * kLanes <= rows; j += 2 * kLanes) SolveRows<T, 2>(n, u, ldu, unit, y + j, ldy);
  for (; j + kLanes <= rows; j += kLanes) SolveRows<T, 1>(n, u, ldu, unit, y + j, ldy);
  if (j == rows) return;
  // The last rows in vectors of their own, so that what a row becomes does not depend on where it stands.
  T part[kSolveSize * kLanes];
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t r = 0; r < kLanes; ++r) part[i * kLanes + r] = j + r < rows ? y[i * ldy + j + r] : T{0};
  }
  SolveRows<T, 1>(n, u, ldu, unit, part, kLanes);
  for (int64_t i = 0; i < n; ++i) memcpy(y + i * ldy + j, part + i * kLanes, (rows - j) * sizeof(T));
}

// `V` vectors of rows, C columns of c.
template <typename T, int V, int C>
void SubtractColumns(int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb, T* c, int64_t ldc) {
  typedef T Vec __attribute__((vector_size(kVectorBytes), may_alias, aligned(alignof(T))));
  Vec sum[C][V];
#pragma GCC unroll 4
  for (int j = 0; j < C; ++j) {
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) sum[j][v] = reinterpret_cast<const Vec*>(c + j * ldc)[v];
  }
  for (int64_t p = 0; p < k; ++p) {
    Vec x[V];
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) x[v] = reinterpret_cast<const Vec*>(a + p * lda)[v];
#pragma GCC unroll 4
    for (int j = 0; j < C; ++j) {
      const Vec factor = b[p + j * ldb] - Vec{};
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) sum[j][v] -= x[v] * factor;
    }
  }
#pragma GCC unroll 4
  for (int j = 0; j < C; ++j) {
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) reinterpret_cast<Vec*>(c + j * ldc)[v] = sum[j][v];
  }
}

template <typename T, int V>
void SubtractRows(int64_t columns, int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb, T* c, int64_t ldc) {
  constexpr int kColumns = 4;
  int64_t j = 0;
  for (; j + kColumns <= columns; j += kColumns) {
    SubtractColumns<T, V, kColumns>(k, a, lda, b + j * ldb, ldb, c + j * ldc, ldc);
  }
  for (; j < columns; ++j) SubtractColumns<T, V, 1>(k, a, lda, b + j * ldb, ldb, c + j * ldc, ldc);
}

template <typename T>
void SubtractAll(int64_t rows, int64_t columns, int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb, T* c,
                 int64_t ldc) {
  constexpr int64_t kLanes = kVectorBytes / sizeof(T);
  int64_t i = 0;
  for (; i + 2 * kLanes <= rows; i += 2 * kLanes) SubtractRows<T, 2>(columns, k, a + i, lda, b, ldb, c + i, ldc);
  for (; i + kLanes <= rows; i += kLanes) SubtractRows<T, 1>(columns, k, a + i, lda, b, ldb, c + i, ldc);
  if (i == rows) return;
  // The last rows in vectors of their own.
  const int64_t bytes = (rows - i) * static_cast<int64_t>(sizeof(T));
  T left[kSolveSize * kLanes] = {}, part[4 * kLanes] = {};
  for (int64_t p = 0; p < k; ++p) memcpy(left + p * kLanes, a + p * lda + i, bytes);
  for (int64_t j = 0; j < columns; j += 4) {
    const int64_t count = columns - j < 4 ? columns - j : 4;
    for (int64_t q = 0; q < count; ++q) memcpy(part + q * kLanes, c + (j + q) * ldc + i, bytes);
    SubtractRows<T, 1>(count, k, left, kLanes, b + j * ldb, ldb, part, kLanes);
    for (int64_t q = 0; q < count; ++q) memcpy(c + (j + q) * ldc + i, part + q * kLanes, bytes);
  }
}

#if defined(__AVX512F__)
// The first `count` lanes in memory.
inline __m512 LoadPart(const float* from, int64_t count) { return _mm512_maskz_loadu_ps((1u << count) - 1, from); }
inline __m512d LoadPart(const double* from, int64_t count) { return _mm512_maskz_loadu_pd((1u << count) - 1, from); }
inline void StorePart(float* to, int64_t count, __m512 x) { _mm512_mask_storeu_ps(to, (1u << count) - 1, x); }
inline void StorePart(double* to, int64_t count, __m512d x) { _mm512_mask_storeu_pd(to, (1u << count) - 1, x); }
inline float Sum(__m512 x) { return _mm512_reduce_add_ps(x); }
inline double Sum(__m512d x) { return _mm512_reduce_add_pd(x); }
#else
template <typename T, typename Vec>
T Sum(const Vec& x) {
  constexpr int64_t kLanes = kVectorBytes / sizeof(T);
  T part[kLanes];
  memcpy(part, &x, sizeof(part));
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t l = 0; l < half; ++l) part[l] += part[l + half];
  }
  return part[0];
}
#endif

// (1, tail)' * c for C columns at once, each as one vector of sums, then what they become.
template <typename T, int C>
void ReflectColumns(int64_t n, const T* tail, T tau, T* c, int64_t ldc) {
  typedef T Vec __attribute__((vector_size(kVectorBytes), may_alias, aligned(alignof(T))));
  constexpr int64_t kLanes = kVectorBytes / sizeof(T);
  const int64_t whole = n / kLanes * kLanes, rest = n - whole;
  Vec sum[C] = {};
  for (int64_t i = 0; i < whole; i += kLanes) {
    const Vec v = *reinterpret_cast<const Vec*>(tail + i);
#pragma GCC unroll 4
    for (int j = 0; j < C; ++j) sum[j] += v * *reinterpret_cast<const Vec*>(c + j * ldc + 1 + i);
  }
#if defined(__AVX512F__)
  Vec rest_of[C], last = {};
  if (rest > 0) {
    last = (Vec)LoadPart(tail + whole, rest);
#pragma GCC unroll 4
    for (int j = 0; j < C; ++j) {
      rest_of[j] = (Vec)LoadPart(c + j * ldc + 1 + whole, rest);
      sum[j] += last * rest_of[j];
    }
  }
#pragma GCC unroll 4
  for (int j = 0; j < C; ++j) {
    T* column = c + j * ldc;
    const T dot = (column[0] + Sum(sum[j])) * tau;
    column[0] -= dot;
    sum[j] = dot - Vec{};
    if (rest > 0) StorePart(column + 1 + whole, rest, rest_of[j] - last * sum[j]);
  }
#else
  for (int j = 0; j < C; ++j) {
    T* column = c + j * ldc;
    T part[kLanes] = {};
    for (int64_t i = 0; i < rest; ++i) part[i] = tail[whole + i] * column[1 + whole + i];
    Vec parts;
    memcpy(&parts, part, sizeof(parts));
    const T dot = (column[0] + Sum<T>(sum[j] + parts)) * tau;
    column[0] -= dot;
    sum[j] = dot - Vec{};
    for (int64_t i = whole; i < n; ++i) column[1 + i] -= tail[i] * dot;
  }
#endif
  for (int64_t i = 0; i < whole; i += kLanes) {
    const Vec v = *reinterpret_cast<const Vec*>(tail + i);
#pragma GCC unroll 4
    for (int j = 0; j < C; ++j) *reinterpret_cast<Vec*>(c + j * ldc + 1 + i) -= v * sum[j];
  }
}

template <typename T>
void ReflectAll(int64_t n, const T* tail, T tau, int64_t columns, T* c, int64_t ldc) {
  int64_t j = 0;
  for (; j + 4 <= columns; j += 4) ReflectColumns<T, 4>(n, tail, tau, c + j * ldc, ldc);
  for (; j < columns; ++j) ReflectColumns<T, 1>(n, tail, tau, c + j * ldc, ldc);
}

}  // namespace

bool Reflect(RtType type, int64_t n, const void* tail, const void* tau, int64_t columns, void* c, int64_t ldc) {
  if (type == RtType::kF32) {
    ReflectAll(n, static_cast<const float*>(tail), *static_cast<const float*>(tau), columns, static_cast<float*>(c),
               ldc);
  } else if (type == RtType::kF64) {
    ReflectAll(n, static_cast<const double*>(tail), *static_cast<const double*>(tau), columns, static_cast<double*>(c),
               ldc);
  } else {
    return false;
  }
  return true;
}

bool Subtract(RtType type, int64_t rows, int64_t columns, int64_t k, const void* a, int64_t lda, const void* b,
              int64_t ldb, void* c, int64_t ldc) {
  if (k > kSolveSize) return false;
  if (type == RtType::kF32) {
    SubtractAll(rows, columns, k, static_cast<const float*>(a), lda, static_cast<const float*>(b), ldb,
                static_cast<float*>(c), ldc);
  } else if (type == RtType::kF64) {
    SubtractAll(rows, columns, k, static_cast<const double*>(a), lda, static_cast<const double*>(b), ldb,
                static_cast<double*>(c), ldc);
  } else {
    return false;
  }
  return true;
}

bool Solve(RtType type, int64_t n, const void* u, int64_t ldu, bool unit, int64_t rows, void* y, int64_t ldy) {
  if (n > kSolveSize) return false;
  if (type == RtType::kF32) {
    SolveAll(n, static_cast<const float*>(u), ldu, unit, rows, static_cast<float*>(y), ldy);
  } else if (type == RtType::kF64) {
    SolveAll(n, static_cast<const double*>(u), ldu, unit, rows, static_cast<double*>(y), ldy);
  } else {
    return false;
  }
  return true;
}

}  // namespace xc::XC_GEMM_ISA
