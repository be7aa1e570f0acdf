#include "backends/runtime/sort_networks.h"

#include <algorithm>

#include "backends/runtime/clones.h"

#define XC_NETWORK_INLINE inline __attribute__((always_inline))

namespace xc {
namespace {

// Batcher's odd-even merge sort for any n (Knuth, The Art of Computer Programming, volume 3, algorithm 5.2.2M).
template <typename Exchange>
XC_NETWORK_INLINE void ForExchanges(int64_t n, Exchange exchange) {
  for (int64_t p = 1; p < n; p *= 2) {
    for (int64_t k = p; k >= 1; k /= 2) {
      for (int64_t j = k % p; j + k < n; j += 2 * k) {
        const int64_t end = std::min(k, n - j - k);
        for (int64_t i = j; i < j + end; ++i) {
          if (i / (2 * p) == (i + k) / (2 * p)) exchange(i * kNetworkLanes, (i + k) * kNetworkLanes);
        }
      }
    }
  }
}

// 64 bytes, in registers of any width. Blocks are aligned to as much.
template <typename T>
using Vector __attribute__((vector_size(64))) = T;

template <typename T>
XC_NETWORK_INLINE void SortBlock(T* block, int64_t n) {
  constexpr int64_t kLanes = 64 / sizeof(T);
  ForExchanges(
      n, [block](int64_t low, int64_t high) __attribute__((always_inline)) {
        for (int64_t r = 0; r < kNetworkLanes; r += kLanes) {
          auto* const a = reinterpret_cast<Vector<T>*>(block + low + r);
          auto* const b = reinterpret_cast<Vector<T>*>(block + high + r);
          const Vector<T> x = *a, y = *b;
          *a = x < y ? x : y;
          *b = x < y ? y : x;
        }
      });
}

}  // namespace

int64_t LongestNetworkRow(bool pairs) {
  static const bool avx2 = __builtin_cpu_supports("avx2"), avx512 = __builtin_cpu_supports("avx512f");
  return (pairs ? avx512 : avx2) ? kMostInNetwork : 16;
}

XC_CLONES void SortLanes(int32_t* block, int64_t n) { SortBlock(block, n); }
XC_CLONES void SortLanes(int64_t* block, int64_t n) { SortBlock(block, n); }
XC_CLONES void SortLanes(int64_t* keys, int64_t* indices, int64_t n) {
  ForExchanges(
      n, [ keys, indices ](int64_t low, int64_t high) __attribute__((always_inline)) {
        for (int64_t r = 0; r < kNetworkLanes; r += 8) {
          auto* const a = reinterpret_cast<Vector<int64_t>*>(keys + low + r);
          auto* const b = reinterpret_cast<Vector<int64_t>*>(keys + high + r);
          auto* const c = reinterpret_cast<Vector<int64_t>*>(indices + low + r);
          auto* const d = reinterpret_cast<Vector<int64_t>*>(indices + high + r);
          const Vector<int64_t> x = *a, y = *b, i = *c, j = *d;
          // By exclusive or with masks: compilers take selects between such vectors apart.
          using Mask = Vector<uint64_t>;
          const Mask swap =
              reinterpret_cast<Mask>(y < x) | (reinterpret_cast<Mask>(y == x) & reinterpret_cast<Mask>(j < i));
          const auto key = (x ^ y) & reinterpret_cast<Vector<int64_t>>(swap);
          const auto index = (i ^ j) & reinterpret_cast<Vector<int64_t>>(swap);
          *a = x ^ key;
          *b = y ^ key;
          *c = i ^ index;
          *d = j ^ index;
        }
      });
}

}  // namespace xc
