// Schur forms, by Eigen.
#include <eigen3/Eigen/Eigenvalues>

#include "backends/runtime/spectral.h"

namespace xc {

template <typename T>
bool Schur(const Matrix<T>& a, const Matrix<T>& u) {
  using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  const int64_t n = a.rows;
  if (n == 0) return true;
  Dense matrix(n, n);
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < n; ++i) matrix(i, j) = a(i, j);
  }
  if (!matrix.allFinite()) return false;
  using Solver = std::conditional_t<std::is_floating_point_v<T>, Eigen::RealSchur<Dense>, Eigen::ComplexSchur<Dense>>;
  Solver schur(n);
  schur.compute(matrix, u.data != nullptr);
  if (schur.info() != Eigen::Success) return false;
  const Dense& form = schur.matrixT();
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < n; ++i) {
      const bool zero = std::is_floating_point_v<T> ? i > j + 1 : i > j;
      a(i, j) = zero ? T(0) : form(i, j);
    }
  }
  if (u.data == nullptr) return true;
  const Dense& basis = schur.matrixU();
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < n; ++i) u(i, j) = basis(i, j);
  }
  return true;
}

template bool Schur<float>(const Matrix<float>&, const Matrix<float>&);
template bool Schur<double>(const Matrix<double>&, const Matrix<double>&);
template bool Schur<std::complex<float>>(const Matrix<std::complex<float>>&, const Matrix<std::complex<float>>&);
template bool Schur<std::complex<double>>(const Matrix<std::complex<double>>&, const Matrix<std::complex<double>>&);

}  // namespace xc
