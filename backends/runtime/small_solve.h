// Triangular systems of a few unknowns, as they come in batches, solved where they are: without memory of their own,
// and with the real and imaginary parts of complex numbers apart, so that loops over right-hand sides become vectors.
#ifndef XC_BACKENDS_RUNTIME_SMALL_SOLVE_H_
#define XC_BACKENDS_RUNTIME_SMALL_SOLVE_H_

#include <complex>
#include <cstdint>

#include "backends/runtime/dense.h"

namespace xc {

// Element (i, j) of a matrix is at data[i * rows + j * columns]: its strides.
struct SmallStrides {
  int64_t rows, columns;
};

// C x = b for each of `sides` right-hand sides, where C(i, p) = a[i * c.rows + p * c.columns] (its conjugate with
// `conjugate`) is a lower triangle, or with `upper` an upper one, of `n` unknowns; element i of side r is
// b[i * in.rows + r * in.columns], and of the solution out[i * to.rows + r * to.columns]. `out` may be `b`.
struct SmallSystem {
  static constexpr int64_t kUnknowns = 16, kSides = 64;
  int64_t n, sides;
  bool upper, unit, conjugate;
  SmallStrides c, in, to;

  // Whether Solve takes this: for real numbers, kernels with wider vectors are better where there is enough to do.
  bool IsSmall(bool complex) const { return n <= kUnknowns && sides <= kSides && (complex || n * n * sides <= 2048); }

  template <typename T>
  void Solve(const T* a, const T* b, T* out) const {
    if (sides == 1) {
      // Loops whose ends the compiler knows.
      if (n == 2) return SolveOne<2>(a, b, out);
      if (n == 3) return SolveOne<3>(a, b, out);
      if (n == 4) return SolveOne<4>(a, b, out);
      return SolveOne<0>(a, b, out);
    }
    T y[kUnknowns * kSides];
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t r = 0; r < sides; ++r) y[i * sides + r] = b[i * in.rows + r * in.columns];
    }
    for (int64_t step = 0; step < n; ++step) {
      const int64_t i = At(step);
      T* __restrict x = y + i * sides;
      for (int64_t before = 0; before < step; ++before) {
        const int64_t p = At(before);
        const T factor = a[i * c.rows + p * c.columns];
        const T* __restrict known = y + p * sides;
        for (int64_t r = 0; r < sides; ++r) x[r] -= known[r] * factor;
      }
      if (unit) continue;
      const T pivot = a[i * (c.rows + c.columns)];
      for (int64_t r = 0; r < sides; ++r) x[r] /= pivot;
    }
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t r = 0; r < sides; ++r) out[i * to.rows + r * to.columns] = y[i * sides + r];
    }
  }

  template <typename R>
  void Solve(const std::complex<R>* a, const std::complex<R>* b, std::complex<R>* out) const {
    return sides == 1 ? SolveSides<1>(a, b, out) : SolveSides<0>(a, b, out);
  }

 private:
  // The unknown that is found in a step.
  int64_t At(int64_t step) const { return upper ? n - 1 - step : step; }

  // One right-hand side, `kSize` unknowns (0: any number).
  template <int64_t kSize, typename T>
  void SolveOne(const T* a, const T* b, T* out) const {
    const int64_t n = kSize == 0 ? this->n : kSize;
    if (kSize != 0 && upper) {
      // The same with all in reverse.
      SmallSystem other = *this;
      other.upper = false;
      other.c = {-c.rows, -c.columns};
      other.in.rows = -in.rows;
      other.to.rows = -to.rows;
      const int64_t last = n - 1;
      return other.SolveOne<kSize>(a + last * (c.rows + c.columns), b + last * in.rows, out + last * to.rows);
    }
    T y[kUnknowns];
#pragma GCC unroll 4
    for (int64_t step = 0; step < n; ++step) {
      const int64_t i = kSize == 0 ? At(step) : step;
      T sum = b[i * in.rows];
#pragma GCC unroll 4
      for (int64_t before = 0; before < step; ++before) {
        const int64_t p = kSize == 0 ? At(before) : before;
        sum -= a[i * c.rows + p * c.columns] * y[p];
      }
      y[i] = unit ? sum : sum / a[i * (c.rows + c.columns)];
    }
    for (int64_t i = 0; i < n; ++i) out[i * to.rows] = y[i];
  }

  // 1 / z, by the library where the square of the size would overflow or vanish.
  template <typename R>
  static std::complex<R> Inverse(std::complex<R> z) {
    const double re = z.real(), im = z.imag(), size = re * re + im * im;
    if (size > 1e-280 && size < 1e280) return {static_cast<R>(re / size), static_cast<R>(-im / size)};
    return R(1) / z;
  }

  // `kCount` right-hand sides, as many as there are for 0.
  template <int64_t kCount, typename R>
  void SolveSides(const std::complex<R>* a, const std::complex<R>* b, std::complex<R>* out) const {
    const int64_t sides = kCount == 0 ? this->sides : kCount;
    R re[kUnknowns * kSides], im[kUnknowns * kSides];
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t r = 0; r < sides; ++r) {
        const std::complex<R> value = b[i * in.rows + r * in.columns];
        re[i * sides + r] = value.real();
        im[i * sides + r] = value.imag();
      }
    }
    for (int64_t step = 0; step < n; ++step) {
      const int64_t i = At(step);
      R* __restrict x = re + i * sides, * __restrict y = im + i * sides;
      for (int64_t before = 0; before < step; ++before) {
        const int64_t p = At(before);
        const std::complex<R> factor = a[i * c.rows + p * c.columns];
        const R u = factor.real(), v = conjugate ? -factor.imag() : factor.imag();
        const R* __restrict known_re = re + p * sides, * __restrict known_im = im + p * sides;
        for (int64_t r = 0; r < sides; ++r) {
          x[r] -= known_re[r] * u - known_im[r] * v;
          y[r] -= known_re[r] * v + known_im[r] * u;
        }
      }
      if (unit) continue;
      const std::complex<R> pivot = a[i * (c.rows + c.columns)];
      const std::complex<R> inverse = Inverse(conjugate ? std::conj(pivot) : pivot);
      const R u = inverse.real(), v = inverse.imag();
      for (int64_t r = 0; r < sides; ++r) {
        const R before = x[r];
        x[r] = before * u - y[r] * v;
        y[r] = before * v + y[r] * u;
      }
    }
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t r = 0; r < sides; ++r) out[i * to.rows + r * to.columns] = {re[i * sides + r], im[i * sides + r]};
    }
  }
};

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_SMALL_SOLVE_H_
