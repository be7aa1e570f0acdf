// Measures the complex functions that emitted code calls against quadruple precision, and checks Annex G's special
// values. XC_DENSE=N takes N times the samples.
#include <gtest/gtest.h>
#include <quadmath.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "backends/codegen/elementwise.h"
#include "backends/codegen/math.h"

namespace xc::codegen {
namespace {

using Q = __float128;
using QC = __complex128;
using Function = void (*)(const double* x, const double* y, double* out);

Function Find(const std::string& name) {
  for (const MathSymbol& symbol : ComplexSymbols()) {
    if (symbol.name == name) return reinterpret_cast<Function>(symbol.address);
  }
  return nullptr;
}

QC Make(Q re, Q im) {
  QC z;
  __real__ z = re;
  __imag__ z = im;
  return z;
}

struct Case {
  const char* name;
  QC (*reference)(QC x, QC y);
  double limit;  // in units of the last place of the result's size
};

const Case kCases[] = {
    {"div", [](QC x, QC y) { return x / y; }, 2},
    {"exp", [](QC x, QC) { return cexpq(x); }, 2},
    {"expm1", [](QC x, QC) { return cexpq(x) - Make(1, 0); }, 2},
    {"log", [](QC x, QC) { return clogq(x); }, 2},
    {"log1p", [](QC x, QC) { return clogq(Make(1, 0) + x); }, 2},
    {"sqrt", [](QC x, QC) { return csqrtq(x); }, 2},
    {"rsqrt", [](QC x, QC) { return Make(1, 0) / csqrtq(x); }, 2},
    {"cbrt", [](QC x, QC) { return cpowq(x, Make(Q(1) / 3, 0)); }, 2},
    {"pow", [](QC x, QC y) { return cpowq(x, y); }, 2},
    {"tanh", [](QC x, QC) { return ctanhq(x); }, 2},
    {"tan", [](QC x, QC) { return ctanq(x); }, 2},
    {"sin", [](QC x, QC) { return csinq(x); }, 2},
    {"cos", [](QC x, QC) { return ccosq(x); }, 2},
    {"sinh", [](QC x, QC) { return csinhq(x); }, 2},
    {"cosh", [](QC x, QC) { return ccoshq(x); }, 2},
    {"asinh", [](QC x, QC) { return casinhq(x); }, 2},
    {"acosh", [](QC x, QC) { return cacoshq(x); }, 2},
    {"atanh", [](QC x, QC) { return catanhq(x); }, 2},
    {"asin", [](QC x, QC) { return casinq(x); }, 2},
    {"acos", [](QC x, QC) { return cacosq(x); }, 2},
    {"logistic", [](QC x, QC) { return Make(1, 0) / (Make(1, 0) + cexpq(-x)); }, 2},
};

// Finite arguments of all sizes, as the type holds them.
template <typename T>
std::vector<double> Samples(uint64_t seed) {
  const char* dense = std::getenv("XC_DENSE");
  const size_t count = 8000 * std::max(1, dense == nullptr ? 1 : std::atoi(dense));
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(-1, 1);
  std::vector<double> x;
  while (x.size() < count) {
    for (double v : {unit(random), unit(random) * 10, unit(random) * 80, 1 + unit(random) * 1e-3, unit(random) * 1e-6,
                     std::copysign(std::exp(unit(random) * 30), unit(random))}) {
      x.push_back(static_cast<T>(v));
    }
  }
  std::shuffle(x.begin(), x.end(), random);
  return x;
}

template <typename T>
void Measure(const Case& c, bool wide) {
  const Function function = Find(std::string(wide ? "xc_cmath_wide_" : "xc_cmath_") + c.name);
  ASSERT_NE(function, nullptr) << c.name;
  const std::vector<double> x = Samples<T>(1), y = Samples<T>(2);
  double worst = 0, worst_part = 0;
  for (size_t i = 0; i + 1 < x.size(); i += 2) {
    // The error of a power grows with the exponent, as that of the logarithm is multiplied by it.
    if (std::string(c.name) == "pow" && std::hypot(y[i], y[i + 1]) > 50) continue;
    double out[2];
    function(&x[i], &y[i], out);
    const QC want = c.reference(Make(x[i], x[i + 1]), Make(y[i], y[i + 1]));
    const Q size = cabsq(want);
    if (!(size < std::numeric_limits<T>::max()) || size < std::numeric_limits<T>::min()) continue;
    const auto unit = [](Q of) {
      const T magnitude = std::max<T>(static_cast<T>(fabsq(of)), std::numeric_limits<T>::min());
      return static_cast<Q>(magnitude - std::nextafter(magnitude, T(0)));
    };
    const Q re = static_cast<T>(out[0]) - __real__ want, im = static_cast<T>(out[1]) - __imag__ want;
    worst = std::max(worst, static_cast<double>(hypotq(re, im) / unit(size)));
    worst_part = std::max({worst_part, static_cast<double>(fabsq(re) / unit(__real__ want)),
                           static_cast<double>(fabsq(im) / unit(__imag__ want))});
  }
  std::printf("%-9s %-4s %5.2f ulp of the size, %9.3g ulp of the worse part\n", c.name, wide ? "c128" : "c64", worst,
              worst_part);
  EXPECT_LE(worst, c.limit) << c.name;
}

TEST(ComplexMath, C64) {
  for (const Case& c : kCases) Measure<float>(c, false);
}
TEST(ComplexMath, C128) {
  for (const Case& c : kCases) Measure<double>(c, true);
}

// C99, Annex G.
TEST(ComplexMath, SpecialValues) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const double pi = 3.141592653589793;
  struct Special {
    const char* name;
    double re, im, want_re, want_im;
  };
  const Special kSpecials[] = {
      {"exp", 0, inf, nan, nan},    {"exp", -inf, inf, 0, 0},       {"exp", inf, 0, inf, 0},
      {"exp", -inf, 1, 0, 0},       {"exp", nan, 0, nan, 0},        {"log", -0.0, 0, -inf, pi},
      {"log", 0, 0, -inf, 0},       {"log", 1, inf, inf, pi / 2},   {"log", -inf, 1, inf, pi},
      {"log", inf, nan, inf, nan},  {"sqrt", -1, 0, 0, 1},          {"sqrt", -1, -0.0, 0, -1},
      {"sqrt", nan, inf, inf, inf}, {"sqrt", -inf, 1, 0, inf},      {"sqrt", inf, 1, inf, 0},
      {"tanh", inf, 1, 1, 0},       {"tanh", -inf, 1, -1, 0},       {"tanh", 0, 0, 0, 0},
      {"sinh", 0, 0, 0, 0},         {"sinh", inf, 0, inf, 0},       {"cosh", 0, 0, 1, 0},
      {"cosh", inf, 0, inf, 0},     {"cosh", -inf, inf, inf, nan},  {"asinh", inf, 1, inf, 0},
      {"acosh", -inf, 1, inf, pi},  {"acosh", 0, nan, nan, pi / 2}, {"atanh", 1, 0, inf, 0},
      {"atanh", inf, 1, 0, pi / 2}, {"acos", inf, 1, 0, -inf},      {"asin", 1, inf, 0, inf},
  };
  for (const bool wide : {false, true}) {
    for (const Special& s : kSpecials) {
      const double x[] = {s.re, s.im};
      double out[2];
      Find(std::string(wide ? "xc_cmath_wide_" : "xc_cmath_") + s.name)(x, x, out);
      const auto same = [](double got, double want) {
        if (std::isnan(want)) return std::isnan(got);
        if (want == 0 || std::isinf(want)) return got == want;
        return std::abs(got - want) <= 1e-15 * std::abs(want);
      };
      EXPECT_TRUE(same(out[0], s.want_re) && same(out[1], s.want_im))
          << s.name << "(" << s.re << ", " << s.im << ") = (" << out[0] << ", " << out[1] << ")";
    }
    const double one[] = {1, 1}, zero[] = {0, 0};
    double out[2];
    Find(wide ? "xc_cmath_wide_div" : "xc_cmath_div")(one, zero, out);
    EXPECT_TRUE(std::isinf(out[0]) || std::isinf(out[1]));
  }
}

}  // namespace
}  // namespace xc::codegen
