// Complex Fourier transforms over split real and imaginary arrays, compiled once for each instruction set. A "value" is
// one number, or a vector of as many transforms side by side as a register holds.
#ifndef XC_BACKENDS_RUNTIME_FFT_KERNELS_H_
#define XC_BACKENDS_RUNTIME_FFT_KERNELS_H_

#include <stdint.h>

namespace xc {

inline constexpr int64_t kLargestLastRadix = 211;

// One radix step of a transform of decimated length radix * m with stride s (Stockham's order, no bit reversal).
// Radixes are 2, 4, 8 and odd numbers up to kLargestLastRadix.
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

// Between complex numbers in memory and split arrays of `lanes` transforms side by side, n points each. Strides are in
// complex numbers.
template <typename T>
struct FftMoves {
  // `lanes` lines or less, `count` of them, whose points lie next to each other, `line` apart; missing ones are zeros.
  void (*gather_lines)(const T* in, int64_t line, int64_t count, int64_t n, T* re, T* im);
  void (*scatter_lines)(const T* re, const T* im, int64_t n, T scale, T* out, int64_t line, int64_t count);
  // The same of real numbers.
  void (*gather_reals)(const T* in, int64_t line, int64_t count, int64_t n, T* out);
  void (*scatter_reals)(const T* in, int64_t n, T scale, T* out, int64_t line, int64_t count);
  // Lines that lie next to each other, with their points `stride` apart.
  void (*gather_columns)(const T* in, int64_t stride, int64_t n, T* re, T* im);
  void (*scatter_columns)(const T* re, const T* im, int64_t n, T scale, T* out, int64_t stride);
  // re + i im by by_re + i by_im, numbers of which there are `count`.
  void (*multiply)(int64_t count, const T* by_re, const T* by_im, T* re, T* im);
};

// One step of a transform of radix * m real numbers, an odd number of them: the results of which the number is k modulo
// the radix are the transform of m complex numbers, and the conjugates of those for radix - k.
template <typename T>
struct FftOddStep {
  int64_t radix, m;
  const T* twiddle_re;  // [m][radix / 2]: w^(p * k), k from 1
  const T* twiddle_im;
  const T* root_re;  // [radix] roots of unity
  const T* root_im;
};
inline constexpr int64_t kLargestOddRadix = 31;

// Where results of such a step stand among those of n real numbers, of which the first half is kept: `count` of them,
// `first`, `first + step`, …, of the second half the conjugates.
struct FftOddPlaces {
  int64_t n, first, step, count;
};

template <typename T>
struct FftOdd {
  // From x, the numbers, to y: m real values, the sums for k = 0, then for each k up to radix / 2 the real and the
  // imaginary parts of m values; and back, to radix times the numbers.
  void (*apart)(const FftOddStep<T>& step, const T* x, T* y, int64_t values);
  void (*together)(const FftOddStep<T>& step, const T* y, T* x, int64_t values);
  void (*put)(const FftOddPlaces& places, const T* re, const T* im, T* out_re, T* out_im, int64_t values);
  void (*get)(const FftOddPlaces& places, const T* in_re, const T* in_im, T* re, T* im, int64_t values);
};

template <typename T>
struct FftKernel {
  int64_t lanes;  // numbers in a vector value
  int64_t fewer;  // those in a shorter one, for which there is code, too; else as many
  // Transforms re, im (n values each, of `values` numbers: 1, `fewer` or `lanes`) forward, in place, unscaled.
  void (*run)(const FftPlan<T>& plan, T* re, T* im, T* scratch, int64_t values);
  const FftMoves<T>* moves;
  const FftOdd<T>* odd;
};

struct FftKernels {
  FftKernel<float> f32;
  FftKernel<double> f64;
};

namespace fft_v2 {
extern const FftKernels kKernels;
extern const FftOdd<float> kOddF32;
extern const FftOdd<double> kOddF64;
extern const FftMoves<float> kMovesF32;
extern const FftMoves<double> kMovesF64;
}  // namespace fft_v2
namespace fft_v3 {
extern const FftKernels kKernels;
extern const FftOdd<float> kOddF32;
extern const FftOdd<double> kOddF64;
extern const FftMoves<float> kMovesF32;
extern const FftMoves<double> kMovesF64;
}  // namespace fft_v3
namespace fft_v4 {
extern const FftKernels kKernels;
extern const FftOdd<float> kOddF32;
extern const FftOdd<double> kOddF64;
extern const FftMoves<float> kMovesF32;
extern const FftMoves<double> kMovesF64;
}  // namespace fft_v4

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_FFT_KERNELS_H_
