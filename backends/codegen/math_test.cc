// Measures every emitted function against the C library's next wider type: dense samples over the whole domain, special
// values, both with and without fused multiply-add, scalar and at two vector widths, which must agree bit for bit.
// XC_DENSE=N takes N times the samples.
#include "backends/codegen/math.h"

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include "backends/codegen/test_loop.h"
#include "backends/cpu/jit.h"
#include "backends/runtime/math_functions.h"
#include "gtest/gtest.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace xc::codegen {
namespace {

using Wide = long double;

struct Case {
  MathOp op;
  const char* name;
  std::function<Wide(Wide, Wide)> reference;
};

const std::vector<Case>& Cases() {
  static const auto* const cases = new std::vector<Case>{
      {MathOp::kExp, "exp", [](Wide x, Wide) { return std::exp(x); }},
      {MathOp::kExpm1, "expm1", [](Wide x, Wide) { return std::expm1(x); }},
      {MathOp::kLog, "log", [](Wide x, Wide) { return std::log(x); }},
      {MathOp::kLog1p, "log1p", [](Wide x, Wide) { return std::log1p(x); }},
      {MathOp::kTanh, "tanh", [](Wide x, Wide) { return std::tanh(x); }},
      {MathOp::kLogistic, "logistic",
       [](Wide x, Wide) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }},
      {MathOp::kErf, "erf", [](Wide x, Wide) { return std::erf(x); }},
      {MathOp::kSin, "sin", [](Wide x, Wide) { return std::sin(x); }},
      {MathOp::kCos, "cos", [](Wide x, Wide) { return std::cos(x); }},
      {MathOp::kTan, "tan", [](Wide x, Wide) { return std::tan(x); }},
      {MathOp::kSqrt, "sqrt", [](Wide x, Wide) { return std::sqrt(x); }},
      {MathOp::kRsqrt, "rsqrt", [](Wide x, Wide) { return 1 / std::sqrt(x); }},
      {MathOp::kCbrt, "cbrt", [](Wide x, Wide) { return std::cbrt(x); }},
      {MathOp::kSinh, "sinh", [](Wide x, Wide) { return std::sinh(x); }},
      {MathOp::kCosh, "cosh", [](Wide x, Wide) { return std::cosh(x); }},
      {MathOp::kAsinh, "asinh", [](Wide x, Wide) { return std::asinh(x); }},
      {MathOp::kAcosh, "acosh", [](Wide x, Wide) { return std::acosh(x); }},
      {MathOp::kAtanh, "atanh", [](Wide x, Wide) { return std::atanh(x); }},
      {MathOp::kAsin, "asin", [](Wide x, Wide) { return std::asin(x); }},
      {MathOp::kAcos, "acos", [](Wide x, Wide) { return std::acos(x); }},
      {MathOp::kAtan, "atan", [](Wide x, Wide) { return std::atan(x); }},
      {MathOp::kPow, "pow", [](Wide x, Wide y) { return std::pow(x, y); }},
      {MathOp::kAtan2, "atan2", [](Wide x, Wide y) { return std::atan2(x, y); }},
      {MathOp::kFmod, "fmod", [](Wide x, Wide y) { return std::fmod(x, y); }},
  };
  return *cases;
}

template <typename T>
llvm::Type* TypeOf(llvm::IRBuilderBase& b, int lanes) {
  llvm::Type* t = sizeof(T) == 4 ? b.getFloatTy() : b.getDoubleTy();
  return lanes == 1 ? t : llvm::FixedVectorType::get(t, lanes);
}

constexpr int kWidths[] = {1, 4, 16};

std::string FunctionName(const Case& c, size_t bytes, int lanes) {
  return std::string(c.name) + "_" + std::to_string(bytes) + "_" + std::to_string(lanes);
}

