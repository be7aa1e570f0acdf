// Products whose sizes are a few elements, in runs: what other kernels spend on each, in packing and in choosing, is
// more than the product itself. Compiled for several instruction sets, like gemm_kernels.cc, and as self-contained.
#include <stdint.h>
#include <string.h>

#include "backends/runtime/gemm_elements.h"
#include "backends/runtime/gemm_kernels.h"

namespace xc::XC_GEMM_ISA {
namespace {

// `V` vectors of `lanes` sums of type Acc, at least as wide as T, hold a row of C. B is packed, its rows filled up with
// zeros, and stays in the first-level cache.
template <typename Acc, typename T, int64_t lanes, int V>
void Products(const GemmTile& t, int64_t count, int64_t a_batch, int64_t b_batch, int64_t c_batch) {
  typedef Acc Vec __attribute__((vector_size(lanes * sizeof(Acc))));
  typedef T Narrow __attribute__((vector_size(lanes * sizeof(T))));
  constexpr int64_t kRows = 4;  // at a time
  Vec packed[kTinySize][V];
  memset(packed, 0, sizeof(packed));
  const T* a = static_cast<const T*>(t.a);
  const T* b = static_cast<const T*>(t.b);
  T* c = static_cast<T*>(t.c);
  for (int64_t item = 0; item < count; ++item, a += a_batch, b += b_batch, c += c_batch) {
    if (item == 0 || b_batch != 0) {
      for (int64_t p = 0; p < t.k; ++p) {
        Acc* row = reinterpret_cast<Acc*>(packed[p]);
        for (int64_t j = 0; j < t.n; ++j) row[j] = b[p * t.b_k + j * t.b_n];
      }
    }
    for (int64_t i = 0; i < t.m; i += kRows) {
      const int64_t rows = t.m - i < kRows ? t.m - i : kRows;
      const T* from[kRows];
      for (int64_t r = 0; r < kRows; ++r) from[r] = a + (i + (r < rows ? r : 0)) * t.a_m;
      Vec sum[kRows][V] = {};
      for (int64_t p = 0; p < t.k; ++p) {
#pragma GCC unroll 4
        for (int64_t r = 0; r < kRows; ++r) {
          const Vec x = static_cast<Acc>(from[r][p * t.a_k]) - Vec{};
#pragma GCC unroll 8
          for (int v = 0; v < V; ++v) sum[r][v] += x * packed[p][v];
        }
      }
      for (int64_t r = 0; r < rows; ++r) {
        Narrow narrow[V];
        for (int v = 0; v < V; ++v) narrow[v] = __builtin_convertvector(sum[r][v], Narrow);
        const T* row = reinterpret_cast<const T*>(narrow);
        T* to = c + (i + r) * t.c_m;
        if (t.c_n == 1 && t.c_m == t.n && (t.m - i - r) * t.n >= V * lanes) {
          memcpy(to, row, V * lanes * sizeof(T));  // what is too much is the next rows', which follow
        } else if (t.c_n == 1) {
          memcpy(to, row, t.n * sizeof(T));
        } else {
          for (int64_t j = 0; j < t.n; ++j) to[j * t.c_n] = row[j];
        }
      }
    }
  }
}

// Products of M x K by K x N, written out: all numbers are in registers.
template <typename T, int M, int N, int K>
void WrittenOut(const GemmTile& t, int64_t count, int64_t a_batch, int64_t b_batch, int64_t c_batch) {
  const T* a = static_cast<const T*>(t.a);
  const T* b = static_cast<const T*>(t.b);
  T* c = static_cast<T*>(t.c);
  for (int64_t item = 0; item < count; ++item, a += a_batch, b += b_batch, c += c_batch) {
    T sum[M][N] = {};
#pragma GCC unroll 4
    for (int p = 0; p < K; ++p) {
#pragma GCC unroll 4
      for (int i = 0; i < M; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < N; ++j) sum[i][j] += a[i * t.a_m + p * t.a_k] * b[p * t.b_k + j * t.b_n];
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < M; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < N; ++j) c[i * t.c_m + j * t.c_n] = sum[i][j];
    }
  }
}

constexpr int kWrittenOut = 4;  // the largest of M, N and K

template <typename T, int M = kWrittenOut, int N = kWrittenOut, int K = kWrittenOut>
void ChooseWrittenOut(const GemmTile& t, int64_t count, int64_t a_batch, int64_t b_batch, int64_t c_batch) {
  if constexpr (M > 1) {
    if (t.m < M) return ChooseWrittenOut<T, M - 1, N, K>(t, count, a_batch, b_batch, c_batch);
  }
  if constexpr (N > 1) {
    if (t.n < N) return ChooseWrittenOut<T, M, N - 1, K>(t, count, a_batch, b_batch, c_batch);
  }
  if constexpr (K > 1) {
    if (t.k < K) return ChooseWrittenOut<T, M, N, K - 1>(t, count, a_batch, b_batch, c_batch);
  }
  WrittenOut<T, M, N, K>(t, count, a_batch, b_batch, c_batch);
}

// The fewest vectors, and no wider ones than a row needs.
template <typename Acc, typename T = Acc>
void ChooseTiny(const GemmTile& t, int64_t count, int64_t a_batch, int64_t b_batch, int64_t c_batch) {
  constexpr int64_t kLanes = kVectorBytes / static_cast<int64_t>(sizeof(Acc)), kFew = 16 / sizeof(Acc);
  constexpr int64_t kWide = kLanes < 2 * kFew ? kLanes : 2 * kFew;
  if (t.n <= kFew) return Products<Acc, T, kFew, 1>(t, count, a_batch, b_batch, c_batch);
  if (t.n <= 2 * kFew) return Products<Acc, T, kWide, 2 * kFew / kWide>(t, count, a_batch, b_batch, c_batch);
  if constexpr (2 * kFew < kTinySize) {
    Products<Acc, T, kLanes, kTinySize / kLanes>(t, count, a_batch, b_batch, c_batch);
  }
}

}  // namespace

