// Host kernels of special functions of one argument: Bessel functions (Eigen's), Dawson's and Fresnel's integrals, the
// exponential integral and the dilogarithm.
#include <cmath>
#include <complex>
#include <eigen3/Eigen/Core>
#include <eigen3/unsupported/Eigen/SpecialFunctions>
#include <limits>

#include "jit/kernels/kernel.h"

namespace xc {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kEuler = 0.57721566490153286061;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kEpsilon = 1e-17;
constexpr int kMaxTerms = 1000;

// exp(-x^2) times the integral of exp(t^2) from 0 to x, by Rybicki's sum over points that are 2h apart (1989).
double Dawson(double x) {
  if (std::isnan(x) || std::isinf(x)) return std::isnan(x) ? x : 0;
  const double square = x * x;
  if (square < 0.04) {
    double term = x, sum = x;
    for (int k = 1; k < 20; ++k) {
      term *= -2 * square / (2 * k + 1);
      sum += term;
    }
    return sum;
  }
  if (square > 1e8) return 0.5 / x;
  constexpr double kH = 0.4;
  const double size = std::abs(x), even = 2 * std::round(0.5 * size / kH), rest = size - even * kH;
  double sum = 0;
  for (int n = -17; n <= 17; n += 2) {
    const double distance = rest - n * kH;
    sum += std::exp(-distance * distance) / (n + even);
  }
  return std::copysign(sum / std::sqrt(kPi), x);
}

// The principal value of the integral of exp(t) / t up to x.
double ExponentialIntegral(double x) {
  if (std::isnan(x) || x < 0) return kNan;
  if (x == 0) return -kInf;
  double sum = 0, term = 1;
  if (x < 40) {
    for (int k = 1; k < kMaxTerms && term / k > kEpsilon * sum; ++k) {
      term *= x / k;
      sum += term / k;
    }
    return sum + std::log(x) + kEuler;
  }
  for (int k = 1; k < x && term > kEpsilon; ++k) {
    sum += term;
    term *= k / x;
  }
  return std::exp(x) / x * sum;
}

// The integral of exp(i pi t^2 / 2) from 0 to x: its real part is Fresnel's C, its imaginary part S.
std::complex<double> Fresnel(double x) {
  using Complex = std::complex<double>;
  if (std::isnan(x)) return {x, x};
  const double size = std::abs(x);
  Complex value;
  if (std::isinf(x) || size > 1e7) {
    value = {0.5, 0.5};
  } else if (size < 1.6) {
    const Complex step(0, kPi / 2 * size * size);
    Complex term = size;
    for (int k = 0; k < kMaxTerms && std::abs(term) > kEpsilon * size; ++k) {
      value += term / (2.0 * k + 1);
      term *= step / (k + 1.0);
    }
  } else {
    // The continued fraction of the complementary error function, by Lentz's method.
    const double turn = kPi * size * size;
    Complex b(1, -turn), c = 1e300, d = 1.0 / b, h = d;
    for (int k = 1; k < kMaxTerms; k += 2) {
      const double a = -k * (k + 1.0);
      b += 4;
      d = 1.0 / (a * d + b);
      c = b + a / c;
      const Complex change = c * d;
      h *= change;
      if (std::abs(change - 1.0) < 1e-16) break;
    }
    h *= Complex(size, -size);
    value = Complex(0.5, 0.5) * (1.0 - std::polar(1.0, turn / 2) * h);
  }
  return x < 0 ? -value : value;
}
double FresnelCos(double x) { return Fresnel(x).real(); }
double FresnelSin(double x) { return Fresnel(x).imag(); }

// The dilogarithm of 1 - x: the integral of log(t) / (1 - t) from 1 to x. Like TensorFlow's, not a number at infinity.
double Spence(double x) {
  if (std::isnan(x) || x < 0) return kNan;
  if (x == 0) return kPi * kPi / 6;
  if (x > 1.5) {
    const double log = std::log(x);
    return std::isinf(x) ? kNan : -Spence(1 / x) - 0.5 * log * log;
  }
  if (x < 0.5) return kPi * kPi / 6 - std::log(x) * std::log1p(-x) - Spence(1 - x);
  const double z = 1 - x;
  double sum = 0, power = z;
  for (int k = 1; k < 80; ++k) {
    sum += power / (static_cast<double>(k) * k);
    power *= z;
  }
  return sum;
}

template <double (*kFn)(double)>
absl::Status Elementwise(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto x, c.in(0).AsDoubles());
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, c.in(0).dims()));
  for (size_t i = 0; i < x.size(); ++i) StoreDouble(out, static_cast<int64_t>(i), kFn(x[i]));
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

// Eigen's Bessel functions, in double precision whatever the type.
#define XC_BESSEL(Name, eigen) \
  double Name(double x) { return eigen(Eigen::Array<double, 1, 1>::Constant(x)).eval()(0); }
XC_BESSEL(J0, Eigen::bessel_j0)
XC_BESSEL(J1, Eigen::bessel_j1)
XC_BESSEL(Y0, Eigen::bessel_y0)
XC_BESSEL(Y1, Eigen::bessel_y1)
XC_BESSEL(K0, Eigen::bessel_k0)
XC_BESSEL(K0e, Eigen::bessel_k0e)
XC_BESSEL(K1, Eigen::bessel_k1)
XC_BESSEL(K1e, Eigen::bessel_k1e)
#undef XC_BESSEL

}  // namespace

void RegisterSpecialKernels(KernelRegistry& r) {
  r.Add({"BesselJ0"}, Elementwise<J0>, false);
  r.Add({"BesselJ1"}, Elementwise<J1>, false);
  r.Add({"BesselY0"}, Elementwise<Y0>, false);
  r.Add({"BesselY1"}, Elementwise<Y1>, false);
  r.Add({"BesselK0"}, Elementwise<K0>, false);
  r.Add({"BesselK0e"}, Elementwise<K0e>, false);
  r.Add({"BesselK1"}, Elementwise<K1>, false);
  r.Add({"BesselK1e"}, Elementwise<K1e>, false);
  r.Add({"Dawsn"}, Elementwise<Dawson>, false);
  r.Add({"Expint"}, Elementwise<ExponentialIntegral>, false);
  r.Add({"FresnelCos"}, Elementwise<FresnelCos>, false);
  r.Add({"FresnelSin"}, Elementwise<FresnelSin>, false);
  r.Add({"Spence"}, Elementwise<Spence>, false);
}

}  // namespace xc
