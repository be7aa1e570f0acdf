// Elementwise operators of one complex operand, computed on pairs of f64 and rounded once.
#include <cmath>
#include <complex>
#include <limits>

#include "backends/interpreter/elementwise.h"
#include "backends/interpreter/elementwise_loops.h"

namespace xc::interp {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Complex Expm1(Complex z) {
  // e^x cos y - 1 = expm1(x) cos y - 2 sin²(y / 2)
  const double x = z.real(), y = z.imag();
  if (y == 0) return {std::expm1(x), y};
  if (!std::isfinite(x) || !std::isfinite(y)) return std::exp(z) - 1.0;
  const double half = std::sin(y / 2);
  return {std::expm1(x) * std::cos(y) - 2 * half * half, std::exp(x) * std::sin(y)};
}

Complex Log1p(Complex z) {
  const double x = z.real(), y = z.imag();
  const double imag = std::atan2(y, x + 1);
  if (std::fabs(x) > 0.5 || std::fabs(y) > 0.5) return {std::log(std::hypot(x + 1, y)), imag};
  // ½ log1p(x² + y² + 2x), the argument in extended precision because its terms may cancel.
  const long double lx = x, ly = y;
  return {static_cast<double>(0.5L * std::log1p(lx * (lx + 2) + ly * ly)), imag};
}

Complex Sign(Complex z) {
  if (std::isnan(z.real()) || std::isnan(z.imag())) {
    return {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
  }
  const double size = std::hypot(z.real(), z.imag());
  return size == 0 ? Complex(0) : z / size;
}

// 1 / sqrt(z) by polar form; a zero gives +inf, an infinity 0.
Complex Rsqrt(Complex z) {
  const double size = std::hypot(z.real(), z.imag());
  if (size == 0) return {kInf, std::copysign(0.0, -z.imag())};
  if (std::isinf(size)) return {0.0, std::copysign(0.0, -z.imag())};
  const Complex root = std::sqrt(z);
  return Complex(root.real(), -root.imag()) / size;
}

Complex Logistic(Complex z) { return 1.0 / (1.0 + std::exp(-z)); }

Complex Cbrt(Complex z) { return z == Complex(0) ? z : std::pow(z, 1.0 / 3); }

template <Complex (*kFunction)(Complex)>
struct Call {
  Complex operator()(const ElementwiseOp&, Complex z) const { return kFunction(z); }
};
XC_OP(NegateComplex, return C(-x.real(), -x.imag()))
XC_OP(Sqrt, return std::sqrt(x))
XC_OP(Exp, return std::exp(x))
XC_OP(Log, return std::log(x))
XC_OP(Sin, return std::sin(x))
XC_OP(Cos, return std::cos(x))
XC_OP(Tan, return std::tan(x))
XC_OP(Sinh, return std::sinh(x))
XC_OP(Cosh, return std::cosh(x))
XC_OP(Tanh, return std::tanh(x))
XC_OP(Asin, return std::asin(x))
XC_OP(Acos, return std::acos(x))
XC_OP(Asinh, return std::asinh(x))
XC_OP(Acosh, return std::acosh(x))
XC_OP(Atanh, return std::atanh(x))

struct AbsComplex {
  double operator()(const ElementwiseOp&, Complex z) const { return std::hypot(z.real(), z.imag()); }
};
struct Real {
  double operator()(const ElementwiseOp&, Complex z) const { return z.real(); }
};
struct Imag {
  double operator()(const ElementwiseOp&, Complex z) const { return z.imag(); }
};

template <typename F>
ElementwiseFn Of() {
  return &UnaryLoop<Complex, Complex, F>;
}

}  // namespace

ElementwiseFn FindComplexUnary(const ElementwiseOp& op) {
  if (op.operands != 1 || !IsComplex(op.in[0])) return nullptr;
  switch (op.opcode) {
    case HloOpcode::kAbs:
      return &UnaryLoop<Complex, double, AbsComplex>;
    case HloOpcode::kReal:
      return &UnaryLoop<Complex, double, Real>;
    case HloOpcode::kImag:
      return &UnaryLoop<Complex, double, Imag>;
    case HloOpcode::kNegate:
      return Of<NegateComplex>();
    case HloOpcode::kSign:
      return Of<Call<Sign>>();
    case HloOpcode::kSqrt:
      return Of<Sqrt>();
    case HloOpcode::kRsqrt:
      return Of<Call<Rsqrt>>();
    case HloOpcode::kCbrt:
      return Of<Call<Cbrt>>();
    case HloOpcode::kExponential:
      return Of<Exp>();
    case HloOpcode::kExponentialMinusOne:
      return Of<Call<Expm1>>();
    case HloOpcode::kLog:
      return Of<Log>();
    case HloOpcode::kLogPlusOne:
      return Of<Call<Log1p>>();
    case HloOpcode::kLogistic:
      return Of<Call<Logistic>>();
    case HloOpcode::kSine:
      return Of<Sin>();
    case HloOpcode::kCosine:
      return Of<Cos>();
    case HloOpcode::kTan:
      return Of<Tan>();
    case HloOpcode::kSinh:
      return Of<Sinh>();
    case HloOpcode::kCosh:
      return Of<Cosh>();
    case HloOpcode::kTanh:
      return Of<Tanh>();
    case HloOpcode::kAsin:
      return Of<Asin>();
    case HloOpcode::kAcos:
      return Of<Acos>();
    case HloOpcode::kAsinh:
      return Of<Asinh>();
    case HloOpcode::kAcosh:
      return Of<Acosh>();
    case HloOpcode::kAtanh:
      return Of<Atanh>();
    default:
      return nullptr;
  }
}

}  // namespace xc::interp
