// Complex powers that are no plain e^(y log x), as XLA has them.
#ifndef XC_BACKENDS_RUNTIME_COMPLEX_POWER_H_
#define XC_BACKENDS_RUNTIME_COMPLEX_POWER_H_

#include <cmath>
#include <complex>
#include <limits>
#include <optional>

namespace xc {

// x^0 and 1^y are 1; zero and +infinity have real powers where these are positive, and +infinity has negative ones. All
// others of zero, or of what is not finite, or by it, are NaN. Nothing where the formula holds.
template <typename R>
std::optional<std::complex<R>> SpecialPower(std::complex<R> x, std::complex<R> y) {
  using C = std::complex<R>;
  constexpr R kInf = std::numeric_limits<R>::infinity(), kNan = std::numeric_limits<R>::quiet_NaN();
  if (y == C(0) || x == C(1)) return C(1);
  if (x.imag() == 0 && y.imag() == 0 && y.real() > 0 && x.real() == 0) return C(0);
  if (x.imag() == 0 && y.imag() == 0 && y.real() != 0 && !std::isnan(y.real()) && x.real() == kInf) {
    return y.real() > 0 ? C(kInf) : C(0);
  }
  const bool finite =
      std::isfinite(x.real()) && std::isfinite(x.imag()) && std::isfinite(y.real()) && std::isfinite(y.imag());
  if (x == C(0) || !finite) return C(kNan, kNan);
  return std::nullopt;
}

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_COMPLEX_POWER_H_
