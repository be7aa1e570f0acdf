// Sums of shifted lines times weights: what convolutions with few features are, of f32 and f64. Compiled for several
// instruction sets, like gemm_kernels.cc, and as self-contained.
#include <stdint.h>
#include <string.h>

#include "backends/runtime/gemm_elements.h"
#include "backends/runtime/gemm_kernels.h"

namespace xc::XC_GEMM_ISA {
namespace {

// V vectors of results, all taps, with the sums in registers.
template <typename T, int V>
void Block(const LineRun* runs, int64_t num_runs, int64_t taps, int64_t in_step, int64_t weight_step, int64_t at,
           T* out) {
  typedef T Vec __attribute__((vector_size(kVectorBytes), may_alias, aligned(alignof(T))));
  Vec sum[V];
#pragma GCC unroll 8
  for (int v = 0; v < V; ++v) sum[v] = Vec{};
  for (int64_t r = 0; r < num_runs; ++r) {
    const T* in = static_cast<const T*>(runs[r].in) + at;
    const T* weight = static_cast<const T*>(runs[r].weights);
    for (int64_t t = 0; t < taps; ++t, in += in_step, weight += weight_step) {
      const Vec w = *weight - Vec{};
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) sum[v] += reinterpret_cast<const Vec*>(in)[v] * w;
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < V; ++v) reinterpret_cast<Vec*>(out + at)[v] = sum[v];
}

template <typename T>
void AllBlocks(const LineRun* runs, int64_t num_runs, int64_t taps, int64_t in_step, int64_t weight_step, int64_t count,
               T* out) {
  constexpr int64_t kLanes = kVectorBytes / sizeof(T);
  int64_t at = 0;
  for (; at + 8 * kLanes <= count; at += 8 * kLanes) {
    Block<T, 8>(runs, num_runs, taps, in_step, weight_step, at, out);
  }
  for (; at + kLanes <= count; at += kLanes) Block<T, 1>(runs, num_runs, taps, in_step, weight_step, at, out);
  // A last vector that reaches over what was made before: the same sums again.
  if (at < count) Block<T, 1>(runs, num_runs, taps, in_step, weight_step, count - kLanes, out);
}

}  // namespace

bool Lines(RtType type, const LineRun* runs, int64_t num_runs, int64_t taps, int64_t in_step, int64_t weight_step,
           int64_t count, void* out) {
  if (count < kLineCount) return false;
  if (type == RtType::kF32) {
    AllBlocks(runs, num_runs, taps, in_step, weight_step, count, static_cast<float*>(out));
  } else if (type == RtType::kF64) {
    AllBlocks(runs, num_runs, taps, in_step, weight_step, count, static_cast<double*>(out));
  } else {
    return false;
  }
  return true;
}

}  // namespace xc::XC_GEMM_ISA
