// Host kernels of functions of matrices that no library routine of compiled code gives: roots and logarithms,
// eigenvalues of matrices that are not symmetric, and least squares.
#include <eigen3/Eigen/Cholesky>
#include <eigen3/Eigen/Eigenvalues>
#include <eigen3/Eigen/QR>
#include <limits>
#include <optional>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"

namespace xc {
namespace {

template <typename T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <typename T>
using Real = typename Eigen::NumTraits<T>::Real;

// Row-major elements as a matrix of another element type, and back.
template <typename To, typename From>
Matrix<To> Read(const From* from, int64_t rows, int64_t columns) {
  Matrix<To> m(rows, columns);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) m(i, j) = static_cast<To>(from[i * columns + j]);
  }
  return m;
}

template <typename From, typename To>
void Write(const Matrix<From>& m, To* to) {
  for (int64_t i = 0; i < m.rows(); ++i) {
    for (int64_t j = 0; j < m.cols(); ++j) {
      if constexpr (Eigen::NumTraits<From>::IsComplex && !Eigen::NumTraits<To>::IsComplex) {
        to[i * m.cols() + j] = static_cast<To>(m(i, j).real());
      } else {
        to[i * m.cols() + j] = static_cast<To>(m(i, j));
      }
    }
  }
}

// Operand i as a batch of matrices.
struct Batch {
  Dims outer;
  int64_t count = 1, rows = 0, columns = 0;

  Dims Sized(std::initializer_list<int64_t> tail) const {
    Dims dims = outer;
    dims.insert(dims.end(), tail.begin(), tail.end());
    return dims;
  }
};

absl::StatusOr<Batch> ReadBatch(const KernelContext& c, int i, bool square) {
  const Dims& dims = c.in(i).dims();
  if (dims.size() < 2) return c.Error(absl::StrCat("operand ", i, " must be matrices"));
  Batch b;
  b.outer.assign(dims.begin(), dims.end() - 2);
  for (int64_t d : b.outer) b.count *= d;
  b.rows = dims[dims.size() - 2];
  b.columns = dims.back();
  if (square && b.rows != b.columns) {
    return c.Error(absl::StrCat("operand ", i, " must be square matrices, has shape ", DimsToString(dims)));
  }
  return b;
}

// Runs `kernel.operator()<T>()` for the element type of operand 0, if it is one of Ts.
template <typename Kernel>
absl::Status ForType(const KernelContext& c, const Kernel& kernel) {
  switch (c.in(0).dtype()) {
    case DT_FLOAT:
      return kernel.template operator()<float>();
    case DT_DOUBLE:
      return kernel.template operator()<double>();
    case DT_COMPLEX64:
      return kernel.template operator()<std::complex<float>>();
    case DT_COMPLEX128:
      return kernel.template operator()<std::complex<double>>();
    default:
      return absl::UnimplementedError(
          absl::StrCat("node '", c.node.name, "' (", c.node.op, "): matrices of ", DataTypeName(c.in(0).dtype())));
  }
}

// All is computed in f64 and rounded once: routines in each type would take four times as long to compile.
using Wide = std::complex<double>;
using WideMatrix = Matrix<Wide>;
template <typename T>
using Wider = std::conditional_t<Eigen::NumTraits<T>::IsComplex, Wide, double>;

// The principal root of an upper triangular matrix, column by column (Björck and Hammarling, "A Schur method for the
// square root of a matrix", 1983).
WideMatrix TriangularRoot(const WideMatrix& t) {
  const Eigen::Index n = t.rows();
  WideMatrix r = WideMatrix::Zero(n, n);
  for (Eigen::Index j = 0; j < n; ++j) {
    r(j, j) = std::sqrt(t(j, j));
    for (Eigen::Index i = j; i-- > 0;) {
      Wide rest = t(i, j);
      for (Eigen::Index k = i + 1; k < j; ++k) rest -= r(i, k) * r(k, j);
      r(i, j) = rest == Wide(0) ? Wide(0) : rest / (r(i, i) + r(j, j));
    }
  }
  return r;
}

