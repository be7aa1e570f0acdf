// Factorizes lengths (8, 4, 2, 3, 5, then primes up to 31, and one larger one in long lengths; other lengths go through
// a chirp) and tabulates.
#include "backends/runtime/fft_plan.h"

#include <algorithm>
#include <cmath>
#include <list>
#include <mutex>
#include <utility>

namespace xc {

const FftKernels& BestFftKernels() {
  static const FftKernels& best = []() -> const FftKernels& {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
      return fft_v4::kKernels;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) {
      return fft_v3::kKernels;
    }
    return fft_v2::kKernels;
  }();
  return best;
}

void UnitRoot(int64_t k, int64_t n, double* re, double* im) {
  constexpr double kTwoPi = 6.283185307179586476925286766559;
  // Reduced to the first octant, so that symmetric roots are exactly symmetric.
  k %= n;
  bool negate_im = true;  // the exponent is negative
  if (2 * k > n) {
    k = n - k;
    negate_im = !negate_im;
  }
  bool negate_re = false;
  int64_t num = k * 4;  // in quarters of a turn over n
  if (num > n) {
    negate_re = true;
    num = 2 * n - num;
  }
  double c, s;
  if (2 * num > n) {
    const double angle = kTwoPi / 4 * static_cast<double>(n - num) / static_cast<double>(n);
    c = std::sin(angle);
    s = std::cos(angle);
  } else {
    const double angle = kTwoPi / 4 * static_cast<double>(num) / static_cast<double>(n);
    c = std::cos(angle);
    s = std::sin(angle);
  }
  *re = negate_re ? -c : c;
  *im = negate_im ? -s : s;
}

