// Sums of shifted lines times weights: what convolutions with few features are, of f32, f64, complex numbers of them,
// and integers of 32 and 64 bits, which wrap around. Compiled for several instruction sets, like gemm_kernels.cc, and
// as self-contained.
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

// The same of complex numbers, whose parts alternate, as vectors of parts: what weights' real parts contribute, and
// what their imaginary parts do, beside, until the end, where it belongs to the other part.
template <typename T, int V>
void ComplexBlock(const LineRun* runs, int64_t num_runs, int64_t taps, int64_t in_step, int64_t weight_step, int64_t at,
                  T* out) {
  typedef T Vec __attribute__((vector_size(kVectorBytes), may_alias, aligned(alignof(T))));
  constexpr int64_t kLanes = kVectorBytes / sizeof(T);
  Vec by_real[V], by_imaginary[V];
#pragma GCC unroll 4
  for (int v = 0; v < V; ++v) by_real[v] = by_imaginary[v] = Vec{};
  for (int64_t r = 0; r < num_runs; ++r) {
    const T* in = static_cast<const T*>(runs[r].in) + 2 * at;
    const T* weight = static_cast<const T*>(runs[r].weights);
    for (int64_t t = 0; t < taps; ++t, in += 2 * in_step, weight += 2 * weight_step) {
      const Vec real = weight[0] - Vec{}, imaginary = weight[1] - Vec{};
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        const Vec x = reinterpret_cast<const Vec*>(in)[v];
        by_real[v] += x * real;
        by_imaginary[v] += x * imaginary;
      }
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < V; ++v) {
    T parts[kLanes], others[kLanes];
    memcpy(parts, &by_real[v], sizeof(Vec));
    memcpy(others, &by_imaginary[v], sizeof(Vec));
    for (int64_t i = 0; i < kLanes; i += 2) {
      parts[i] -= others[i + 1];
      parts[i + 1] += others[i];
    }
    memcpy(out + 2 * at + v * kLanes, parts, sizeof(Vec));
  }
}

template <typename T>
void AllComplexBlocks(const LineRun* runs, int64_t num_runs, int64_t taps, int64_t in_step, int64_t weight_step,
                      int64_t count, T* out) {
  constexpr int64_t kNumbers = kVectorBytes / sizeof(T) / 2;
  int64_t at = 0;
  for (; at + 4 * kNumbers <= count; at += 4 * kNumbers) {
    ComplexBlock<T, 4>(runs, num_runs, taps, in_step, weight_step, at, out);
  }
  for (; at + kNumbers <= count; at += kNumbers) {
    ComplexBlock<T, 1>(runs, num_runs, taps, in_step, weight_step, at, out);
  }
  if (at < count) ComplexBlock<T, 1>(runs, num_runs, taps, in_step, weight_step, count - kNumbers, out);
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
  switch (type) {
    case RtType::kF32:
      AllBlocks(runs, num_runs, taps, in_step, weight_step, count, static_cast<float*>(out));
      return true;
    case RtType::kF64:
      AllBlocks(runs, num_runs, taps, in_step, weight_step, count, static_cast<double*>(out));
      return true;
    case RtType::kS32:
    case RtType::kU32:
      AllBlocks(runs, num_runs, taps, in_step, weight_step, count, static_cast<uint32_t*>(out));
      return true;
    case RtType::kS64:
    case RtType::kU64:
      AllBlocks(runs, num_runs, taps, in_step, weight_step, count, static_cast<uint64_t*>(out));
      return true;
    case RtType::kC64:
      AllComplexBlocks(runs, num_runs, taps, in_step, weight_step, count, static_cast<float*>(out));
      return true;
    case RtType::kC128:
      AllComplexBlocks(runs, num_runs, taps, in_step, weight_step, count, static_cast<double*>(out));
      return true;
    default:
      return false;
  }
}

}  // namespace xc::XC_GEMM_ISA