// void name(T* x, T* y, T* out, int64 n), n a multiple of the lanes.
template <typename T>
void AddLoop(cpu::CodeModule& code, const Case& c, int lanes, bool fma) {
  const llvm::Align align(sizeof(T));
  auto body = [&](llvm::IRBuilderBase& b, llvm::Function* f, llvm::Value* i) {
    auto at = [&](int k) { return b.CreateGEP(TypeOf<T>(b, 1), f->getArg(k), i); };
    auto load = [&](int k) { return b.CreateAlignedLoad(TypeOf<T>(b, lanes), at(k), align); };
    llvm::Value* y = IsBinary(c.op) ? load(1) : nullptr;
    b.CreateAlignedStore(EmitMath(b, c.op, fma, load(0), y), at(2), align);
  };
  AddLoopFunction(code.module(), FunctionName(c, sizeof(T), lanes), lanes, body);
}

template <typename T>
std::vector<T> Samples(bool binary_second) {
  std::vector<T> x;
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const T tiny = std::numeric_limits<T>::min(), last = std::numeric_limits<T>::max();
  const T small = std::numeric_limits<T>::denorm_min();
  for (T v : {T(0), T(1),  T(2), T(3), T(0.5), T(2.5), T(4),  T(1e6), T(16777217), T(1e9),   tiny,
              last, small, inf,  nan,  T(1.5), T(0.1), T(89), T(100), T(710),      T(103.5), T(88.5)}) {
    x.push_back(v);
    x.push_back(-v);
  }
  std::mt19937_64 random(binary_second ? 7 : 1);
  std::uniform_real_distribution<double> unit(-1, 1);
  const char* dense = std::getenv("XC_DENSE");
  const size_t count = 60000 * std::max(1, dense == nullptr ? 1 : std::atoi(dense));
  while (x.size() < count) {
    x.push_back(unit(random));
    x.push_back(unit(random) * 10);
    x.push_back(unit(random) * 120);
    x.push_back(std::exp(unit(random) * (sizeof(T) == 4 ? 87 : 700)));
    x.push_back(1 + unit(random) * 1e-3);
    uint64_t bits = random();
    T any;
    std::memcpy(&any, &bits, sizeof(T));
    x.push_back(any);
  }
  if (binary_second) {
    // Meet all of the other operand's special values.
    std::mt19937_64 order(3);
    for (size_t i = 0; i < 2000; ++i) x[order() % x.size()] = x[order() % 44];
  }
  x.resize(x.size() / 16 * 16);
  return x;
}

// Distance in units of the last place of T at `want`; infinite when one is NaN or infinite and the other is not.
template <typename T>
double Ulps(T got, Wide want) {
  T rounded = static_cast<T>(want);
  if (std::isnan(rounded) || std::isnan(got)) return std::isnan(rounded) == std::isnan(got) ? 0 : INFINITY;
  if (rounded == got) return rounded == 0 && std::signbit(rounded) != std::signbit(got) ? INFINITY : 0;
  // One step beyond the largest number counts as infinity's neighbour.
  if (std::isinf(got) || std::isinf(rounded)) {
    return std::abs(std::isinf(got) ? rounded : got) == std::numeric_limits<T>::max() ? 1 : INFINITY;
  }
  T magnitude = std::max(std::abs(rounded), std::numeric_limits<T>::min());
  Wide unit = static_cast<Wide>(std::nextafter(magnitude, std::numeric_limits<T>::infinity())) - magnitude;
  return std::abs(static_cast<Wide>(got) - want) / unit;
}