namespace {

constexpr int64_t kLargestRadix = 31;
// A larger last radix takes less time than a chirp where so many of its sums stand side by side.
constexpr int64_t kNeighbours = 16;

bool Factorize(int64_t n, std::vector<int64_t>* radixes) {
  const int64_t all = n;
  for (int64_t radix : {8, 4, 2, 3, 5}) {
    while (n % radix == 0 && n > 1) {
      radixes->push_back(radix);
      n /= radix;
    }
  }
  for (int64_t radix = 7; radix <= kLargestRadix && n > 1; radix += 2) {
    while (n % radix == 0) {
      radixes->push_back(radix);
      n /= radix;
    }
  }
  // What is left has no factor below it whose square it would hold: it is a prime.
  if (n > 1 && n <= kLargestLastRadix && n < kLargestRadix * kLargestRadix && all / n >= kNeighbours) {
    radixes->push_back(n);
    n = 1;
  }
  return n == 1;
}

// The smallest 2^a 3^b 5^c that is at least n.
int64_t GoodLength(int64_t n) {
  int64_t best = 1;
  while (best < n) best *= 2;
  for (int64_t five = 1; five < best; five *= 5) {
    for (int64_t three = five; three < best; three *= 3) {
      int64_t x = three;
      while (x < n) x *= 2;
      best = std::min(best, x);
    }
  }
  return best;
}

template <typename T>
const T* Keep(OwnedFftPlan<T>* owned, std::vector<T> table) {
  owned->tables.push_back(std::move(table));
  return owned->tables.back().data();
}

template <typename T>
void Roots(OwnedFftPlan<T>* owned, int64_t count, int64_t n, const T** re, const T** im) {
  std::vector<T> r(count), i(count);
  for (int64_t k = 0; k < count; ++k) {
    double x, y;
    UnitRoot(k, n, &x, &y);
    r[k] = static_cast<T>(x);
    i[k] = static_cast<T>(y);
  }
  *re = Keep(owned, std::move(r));
  *im = Keep(owned, std::move(i));
}

template <typename T>
std::shared_ptr<const OwnedFftPlan<T>> MakePlan(int64_t n) {
  auto owned = std::make_shared<OwnedFftPlan<T>>();
  owned->plan.n = n;
  std::vector<int64_t> radixes;
  if (Factorize(n, &radixes)) {
    int64_t left = n, stride = 1;
    for (int64_t radix : radixes) {
      FftPass<T> pass{radix, left / radix, stride, nullptr, nullptr, nullptr, nullptr};
      std::vector<T> re(pass.m * (radix - 1)), im(re.size());
      for (int64_t p = 0; p < pass.m; ++p) {
        for (int64_t k = 1; k < radix; ++k) {
          double x, y;
          UnitRoot(p * k, left, &x, &y);
          re[p * (radix - 1) + k - 1] = static_cast<T>(x);
          im[p * (radix - 1) + k - 1] = static_cast<T>(y);
        }
      }
      pass.twiddle_re = Keep(owned.get(), std::move(re));
      pass.twiddle_im = Keep(owned.get(), std::move(im));
      if (radix > 5 && radix != 8) Roots(owned.get(), radix, radix, &pass.root_re, &pass.root_im);
      owned->passes.push_back(pass);
      left /= radix;
      stride *= radix;
    }
    owned->plan.num_passes = owned->passes.size();
    owned->plan.passes = owned->passes.data();
    return owned;
  }
  // Bluestein: j k = (j^2 + k^2 - (k - j)^2) / 2 makes the transform a convolution with the chirp w^(j^2 / 2).
  const int64_t m = GoodLength(2 * n - 1);
  owned->inner = GetFftPlan<T>(m);
  owned->plan.inner = &owned->inner->plan;
  std::vector<double> chirp_re(n), chirp_im(n);
  for (int64_t j = 0; j < n; ++j) {
    const int64_t square = static_cast<int64_t>(static_cast<unsigned __int128>(j) * j % (2 * n));
    UnitRoot(square, 2 * n, &chirp_re[j], &chirp_im[j]);
  }
  // The kernel is transformed in double, whatever T is.
  std::vector<double> re(m), im(m), scratch(2 * m);
  for (int64_t j = 0; j < n; ++j) {
    re[j] = chirp_re[j] / m;
    im[j] = -chirp_im[j] / m;
    if (j > 0) {
      re[m - j] = re[j];
      im[m - j] = im[j];
    }
  }
  const auto inner_double = GetFftPlan<double>(m);
  BestFftKernels().f64.run(inner_double->plan, re.data(), im.data(), scratch.data(), 1);
  owned->plan.chirp_re = Keep(owned.get(), std::vector<T>(chirp_re.begin(), chirp_re.end()));
  owned->plan.chirp_im = Keep(owned.get(), std::vector<T>(chirp_im.begin(), chirp_im.end()));
  owned->plan.kernel_re = Keep(owned.get(), std::vector<T>(re.begin(), re.end()));
  owned->plan.kernel_im = Keep(owned.get(), std::vector<T>(im.begin(), im.end()));
  return owned;
}

}  // namespace

template <typename T>
std::shared_ptr<const OwnedFftPlan<T>> GetFftPlan(int64_t n) {
  using Plan = std::shared_ptr<const OwnedFftPlan<T>>;
  constexpr size_t kPlans = 32;
  static std::mutex mu;
  static auto* plans = new std::list<std::pair<int64_t, Plan>>;  // most recently used first
  {
    std::lock_guard<std::mutex> lock(mu);
    for (auto it = plans->begin(); it != plans->end(); ++it) {
      if (it->first != n) continue;
      plans->splice(plans->begin(), *plans, it);
      return it->second;
    }
  }
  Plan plan = MakePlan<T>(n);
  std::lock_guard<std::mutex> lock(mu);
  plans->emplace_front(n, plan);
  if (plans->size() > kPlans) plans->pop_back();
  return plan;
}

template std::shared_ptr<const OwnedFftPlan<float>> GetFftPlan<float>(int64_t n);
template std::shared_ptr<const OwnedFftPlan<double>> GetFftPlan<double>(int64_t n);

}  // namespace xc
