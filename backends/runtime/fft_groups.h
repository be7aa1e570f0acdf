// How the lines of a transform come into the split arrays of its kernels and back: several side by side, so that a
// vector register holds one point of each.
#ifndef XC_BACKENDS_RUNTIME_FFT_GROUPS_H_
#define XC_BACKENDS_RUNTIME_FFT_GROUPS_H_

#include <algorithm>
#include <atomic>
#include <complex>
#include <cstring>
#include <utility>

#include "absl/status/statusor.h"
#include "backends/runtime/fft_plan.h"
#include "backends/runtime/run_context.h"
#include "backends/runtime/scratch.h"
#include "hlo/base/status.h"

namespace xc {

// Equal transforms along one axis: line number l = (o, i) starts at o * outer_stride + i * inner_stride (in numbers,
// real or complex), and its points are `stride` apart.
struct Lines {
  int64_t outer_stride, inner_stride, stride;
  int64_t At(int64_t line, int64_t inner) const { return line / inner * outer_stride + line % inner * inner_stride; }
};

template <typename T>
const FftKernel<T>& Kernel() {
  if constexpr (sizeof(T) == 4) {
    return BestFftKernels().f32;
  } else {
    return BestFftKernels().f64;
  }
}

// The parts of complex numbers, one after the other.
template <typename T>
const T* Parts(const std::complex<T>* x) {
  return reinterpret_cast<const T*>(x);
}
template <typename T>
T* Parts(std::complex<T>* x) {
  return reinterpret_cast<T*>(x);
}

// Points moved of one line before the next line's turn: about a cache line of each.
inline constexpr int64_t kRun = 8;

// Work areas for one group of lines: two arrays of `points` values and the plan's scratch.
template <typename T>
struct Work {
  T *re, *im, *scratch;
};

template <typename T>
absl::StatusOr<Work<T>> GetWork(const FftPlan<T>& plan, int64_t points, int64_t lanes) {
  const int64_t pad = 64 / sizeof(T);
  const int64_t array = (points * lanes + pad - 1) / pad * pad;
  XC_ASSIGN_OR_RETURN(char* memory,
                      ThreadScratch((2 * array + FftScratch(plan) * lanes + pad) * sizeof(T), kKernelScratch));
  T* base = reinterpret_cast<T*>(memory);
  return Work<T>{base, base + array, base + 2 * array};
}

// Runs group(first_line, lines_in_group, lanes) for groups of lines, in parallel. The last group has fewer lanes if its
// lines fit into them.
template <typename T, typename Group>
absl::Status ForGroups(RunContext* ctx, int64_t lines, int64_t n, Group group) {
  const FftKernel<T>& kernel = Kernel<T>();
  // Short remainders still go as vectors: unused lanes compute on zeros. A lone line does not.
  const int64_t width = lines > 1 ? kernel.lanes : 1;
  const int64_t groups = (lines - 1) / width + 1;
  std::atomic<bool> failed{false};
  absl::Status error;
  ctx->ParallelFor(groups, std::max<int64_t>(1, 8192 / (n * width)), [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) {
      const int64_t count = std::min(width, lines - g * width);
      absl::Status status = group(g * width, count, width > 1 && count <= kernel.fewer ? kernel.fewer : width);
      if (!status.ok()) {
        if (!failed.exchange(true)) error = status;
        return;
      }
    }
  });
  return error;
}

template <typename T>
void GatherComplex(const std::complex<T>* in, const Lines& l, int64_t inner, int64_t first, int64_t count,
                   int64_t lanes, int64_t n, bool swap, T* re, T* im) {
  if (swap) std::swap(re, im);
  if (lanes > 1 && lanes == Kernel<T>().lanes && inner == 1 && l.stride == 1) {
    Kernel<T>().moves->gather_lines(Parts(in + l.At(first, inner)), l.outer_stride, count, n, re, im);
    return;
  }
  if (count < lanes) {
    std::memset(re, 0, n * lanes * sizeof(T));
    std::memset(im, 0, n * lanes * sizeof(T));
  }
  for (int64_t i0 = 0; i0 < n; i0 += kRun) {
    for (int64_t lane = 0; lane < count; ++lane) {
      const std::complex<T>* line = in + l.At(first + lane, inner);
      for (int64_t i = i0; i < std::min(n, i0 + kRun); ++i) {
        re[i * lanes + lane] = line[i * l.stride].real();
        im[i * lanes + lane] = line[i * l.stride].imag();
      }
    }
  }
}

