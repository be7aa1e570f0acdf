// Transforms of odd numbers of real numbers: by factors that leave half of the results to be computed.
#ifndef XC_BACKENDS_RUNTIME_FFT_ODD_H_
#define XC_BACKENDS_RUNTIME_FFT_ODD_H_

#include <complex>
#include <cstdint>

#include "absl/status/status.h"
#include "backends/runtime/run_context.h"

namespace xc {

// Lines of n real numbers, n odd, to n / 2 + 1 complex ones, and back, scaled by 1 / n.
template <typename T>
absl::Status OddForward(RunContext* ctx, int64_t n, int64_t lines, const T* in, std::complex<T>* out);
template <typename T>
absl::Status OddInverse(RunContext* ctx, int64_t n, int64_t lines, const std::complex<T>* in, T* out);

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_FFT_ODD_H_