// The principal logarithm of an upper triangular matrix: roots are taken until it is near the identity, where the
// logarithm is the integral of X (I + s X)^-1 over s in [0, 1] (Higham, "Functions of Matrices", 2008, 11.4).
WideMatrix TriangularLogarithm(const WideMatrix& of) {
  // Nodes and weights of Gauss and Legendre on [-1, 1], of which the other half mirrors these.
  constexpr double kNodes[] = {0.1834346424956498, 0.5255324099163290, 0.7966664774136267, 0.9602898564975363};
  constexpr double kWeights[] = {0.3626837833783620, 0.3137066458778873, 0.2223810344533745, 0.1012285362903763};
  constexpr int kMostRoots = 100;
  WideMatrix t = of;
  const Eigen::Index n = t.rows();
  const WideMatrix identity = WideMatrix::Identity(n, n);
  int roots = 0;
  for (; roots < kMostRoots && (t - identity).norm() > 0.2; ++roots) t = TriangularRoot(t);
  const WideMatrix x = t - identity;
  WideMatrix sum = WideMatrix::Zero(n, n);
  for (int k = 0; k < 8; ++k) {
    const double node = k % 2 == 0 ? kNodes[k / 2] : -kNodes[k / 2];
    const WideMatrix at = identity + (0.5 + 0.5 * node) * x;
    sum += 0.5 * kWeights[k / 2] * at.triangularView<Eigen::Upper>().solve(x);
  }
  return std::ldexp(1.0, roots) * sum;
}

// f(A) = U f(T) U^H for A = U T U^H; empty if no decomposition is found.
std::optional<WideMatrix> OfMatrix(const WideMatrix& a, WideMatrix (*of_triangular)(const WideMatrix&)) {
  Eigen::ComplexSchur<WideMatrix> schur(a);
  if (schur.info() != Eigen::Success) return std::nullopt;
  const WideMatrix left = schur.matrixU() * of_triangular(schur.matrixT());
  return WideMatrix(left * schur.matrixU().adjoint());
}

template <WideMatrix (*kOfTriangular)(const WideMatrix&)>
absl::Status MatrixFunction(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Batch batch, ReadBatch(c, 0, true));
  XC_ASSIGN_OR_RETURN(c.outputs[0], c.Alloc(0, c.in(0).dims()));
  const int64_t n = batch.rows;
  if (n == 0) return absl::OkStatus();
  return ForType(c, [&]<typename T>() -> absl::Status {
    for (int64_t i = 0; i < batch.count; ++i) {
      const WideMatrix in = Read<Wide>(c.in(0).data<T>() + i * n * n, n, n);
      T* out = c.outputs[0].data<T>() + i * n * n;
      if (!in.allFinite()) {
        std::fill_n(out, n * n, T(std::numeric_limits<Real<T>>::quiet_NaN()));
        continue;
      }
      const std::optional<WideMatrix> made = OfMatrix(in, kOfTriangular);
      if (!made.has_value()) return c.Error("no decomposition was found");
      Write(*made, out);
    }
    return absl::OkStatus();
  });
}

struct EigenParts {
  WideMatrix values, vectors;
};

// Empty if no decomposition is found.
template <typename T>
std::optional<EigenParts> Decompose(const Matrix<T>& a, bool vectors) {
  std::conditional_t<Eigen::NumTraits<T>::IsComplex, Eigen::ComplexEigenSolver<Matrix<T>>,
                     Eigen::EigenSolver<Matrix<T>>>
      solver(a, vectors);
  if (solver.info() != Eigen::Success) return std::nullopt;
  return EigenParts{solver.eigenvalues(), vectors ? WideMatrix(solver.eigenvectors()) : WideMatrix()};
}

absl::Status Eig(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Batch batch, ReadBatch(c, 0, true));
  XC_ASSIGN_OR_RETURN(bool vectors, c.node.Bool("compute_v"));
  const int64_t n = batch.rows;
  XC_ASSIGN_OR_RETURN(c.outputs[0], c.Alloc(0, batch.Sized({n})));
  XC_ASSIGN_OR_RETURN(c.outputs[1], c.Alloc(1, vectors ? batch.Sized({n, n}) : Dims{0}));
  if (n == 0) return absl::OkStatus();
  return ForType(c, [&]<typename T>() -> absl::Status {
    using Complex = std::complex<Real<T>>;
    for (int64_t i = 0; i < batch.count; ++i) {
      const auto in = Read<Wider<T>>(c.in(0).data<T>() + i * n * n, n, n);
      if (!in.allFinite()) return c.Error("the input must be finite");
      const std::optional<EigenParts> parts = Decompose(in, vectors);
      if (!parts.has_value()) return c.Error("no decomposition was found: the input may be not valid");
      Write(parts->values, c.outputs[0].data<Complex>() + i * n);
      if (vectors) Write(parts->vectors, c.outputs[1].data<Complex>() + i * n * n);
    }
    return absl::OkStatus();
  });
}

