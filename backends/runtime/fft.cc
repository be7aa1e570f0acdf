// Transforms axis by axis. Lines are gathered into split arrays, several side by side where there are several, so that
// a vector register holds one point of each; long single lines are cut in two factors and done as columns and rows.
#include "backends/runtime/fft.h"

#include <algorithm>
#include <atomic>
#include <complex>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/runtime/arena.h"
#include "backends/runtime/fft_plan.h"
#include "backends/runtime/scratch.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

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

// Points moved of one line before the next line's turn: about a cache line of each.
constexpr int64_t kRun = 8;

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

// Runs group(first_line, lines_in_group, vector) for groups of lines, in parallel.
template <typename T, typename Group>
absl::Status ForGroups(RunContext* ctx, int64_t lines, int64_t n, Group group) {
  const int64_t lanes = Kernel<T>().lanes;
  // Short remainders still go as vectors: unused lanes compute on zeros. A lone line does not.
  const bool vector = lines > 1;
  const int64_t width = vector ? lanes : 1;
  const int64_t groups = (lines - 1) / width + 1;
  std::atomic<bool> failed{false};
  absl::Status error;
  ctx->ParallelFor(groups, std::max<int64_t>(1, 8192 / (n * width)), [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) {
      absl::Status status = group(g * width, std::min(width, lines - g * width), vector);
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
  for (int64_t i0 = 0; i0 < n; i0 += kRun) {
    for (int64_t lane = 0; lane < count; ++lane) {
      std::complex<T>* line = out + l.At(first + lane, inner);
      for (int64_t i = i0; i < std::min(n, i0 + kRun); ++i) {
        line[i * l.stride] = std::complex<T>(re[i * lanes + lane] * scale, im[i * lanes + lane] * scale);
      }
    }
  }
}

// Columns in one pass over memory: neighbouring lines that lie next to each other are read together.
template <typename T>
void GatherColumns(const std::complex<T>* in, int64_t stride, int64_t count, int64_t lanes, int64_t n, bool swap, T* re,
                   T* im) {
  if (swap) std::swap(re, im);
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
  for (int64_t i = 0; i < n; ++i) {
    std::complex<T>* row = out + i * stride;
    for (int64_t lane = 0; lane < count; ++lane) {
      row[lane] = std::complex<T>(re[i * lanes + lane] * scale, im[i * lanes + lane] * scale);
    }
  }
}

// n = a * b with both near the root, for lines long enough to be worth it; a = 1 otherwise.
int64_t ColumnFactor(int64_t n) {
  if (n < 16384) return 1;
  int64_t best = 1;
  for (int64_t a = 2; a * a <= n; ++a) {
    if (n % a == 0) best = a;
  }
  return best >= 64 ? best : 1;
}

// One long line in two steps: columns of length a (b of them) with twiddle factors, then rows of length b, whose
// results stand a apart.
template <typename T>
absl::Status LongLine(RunContext* ctx, int64_t n, int64_t a, bool inverse, const std::complex<T>* in,
                      std::complex<T>* out) {
  const int64_t b = n / a;
  const auto columns = GetFftPlan<T>(a), rows = GetFftPlan<T>(b);
  const FftKernel<T>& kernel = Kernel<T>();
  XC_ASSIGN_OR_RETURN(Block block, Block::Allocate(n * sizeof(std::complex<T>)));
  auto* middle = reinterpret_cast<std::complex<T>*>(block.data());
  XC_RETURN_IF_ERROR(ForGroups<T>(ctx, b, a, [&](int64_t first, int64_t count, bool vector) -> absl::Status {
    const int64_t lanes = vector ? kernel.lanes : 1;
    XC_ASSIGN_OR_RETURN(Work<T> w, GetWork(columns->plan, a, lanes));
    GatherColumns(in + first, b, count, lanes, a, inverse, w.re, w.im);
    kernel.run(columns->plan, w.re, w.im, w.scratch, vector);
    for (int64_t lane = 0; lane < count; ++lane) {
      // w^(column * k) by repeated steps from exact values every 32.
      const int64_t column = first + lane;
      double re = 1, im = 0, step_re, step_im;
      UnitRoot(column, n, &step_re, &step_im);
      for (int64_t k = 0; k < a; ++k) {
        if (k % 32 == 0) {
          UnitRoot(column * k, n, &re, &im);
        } else {
          const double next = re * step_re - im * step_im;
          im = re * step_im + im * step_re;
          re = next;
        }
        T& x = w.re[k * lanes + lane];
        T& y = w.im[k * lanes + lane];
        const T wr = static_cast<T>(re), wi = static_cast<T>(im);
        const T turned = x * wr - y * wi;
        y = x * wi + y * wr;
        x = turned;
      }
    }
    ScatterColumns(w.re, w.im, lanes, a, false, T{1}, middle + first, b, count);
    return absl::OkStatus();
  }));
  const T scale = inverse ? static_cast<T>(1.0 / static_cast<double>(n)) : T{1};
  return ForGroups<T>(ctx, a, b, [&](int64_t first, int64_t count, bool vector) -> absl::Status {
    const int64_t lanes = vector ? kernel.lanes : 1;
    XC_ASSIGN_OR_RETURN(Work<T> w, GetWork(rows->plan, b, lanes));
    GatherComplex(middle, Lines{b, 0, 1}, 1, first, count, lanes, b, false, w.re, w.im);
    kernel.run(rows->plan, w.re, w.im, w.scratch, vector);
    ScatterColumns(w.re, w.im, lanes, b, inverse, scale, out + first, a, count);
    return absl::OkStatus();
  });
}

template <typename T>
absl::Status ComplexAxis(RunContext* ctx, int64_t n, bool inverse, int64_t outer, int64_t inner,
                         const std::complex<T>* in, std::complex<T>* out) {
  const Lines lines{n * inner, 1, inner};
  if (outer * inner == 1) {
    const int64_t a = ColumnFactor(n);
    if (a > 1) return LongLine(ctx, n, a, inverse, in, out);
  }
  const auto plan = GetFftPlan<T>(n);
  const FftKernel<T>& kernel = Kernel<T>();
  const T scale = inverse ? static_cast<T>(1.0 / static_cast<double>(n)) : T{1};
  return ForGroups<T>(ctx, outer * inner, n, [&](int64_t first, int64_t count, bool vector) -> absl::Status {
    const int64_t lanes = vector ? kernel.lanes : 1;
    XC_ASSIGN_OR_RETURN(Work<T> w, GetWork(plan->plan, n, lanes));
    const bool columns = inner > 1 && first % inner + count <= inner;
    const int64_t at = lines.At(first, inner);
    if (columns) {
      GatherColumns(in + at, inner, count, lanes, n, inverse, w.re, w.im);
    } else {
      GatherComplex(in, lines, inner, first, count, lanes, n, inverse, w.re, w.im);
    }
    kernel.run(plan->plan, w.re, w.im, w.scratch, vector);
    if (columns) {
      ScatterColumns(w.re, w.im, lanes, n, inverse, scale, out + at, inner, count);
    } else {
      ScatterComplex(w.re, w.im, lanes, n, inverse, scale, out, lines, inner, first, count);
    }
    return absl::OkStatus();
  });
}

// Factors 0.5 * w^k (of n points) by which a transform of even and odd points together is taken apart.
template <typename T>
std::shared_ptr<const std::vector<std::complex<T>>> HalfRoots(int64_t n) {
  static std::mutex mu;
  static int64_t last_n = 0;
  static auto* last = new std::shared_ptr<const std::vector<std::complex<T>>>;
  {
    std::lock_guard<std::mutex> lock(mu);
    if (last_n == n) return *last;
  }
  auto roots = std::make_shared<std::vector<std::complex<T>>>(n / 4 + 1);
  for (int64_t k = 0; k <= n / 4; ++k) {
    double re, im;
    UnitRoot(k, n, &re, &im);
    (*roots)[k] = std::complex<T>(static_cast<T>(re / 2), static_cast<T>(im / 2));
  }
  std::lock_guard<std::mutex> lock(mu);
  last_n = n;
  *last = roots;
  return roots;
}

// Lines of n real numbers to n / 2 + 1 complex ones.
template <typename T>
absl::Status RealForward(RunContext* ctx, int64_t n, int64_t lines, const T* in, std::complex<T>* out) {
  const bool even = n % 2 == 0;
  const int64_t points = even ? n / 2 : n, results = n / 2 + 1;
  const auto plan = GetFftPlan<T>(points);
  const auto roots = even ? HalfRoots<T>(n) : nullptr;
  const FftKernel<T>& kernel = Kernel<T>();
  return ForGroups<T>(ctx, lines, n, [&](int64_t first, int64_t count, bool vector) -> absl::Status {
    const int64_t lanes = vector ? kernel.lanes : 1;
    XC_ASSIGN_OR_RETURN(Work<T> w, GetWork(plan->plan, points + 1, lanes));
    if (!even) std::memset(w.im, 0, points * lanes * sizeof(T));
    if (count < lanes) {
      std::memset(w.re, 0, points * lanes * sizeof(T));
      std::memset(w.im, 0, points * lanes * sizeof(T));
    }
    for (int64_t i0 = 0; i0 < points; i0 += kRun) {
      for (int64_t lane = 0; lane < count; ++lane) {
        const T* line = in + (first + lane) * n;
        for (int64_t i = i0; i < std::min(points, i0 + kRun); ++i) {
          w.re[i * lanes + lane] = even ? line[2 * i] : line[i];
          if (even) w.im[i * lanes + lane] = line[2 * i + 1];
        }
      }
    }
    kernel.run(plan->plan, w.re, w.im, w.scratch, vector);
    if (even) {
      // Even points' transform is (Z[k] + conj Z[-k]) / 2, odd points' -i (Z[k] - conj Z[-k]) / 2.
      for (int64_t k = 1; k <= points / 2; ++k) {
        const T rr = (*roots)[k].real(), ri = (*roots)[k].imag();
        T* xr = w.re + k * lanes;
        T* xi = w.im + k * lanes;
        T* yr = w.re + (points - k) * lanes;
        T* yi = w.im + (points - k) * lanes;
        for (int64_t lane = 0; lane < lanes; ++lane) {
          const T er = (xr[lane] + yr[lane]) / 2, ei = (xi[lane] - yi[lane]) / 2;
          const T dr = xr[lane] - yr[lane], di = xi[lane] + yi[lane];
          const T tr = di * rr + dr * ri, ti = di * ri - dr * rr;  // root / 2 * -i * (dr + i di)
          xr[lane] = er + tr;
          xi[lane] = ei + ti;
          yr[lane] = er - tr;
          yi[lane] = ti - ei;
        }
      }
      for (int64_t lane = 0; lane < lanes; ++lane) {
        const T re = w.re[lane], im = w.im[lane];
        w.re[lane] = re + im;
        w.im[lane] = 0;
        w.re[points * lanes + lane] = re - im;
        w.im[points * lanes + lane] = 0;
      }
    } else {
      for (int64_t lane = 0; lane < lanes; ++lane) w.im[lane] = 0;
    }
    ScatterComplex(w.re, w.im, lanes, results, false, T{1}, out, Lines{results, 0, 1}, 1, first, count);
    return absl::OkStatus();
  });
}

// Lines of n / 2 + 1 complex numbers to n real ones, scaled by 1 / n.
template <typename T>
absl::Status RealInverse(RunContext* ctx, int64_t n, int64_t lines, const std::complex<T>* in, T* out) {
  const bool even = n % 2 == 0;
  const int64_t points = even ? n / 2 : n, given = n / 2 + 1;
  const auto plan = GetFftPlan<T>(points);
  const auto roots = even ? HalfRoots<T>(n) : nullptr;
  const FftKernel<T>& kernel = Kernel<T>();
  const T scale = static_cast<T>(1.0 / static_cast<double>(n));
  return ForGroups<T>(ctx, lines, n, [&](int64_t first, int64_t count, bool vector) -> absl::Status {
    const int64_t lanes = vector ? kernel.lanes : 1;
    XC_ASSIGN_OR_RETURN(Work<T> w, GetWork(plan->plan, points + 1, lanes));
    GatherComplex(in, Lines{given, 0, 1}, 1, first, count, lanes, given, false, w.re, w.im);
    if (even) {
      for (int64_t lane = 0; lane < lanes; ++lane) {
        const T low = w.re[lane], high = w.re[points * lanes + lane];
        w.re[lane] = low + high;
        w.im[lane] = low - high;
      }
      for (int64_t k = 1; k <= points / 2; ++k) {
        const T rr = 2 * (*roots)[k].real(), ri = -2 * (*roots)[k].imag();  // conjugate
        T* xr = w.re + k * lanes;
        T* xi = w.im + k * lanes;
        T* yr = w.re + (points - k) * lanes;
        T* yi = w.im + (points - k) * lanes;
        for (int64_t lane = 0; lane < lanes; ++lane) {
          const T er = xr[lane] + yr[lane], ei = xi[lane] - yi[lane];
          const T dr = xr[lane] - yr[lane], di = xi[lane] + yi[lane];
          const T tr = -(dr * ri + di * rr), ti = dr * rr - di * ri;  // i * root * (dr + i di)
          xr[lane] = er + tr;
          xi[lane] = ei + ti;
          yr[lane] = er - tr;
          yi[lane] = ti - ei;
        }
      }
    } else {
      for (int64_t lane = 0; lane < lanes; ++lane) w.im[lane] = 0;
      for (int64_t k = 1; k < given; ++k) {
        for (int64_t lane = 0; lane < lanes; ++lane) {
          w.re[(n - k) * lanes + lane] = w.re[k * lanes + lane];
          w.im[(n - k) * lanes + lane] = -w.im[k * lanes + lane];
        }
      }
    }
    kernel.run(plan->plan, w.im, w.re, w.scratch, vector);  // parts exchanged: the inverse
    for (int64_t i0 = 0; i0 < points; i0 += kRun) {
      for (int64_t lane = 0; lane < count; ++lane) {
        T* line = out + (first + lane) * n;
        for (int64_t i = i0; i < std::min(points, i0 + kRun); ++i) {
          if (even) {
            line[2 * i] = w.re[i * lanes + lane] * scale;
            line[2 * i + 1] = w.im[i * lanes + lane] * scale;
          } else {
            line[i] = w.re[i * lanes + lane] * scale;
          }
        }
      }
    }
    return absl::OkStatus();
  });
}

template <typename T>
absl::Status Transform(RunContext* ctx, const FftDesc& d, const void* in, void* out) {
  using C = std::complex<T>;
  const FftKind type = static_cast<FftKind>(d.type);
  const int64_t last = d.length[d.rank - 1];
  const int64_t half = last / 2 + 1;
  int64_t rows = d.batch;  // lines of the last axis
  for (int i = 0; i + 1 < d.rank; ++i) rows *= d.length[i];
  // The other axes, on complex numbers whose last axis has `minor` points.
  auto other_axes = [&](bool inverse, int64_t minor, const C* from, C* to) -> absl::Status {
    int64_t inner = minor;
    for (int axis = d.rank - 2; axis >= 0; --axis) {
      int64_t outer = d.batch;
      for (int i = 0; i < axis; ++i) outer *= d.length[i];
      XC_RETURN_IF_ERROR(ComplexAxis<T>(ctx, d.length[axis], inverse, outer, inner, from, to));
      from = to;
      inner *= d.length[axis];
    }
    return absl::OkStatus();
  };
  switch (type) {
    case FftKind::kFft:
    case FftKind::kIfft: {
      const bool inverse = type == FftKind::kIfft;
      C* to = static_cast<C*>(out);
      XC_RETURN_IF_ERROR(ComplexAxis<T>(ctx, last, inverse, rows, 1, static_cast<const C*>(in), to));
      return other_axes(inverse, last, to, to);
    }
    case FftKind::kRfft: {
      C* to = static_cast<C*>(out);
      XC_RETURN_IF_ERROR(RealForward<T>(ctx, last, rows, static_cast<const T*>(in), to));
      return other_axes(false, half, to, to);
    }
    case FftKind::kIrfft: {
      const C* from = static_cast<const C*>(in);
      Block copy;
      if (d.rank > 1) {
        XC_ASSIGN_OR_RETURN(copy, Block::Allocate(rows * half * sizeof(C)));
        C* middle = reinterpret_cast<C*>(copy.data());
        XC_RETURN_IF_ERROR(other_axes(true, half, from, middle));
        from = middle;
      }
      return RealInverse<T>(ctx, last, rows, from, static_cast<T*>(out));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Fft(RunContext* ctx, const FftDesc& d, const void* in, void* out) {
  if (d.type < 0 || d.type > 3 || d.rank < 1 || d.rank > 3 || d.batch < 0) {
    return absl::InvalidArgumentError(absl::StrCat("fft: type ", d.type, ", rank ", d.rank, ", batch ", d.batch));
  }
  for (int i = 0; i < d.rank; ++i) {
    if (d.length[i] < 0) return absl::InvalidArgumentError("fft: negative length");
    if (d.length[i] == 0) return absl::OkStatus();
  }
  if (d.batch == 0) return absl::OkStatus();
  return d.is_double ? Transform<double>(ctx, d, in, out) : Transform<float>(ctx, d, in, out);
}

}  // namespace xc

int xc_rt_fft(void* ctx, const xc::FftDesc* desc, const void* in, void* out) {
  auto* run = static_cast<xc::RunContext*>(ctx);
  return run->Record(xc::Fft(run, *desc, in, out));
}
