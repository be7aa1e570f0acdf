// The functions compute with more digits than the operands have where the C library's own would be off by more than 2
// ulp.
#include "backends/runtime/math_functions.h"

#include <cmath>
#include <complex>
#include <optional>

#include "backends/runtime/complex_power.h"

namespace xc {
namespace {

struct RealRow {
  const char* name;
  double (*unary)(double);
  double (*binary)(double, double);
};

double Logistic(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
// glibc's double versions of these are off by more than 2 ulp in places.
double Acosh(double x) { return static_cast<double>(std::acosh(static_cast<long double>(x))); }
double Cbrt(double x) { return static_cast<double>(std::cbrt(static_cast<long double>(x))); }
double Rsqrt(double x) { return 1 / std::sqrt(x); }

const RealRow kRealRows[] = {
    {"exp", std::exp, nullptr},     {"expm1", std::expm1, nullptr}, {"log", std::log, nullptr},
    {"log1p", std::log1p, nullptr}, {"tanh", std::tanh, nullptr},   {"logistic", Logistic, nullptr},
    {"erf", std::erf, nullptr},     {"sin", std::sin, nullptr},     {"cos", std::cos, nullptr},
    {"tan", std::tan, nullptr},     {"sqrt", std::sqrt, nullptr},   {"rsqrt", Rsqrt, nullptr},
    {"cbrt", Cbrt, nullptr},        {"sinh", std::sinh, nullptr},   {"cosh", std::cosh, nullptr},
    {"asinh", std::asinh, nullptr}, {"acosh", Acosh, nullptr},      {"atanh", std::atanh, nullptr},
    {"asin", std::asin, nullptr},   {"acos", std::acos, nullptr},   {"atan", std::atan, nullptr},
    {"pow", nullptr, std::pow},     {"atan2", nullptr, std::atan2}, {"fmod", nullptr, std::fmod},
};

// out = op(x, y); complex numbers as pairs.
using ComplexFunction = void (*)(const double* x, const double* y, double* out);

template <typename R>
std::complex<R> Expm1(std::complex<R> z) {
  // Keeps the digits of small arguments: e^a cos b - 1 = expm1(a) cos b - 2 sin^2(b / 2).
  const R s = std::sin(z.imag() / 2);
  return {std::expm1(z.real()) * std::cos(z.imag()) - 2 * s * s, std::exp(z.real()) * std::sin(z.imag())};
}
template <typename R>
std::complex<R> Log1p(std::complex<R> z) {
  const R a = z.real(), b = z.imag();
  if (std::hypot(a, b) > R(0.5)) return std::log(std::complex<R>(1 + a, b));
  return {std::log1p(a * (2 + a) + b * b) / 2, std::atan2(b, 1 + a)};
}
template <typename R>
std::complex<R> Sign(std::complex<R> z) {
  const R size = std::abs(z);
  return size == 0 ? std::complex<R>(0, 0) : z / size;
}
template <typename R>
std::complex<R> Power(std::complex<R> x, std::complex<R> y) {
  const std::optional<std::complex<R>> special = SpecialPower(x, y);
  return special ? *special : std::pow(x, y);
}

// -i log((y + i x) / sqrt(x^2 + y^2))
template <typename R>
std::complex<R> Atan2(std::complex<R> x, std::complex<R> y) {
  const std::complex<R> i(0, 1);
  return -i * std::log((y + i * x) / std::sqrt(x * x + y * y));
}

// Computes in R, a type with more digits than the operands have.
template <typename R, typename Fn>
constexpr ComplexFunction In(Fn) {
  return +[](const double* x, const double* y, double* out) {
    const std::complex<R> z = Fn{}(std::complex<R>(x[0], x[1]), y);
    out[0] = static_cast<double>(z.real());
    out[1] = static_cast<double>(z.imag());
  };
}

struct ComplexRow {
  const char* name;
  ComplexFunction narrow, wide;  // for c64 and c128
};

template <typename Fn>
constexpr ComplexRow Unary(const char* name, Fn) {
  constexpr auto kCall = [](auto x, const double*) { return Fn{}(x); };
  return {name, In<double>(kCall), In<long double>(kCall)};
}
template <typename Fn>
constexpr ComplexRow Binary(const char* name, Fn) {
  constexpr auto kCall = [](auto x, const double* y) { return Fn{}(x, decltype(x)(y[0], y[1])); };
  return {name, In<double>(kCall), In<long double>(kCall)};
}

const ComplexRow kComplexRows[] = {
    Binary("div", [](auto x, auto y) { return x / y; }),
    Binary("pow", [](auto x, auto y) { return Power(x, y); }),
    Binary("atan2", [](auto x, auto y) { return Atan2(x, y); }),
    Unary("exp", [](auto x) { return std::exp(x); }),
    Unary("expm1", [](auto x) { return Expm1(x); }),
    Unary("log", [](auto x) { return std::log(x); }),
    Unary("log1p", [](auto x) { return Log1p(x); }),
    Unary("sqrt", [](auto x) { return std::sqrt(x); }),
    Unary("rsqrt", [](auto x) { return decltype(x)(1) / std::sqrt(x); }),
    Unary("cbrt", [](auto x) { return std::pow(x, decltype(x.real())(1) / 3); }),
    Unary("tanh", [](auto x) { return std::tanh(x); }),
    Unary("tan", [](auto x) { return std::tan(x); }),
    Unary("sin", [](auto x) { return std::sin(x); }),
    Unary("cos", [](auto x) { return std::cos(x); }),
    Unary("sinh", [](auto x) { return std::sinh(x); }),
    Unary("cosh", [](auto x) { return std::cosh(x); }),
    Unary("asinh", [](auto x) { return std::asinh(x); }),
    Unary("acosh", [](auto x) { return std::acosh(x); }),
    Unary("atanh", [](auto x) { return std::atanh(x); }),
    Unary("asin", [](auto x) { return std::asin(x); }),
    Unary("acos", [](auto x) { return std::acos(x); }),
    Unary("logistic", [](auto x) { return decltype(x)(1) / (decltype(x)(1) + std::exp(-x)); }),
    Unary("sign", [](auto x) { return Sign(x); }),
};

}  // namespace

const std::vector<MathFunction>& MathFunctions() {
  static const auto* const functions = [] {
    auto* all = new std::vector<MathFunction>;
    for (const RealRow& row : kRealRows) {
      all->push_back({std::string("xc_math_") + row.name,
                      row.unary != nullptr ? reinterpret_cast<void*>(row.unary) : reinterpret_cast<void*>(row.binary)});
    }
    for (const ComplexRow& row : kComplexRows) {
      all->push_back({std::string("xc_cmath_") + row.name, reinterpret_cast<void*>(row.narrow)});
      all->push_back({std::string("xc_cmath_wide_") + row.name, reinterpret_cast<void*>(row.wide)});
    }
    return all;
  }();
  return *functions;
}

}  // namespace xc
