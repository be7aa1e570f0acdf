// Transforms axis by axis. Lines are gathered into split arrays, several side by side where there are several, so that
// a vector register holds one point of each; long single lines are cut in two factors and done as columns and rows.
#include "backends/runtime/fft.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/runtime/arena.h"
#include "backends/runtime/fft_groups.h"
#include "backends/runtime/fft_odd.h"
#include "backends/runtime/fft_plan.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// n = a * b with both near the root, where both have lines enough to fill vectors; a = 1 otherwise.
int64_t ColumnFactor(int64_t n) {
  constexpr int64_t kShortest = 512, kFewest = 16;
  if (n < kShortest) return 1;
  int64_t best = 1;
  for (int64_t a = 2; a * a <= n; ++a) {
    if (n % a == 0) best = a;
  }
  return best >= kFewest ? best : 1;
}

// The factor by which to cut each of so many lines, if vectors of whole lines would be half empty; else 1.
template <typename T>
int64_t CutFactor(int64_t lines, int64_t n) {
  return 2 * lines <= Kernel<T>().lanes || lines == 1 ? ColumnFactor(n) : 1;
}

// Factors w^(column * k) of n = a * b points for `lanes` columns from `first` on, as split values of a points.
template <typename T>
void ColumnRoots(int64_t n, int64_t a, int64_t first, int64_t lanes, T* re, T* im) {
  for (int64_t lane = 0; lane < lanes; ++lane) {
    // By repeated steps from exact values every 32.
    const int64_t column = first + lane;
    double x = 1, y = 0, step_x, step_y;
    UnitRoot(column, n, &step_x, &step_y);
    for (int64_t k = 0; k < a; ++k) {
      if (k % 32 == 0) {
        UnitRoot(column * k, n, &x, &y);
      } else {
        const double next = x * step_x - y * step_y;
        y = x * step_y + y * step_x;
        x = next;
      }
      re[k * lanes + lane] = static_cast<T>(x);
      im[k * lanes + lane] = static_cast<T>(y);
    }
  }
}

// Those of all groups of columns, one after the other, real parts before imaginary ones in each; kept for the lengths
// used last. Nothing for lengths whose factors would take too much memory.
template <typename T>
std::shared_ptr<const std::vector<T>> KeptColumnRoots(int64_t n, int64_t a, int64_t lanes) {
  constexpr int64_t kLongest = 1 << 18;
  constexpr size_t kKept = 4;
  if (n > kLongest) return nullptr;
  using Roots = std::shared_ptr<const std::vector<T>>;
  static std::mutex mu;
  static auto* kept = new std::list<std::pair<int64_t, Roots>>;  // most recently used first
  {
    std::lock_guard<std::mutex> lock(mu);
    for (auto it = kept->begin(); it != kept->end(); ++it) {
      if (it->first != n) continue;
      kept->splice(kept->begin(), *kept, it);
      return it->second;
    }
  }
  const int64_t groups = (n / a - 1) / lanes + 1;
  auto roots = std::make_shared<std::vector<T>>(groups * 2 * a * lanes);
  for (int64_t g = 0; g < groups; ++g) {
    T* re = roots->data() + g * 2 * a * lanes;
    ColumnRoots(n, a, g * lanes, lanes, re, re + a * lanes);
  }
  std::lock_guard<std::mutex> lock(mu);
  kept->emplace_front(n, roots);
  if (kept->size() > kKept) kept->pop_back();
  return roots;
}

