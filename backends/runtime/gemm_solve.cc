// Products with the inverse of a small triangle, of f32 and f64. Compiled for several instruction sets, like
// gemm_kernels.cc, and as self-contained.
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

}  // namespace

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
