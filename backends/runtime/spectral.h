// Eigenvalues, Schur forms and singular values of dense column-major matrices.
#ifndef XC_BACKENDS_RUNTIME_SPECTRAL_H_
#define XC_BACKENDS_RUNTIME_SPECTRAL_H_

#include "backends/runtime/dense.h"

namespace xc {

// Similarity to tridiagonal form, as LAPACK's sytrd: reflectors go into the triangle that is read, and to `tau`.
template <typename T>
void Tridiagonalize(const Matrix<T>& a, bool lower, Real<T>* diagonal, Real<T>* off, T* tau);

// Ascending eigenvalues of the Hermitian matrix given by one triangle; with `vectors`, a becomes the eigenvectors in
// columns, else it is destroyed. False when the matrix is not finite or the iteration does not converge.
template <typename T>
bool HermitianEigen(const Matrix<T>& a, bool lower, bool vectors, Real<T>* values);

// a = u * t * u^H with t (in a's place) upper triangular, or for real types with blocks of 2 for complex pairs. u may
// have no data: not wanted. False as above.
template <typename T>
bool Schur(const Matrix<T>& a, const Matrix<T>& u);

// Eigenvalues, and right and left eigenvectors (with data: wanted) of length 1 whose largest component is real.
template <typename T>
bool GeneralEigen(const Matrix<T>& a, std::complex<Real<T>>* values, const Matrix<std::complex<Real<T>>>& left,
                  const Matrix<std::complex<Real<T>>>& right);

// a = u * diag(s) * vh with falling s; u and vh, if they have data, are either thin or square. a is destroyed.
template <typename T>
bool Svd(const Matrix<T>& a, Real<T>* s, const Matrix<T>& u, const Matrix<T>& vh);

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_SPECTRAL_H_