// One long line in two steps: columns of length a (b of them) with twiddle factors, then rows of length b, whose
// results stand a apart. Results are multiplied with `scale`. `in` may be `out`.
template <typename T>
absl::Status LongLine(RunContext* ctx, int64_t n, int64_t a, bool inverse, T scale, const std::complex<T>* in,
                      std::complex<T>* out) {
  const int64_t b = n / a, lanes = Kernel<T>().lanes;
  const auto columns = GetFftPlan<T>(a), rows = GetFftPlan<T>(b);
  const FftKernel<T>& kernel = Kernel<T>();
  const auto roots = KeptColumnRoots<T>(n, a, lanes);
  XC_ASSIGN_OR_RETURN(Block block, Block::Allocate(n * sizeof(std::complex<T>)));
  auto* middle = reinterpret_cast<std::complex<T>*>(block.data());
  XC_RETURN_IF_ERROR(ForGroups<T>(ctx, b, a, [&](int64_t first, int64_t count, int64_t) -> absl::Status {
    XC_ASSIGN_OR_RETURN(Work<T> w, GetWork(columns->plan, a, lanes));
    GatherColumns(in + first, b, count, lanes, a, inverse, w.re, w.im);
    kernel.run(columns->plan, w.re, w.im, w.scratch, lanes);
    const int64_t values = a * lanes;
    const T* by = roots == nullptr ? w.scratch : roots->data() + first * 2 * a;
    if (roots == nullptr) ColumnRoots(n, a, first, lanes, w.scratch, w.scratch + values);
    kernel.moves->multiply(values, by, by + values, w.re, w.im);
    ScatterColumns(w.re, w.im, lanes, a, false, T{1}, middle + first, b, count);
    return absl::OkStatus();
  }));
  return ForGroups<T>(ctx, a, b, [&](int64_t first, int64_t count, int64_t) -> absl::Status {
    XC_ASSIGN_OR_RETURN(Work<T> w, GetWork(rows->plan, b, lanes));
    GatherComplex(middle, Lines{b, 0, 1}, 1, first, count, lanes, b, false, w.re, w.im);
    kernel.run(rows->plan, w.re, w.im, w.scratch, lanes);
    ScatterColumns(w.re, w.im, lanes, b, inverse, scale, out + first, a, count);
    return absl::OkStatus();
  });
}