template <typename T>
void Measure(const char* target_name) {
  auto target = cpu::GetTarget(target_name);
  ASSERT_TRUE(target.ok()) << target.status();
  std::vector<cpu::CodeModule> modules;
  std::vector<std::string> exports;
  for (int lanes : kWidths) {
    modules.emplace_back("m" + std::to_string(lanes), *target);
    for (const Case& c : Cases()) {
      AddLoop<T>(modules.back(), c, lanes, target->fma);
      exports.push_back(FunctionName(c, sizeof(T), lanes));
    }
  }
  std::vector<cpu::Symbol> symbols;
  for (const MathFunction& f : MathFunctions()) symbols.push_back({f.symbol, f.address});
  cpu::CompileOptions options;
  options.target = *target;
  options.threads = 2;
  auto code = cpu::CompileModules(std::move(modules), symbols, exports, options);
  ASSERT_TRUE(code.ok()) << code.status();
  const std::vector<T> x = Samples<T>(false), y = Samples<T>(true);
  for (const Case& c : Cases()) {
    std::vector<T> results[3];
    for (int w = 0; w < 3; ++w) {
      results[w].resize(x.size());
      void* f = (*code)->Find(FunctionName(c, sizeof(T), kWidths[w]));
      reinterpret_cast<void (*)(const T*, const T*, T*, int64_t)>(f)(x.data(), y.data(), results[w].data(), x.size());
    }
    double worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      double error = Ulps<T>(results[2][i], c.reference(x[i], y[i]));
      if (error > worst) worst = error, at = i;
      for (int w = 0; w < 2; ++w) {
        ASSERT_TRUE(results[w][i] == results[2][i] || (std::isnan(results[w][i]) && std::isnan(results[2][i])))
            << c.name << "(" << x[i] << ") differs between widths";
      }
    }
    std::printf("%-9s f%zu %-9s %5.2f ulp\n", c.name, 8 * sizeof(T), target_name, worst);
    EXPECT_LE(worst, 2) << c.name << "(" << x[at] << ", " << y[at] << ") = " << results[2][at] << ", want "
                        << static_cast<T>(c.reference(x[at], y[at]));
  }
}

// What underflows on the way to its result takes some processors a hundred cycles: masked exponentials, roots of zero.
template <typename T>
void ExpectNoUnderflow(MathOp op, std::vector<T> x) {
  auto target = cpu::GetTarget("");
  ASSERT_TRUE(target.ok()) << target.status();
  const Case& c = *std::find_if(Cases().begin(), Cases().end(), [&](const Case& c) { return c.op == op; });
  std::vector<cpu::CodeModule> modules;
  modules.emplace_back("m", *target);
  AddLoop<T>(modules.back(), c, 16, target->fma);
  const std::string name = FunctionName(c, sizeof(T), 16);
  cpu::CompileOptions options;
  options.target = *target;
  auto code = cpu::CompileModules(std::move(modules), {}, {name}, options);
  ASSERT_TRUE(code.ok()) << code.status();
  x.resize((x.size() + 15) / 16 * 16, x[0]);
  std::vector<T> results(x.size());
  std::feclearexcept(FE_ALL_EXCEPT);
  reinterpret_cast<void (*)(const T*, const T*, T*, int64_t)>((*code)->Find(name))(x.data(), nullptr, results.data(),
                                                                                   x.size());
  EXPECT_FALSE(std::fetestexcept(FE_UNDERFLOW)) << c.name << " of " << 8 * sizeof(T) << " bits";
}

TEST(Math, MasksAndZerosDoNotUnderflow) {
  const auto test = [](auto zero, auto denormal, auto none) {
    using T = decltype(zero);
    const T inf = std::numeric_limits<T>::infinity();
    ExpectNoUnderflow<T>(MathOp::kExp, {-1, T(-1e9), -inf, denormal, none, std::nextafter(none, -inf), 0});
    ExpectNoUnderflow<T>(MathOp::kLogistic, {-1, T(-1e9), -inf, T(1e9), inf, 0});
    ExpectNoUnderflow<T>(MathOp::kCbrt, {8, zero, -zero, inf});
    for (MathOp op : {MathOp::kTanh, MathOp::kErf, MathOp::kExpm1, MathOp::kLog1p}) {
      ExpectNoUnderflow<T>(op, {1, zero, T(0.5), T(1e9), inf});
    }
  };
  test(0.0f, -90.0f, -104.0f);
  test(0.0, -710.0, -746.0);
}

TEST(Math, FloatOnThisMachine) { Measure<float>(""); }
TEST(Math, FloatWithoutFma) { Measure<float>("x86-64-v2"); }
TEST(Math, DoubleOnThisMachine) { Measure<double>(""); }

}  // namespace
}  // namespace xc::codegen
