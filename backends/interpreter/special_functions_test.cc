// Special functions as they are built of instructions (hlo/builder/special_functions.h), against the C library.
#include "hlo/builder/special_functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "backends/interpreter/evaluator.h"

namespace xc {
namespace {

using Function = Op (*)(HloBuilder&, Op);

std::vector<double> Values(Function function, ElementType type, const std::vector<double>& arguments) {
  const Shape shape(type, {static_cast<int64_t>(arguments.size())});
  HloBuilder b("m");
  auto module = b.Build(function(b, b.Parameter(0, shape, "x")));
  EXPECT_TRUE(module.ok()) << module.status();
  Literal x(shape);
  for (size_t i = 0; i < arguments.size(); ++i) x.SetDouble(i, arguments[i]);
  const Literal* const all[] = {&x};
  const absl::StatusOr<Literal> result = Evaluator().Evaluate(**module, all);
  EXPECT_TRUE(result.ok()) << result.status();
  std::vector<double> values;
  for (size_t i = 0; i < arguments.size(); ++i) values.push_back(result->GetDouble(i));
  return values;
}

void Expect(Function function, ElementType type, const std::vector<double>& arguments, double (*reference)(double),
            double tolerance) {
  const std::vector<double> values = Values(function, type, arguments);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const double x = type == ElementType::kF32 ? static_cast<float>(arguments[i]) : arguments[i];
    const double want = reference(x);
    if (values[i] == want) continue;
    EXPECT_LE(std::abs(values[i] - want), tolerance * (1 + std::abs(want))) << "of " << x << ": " << values[i];
  }
}

// From 1e-30 to 1e36, whose functions are near the ends of floats.
std::vector<double> PositiveOfAllSizes() {
  std::vector<double> x = {0.5, 1, 1.4616321449683623, 2, 3, 170, std::numeric_limits<double>::infinity()};
  for (double size = 1e-30; size < 1e36; size *= 1.7) x.push_back(size);
  for (double at = 0.01; at < 12; at += 0.07) x.push_back(at);
  return x;
}

double LogGamma(double x) { return std::lgamma(x); }

TEST(SpecialFunctions, Lgamma) {
  std::vector<double> x = PositiveOfAllSizes();
  for (double at = -9.93; at < 0; at += 0.11) x.push_back(at);
  Expect(Lgamma, ElementType::kF64, x, LogGamma, 4e-14);
  Expect(Lgamma, ElementType::kF32, PositiveOfAllSizes(), LogGamma, 2e-6);
}

// By recurrence, then by the asymptotic series.
double DigammaOf(double at) {
  long double x = at, sum = 0;
  if (std::isinf(at)) return at;
  for (; x < 30; x += 1) sum -= 1 / x;
  const long double y = 1 / (x * x);
  const long double series = y * (1.0L / 12 - y * (1.0L / 120 - y * (1.0L / 252 - y * (1.0L / 240 - y / 132))));
  return static_cast<double>(sum + std::log(x) - 0.5L / x - series);
}

TEST(SpecialFunctions, Digamma) {
  Expect(Digamma, ElementType::kF64, PositiveOfAllSizes(), DigammaOf, 1e-14);
  Expect(Digamma, ElementType::kF32, PositiveOfAllSizes(), DigammaOf, 2e-6);
}

// By bisection with the tails of the error function, which are precise near 1.
double InverseErf(double x) {
  if (std::abs(x) == 1) return x * std::numeric_limits<double>::infinity();
  const double size = std::abs(x);
  double low = 0, high = 6;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    const bool below = size > 0.5 ? std::erfc(middle) > 1 - size : std::erf(middle) < size;
    (below ? low : high) = middle;
  }
  return std::copysign((low + high) / 2, x);
}

TEST(SpecialFunctions, ErfInv) {
  std::vector<double> x = {0, 0.5, -0.5, 1, -1, 1e-20, 1 - 0x1p-53, 0x1p-53 - 1};
  for (double at = -0.99; at < 1; at += 0.013) x.push_back(at);
  for (double rest = 0.5; rest > 1e-15; rest *= 0.6) x.push_back(1 - rest);
  Expect(ErfInv, ElementType::kF64, x, InverseErf, 3e-15);
}

}  // namespace
}  // namespace xc
