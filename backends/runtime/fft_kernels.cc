// The kernels of fft_kernels.h. As gemm_kernels.cc, compiled several times and free of any library.
#include "backends/runtime/fft_kernels.h"

#include <stdint.h>
#include <string.h>

namespace xc {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <typename V>
struct Complex {
  V re, im;
};

template <typename V>
inline Complex<V> operator+(Complex<V> a, Complex<V> b) {
  return {a.re + b.re, a.im + b.im};
}
template <typename V>
inline Complex<V> operator-(Complex<V> a, Complex<V> b) {
  return {a.re - b.re, a.im - b.im};
}
template <typename V, typename T>
inline Complex<V> Times(Complex<V> a, T re, T im) {
  return {a.re * re - a.im * im, a.re * im + a.im * re};
}
template <typename V, typename T>
inline Complex<V> Scale(Complex<V> a, T by) {
  return {a.re * by, a.im * by};
}
// a * -i
template <typename V>
inline Complex<V> MinusI(Complex<V> a) {
  return {a.im, -a.re};
}

template <typename T, typename V>
inline void Dft2(Complex<V>* a) {
  const Complex<V> b = a[0] + a[1];
  a[1] = a[0] - a[1];
  a[0] = b;
}

template <typename T, typename V>
inline void Dft3(Complex<V>* a) {
  const T sin60 = static_cast<T>(0.866025403784438646763723170752936183);
  const Complex<V> sum = a[1] + a[2], middle = a[0] - Scale(sum, static_cast<T>(0.5));
  const Complex<V> turned = MinusI(Scale(a[1] - a[2], sin60));
  a[0] = a[0] + sum;
  a[1] = middle + turned;
  a[2] = middle - turned;
}

template <typename T, typename V>
inline void Dft4(Complex<V>* a) {
  const Complex<V> b0 = a[0] + a[2], b1 = a[0] - a[2], b2 = a[1] + a[3], b3 = MinusI(a[1] - a[3]);
  a[0] = b0 + b2;
  a[1] = b1 + b3;
  a[2] = b0 - b2;
  a[3] = b1 - b3;
}

template <typename T, typename V>
inline void Dft5(Complex<V>* a) {
  const T c1 = static_cast<T>(0.309016994374947424102293417182819059);
  const T c2 = static_cast<T>(-0.809016994374947424102293417182819059);
  const T s1 = static_cast<T>(0.951056516295153572116439333379382143);
  const T s2 = static_cast<T>(0.587785252292473129168705954639072769);
  const Complex<V> p1 = a[1] + a[4], m1 = a[1] - a[4], p2 = a[2] + a[3], m2 = a[2] - a[3];
  const Complex<V> r1 = a[0] + Scale(p1, c1) + Scale(p2, c2), r2 = a[0] + Scale(p1, c2) + Scale(p2, c1);
  const Complex<V> i1 = MinusI(Scale(m1, s1) + Scale(m2, s2)), i2 = MinusI(Scale(m1, s2) - Scale(m2, s1));
  a[0] = a[0] + p1 + p2;
  a[1] = r1 + i1;
  a[4] = r1 - i1;
  a[2] = r2 + i2;
  a[3] = r2 - i2;
}

template <typename T, typename V>
inline void Dft8(Complex<V>* a) {
  const T h = static_cast<T>(0.707106781186547524400844362104849039);
  Complex<V> even[4] = {a[0], a[2], a[4], a[6]}, odd[4] = {a[1], a[3], a[5], a[7]};
  Dft4<T>(even);
  Dft4<T>(odd);
  odd[1] = Times(odd[1], h, -h);
  odd[2] = MinusI(odd[2]);
  odd[3] = Times(odd[3], -h, -h);
  for (int i = 0; i < 4; ++i) {
    a[i] = even[i] + odd[i];
    a[i + 4] = even[i] - odd[i];
  }
}

template <typename T, typename V, int R>
inline void Dft(Complex<V>* a) {
  if constexpr (R == 2) Dft2<T>(a);
  if constexpr (R == 3) Dft3<T>(a);
  if constexpr (R == 4) Dft4<T>(a);
  if constexpr (R == 5) Dft5<T>(a);
  if constexpr (R == 8) Dft8<T>(a);
}

// Stockham: y[q + s * (r * p + k)] = w^(p k) * sum over j of x[q + s * (p + m * j)] * root^(j k). A last pass (m = 1)
// may be in place: for each q it writes what it reads, and reads first.
template <typename T, typename V, int R>
void Pass(const FftPass<T>& pass, const V* xr, const V* xi, V* yr, V* yi) {
  const int64_t s = pass.s, m = pass.m;
  for (int64_t p = 0; p < m; ++p) {
    T wr[R], wi[R];
    for (int k = 1; k < R; ++k) {
      wr[k] = pass.twiddle_re[p * (R - 1) + k - 1];
      wi[k] = pass.twiddle_im[p * (R - 1) + k - 1];
    }
    const V* from_re = xr + s * p;
    const V* from_im = xi + s * p;
    V* to_re = yr + s * R * p;
    V* to_im = yi + s * R * p;
#pragma GCC ivdep
    for (int64_t q = 0; q < s; ++q) {
      Complex<V> a[R];
#pragma GCC unroll 8
      for (int j = 0; j < R; ++j) a[j] = {from_re[q + s * m * j], from_im[q + s * m * j]};
      Dft<T, V, R>(a);
      to_re[q] = a[0].re;
      to_im[q] = a[0].im;
#pragma GCC unroll 8
      for (int k = 1; k < R; ++k) {
        const Complex<V> b = Times(a[k], wr[k], wi[k]);
        to_re[q + s * k] = b.re;
        to_im[q + s * k] = b.im;
      }
    }
  }
}

// The outputs k and r - k of an odd radix r for N values of k, from the sums and differences of inputs j and r - j.
template <int N, typename T, typename B>
inline void PairsOfOutputs(const FftPass<T>& pass, int64_t k, Complex<B> first, const Complex<B>* sums,
                           const Complex<B>* differences, Complex<B>* low, Complex<B>* high) {
  const int64_t r = pass.radix;
  Complex<B> even[N], odd[N];
  int64_t turn[N];
#pragma GCC unroll 4
  for (int i = 0; i < N; ++i) {
    even[i] = first;
    odd[i] = Complex<B>{};
    turn[i] = 0;
  }
  for (int64_t j = 0; j < r / 2; ++j) {
#pragma GCC unroll 4
    for (int i = 0; i < N; ++i) {
      turn[i] += k + i;
      if (turn[i] >= r) turn[i] -= r;
      even[i] = even[i] + Scale(sums[j], pass.root_re[turn[i]]);
      odd[i] = odd[i] + Scale(differences[j], pass.root_im[turn[i]]);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < N; ++i) {
    low[i] = {even[i].re - odd[i].im, even[i].im + odd[i].re};
    high[i] = {even[i].re + odd[i].im, even[i].im - odd[i].re};
  }
}

// The values of an odd radix at places that are neighbours in a B, the first of them `xr` and `xi`, `from` apart.
template <typename T, typename B, typename V>
void AnyBlock(const FftPass<T>& pass, int64_t p, const V* xr, const V* xi, int64_t from, V* yr, V* yi, int64_t to) {
  typedef B Place __attribute__((may_alias, aligned(alignof(T))));
  const int64_t r = pass.radix;
  const T* wr = pass.twiddle_re + p * (r - 1) - 1;
  const T* wi = pass.twiddle_im + p * (r - 1) - 1;
  const auto read = [&](int64_t j) {
    return Complex<B>{*reinterpret_cast<const Place*>(xr + j * from), *reinterpret_cast<const Place*>(xi + j * from)};
  };
  const auto write = [&](int64_t k, Complex<B> value) {
    *reinterpret_cast<Place*>(yr + k * to) = value.re;
    *reinterpret_cast<Place*>(yi + k * to) = value.im;
  };
  Complex<B> sums[kLargestLastRadix / 2], differences[kLargestLastRadix / 2];
  const Complex<B> first = read(0);
  Complex<B> all = first;
  for (int64_t j = 1; j <= r / 2; ++j) {
    const Complex<B> a = read(j), b = read(r - j);
    sums[j - 1] = a + b;
    differences[j - 1] = a - b;
    all = all + sums[j - 1];
  }
  write(0, all);
  Complex<B> low[2], high[2];
  const auto write_pair = [&](int64_t k, int i) {
    write(k, Times(low[i], wr[k], wi[k]));
    write(r - k, Times(high[i], wr[r - k], wi[r - k]));
  };
  int64_t k = 1;
  for (; k < r / 2; k += 2) {
    PairsOfOutputs<2>(pass, k, first, sums, differences, low, high);
    write_pair(k, 0);
    write_pair(k + 1, 1);
  }
  if (k > r / 2) return;
  PairsOfOutputs<1>(pass, k, first, sums, differences, low, high);
  write_pair(k, 0);
}

// From q on as many blocks of `Bytes` as there are.
template <int Bytes, typename T>
void AnyBlocks(const FftPass<T>& pass, int64_t p, const T* xr, const T* xi, T* yr, T* yi, int64_t* q) {
  typedef T Neighbours __attribute__((vector_size(Bytes)));
  constexpr int64_t kLanes = Bytes / sizeof(T);
  const int64_t s = pass.s;
  for (; *q + kLanes <= s; *q += kLanes) {
    const int64_t in = *q + s * p, out = *q + s * pass.radix * p;
    AnyBlock<T, Neighbours>(pass, p, xr + in, xi + in, s * pass.m, yr + out, yi + out, s);
  }
}

// A pass of an odd radix that has no code of its own; as Pass.
template <typename T, typename V>
void AnyPass(const FftPass<T>& pass, const V* xr, const V* xi, V* yr, V* yi) {
  const int64_t s = pass.s, m = pass.m, r = pass.radix;
  for (int64_t p = 0; p < m; ++p) {
    int64_t q = 0;
    if constexpr (sizeof(V) == sizeof(T)) {
      AnyBlocks<kVectorBytes>(pass, p, xr, xi, yr, yi, &q);
      if constexpr (kVectorBytes > 32) AnyBlocks<32>(pass, p, xr, xi, yr, yi, &q);
      if constexpr (kVectorBytes > 16) AnyBlocks<16>(pass, p, xr, xi, yr, yi, &q);
    }
    for (; q < s; ++q) {
      const int64_t in = q + s * p, out = q + s * r * p;
      AnyBlock<T, V>(pass, p, xr + in, xi + in, s * m, yr + out, yi + out, s);
    }
  }
}

template <typename T, typename V>
void Run(const FftPlan<T>& plan, V* re, V* im, V* scratch) {
  if (plan.inner != nullptr) {
    const int64_t n = plan.n, m = plan.inner->n;
    V* ar = scratch;
    V* ai = scratch + m;
    V* rest = scratch + 2 * m;
    for (int64_t i = 0; i < n; ++i) {
      const Complex<V> a = Times(Complex<V>{re[i], im[i]}, plan.chirp_re[i], plan.chirp_im[i]);
      ar[i] = a.re;
      ai[i] = a.im;
    }
    memset(static_cast<void*>(ar + n), 0, (m - n) * sizeof(V));
    memset(static_cast<void*>(ai + n), 0, (m - n) * sizeof(V));
    Run(*plan.inner, ar, ai, rest);
    for (int64_t i = 0; i < m; ++i) {
      const Complex<V> a = Times(Complex<V>{ar[i], ai[i]}, plan.kernel_re[i], plan.kernel_im[i]);
      ar[i] = a.re;
      ai[i] = a.im;
    }
    Run(*plan.inner, ai, ar, rest);  // real and imaginary parts exchanged: the inverse
    for (int64_t i = 0; i < n; ++i) {
      const Complex<V> a = Times(Complex<V>{ar[i], ai[i]}, plan.chirp_re[i], plan.chirp_im[i]);
      re[i] = a.re;
      im[i] = a.im;
    }
    return;
  }
  V* xr = re;
  V* xi = im;
  V* yr = scratch;
  V* yi = scratch + plan.n;
  for (int64_t i = 0; i < plan.num_passes; ++i) {
    const FftPass<T>& pass = plan.passes[i];
    if (i + 1 == plan.num_passes) {
      yr = re;
      yi = im;
    }
    switch (pass.radix) {
      case 2:
        Pass<T, V, 2>(pass, xr, xi, yr, yi);
        break;
      case 3:
        Pass<T, V, 3>(pass, xr, xi, yr, yi);
        break;
      case 4:
        Pass<T, V, 4>(pass, xr, xi, yr, yi);
        break;
      case 5:
        Pass<T, V, 5>(pass, xr, xi, yr, yi);
        break;
      case 8:
        Pass<T, V, 8>(pass, xr, xi, yr, yi);
        break;
      default:
        AnyPass<T, V>(pass, xr, xi, yr, yi);
    }
    V* t = xr;
    xr = yr;
    yr = t;
    t = xi;
    xi = yi;
    yi = t;
  }
}

template <typename T, int Bytes>
void RunVectors(const FftPlan<T>& plan, T* re, T* im, T* scratch) {
  typedef T V __attribute__((vector_size(Bytes), may_alias));
  Run<T, V>(plan, reinterpret_cast<V*>(re), reinterpret_cast<V*>(im), reinterpret_cast<V*>(scratch));
}

constexpr int kFewerBytes = kVectorBytes > 32 ? kVectorBytes / 2 : kVectorBytes;

template <typename T>
void RunAny(const FftPlan<T>& plan, T* re, T* im, T* scratch, int64_t values) {
  if (values == kVectorBytes / sizeof(T)) {
    RunVectors<T, kVectorBytes>(plan, re, im, scratch);
  } else if (values > 1) {
    RunVectors<T, kFewerBytes>(plan, re, im, scratch);
  } else {
    Run<T, T>(plan, re, im, scratch);
  }
}

}  // namespace

namespace XC_FFT_ISA {
const FftKernels kKernels = {{kVectorBytes / 4, kFewerBytes / 4, RunAny<float>, &kMovesF32, &kOddF32},
                             {kVectorBytes / 8, kFewerBytes / 8, RunAny<double>, &kMovesF64, &kOddF64}};
}  // namespace XC_FFT_ISA

}  // namespace xc
