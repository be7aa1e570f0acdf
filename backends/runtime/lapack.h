// LAPACK's routines for spectra and similarity reductions, over column-major matrices. Each gives LAPACK's `info`: 0,
// or above 0 where an iteration did not converge; the work arrays are of the size that the routine asks for.
#ifndef XC_BACKENDS_RUNTIME_LAPACK_H_
#define XC_BACKENDS_RUNTIME_LAPACK_H_

#include <complex>
#include <cstdint>

#include "absl/status/statusor.h"
#include "backends/runtime/dense.h"

namespace xc::lapack {

// Ascending eigenvalues of the Hermitian matrix given by one triangle ('L' or 'U'); with `mode` 'V' its eigenvectors
// take a's place (syevd, heevd).
template <typename T>
absl::StatusOr<int32_t> HermitianEigen(char mode, char triangle, const Matrix<T>& a, Real<T>* values);

// a = u * diag(s) * vh with falling s. `mode` 'A': u and vh are square, 'S': they have min(rows, cols) columns or rows,
// 'N': neither is wanted. a is destroyed. By divide and conquer (gesdd) or by QR iteration (gesvd).
enum class SvdMethod { kDivideAndConquer, kQr };
template <typename T>
absl::StatusOr<int32_t> Svd(SvdMethod method, char mode, const Matrix<T>& a, Real<T>* s, const Matrix<T>& u,
                            const Matrix<T>& vh);

// Eigenvalues, and left and right eigenvectors where these have data (geev). a is destroyed.
template <typename T>
absl::StatusOr<int32_t> GeneralEigen(const Matrix<T>& a, std::complex<Real<T>>* values,
                                     const Matrix<std::complex<Real<T>>>& left,
                                     const Matrix<std::complex<Real<T>>>& right);

// a = u * t * u^H with t in a's place: upper triangular, or for real types with blocks of 2 for complex pairs. u may
// have no data: not wanted (gees, not ordered).
template <typename T>
absl::StatusOr<int32_t> Schur(const Matrix<T>& a, const Matrix<T>& u, std::complex<Real<T>>* values);

// Rows and columns `low` to `high` (1-based) to Hessenberg form: reflectors below it and in `tau` (gehrd).
template <typename T>
absl::StatusOr<int32_t> Hessenberg(const Matrix<T>& a, int64_t low, int64_t high, T* tau);

// A Hermitian matrix to tridiagonal form: reflectors in the triangle that is read and in `tau` (sytrd, hetrd).
template <typename T>
absl::StatusOr<int32_t> Tridiagonal(char triangle, const Matrix<T>& a, Real<T>* diagonal, Real<T>* off, T* tau);

}  // namespace xc::lapack

#endif  // XC_BACKENDS_RUNTIME_LAPACK_H_
