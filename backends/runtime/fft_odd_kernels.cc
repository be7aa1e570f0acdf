// Steps of transforms of odd numbers of real numbers, which compute half of what a complex transform would. As
// gemm_kernels.cc, compiled several times and free of any library.
#include <stdint.h>

#include "backends/runtime/fft_kernels.h"

namespace xc::XC_FFT_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64, kFewerBytes = 32;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32, kFewerBytes = 32;
#else
constexpr int kVectorBytes = 16, kFewerBytes = 16;
#endif

// Adds to `re` and `im` the sums of half a turn's terms by the roots of number k, 2 k, ….
template <typename T, typename V>
inline __attribute__((always_inline)) void AddTurns(const FftOddStep<T>& step, int64_t k, const V* even, const V* odd,
                                                    V* re, V* im) {
  int64_t turn = 0;
  for (int64_t j = 0; j < step.radix / 2; ++j) {
    turn += k;
    if (turn >= step.radix) turn -= step.radix;
    *re = *re + even[j] * step.root_re[turn];
    *im = *im + odd[j] * step.root_im[turn];
  }
}

template <typename T, typename V>
void Apart(const FftOddStep<T>& step, const V* x, V* y) {
  const int64_t r = step.radix, half = r / 2, m = step.m;
  for (int64_t p = 0; p < m; ++p) {
    V sums[kLargestOddRadix / 2], differences[kLargestOddRadix / 2];
    const V first = x[p];
    V all = first;
    for (int64_t j = 1; j <= half; ++j) {
      const V a = x[p + j * m], b = x[p + (r - j) * m];
      sums[j - 1] = a + b;
      differences[j - 1] = a - b;
      all = all + sums[j - 1];
    }
    y[p] = all;
    for (int64_t k = 1; k <= half; ++k) {
      V re = first, im = V{};
      AddTurns(step, k, sums, differences, &re, &im);
      const T wr = step.twiddle_re[p * half + k - 1], wi = step.twiddle_im[p * half + k - 1];
      y[(2 * k - 1) * m + p] = re * wr - im * wi;
      y[2 * k * m + p] = re * wi + im * wr;
    }
  }
}

template <typename T, typename V>
void Together(const FftOddStep<T>& step, const V* y, V* x) {
  const int64_t r = step.radix, half = r / 2, m = step.m;
  for (int64_t p = 0; p < m; ++p) {
    V re[kLargestOddRadix / 2], im[kLargestOddRadix / 2];
    const V first = y[p];
    V all = first;
    for (int64_t k = 1; k <= half; ++k) {
      const T wr = 2 * step.twiddle_re[p * half + k - 1], wi = 2 * step.twiddle_im[p * half + k - 1];
      const V a = y[(2 * k - 1) * m + p], b = y[2 * k * m + p];
      re[k - 1] = a * wr + b * wi;  // by the conjugate
      im[k - 1] = b * wr - a * wi;
      all = all + re[k - 1];
    }
    x[p] = all;
    for (int64_t j = 1; j <= half; ++j) {
      V even = first, odd = V{};
      AddTurns(step, j, re, im, &even, &odd);
      x[p + j * m] = even + odd;
      x[p + (r - j) * m] = even - odd;
    }
  }
}

template <typename V>
void Put(const FftOddPlaces& places, const V* re, const V* im, V* out_re, V* out_im) {
  for (int64_t l = 0; l < places.count; ++l) {
    const int64_t at = places.first + l * places.step;
    const bool second = 2 * at > places.n;
    const int64_t to = second ? places.n - at : at;
    out_re[to] = re[l];
    out_im[to] = second ? -im[l] : im[l];
  }
}

template <typename V>
void Get(const FftOddPlaces& places, const V* in_re, const V* in_im, V* re, V* im) {
  for (int64_t l = 0; l < places.count; ++l) {
    const int64_t at = places.first + l * places.step;
    const bool second = 2 * at > places.n;
    const int64_t from = second ? places.n - at : at;
    re[l] = in_re[from];
    im[l] = second ? -in_im[from] : in_im[from];
  }
}

// Calls `function` with pointers to values of as many numbers.
template <typename T, typename Function, typename... Pointers>
void WithValues(int64_t values, Function function, Pointers... pointers) {
  typedef T Whole __attribute__((vector_size(kVectorBytes), may_alias));
  typedef T Fewer __attribute__((vector_size(kFewerBytes), may_alias));
  const auto call = [&](auto* type) {
    using V = __typeof__(*type);
    function((V*)(pointers)...);
  };
  if (values == 1) {
    call(static_cast<T*>(nullptr));
  } else if (values == kVectorBytes / static_cast<int64_t>(sizeof(T))) {
    call(static_cast<Whole*>(nullptr));
  } else {
    call(static_cast<Fewer*>(nullptr));
  }
}

template <typename T>
constexpr FftOdd<T> kOdd = {
    [](const FftOddStep<T>& step, const T* x, T* y, int64_t values) {
      WithValues<T>(
          values, [&](auto* a, auto* b) { Apart(step, a, b); }, x, y);
    },
    [](const FftOddStep<T>& step, const T* y, T* x, int64_t values) {
      WithValues<T>(
          values, [&](auto* a, auto* b) { Together(step, a, b); }, y, x);
    },
    [](const FftOddPlaces& places, const T* re, const T* im, T* out_re, T* out_im, int64_t values) {
      WithValues<T>(
          values, [&](auto*... p) { Put(places, p...); }, re, im, out_re, out_im);
    },
    [](const FftOddPlaces& places, const T* in_re, const T* in_im, T* re, T* im, int64_t values) {
      WithValues<T>(
          values, [&](auto*... p) { Get(places, p...); }, in_re, in_im, re, im);
    }};

}  // namespace

const FftOdd<float> kOddF32 = kOdd<float>;
const FftOdd<double> kOddF64 = kOdd<double>;

}  // namespace xc::XC_FFT_ISA
