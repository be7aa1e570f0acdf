// Each step takes a factor r out of the length: the results whose numbers are k modulo r, for k up to r / 2, are
// complex transforms of the r-th part, whose conjugates are those for r - k; those for k = 0 are again a transform of
// real numbers. A length without small factors is transformed as complex numbers.
#include "backends/runtime/fft_odd.h"

#include <algorithm>
#include <list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "backends/runtime/fft_groups.h"
#include "backends/runtime/fft_plan.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

template <typename T>
struct OddPlan {
  int64_t n, rest;  // what the steps leave of n
  std::vector<FftOddStep<T>> steps;
  std::vector<std::vector<T>> tables;
  std::vector<std::shared_ptr<const OwnedFftPlan<T>>> plans;  // of each step, then of the rest
  int64_t scratch = 0;                                        // values
};

template <typename T>
std::shared_ptr<const OddPlan<T>> MakeOddPlan(int64_t n, bool steps) {
  auto plan = std::make_shared<OddPlan<T>>();
  plan->n = n;
  auto roots = [&](int64_t rows, int64_t columns, auto number, int64_t of, const T** re, const T** im) {
    std::vector<T> x(rows * columns), y(rows * columns);
    for (int64_t p = 0; p < rows; ++p) {
      for (int64_t k = 0; k < columns; ++k) {
        double a, b;
        UnitRoot(number(p, k), of, &a, &b);
        x[p * columns + k] = static_cast<T>(a);
        y[p * columns + k] = static_cast<T>(b);
      }
    }
    plan->tables.push_back(std::move(x));
    *re = plan->tables.back().data();
    plan->tables.push_back(std::move(y));
    *im = plan->tables.back().data();
  };
  auto use = [&](int64_t length) {
    plan->plans.push_back(GetFftPlan<T>(length));
    plan->scratch = std::max(plan->scratch, FftScratch(plan->plans.back()->plan));
  };
  for (int64_t r = 3; steps && r <= kLargestOddRadix; r += 2) {
    for (; n % r == 0; n /= r) {
      FftOddStep<T> step{r, n / r, nullptr, nullptr, nullptr, nullptr};
      roots(
          1, r, [](int64_t, int64_t k) { return k; }, r, &step.root_re, &step.root_im);
      roots(
          step.m, r / 2, [](int64_t p, int64_t k) { return p * (k + 1); }, n, &step.twiddle_re, &step.twiddle_im);
      plan->steps.push_back(step);
      use(step.m);
    }
  }
  plan->rest = n;
  use(n);
  return plan;
}

// From a cache of the lengths used last. A lone line goes whole: its vectors go along it, and want it long.
template <typename T>
std::shared_ptr<const OddPlan<T>> GetOddPlan(int64_t n, int64_t lines) {
  using Plan = std::shared_ptr<const OddPlan<T>>;
  constexpr size_t kPlans = 8;
  static std::mutex mu;
  const std::pair<int64_t, bool> key(n, lines > 1);
  static auto* plans = new std::list<std::pair<std::pair<int64_t, bool>, Plan>>;  // most recently used first
  {
    std::lock_guard<std::mutex> lock(mu);
    for (auto it = plans->begin(); it != plans->end(); ++it) {
      if (it->first != key) continue;
      plans->splice(plans->begin(), *plans, it);
      return it->second;
    }
  }
  Plan plan = MakeOddPlan<T>(n, lines > 1);
  std::lock_guard<std::mutex> lock(mu);
  plans->emplace_front(key, plan);
  if (plans->size() > kPlans) plans->pop_back();
  return plan;
}

// Work areas for one group of lines: two of n values, of the results' parts, and the plans' scratch.
template <typename T>
struct OddWork {
  T *x, *y, *re, *im, *scratch;
};

template <typename T>
absl::StatusOr<OddWork<T>> GetOddWork(const OddPlan<T>& plan, int64_t lanes) {
  const int64_t pad = 64 / sizeof(T);
  auto rounded = [&](int64_t values) { return (values * lanes + pad - 1) / pad * pad; };
  const int64_t all = rounded(plan.n), half = rounded(plan.n / 2 + 1);
  XC_ASSIGN_OR_RETURN(char* memory,
                      ThreadScratch((2 * all + 2 * half + rounded(plan.scratch) + pad) * sizeof(T), kKernelScratch));
  T* base = reinterpret_cast<T*>(memory);
  return OddWork<T>{base, base + all, base + 2 * all, base + 2 * all + half, base + 2 * all + 2 * half};
}

