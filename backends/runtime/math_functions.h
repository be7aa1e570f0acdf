// C library functions behind the rare arguments and rare functions of emitted math, for real and complex numbers.
#ifndef XC_BACKENDS_RUNTIME_MATH_FUNCTIONS_H_
#define XC_BACKENDS_RUNTIME_MATH_FUNCTIONS_H_

#include <string>
#include <vector>

namespace xc {

struct MathFunction {
  // xc_math_NAME: double(double) or double(double, double). xc_cmath_NAME (for c64) and xc_cmath_wide_NAME (for c128):
  // void(const double* x, const double* y, double* out), complex numbers as pairs; y is null for functions of one.
  std::string symbol;
  void* address = nullptr;
};
const std::vector<MathFunction>& MathFunctions();

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_MATH_FUNCTIONS_H_