template <typename T>
absl::Status ComplexAxis(RunContext* ctx, int64_t n, bool inverse, int64_t outer, int64_t inner,
                         const std::complex<T>* in, std::complex<T>* out) {
  const Lines lines{n * inner, 1, inner};
  const T scale = inverse ? static_cast<T>(1.0 / static_cast<double>(n)) : T{1};
  if (const int64_t a = inner == 1 ? CutFactor<T>(outer, n) : 1; a > 1) {
    for (int64_t line = 0; line < outer; ++line) {
      XC_RETURN_IF_ERROR(LongLine(ctx, n, a, inverse, scale, in + line * n, out + line * n));
    }
    return absl::OkStatus();
  }
  const auto plan = GetFftPlan<T>(n);
  const FftKernel<T>& kernel = Kernel<T>();
  return ForGroups<T>(ctx, outer * inner, n, [&](int64_t first, int64_t count, int64_t lanes) -> absl::Status {
    XC_ASSIGN_OR_RETURN(Work<T> w, GetWork(plan->plan, n, lanes));
    const bool columns = inner > 1 && first % inner + count <= inner;
    const int64_t at = lines.At(first, inner);
    if (columns) {
      GatherColumns(in + at, inner, count, lanes, n, inverse, w.re, w.im);
    } else {
      GatherComplex(in, lines, inner, first, count, lanes, n, inverse, w.re, w.im);
    }
    kernel.run(plan->plan, w.re, w.im, w.scratch, lanes);
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

// From the transform of even points as real parts and odd points as imaginary ones (`points` values of `lanes`) to that
// of 2 * points real numbers: the even points' transform is (Z[k] + conj Z[-k]) / 2, the odd points' -i (Z[k] - conj
// Z[-k]) / 2.
template <typename T>
void TakeApart(int64_t points, int64_t lanes, const std::vector<std::complex<T>>& roots, T* re, T* im) {
  for (int64_t k = 1; k <= points / 2; ++k) {
    const T rr = roots[k].real(), ri = roots[k].imag();
    T* xr = re + k * lanes;
    T* xi = im + k * lanes;
    T* yr = re + (points - k) * lanes;
    T* yi = im + (points - k) * lanes;
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
    const T x = re[lane], y = im[lane];
    re[lane] = x + y;
    im[lane] = 0;
    re[points * lanes + lane] = x - y;
    im[points * lanes + lane] = 0;
  }
}

// The reverse of TakeApart, times two.
template <typename T>
void PutTogether(int64_t points, int64_t lanes, const std::vector<std::complex<T>>& roots, T* re, T* im) {
  for (int64_t lane = 0; lane < lanes; ++lane) {
    const T low = re[lane], high = re[points * lanes + lane];
    re[lane] = low + high;
    im[lane] = low - high;
  }
  for (int64_t k = 1; k <= points / 2; ++k) {
    const T rr = 2 * roots[k].real(), ri = -2 * roots[k].imag();  // conjugate
    T* xr = re + k * lanes;
    T* xi = im + k * lanes;
    T* yr = re + (points - k) * lanes;
    T* yi = im + (points - k) * lanes;
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
}

// Lines of n real numbers to n / 2 + 1 complex ones.
template <typename T>
absl::Status RealForward(RunContext* ctx, int64_t n, int64_t lines, const T* in, std::complex<T>* out) {
  using C = std::complex<T>;
  if (n % 2 != 0) return OddForward(ctx, n, lines, in, out);
  const int64_t points = n / 2, results = n / 2 + 1;
  const auto plan = GetFftPlan<T>(points);
  const auto roots = HalfRoots<T>(n);
  const FftKernel<T>& kernel = Kernel<T>();
  if (const int64_t a = CutFactor<T>(lines, points); a > 1) {
    XC_ASSIGN_OR_RETURN(Block block, Block::Allocate(points * sizeof(C)));
    C* middle = reinterpret_cast<C*>(block.data());
    for (int64_t line = 0; line < lines; ++line) {
      XC_RETURN_IF_ERROR(LongLine(ctx, points, a, false, T{1}, reinterpret_cast<const C*>(in + line * n), middle));
      XC_ASSIGN_OR_RETURN(Work<T> w, GetWork(plan->plan, points + 1, 1));
      GatherComplex(middle, Lines{0, 0, 1}, 1, 0, 1, 1, points, false, w.re, w.im);
      TakeApart(points, 1, *roots, w.re, w.im);
      ScatterComplex(w.re, w.im, 1, results, false, T{1}, out + line * results, Lines{0, 0, 1}, 1, 0, 1);
    }
    return absl::OkStatus();
  }
  return ForGroups<T>(ctx, lines, n, [&](int64_t first, int64_t count, int64_t lanes) -> absl::Status {
    XC_ASSIGN_OR_RETURN(Work<T> w, GetWork(plan->plan, points + 1, lanes));
    const C* pairs = reinterpret_cast<const C*>(in);
    GatherComplex(pairs, Lines{points, 0, 1}, 1, first, count, lanes, points, false, w.re, w.im);
    kernel.run(plan->plan, w.re, w.im, w.scratch, lanes);
    TakeApart(points, lanes, *roots, w.re, w.im);
    ScatterComplex(w.re, w.im, lanes, results, false, T{1}, out, Lines{results, 0, 1}, 1, first, count);
    return absl::OkStatus();
  });
}

// Lines of n / 2 + 1 complex numbers to n real ones, scaled by 1 / n.
template <typename T>
absl::Status RealInverse(RunContext* ctx, int64_t n, int64_t lines, const std::complex<T>* in, T* out) {
  using C = std::complex<T>;
  if (n % 2 != 0) return OddInverse(ctx, n, lines, in, out);
  const int64_t points = n / 2, given = n / 2 + 1;
  const auto plan = GetFftPlan<T>(points);
  const auto roots = HalfRoots<T>(n);
  const FftKernel<T>& kernel = Kernel<T>();
  const T scale = static_cast<T>(1.0 / static_cast<double>(n));
  if (const int64_t a = CutFactor<T>(lines, points); a > 1) {
    for (int64_t line = 0; line < lines; ++line) {
      C* to = reinterpret_cast<C*>(out + line * n);
      {
        XC_ASSIGN_OR_RETURN(Work<T> w, GetWork(plan->plan, points + 1, 1));
        GatherComplex(in + line * given, Lines{0, 0, 1}, 1, 0, 1, 1, given, false, w.re, w.im);
        PutTogether(points, 1, *roots, w.re, w.im);
        ScatterComplex(w.re, w.im, 1, points, false, T{1}, to, Lines{0, 0, 1}, 1, 0, 1);
      }
      XC_RETURN_IF_ERROR(LongLine(ctx, points, a, true, scale, to, to));
    }
    return absl::OkStatus();
  }
  return ForGroups<T>(ctx, lines, n, [&](int64_t first, int64_t count, int64_t lanes) -> absl::Status {
    XC_ASSIGN_OR_RETURN(Work<T> w, GetWork(plan->plan, points + 1, lanes));
    GatherComplex(in, Lines{given, 0, 1}, 1, first, count, lanes, given, false, w.re, w.im);
    PutTogether(points, lanes, *roots, w.re, w.im);
    kernel.run(plan->plan, w.im, w.re, w.scratch, lanes);  // parts exchanged: the inverse
    C* pairs = reinterpret_cast<C*>(out);
    ScatterComplex(w.re, w.im, lanes, points, false, scale, pairs, Lines{points, 0, 1}, 1, first, count);
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
