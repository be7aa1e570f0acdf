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
        if (t.c_n == 1) {
          memcpy(to, row, t.n * sizeof(T));
        } else {
          for (int64_t j = 0; j < t.n; ++j) to[j * t.c_n] = row[j];
        }
      }
    }
  }
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
  if (t.a_type == RtType::kF32) {
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
