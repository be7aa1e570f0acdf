// Dense factorizations and solves on column-major matrices, blocked over the runtime's matrix products.
#ifndef XC_BACKENDS_RUNTIME_DENSE_H_
#define XC_BACKENDS_RUNTIME_DENSE_H_

#include <complex>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "backends/runtime/run_context.h"

namespace xc {

template <typename T>
struct RealOf {
  using type = T;
};
template <typename T>
struct RealOf<std::complex<T>> {
  using type = T;
};
template <typename T>
using Real = typename RealOf<T>::type;

template <typename T>
inline T Conj(T x) {
  return x;
}
template <typename T>
inline std::complex<T> Conj(std::complex<T> x) {
  return std::conj(x);
}

// A view of a column-major matrix.
template <typename T>
struct Matrix {
  T* data = nullptr;
  int64_t rows = 0, cols = 0, ld = 0;
  T& operator()(int64_t i, int64_t j) const { return data[i + j * ld]; }
  Matrix Part(int64_t i, int64_t j, int64_t r, int64_t c) const { return {data + i + j * ld, r, c, ld}; }
};

// A matrix with memory of its own, zero at first.
template <typename T>
struct OwnedMatrix : Matrix<T> {
  OwnedMatrix(int64_t rows, int64_t cols) : storage(rows * cols) {
    this->data = storage.data();
    this->rows = rows;
    this->cols = cols;
    this->ld = rows;
  }
  OwnedMatrix(const OwnedMatrix&) = delete;
  std::vector<T> storage;
};

// c -= a * b.
template <typename T>
absl::Status MultiplySubtract(RunContext* ctx, const Matrix<T>& a, const Matrix<T>& b, const Matrix<T>& c);

// Factors the Hermitian matrix whose lower triangle is given as L * L^H, L in the lower triangle's place; the strict
// upper triangle is not touched. `info`: 0, or the 1-based order of the first leading minor that is not positive, where
// the factorization stopped.
template <typename T>
absl::Status CholeskyLower(RunContext* ctx, const Matrix<T>& a, int32_t* info);

// b = op(a)^-1 * b (left) or b * op(a)^-1, for triangular a. The other triangle, and with `unit` the diagonal, is not
// read.
enum class MatrixOp { kNone, kTranspose, kAdjoint };
template <typename T>
absl::Status TriangularSolve(RunContext* ctx, const Matrix<T>& a, const Matrix<T>& b, bool left, bool lower, bool unit,
                             MatrixOp op);

// P * L * U with partial pivoting: row i was exchanged with row pivots[i] - 1 (as LAPACK's getrf). `info`: 0, or the
// 1-based number of the first pivot that is 0.
template <typename T>
absl::Status Lu(RunContext* ctx, const Matrix<T>& a, int32_t* pivots, int32_t* info);

// An elementary reflector H = I - tau * v * v^H with v[0] = 1 and H^H * (alpha, x) = (beta, 0), beta real, as LAPACK's
// larfg: alpha becomes beta and x becomes v[1:].
template <typename T>
void MakeReflector(int64_t n, T* alpha, T* x, int64_t stride, T* tau);
// c = (I - tau * v * v^H) * c, with v = (1, tail) of c.rows elements.
template <typename T>
void ReflectLeft(const T* tail, int64_t stride, T tau, const Matrix<T>& c);
// c = c * (I - tau * v * v^H).
template <typename T>
void ReflectRight(const T* tail, int64_t stride, T tau, const Matrix<T>& c);

// QR by reflectors, as LAPACK's geqrf: R above, reflectors below the diagonal, min(rows, cols) factors in tau. With
// `permutation` (1-based, all columns free), columns are exchanged for falling norms, as geqp3.
template <typename T>
void QrFactor(const Matrix<T>& a, T* tau, int32_t* permutation = nullptr);
// The first a.cols columns of the product of the k reflectors stored in a, in their place (LAPACK's orgqr).
template <typename T>
void QrFormQ(const Matrix<T>& a, int64_t k, const T* tau);
// c = op(Q) * c or c * op(Q), with k reflectors in a (LAPACK's ormqr).
template <typename T>
void QrMultiply(const Matrix<T>& a, int64_t k, const T* tau, const Matrix<T>& c, bool left, bool adjoint);

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_DENSE_H_
