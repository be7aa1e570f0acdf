// Complex Fourier transforms over split real and imaginary arrays, compiled once for each instruction set. A "value" is
// one number, or a vector of as many transforms side by side as a register holds.
#ifndef XC_BACKENDS_RUNTIME_FFT_KERNELS_H_
#define XC_BACKENDS_RUNTIME_FFT_KERNELS_H_

#include <stdint.h>

namespace xc {

// One radix step of a transform of decimated length radix * m with stride s (Stockham's order, no bit reversal).
template <typename T>
struct FftPass {
  int64_t radix, m, s;
  const T* twiddle_re;  // [m][radix - 1]: w^(p * k), k from 1
  const T* twiddle_im;
  const T* root_re;  // [radix] roots of unity, for radixes without code of their own
  const T* root_im;
};

template <typename T>
struct FftPlan {
  int64_t n = 1;
  int64_t num_passes = 0;
  const FftPass<T>* passes = nullptr;
  // For lengths with a large prime factor: convolution with a chirp through a transform of another length.
  const FftPlan* inner = nullptr;
  const T* chirp_re = nullptr;  // [n]
  const T* chirp_im = nullptr;
  const T* kernel_re = nullptr;  // [inner->n], already transformed and scaled
  const T* kernel_im = nullptr;
};

// Values of scratch that run needs: two arrays of the length, and two more of the inner length.
template <typename T>
int64_t FftScratch(const FftPlan<T>& plan) {
  return plan.inner == nullptr ? 2 * plan.n : 4 * plan.inner->n;
}

template <typename T>
struct FftKernel {
  int64_t lanes;  // numbers in a vector value
  // Transforms re, im (n values each, lanes numbers a value if `vector`) forward, in place, unscaled.
  void (*run)(const FftPlan<T>& plan, T* re, T* im, T* scratch, bool vector);
};

struct FftKernels {
  FftKernel<float> f32;
  FftKernel<double> f64;
};

namespace fft_v2 {
extern const FftKernels kKernels;
}
namespace fft_v3 {
extern const FftKernels kKernels;
}
namespace fft_v4 {
extern const FftKernels kKernels;
}

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_FFT_KERNELS_H_