// The solution of a x = b of least norm; smaller pivots than `threshold`, relative to the largest, count as zero.
template <typename T>
Matrix<T> LeastNorm(const Matrix<T>& a, const Matrix<T>& b, double threshold) {
  Eigen::CompleteOrthogonalDecomposition<Matrix<T>> factor;
  factor.setThreshold(threshold);
  return factor.compute(a).solve(b);
}

// By the smaller of the two normal equations; empty if the matrix has not full rank.
template <typename T>
std::optional<Matrix<T>> ByNormalEquations(const Matrix<T>& a, const Matrix<T>& b, double regularizer) {
  const Matrix<T> adjoint = a.adjoint();
  const bool tall = a.rows() >= a.cols();
  Matrix<T> gram = tall ? adjoint * a : a * adjoint;
  for (int64_t i = 0; i < gram.rows(); ++i) gram(i, i) += regularizer;
  Eigen::LLT<Matrix<T>> factor(gram);
  if (factor.info() != Eigen::Success) return std::nullopt;
  const Matrix<T> right = tall ? Matrix<T>(adjoint * b) : b;
  const Matrix<T> solution = factor.solve(right);
  return tall ? solution : Matrix<T>(adjoint * solution);
}

// matrix [..., m, n], rhs [..., m, k], l2_regularizer: by the normal equations if "fast" (the only way that regards the
// regularizer), else the solution of least norm.
absl::Status SolveLeastSquares(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Batch left, ReadBatch(c, 0, false));
  XC_ASSIGN_OR_RETURN(Batch right, ReadBatch(c, 1, false));
  XC_ASSIGN_OR_RETURN(bool fast, c.node.Bool("fast"));
  if (left.outer != right.outer || left.rows != right.rows) {
    return c.Error(absl::StrCat("matrices ", DimsToString(c.in(0).dims()), " and right sides ",
                                DimsToString(c.in(1).dims()), " do not fit"));
  }
  if (c.in(2).rank() != 0 || c.in(2).dtype() != DT_DOUBLE) return c.Error("l2_regularizer must be a scalar");
  const double regularizer = *c.in(2).data<double>();
  if (!(regularizer >= 0)) return c.Error("l2_regularizer must not be negative");
  const int64_t m = left.rows, n = left.columns, k = right.columns;
  XC_ASSIGN_OR_RETURN(c.outputs[0], c.Alloc(0, left.Sized({n, k})));
  if (m == 0 || n == 0 || k == 0) return absl::OkStatus();
  return ForType(c, [&]<typename T>() -> absl::Status {
    for (int64_t i = 0; i < left.count; ++i) {
      const auto a = Read<Wider<T>>(c.in(0).data<T>() + i * m * n, m, n);
      const auto b = Read<Wider<T>>(c.in(1).data<T>() + i * m * k, m, k);
      T* x = c.outputs[0].data<T>() + i * n * k;
      if (fast) {
        auto solution = ByNormalEquations(a, b, regularizer);
        if (!solution.has_value()) return c.Error("the matrix has not full rank");
        Write(*solution, x);
      } else {
        const double epsilon = std::numeric_limits<Real<T>>::epsilon();
        Write(LeastNorm(a, b, epsilon * static_cast<double>(std::min(m, n))), x);
      }
    }
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterMatrixKernels(KernelRegistry& r) {
  r.Add({"MatrixSquareRoot"}, MatrixFunction<TriangularRoot>, false);
  r.Add({"MatrixLogarithm"}, MatrixFunction<TriangularLogarithm>, false);
  r.Add({"Eig"}, Eig, false);
  r.Add({"MatrixSolveLs"}, SolveLeastSquares, false);
}

}  // namespace xc