bool Tiny(const GemmTile& t, int64_t count, int64_t a_batch, int64_t b_batch, int64_t c_batch) {
  if (t.n > kTinySize || t.k > kTinySize || t.b_type != t.a_type || t.c_type != t.a_type) return false;
  const bool small = t.k > 0 && t.m <= kWrittenOut && t.n <= kWrittenOut && t.k <= kWrittenOut;
  if (small && t.a_type == RtType::kF32) {
    ChooseWrittenOut<float>(t, count, a_batch, b_batch, c_batch);
  } else if (small && t.a_type == RtType::kF64) {
    ChooseWrittenOut<double>(t, count, a_batch, b_batch, c_batch);
  } else if (t.a_type == RtType::kF32) {
    ChooseTiny<float>(t, count, a_batch, b_batch, c_batch);
  } else if (t.a_type == RtType::kF64) {
    ChooseTiny<double>(t, count, a_batch, b_batch, c_batch);
  } else if (t.a_type == RtType::kS32 || t.a_type == RtType::kU32) {
    ChooseTiny<uint32_t>(t, count, a_batch, b_batch, c_batch);
  } else if (t.a_type == RtType::kS64 || t.a_type == RtType::kU64) {
    ChooseTiny<uint64_t>(t, count, a_batch, b_batch, c_batch);
  } else if (t.a_type == RtType::kS16 || t.a_type == RtType::kU16) {
    ChooseTiny<uint16_t>(t, count, a_batch, b_batch, c_batch);
  } else if (t.a_type == RtType::kS8 || t.a_type == RtType::kU8) {
    // There is no product of bytes.
    ChooseTiny<uint16_t, uint8_t>(t, count, a_batch, b_batch, c_batch);
  } else {
    return false;
  }
  return true;
}

}  // namespace xc::XC_GEMM_ISA
