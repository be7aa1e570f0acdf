// Tiles of convolutions: sums of products of broadcast input elements, or of vectors of them, with vectors of weights,
// kept in registers over all runs. Compiled for several instruction sets, like gemm_kernels.cc, and as self-contained.
#include <stdint.h>

#include "backends/runtime/gemm_elements.h"
#include "backends/runtime/gemm_kernels.h"

namespace xc::XC_GEMM_ISA {
namespace {

constexpr int kVectorsOfBlock = kDirectBlockBytes / kVectorBytes;

// Where the rows of a run are, from row `first` on (0 unless the run has a distance).
template <typename T, int R>
inline void Places(const DirectRun& run, int64_t first, const T* (&in)[R]) {
  if (run.distance >= 0) {
    const char* place = static_cast<const char*>(run.places[0]) + first * run.distance;
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i, place += run.distance) in[i] = reinterpret_cast<const T*>(place);
    return;
  }
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) in[i] = static_cast<const T*>(run.places[i]);
}

// R rows by V vectors.
template <typename T, int R, int V>
__attribute__((noinline)) void Tile(const DirectTile& t) {
  typedef T Vec __attribute__((vector_size(kVectorBytes), may_alias, aligned(alignof(T))));
  constexpr int64_t kLanes = kVectorBytes / sizeof(T), kBlock = kDirectBlockBytes / sizeof(T);
  // The processor's own prefetching of weights ends at pages.
  constexpr int64_t kAhead = 24, kLongSum = 256;  // steps
  const int64_t length = t.run_length, block = t.weight_block;
  const int64_t ahead = t.num_runs * length >= kLongSum ? kAhead * kBlock : 0;
  Vec sum[R][V] = {};
  for (const DirectRun *run = t.runs, *end = run + t.num_runs; run != end; ++run) {
    const T* weights = static_cast<const T*>(t.weights) + run->weights;
    const T* in[R];
    Places(*run, 0, in);
    for (int64_t p = 0; p < length; ++p, weights += kBlock) {
#pragma GCC unroll 8
      for (int v = 0; v < V; v += kVectorsOfBlock) {
        __builtin_prefetch(weights + v / kVectorsOfBlock * block + ahead);
      }
      Vec w[V];
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) {
        w[v] = *reinterpret_cast<const Vec*>(weights + v / kVectorsOfBlock * block + v % kVectorsOfBlock * kLanes);
      }
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i) {
        const Vec x = in[i][p] - Vec{};
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) sum[i][v] += x * w[v];
      }
    }
  }
  T* out = static_cast<T*>(t.out);
  if (t.columns == V * kLanes) {
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) *reinterpret_cast<Vec*>(out + i * t.out_row + v * kLanes) = sum[i][v];
    }
    return;
  }
  for (int i = 0; i < R; ++i) {
    T row[V * kLanes];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) *reinterpret_cast<Vec*>(row + v * kLanes) = sum[i][v];
    for (int64_t j = 0; j < t.columns; ++j) out[i * t.out_row + j] = row[j];
  }
}

template <typename T, int V, int R = kDirectRows>
void TileOfRows(const DirectTile& t) {
  if (t.rows == R) return Tile<T, R, V>(t);
  if constexpr (R > 1) TileOfRows<T, V, R - 1>(t);
}

template <typename T>
void TileOf(const DirectTile& t) {
  if constexpr (kDirectBlocks > 1) {
    if (t.columns * sizeof(T) > kDirectBlockBytes) {
      return TileOfRows<T, kDirectBlocks * kVectorsOfBlock>(t);
    }
  }
  TileOfRows<T, kVectorsOfBlock>(t);
}

// R rows from `first` on by V vectors from column `at` on.
template <typename T, int R, int V>
__attribute__((noinline)) void ChannelTile(const DirectTile& t, int64_t first, int64_t at) {
  typedef T Vec __attribute__((vector_size(kVectorBytes), may_alias, aligned(alignof(T))));
  Vec sum[R][V] = {};
  for (const DirectRun *run = t.runs, *end = run + t.num_runs; run != end; ++run) {
    const Vec* weights = reinterpret_cast<const Vec*>(static_cast<const T*>(t.weights) + run->weights + at);
    Vec w[V];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) w[v] = weights[v];
    const T* in[R];
    Places(*run, first, in);
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
      const Vec* x = reinterpret_cast<const Vec*>(in[i] + at);
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) sum[i][v] += x[v] * w[v];
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) {
      reinterpret_cast<Vec*>(static_cast<T*>(t.out) + (first + i) * t.out_row + at)[v] = sum[i][v];
    }
  }
}

template <typename T, int R = kChannelRows>
void ChannelRows(const DirectTile& t, int64_t first, int64_t count) {
  if constexpr (R > 1) {
    if (count < R) return ChannelRows<T, R - 1>(t, first, count);
  }
  constexpr int64_t kLanes = kVectorBytes / sizeof(T);
  int64_t at = 0;
  for (; at + 2 * kLanes <= t.columns; at += 2 * kLanes) ChannelTile<T, R, 2>(t, first, at);
  for (; at + kLanes <= t.columns; at += kLanes) ChannelTile<T, R, 1>(t, first, at);
  // A last vector that reaches over what was made before: the same sums again.
  if (at < t.columns && t.columns >= kLanes) return ChannelTile<T, R, 1>(t, first, t.columns - kLanes);
  for (; at < t.columns; ++at) {
    for (int i = 0; i < R; ++i) {
      T sum = 0;
      for (int64_t r = 0; r < t.num_runs; ++r) {
        const T* in[R];
        Places(t.runs[r], first, in);
        sum += in[i][at] * static_cast<const T*>(t.weights)[t.runs[r].weights + at];
      }
      static_cast<T*>(t.out)[(first + i) * t.out_row + at] = sum;
    }
  }
}

template <typename T>
void AllChannels(const DirectTile& t) {
  for (int64_t first = 0; first < t.rows; first += kChannelRows) {
    ChannelRows<T>(t, first, t.rows - first < kChannelRows ? t.rows - first : kChannelRows);
  }
}

}  // namespace

bool Channels(const DirectTile& t) {
  if (t.type == RtType::kF32) {
    AllChannels<float>(t);
  } else if (t.type == RtType::kF64) {
    AllChannels<double>(t);
  } else {
    return false;
  }
  return true;
}

bool Direct(const DirectTile& t) {
  if (t.type == RtType::kF32) {
    TileOf<float>(t);
  } else if (t.type == RtType::kF64) {
    TileOf<double>(t);
  } else {
    return false;
  }
  return true;
}

}  // namespace xc::XC_GEMM_ISA