template <typename T>
void ScatterComplex(const T* re, const T* im, int64_t lanes, int64_t n, bool swap, T scale, std::complex<T>* out,
                    const Lines& l, int64_t inner, int64_t first, int64_t count) {
  if (swap) std::swap(re, im);
  if (lanes > 1 && lanes == Kernel<T>().lanes && inner == 1 && l.stride == 1) {
    Kernel<T>().moves->scatter_lines(re, im, n, scale, Parts(out + l.At(first, inner)), l.outer_stride, count);
    return;
  }
  for (int64_t i0 = 0; i0 < n; i0 += kRun) {
    for (int64_t lane = 0; lane < count; ++lane) {
      std::complex<T>* line = out + l.At(first + lane, inner);
      for (int64_t i = i0; i < std::min(n, i0 + kRun); ++i) {
        line[i * l.stride] = std::complex<T>(re[i * lanes + lane] * scale, im[i * lanes + lane] * scale);
      }
    }
  }
}

// Lines of n real numbers that lie one after the other.
template <typename T>
void GatherReals(const T* in, int64_t count, int64_t lanes, int64_t n, T* to) {
  if (lanes > 1 && lanes == Kernel<T>().lanes) return Kernel<T>().moves->gather_reals(in, n, count, n, to);
  if (count < lanes) std::memset(to, 0, n * lanes * sizeof(T));
  for (int64_t i0 = 0; i0 < n; i0 += kRun) {
    for (int64_t lane = 0; lane < count; ++lane) {
      for (int64_t i = i0; i < std::min(n, i0 + kRun); ++i) to[i * lanes + lane] = in[lane * n + i];
    }
  }
}

template <typename T>
void ScatterReals(const T* from, int64_t count, int64_t lanes, int64_t n, T scale, T* out) {
  if (lanes > 1 && lanes == Kernel<T>().lanes) return Kernel<T>().moves->scatter_reals(from, n, scale, out, n, count);
  for (int64_t i0 = 0; i0 < n; i0 += kRun) {
    for (int64_t lane = 0; lane < count; ++lane) {
      for (int64_t i = i0; i < std::min(n, i0 + kRun); ++i) out[lane * n + i] = from[i * lanes + lane] * scale;
    }
  }
}

// Columns in one pass over memory: neighbouring lines that lie next to each other are read together.
template <typename T>
void GatherColumns(const std::complex<T>* in, int64_t stride, int64_t count, int64_t lanes, int64_t n, bool swap, T* re,
                   T* im) {
  if (swap) std::swap(re, im);
  if (lanes > 1 && count == Kernel<T>().lanes) {
    Kernel<T>().moves->gather_columns(Parts(in), stride, n, re, im);
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    const std::complex<T>* row = in + i * stride;
    for (int64_t lane = 0; lane < count; ++lane) {
      re[i * lanes + lane] = row[lane].real();
      im[i * lanes + lane] = row[lane].imag();
    }
    for (int64_t lane = count; lane < lanes; ++lane) re[i * lanes + lane] = im[i * lanes + lane] = 0;
  }
}

template <typename T>
void ScatterColumns(const T* re, const T* im, int64_t lanes, int64_t n, bool swap, T scale, std::complex<T>* out,
                    int64_t stride, int64_t count) {
  if (swap) std::swap(re, im);
  if (lanes > 1 && count == Kernel<T>().lanes) {
    Kernel<T>().moves->scatter_columns(re, im, n, scale, Parts(out), stride);
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    std::complex<T>* row = out + i * stride;
    for (int64_t lane = 0; lane < count; ++lane) {
      row[lane] = std::complex<T>(re[i * lanes + lane] * scale, im[i * lanes + lane] * scale);
    }
  }
}

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_FFT_GROUPS_H_
