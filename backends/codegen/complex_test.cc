// Measures the complex functions, as emitted code computes them and as the functions behind it do, against quadruple
// precision, and checks Annex G's special values. XC_DENSE=N takes N times the samples.
#include <gtest/gtest.h>
#include <quadmath.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "backends/codegen/elementwise.h"
#include "backends/codegen/elementwise_internal.h"
#include "backends/codegen/math.h"
#include "backends/codegen/test_loop.h"
#include "backends/cpu/jit.h"
#include "backends/runtime/math_functions.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace xc::codegen {
namespace {

using Q = __float128;
using QC = __complex128;
using Function = void (*)(const double* x, const double* y, double* out);

Function Find(const std::string& name) {
  for (const MathFunction& function : MathFunctions()) {
    if (function.symbol == name) return reinterpret_cast<Function>(function.address);
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
  HloOpcode op;
  const char* name;
  QC (*reference)(QC x, QC y);
  double limit;           // in units of the last place of the result's size
  double least_size = 0;  // smaller results have an error as one of this size has
};

const Case kCases[] = {
    {HloOpcode::kDivide, "div", [](QC x, QC y) { return x / y; }, 2},
    {HloOpcode::kExponential, "exp", [](QC x, QC) { return cexpq(x); }, 2},
    {HloOpcode::kExponentialMinusOne, "expm1", [](QC x, QC) { return cexpq(x) - Make(1, 0); }, 2},
    {HloOpcode::kLog, "log", [](QC x, QC) { return clogq(x); }, 2},
    {HloOpcode::kLogPlusOne, "log1p", [](QC x, QC) { return clogq(Make(1, 0) + x); }, 2},
    {HloOpcode::kSqrt, "sqrt", [](QC x, QC) { return csqrtq(x); }, 2},
    {HloOpcode::kRsqrt, "rsqrt", [](QC x, QC) { return Make(1, 0) / csqrtq(x); }, 2},
    {HloOpcode::kCbrt, "cbrt", [](QC x, QC) { return cpowq(x, Make(Q(1) / 3, 0)); }, 2},
    {HloOpcode::kPower, "pow", [](QC x, QC y) { return cpowq(x, y); }, 2},
    // By the formula with a logarithm, whose argument is near 1 for a small result: four steps, each rounded.
    {HloOpcode::kAtan2, "atan2",
     [](QC x, QC y) { return Make(0, -1) * clogq((y + Make(0, 1) * x) / csqrtq(x * x + y * y)); }, 4, 1},
    {HloOpcode::kTanh, "tanh", [](QC x, QC) { return ctanhq(x); }, 2},
    {HloOpcode::kTan, "tan", [](QC x, QC) { return ctanq(x); }, 2},
    {HloOpcode::kSine, "sin", [](QC x, QC) { return csinq(x); }, 2},
    {HloOpcode::kCosine, "cos", [](QC x, QC) { return ccosq(x); }, 2},
    {HloOpcode::kSinh, "sinh", [](QC x, QC) { return csinhq(x); }, 2},
    {HloOpcode::kCosh, "cosh", [](QC x, QC) { return ccoshq(x); }, 2},
    {HloOpcode::kAsinh, "asinh", [](QC x, QC) { return casinhq(x); }, 2},
    {HloOpcode::kAcosh, "acosh", [](QC x, QC) { return cacoshq(x); }, 2},
    {HloOpcode::kAtanh, "atanh", [](QC x, QC) { return catanhq(x); }, 2},
    {HloOpcode::kAsin, "asin", [](QC x, QC) { return casinq(x); }, 2},
    {HloOpcode::kAcos, "acos", [](QC x, QC) { return cacosq(x); }, 2},
    {HloOpcode::kLogistic, "logistic", [](QC x, QC) { return Make(1, 0) / (Make(1, 0) + cexpq(-x)); }, 2},
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

// The emitted code: void name(T* x, T* y, T* out, int64 n) on n pairs, a multiple of `kLanes`, in vectors or one by
// one.
constexpr int kLanes = 8;

template <typename T>
std::string FunctionName(const Case& c, bool vectors) {
  return std::string(c.name) + (sizeof(T) == 4 ? "_c64" : "_c128") + (vectors ? "_vector" : "");
}

template <typename T>
void AddLoop(cpu::CodeModule& code, const cpu::Target& target, const Case& c, bool vectors) {
  const int lanes = vectors ? kLanes : 1;
  const llvm::Align align(sizeof(T));
  CodegenTarget codegen;
  codegen.fma = target.fma;
  auto body = [&](llvm::IRBuilderBase& b, llvm::Function* f, llvm::Value* i) {
    llvm::Type* part = sizeof(T) == 4 ? b.getFloatTy() : b.getDoubleTy();
    llvm::Type* one = vectors ? static_cast<llvm::Type*>(llvm::FixedVectorType::get(part, lanes)) : part;
    // Real parts of a block of numbers, then its imaginary parts.
    auto at = [&](int k, int half) {
      return b.CreateGEP(part, f->getArg(k), b.CreateAdd(b.CreateMul(i, b.getInt64(2)), b.getInt64(half * lanes)));
    };
    auto load = [&](int k) -> Element {
      return {b.CreateAlignedLoad(one, at(k, 0), align), b.CreateAlignedLoad(one, at(k, 1), align)};
    };
    ElementEmitter e(b, codegen);
    std::vector<Element> operands = {load(0)};
    if (OpcodeArity(c.op) == 2) operands.push_back(load(1));
    const Element z = EmitComplexOp(e, c.op, operands);
    b.CreateAlignedStore(z.re, at(2, 0), align);
    b.CreateAlignedStore(z.im, at(2, 1), align);
  };
  AddLoopFunction(code.module(), FunctionName<T>(c, vectors), lanes, body);
}

// Code for all cases.
template <typename T>
std::unique_ptr<cpu::CompiledCode> Compile(const char* target_name) {
  auto target = cpu::GetTarget(target_name);
  EXPECT_TRUE(target.ok()) << target.status();
  std::vector<cpu::CodeModule> modules;
  std::vector<std::string> exports;
  for (const bool vectors : {false, true}) {
    modules.emplace_back(vectors ? "vectors" : "scalars", *target);
    for (const Case& c : kCases) {
      AddLoop<T>(modules.back(), *target, c, vectors);
      exports.push_back(FunctionName<T>(c, vectors));
    }
  }
  std::vector<cpu::Symbol> symbols;
  for (const MathFunction& f : MathFunctions()) symbols.push_back({f.symbol, f.address});
  cpu::CompileOptions options;
  options.target = *target;
  options.threads = 2;
  auto code = cpu::CompileModules(std::move(modules), symbols, exports, options);
  EXPECT_TRUE(code.ok()) << code.status();
  return *std::move(code);
}

template <typename T>
std::vector<T> Emitted(const cpu::CompiledCode& code, const Case& c, bool vectors, const std::vector<double>& x,
                       const std::vector<double>& y) {
  const int lanes = vectors ? kLanes : 1;
  const int64_t n = x.size() / 2 / kLanes * kLanes;
  auto place = [&](int64_t i, int half) { return i / lanes * 2 * lanes + half * lanes + i % lanes; };
  std::vector<T> in[2] = {std::vector<T>(2 * n), std::vector<T>(2 * n)}, out(2 * n), result(2 * n);
  for (int64_t i = 0; i < n; ++i) {
    for (int half : {0, 1}) {
      in[0][place(i, half)] = static_cast<T>(x[2 * i + half]);
      in[1][place(i, half)] = static_cast<T>(y[2 * i + half]);
    }
  }
  void* f = code.Find(FunctionName<T>(c, vectors));
  reinterpret_cast<void (*)(const T*, const T*, T*, int64_t)>(f)(in[0].data(), in[1].data(), out.data(), n);
  for (int64_t i = 0; i < n; ++i) {
    for (int half : {0, 1}) result[2 * i + half] = out[place(i, half)];
  }
  return result;
}

template <typename T>
void Measure(const char* target_name) {
  const auto code = Compile<T>(target_name);
  const bool wide = sizeof(T) == 8;
  const std::vector<double> x = Samples<T>(1), y = Samples<T>(2);
  for (const Case& c : kCases) {
    const Function function = Find(std::string(wide ? "xc_cmath_wide_" : "xc_cmath_") + c.name);
    ASSERT_NE(function, nullptr) << c.name;
    const std::vector<T> emitted = Emitted<T>(*code, c, true, x, y), scalar = Emitted<T>(*code, c, false, x, y);
    double worst[2] = {}, worst_part = 0;
    for (size_t i = 0; i + 1 < emitted.size(); i += 2) {
      for (int half : {0, 1}) {
        const T a = emitted[i + half], b = scalar[i + half];
        ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << c.name << " differs between widths";
      }
      // The error of a power grows with the exponent, as that of the logarithm is multiplied by it.
      if (c.op == HloOpcode::kPower && std::hypot(y[i], y[i + 1]) > 50) continue;
      double called[2];
      function(&x[i], &y[i], called);
      const QC want = c.reference(Make(x[i], x[i + 1]), Make(y[i], y[i + 1]));
      const Q size = cabsq(want);
      if (!(size < std::numeric_limits<T>::max()) || size < std::numeric_limits<T>::min()) continue;
      const auto unit = [](Q of) {
        const T magnitude = std::max<T>(static_cast<T>(fabsq(of)), std::numeric_limits<T>::min());
        return static_cast<Q>(magnitude - std::nextafter(magnitude, T(0)));
      };
      const T results[2][2] = {{emitted[i], emitted[i + 1]}, {static_cast<T>(called[0]), static_cast<T>(called[1])}};
      for (int k : {0, 1}) {
        const Q re = results[k][0] - __real__ want, im = results[k][1] - __imag__ want;
        const double error = static_cast<double>(hypotq(re, im) / unit(fmaxq(size, c.least_size)));
        worst[k] = error <= worst[k] ? worst[k] : error;  // NaN too
        if (k > 0) continue;
        worst_part = std::max({worst_part, static_cast<double>(fabsq(re) / unit(__real__ want)),
                               static_cast<double>(fabsq(im) / unit(__imag__ want))});
      }
    }
    std::printf("%-9s %-4s %5.2f ulp of the size, %9.3g ulp of the worse part; %5.2f as a call\n", c.name,
                wide ? "c128" : "c64", worst[0], worst_part, worst[1]);
    EXPECT_LE(worst[0], c.limit) << c.name;
    EXPECT_LE(worst[1], c.limit) << c.name << " as a call";
  }
}

TEST(ComplexMath, C64) { Measure<float>(""); }
TEST(ComplexMath, C64WithoutFma) { Measure<float>("x86-64-v2"); }
TEST(ComplexMath, C128) { Measure<double>(""); }
TEST(ComplexMath, C128WithoutFma) { Measure<double>("x86-64-v2"); }

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
  const auto floats = Compile<float>("");
  const auto doubles = Compile<double>("");
  for (const bool wide : {false, true}) {
    for (const Special& s : kSpecials) {
      const double x[] = {s.re, s.im};
      double out[2];
      Find(std::string(wide ? "xc_cmath_wide_" : "xc_cmath_") + s.name)(x, x, out);
      const auto same = [](double got, double want, double error) {
        if (std::isnan(want)) return std::isnan(got);
        if (want == 0 || std::isinf(want)) return got == want;
        return std::abs(got - want) <= error * std::abs(want);
      };
      EXPECT_TRUE(same(out[0], s.want_re, 1e-15) && same(out[1], s.want_im, 1e-15))
          << s.name << "(" << s.re << ", " << s.im << ") = (" << out[0] << ", " << out[1] << ")";
      // The same in one lane of a vector of ordinary numbers.
      std::vector<double> in(2 * kLanes, 0.5);
      in[6] = s.re, in[7] = s.im;
      const Case& c = *std::find_if(std::begin(kCases), std::end(kCases),
                                    [&](const Case& one) { return std::string(one.name) == s.name; });
      double got[2];
      for (int half : {0, 1}) {
        got[half] = wide ? Emitted<double>(*doubles, c, true, in, in)[6 + half]
                         : Emitted<float>(*floats, c, true, in, in)[6 + half];
      }
      const double error = wide ? 1e-15 : 1e-7;
      EXPECT_TRUE(same(got[0], s.want_re, error) && same(got[1], s.want_im, error))
          << "emitted " << s.name << "(" << s.re << ", " << s.im << ") = (" << got[0] << ", " << got[1] << ")";
    }
    const double one[] = {1, 1}, zero[] = {0, 0};
    double out[2];
    Find(wide ? "xc_cmath_wide_div" : "xc_cmath_div")(one, zero, out);
    EXPECT_TRUE(std::isinf(out[0]) || std::isinf(out[1]));
  }
}

// Zeros among other numbers give what they give alone; a root's imaginary part keeps its sign.
TEST(ComplexMath, Zeros) {
  const auto floats = Compile<float>("");
  const auto doubles = Compile<double>("");
  const double parts[] = {0.0, -0.0, std::numeric_limits<double>::quiet_NaN()};
  for (const char* name : {"div", "sqrt", "rsqrt", "log"}) {
    const Case& c = *std::find_if(std::begin(kCases), std::end(kCases),
                                  [&](const Case& one) { return std::string(one.name) == name; });
    for (const bool wide : {false, true}) {
      for (int k = 0; k < 36; ++k) {
        const double x[] = {parts[k % 3], parts[k / 3 % 3]}, y[] = {k & 1 ? -3.0 : 3.0, k & 2 ? -0.5 : 0.5};
        double want[2];
        Find(std::string(wide ? "xc_cmath_wide_" : "xc_cmath_") + name)(x, y, want);
        std::vector<double> in(2 * kLanes, 0.5), by(2 * kLanes, 2);
        in[6] = x[0], in[7] = x[1], by[6] = y[0], by[7] = y[1];
        for (int part : {0, 1}) {
          const double got = wide ? Emitted<double>(*doubles, c, true, in, by)[6 + part]
                                  : Emitted<float>(*floats, c, true, in, by)[6 + part];
          const float rounded = static_cast<float>(want[part]);
          EXPECT_TRUE(std::isnan(want[part]) ? std::isnan(got)
                                             : (wide ? got == want[part] : static_cast<float>(got) == rounded) &&
                                                   (name[0] == 'd' || std::signbit(got) == std::signbit(want[part])))
              << name << (wide ? " c128" : " c64") << " (" << x[0] << ", " << x[1] << ") " << part << ": " << got
              << " not " << want[part];
        }
      }
    }
  }
}

// As XLA has them: runtime/complex_power.h.
TEST(ComplexMath, SpecialPowers) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  struct Special {
    double x[2], y[2], want[2];
  };
  const Special kSpecials[] = {
      {{0, 0}, {1, 1}, {nan, nan}},    {{0, -0.0}, {-1, 0}, {nan, nan}}, {{0, 0}, {0, 0}, {1, 0}},
      {{0, 0}, {0.5, 0}, {0, 0}},      {{1, 0}, {nan, inf}, {1, 0}},     {{inf, 0}, {0, 0}, {1, 0}},
      {{nan, inf}, {0, -0.0}, {1, 0}}, {{inf, 0}, {2, 0}, {inf, 0}},     {{inf, 0}, {-inf, 0}, {0, 0}},
      {{inf, 0}, {1, 1}, {nan, nan}},  {{2, 0}, {inf, 0}, {nan, nan}},   {{-inf, 0}, {1, 0}, {nan, nan}},
  };
  const auto floats = Compile<float>("");
  const auto doubles = Compile<double>("");
  const Case& power =
      *std::find_if(std::begin(kCases), std::end(kCases), [](const Case& one) { return one.op == HloOpcode::kPower; });
  const auto same = [](double got, double want) { return got == want || (std::isnan(got) && std::isnan(want)); };
  for (const Special& s : kSpecials) {
    // In one lane of a vector of ordinary numbers.
    std::vector<double> x(2 * kLanes, 0.5), y = x;
    std::copy(s.x, s.x + 2, &x[6]);
    std::copy(s.y, s.y + 2, &y[6]);
    const std::vector<float> narrow = Emitted<float>(*floats, power, true, x, y);
    const std::vector<double> wide = Emitted<double>(*doubles, power, true, x, y);
    for (int half : {0, 1}) {
      EXPECT_TRUE(same(narrow[6 + half], s.want[half]) && same(wide[6 + half], s.want[half]))
          << "(" << s.x[0] << ", " << s.x[1] << ") ^ (" << s.y[0] << ", " << s.y[1] << "): " << narrow[6 + half] << ", "
          << wide[6 + half];
    }
  }
}

}  // namespace
}  // namespace xc::codegen