// From the numbers in w.x to the results in w.re and w.im.
template <typename T>
void Forward(const OddPlan<T>& plan, OddWork<T> w, int64_t lanes) {
  const FftKernel<T>& kernel = Kernel<T>();
  int64_t stride = 1;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const FftOddStep<T>& step = plan.steps[i];
    kernel.odd->apart(step, w.x, w.y, lanes);
    for (int64_t k = 1; k <= step.radix / 2; ++k) {
      T* re = w.y + (2 * k - 1) * step.m * lanes;
      T* im = re + step.m * lanes;
      kernel.run(plan.plans[i]->plan, re, im, w.scratch, lanes);
      kernel.odd->put({plan.n, k * stride, step.radix * stride, step.m}, re, im, w.re, w.im, lanes);
    }
    std::swap(w.x, w.y);
    stride *= step.radix;
  }
  std::fill_n(w.y, plan.rest * lanes, T{0});
  kernel.run(plan.plans.back()->plan, w.x, w.y, w.scratch, lanes);
  kernel.odd->put({plan.n, 0, stride, plan.rest / 2 + 1}, w.x, w.y, w.re, w.im, lanes);
  std::fill_n(w.im, lanes, T{0});
}

// From the results in w.re and w.im to n times the numbers, at the place that is returned.
template <typename T>
T* Inverse(const OddPlan<T>& plan, OddWork<T> w, int64_t lanes) {
  const FftKernel<T>& kernel = Kernel<T>();
  std::fill_n(w.im, lanes, T{0});
  // Parts exchanged: the inverse.
  int64_t stride = plan.n / plan.rest;
  kernel.odd->get({plan.n, 0, stride, plan.rest}, w.re, w.im, w.x, w.y, lanes);
  kernel.run(plan.plans.back()->plan, w.y, w.x, w.scratch, lanes);
  for (size_t i = plan.steps.size(); i-- > 0;) {
    const FftOddStep<T>& step = plan.steps[i];
    stride /= step.radix;
    for (int64_t k = 1; k <= step.radix / 2; ++k) {
      T* re = w.x + (2 * k - 1) * step.m * lanes;
      T* im = re + step.m * lanes;
      kernel.odd->get({plan.n, k * stride, step.radix * stride, step.m}, w.re, w.im, re, im, lanes);
      kernel.run(plan.plans[i]->plan, im, re, w.scratch, lanes);
    }
    kernel.odd->together(step, w.x, w.y, lanes);
    std::swap(w.x, w.y);
  }
  return w.x;
}

}  // namespace

template <typename T>
absl::Status OddForward(RunContext* ctx, int64_t n, int64_t lines, const T* in, std::complex<T>* out) {
  const auto plan = GetOddPlan<T>(n, lines);
  const int64_t results = n / 2 + 1;
  return ForGroups<T>(ctx, lines, n, [&](int64_t first, int64_t count, int64_t lanes) -> absl::Status {
    XC_ASSIGN_OR_RETURN(OddWork<T> w, GetOddWork(*plan, lanes));
    GatherReals(in + first * n, count, lanes, n, w.x);
    Forward(*plan, w, lanes);
    ScatterComplex(w.re, w.im, lanes, results, false, T{1}, out, Lines{results, 0, 1}, 1, first, count);
    return absl::OkStatus();
  });
}

template <typename T>
absl::Status OddInverse(RunContext* ctx, int64_t n, int64_t lines, const std::complex<T>* in, T* out) {
  const auto plan = GetOddPlan<T>(n, lines);
  const int64_t given = n / 2 + 1;
  const T scale = static_cast<T>(1.0 / static_cast<double>(n));
  return ForGroups<T>(ctx, lines, n, [&](int64_t first, int64_t count, int64_t lanes) -> absl::Status {
    XC_ASSIGN_OR_RETURN(OddWork<T> w, GetOddWork(*plan, lanes));
    GatherComplex(in, Lines{given, 0, 1}, 1, first, count, lanes, given, false, w.re, w.im);
    ScatterReals(Inverse(*plan, w, lanes), count, lanes, n, scale, out + first * n);
    return absl::OkStatus();
  });
}

template absl::Status OddForward(RunContext*, int64_t, int64_t, const float*, std::complex<float>*);
template absl::Status OddForward(RunContext*, int64_t, int64_t, const double*, std::complex<double>*);
template absl::Status OddInverse(RunContext*, int64_t, int64_t, const std::complex<float>*, float*);
template absl::Status OddInverse(RunContext*, int64_t, int64_t, const std::complex<double>*, double*);

}  // namespace xc
