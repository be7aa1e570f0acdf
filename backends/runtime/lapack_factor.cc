// Factorizations and solves: potrf, trsm, getrf, geqrf, geqp3, orgqr, ormqr, gtsv, and tridiagonal systems that may be
// singular.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>
#include <vector>

#include "backends/runtime/lapack_common.h"

namespace xc {
namespace {

template <typename T>
struct Potrf {  // (a) -> (factor in one triangle, info)
  static absl::Status Run(RunContext* ctx, const CallArgs& args) {
    XC_RETURN_IF_ERROR(CheckCounts(args, 1, 2));
    XC_ASSIGN_OR_RETURN(int64_t uplo, args.attributes->Int("uplo"));
    Batch<T> a;
    Batch<int32_t> info;
    XC_RETURN_IF_ERROR(a.Init(ctx, args.outputs[0], 2, &args.inputs[0]));
    XC_RETURN_IF_ERROR(info.Init(ctx, args.outputs[1], 0));
    if (a.rows() != a.cols() || info.count() != a.count()) return Mismatch();
    XC_RETURN_IF_ERROR(ForMatrices(ctx, a.count(), [&](int64_t i) -> absl::Status {
      const Matrix<T> m = a.matrix(i);
      if (uplo == 'L') return CholeskyLower<T>(ctx, m, info.at(i));
      // The upper factor is the adjoint of the lower one of the adjoint triangle.
      OwnedMatrix<T> lower(m.rows, m.cols);
      for (int64_t c = 0; c < m.cols; ++c) {
        for (int64_t r = 0; r <= c; ++r) lower(c, r) = Conj(m(r, c));
      }
      XC_RETURN_IF_ERROR(CholeskyLower<T>(ctx, lower, info.at(i)));
      for (int64_t c = 0; c < m.cols; ++c) {
        for (int64_t r = 0; r <= c; ++r) m(r, c) = Conj(lower(c, r));
      }
      return absl::OkStatus();
    }));
    a.Finish();
    info.Finish();
    return absl::OkStatus();
  }
};

template <typename T>
struct Trsm {  // (a, b) -> (solution)
  static absl::Status Run(RunContext* ctx, const CallArgs& args) {
    XC_RETURN_IF_ERROR(CheckCounts(args, 2, 1));
    XC_ASSIGN_OR_RETURN(int64_t side, args.attributes->Int("side"));
    XC_ASSIGN_OR_RETURN(int64_t uplo, args.attributes->Int("uplo"));
    XC_ASSIGN_OR_RETURN(int64_t diag, args.attributes->Int("diag"));
    XC_ASSIGN_OR_RETURN(int64_t trans, args.attributes->Int("trans_x"));
    Batch<T> a, b;
    XC_RETURN_IF_ERROR(a.Read(ctx, args.inputs[0], 2));
    XC_RETURN_IF_ERROR(b.Init(ctx, args.outputs[0], 2, &args.inputs[1]));
    const bool left = side == 'L';
    if (a.rows() != a.cols() || a.rows() != (left ? b.rows() : b.cols()) || a.count() != b.count()) return Mismatch();
    const MatrixOp op = trans == 'T' ? MatrixOp::kTranspose : (trans == 'C' ? MatrixOp::kAdjoint : MatrixOp::kNone);
    XC_RETURN_IF_ERROR(ForMatrices(ctx, a.count(), [&](int64_t i) {
      return TriangularSolve<T>(ctx, a.matrix(i), b.matrix(i), left, uplo == 'L', diag == 'U', op);
    }));
    b.Finish();
    return absl::OkStatus();
  }
};

template <typename T>
struct Getrf {  // (a) -> (l and u, 1-based pivots, info)
  static absl::Status Run(RunContext* ctx, const CallArgs& args) {
    XC_RETURN_IF_ERROR(CheckCounts(args, 1, 3));
    Batch<T> a;
    Batch<int32_t> pivots, info;
    XC_RETURN_IF_ERROR(a.Init(ctx, args.outputs[0], 2, &args.inputs[0]));
    XC_RETURN_IF_ERROR(pivots.Init(ctx, args.outputs[1], 1));
    XC_RETURN_IF_ERROR(info.Init(ctx, args.outputs[2], 0));
    if (pivots.rows() != std::min(a.rows(), a.cols()) || pivots.count() != a.count() || info.count() != a.count()) {
      return Mismatch();
    }
    XC_RETURN_IF_ERROR(
        ForMatrices(ctx, a.count(), [&](int64_t i) { return Lu<T>(ctx, a.matrix(i), pivots.at(i), info.at(i)); }));
    a.Finish();
    pivots.Finish();
    info.Finish();
    return absl::OkStatus();
  }
};

template <typename T>
struct LuDecomposition {  // (a) -> (l and u, 0-based pivots, the permutation of rows that they make)
  static absl::Status Run(RunContext* ctx, const CallArgs& args) {
    XC_RETURN_IF_ERROR(CheckCounts(args, 1, 3));
    Batch<T> a;
    Batch<int32_t> pivots, permutation;
    XC_RETURN_IF_ERROR(a.Init(ctx, args.outputs[0], 2, &args.inputs[0]));
    XC_RETURN_IF_ERROR(pivots.Init(ctx, args.outputs[1], 1));
    XC_RETURN_IF_ERROR(permutation.Init(ctx, args.outputs[2], 1));
    if (pivots.rows() != std::min(a.rows(), a.cols()) || pivots.count() != a.count() ||
        permutation.rows() != a.rows() || permutation.count() != a.count()) {
      return Mismatch();
    }
    XC_RETURN_IF_ERROR(ForMatrices(ctx, a.count(), [&](int64_t i) {
      int32_t singular = 0;
      XC_RETURN_IF_ERROR(Lu<T>(ctx, a.matrix(i), pivots.at(i), &singular));
      int32_t *pivot = pivots.at(i), *rows = permutation.at(i);
      std::iota(rows, rows + a.rows(), 0);
      for (int64_t k = 0; k < pivots.rows(); ++k) std::swap(rows[k], rows[--pivot[k]]);
      return absl::OkStatus();
    }));
    a.Finish();
    pivots.Finish();
    permutation.Finish();
    return absl::OkStatus();
  }
};

template <typename T>
struct Geqrf {  // (a) -> (r and reflectors, tau)
  static absl::Status Run(RunContext* ctx, const CallArgs& args) {
    XC_RETURN_IF_ERROR(CheckCounts(args, 1, 2));
    Batch<T> a, tau;
    XC_RETURN_IF_ERROR(a.Init(ctx, args.outputs[0], 2, &args.inputs[0]));
    XC_RETURN_IF_ERROR(tau.Init(ctx, args.outputs[1], 1));
    if (tau.rows() != std::min(a.rows(), a.cols()) || tau.count() != a.count()) return Mismatch();
    XC_RETURN_IF_ERROR(ForMatrices(ctx, a.count(), [&](int64_t i) {
      QrFactor<T>(a.matrix(i), tau.at(i));
      return absl::OkStatus();
    }));
    a.Finish();
    tau.Finish();
    return absl::OkStatus();
  }
};

template <typename T>
struct Geqp3 {  // (a, column marks) -> (r and reflectors, 1-based permutation, tau); all columns must be free (0)
  static absl::Status Run(RunContext* ctx, const CallArgs& args) {
    XC_RETURN_IF_ERROR(CheckCounts(args, 2, 3));
    Batch<T> a, tau;
    Batch<int32_t> permutation;
    XC_RETURN_IF_ERROR(a.Init(ctx, args.outputs[0], 2, &args.inputs[0]));
    XC_RETURN_IF_ERROR(permutation.Init(ctx, args.outputs[1], 1, &args.inputs[1]));
    XC_RETURN_IF_ERROR(tau.Init(ctx, args.outputs[2], 1));
    if (tau.rows() != std::min(a.rows(), a.cols()) || tau.count() != a.count() || permutation.rows() != a.cols() ||
        permutation.count() != a.count()) {
      return Mismatch();
    }
    for (int64_t i = 0; i < permutation.count() * permutation.rows(); ++i) {
      if (permutation.at(0)[i] != 0) return absl::UnimplementedError("columns that are fixed at the front");
    }
    XC_RETURN_IF_ERROR(ForMatrices(ctx, a.count(), [&](int64_t i) {
      QrFactor<T>(a.matrix(i), tau.at(i), permutation.at(i));
      return absl::OkStatus();
    }));
    a.Finish();
    permutation.Finish();
    tau.Finish();
    return absl::OkStatus();
  }
};

template <typename T>
struct Orgqr {  // (reflectors, tau) -> (q)
  static absl::Status Run(RunContext* ctx, const CallArgs& args) {
    XC_RETURN_IF_ERROR(CheckCounts(args, 2, 1));
    Batch<T> a, tau;
    XC_RETURN_IF_ERROR(a.Init(ctx, args.outputs[0], 2, &args.inputs[0]));
    XC_RETURN_IF_ERROR(tau.Read(ctx, args.inputs[1], 1));
    if (tau.rows() > a.cols() || a.cols() > a.rows() || tau.count() != a.count()) return Mismatch();
    XC_RETURN_IF_ERROR(ForMatrices(ctx, a.count(), [&](int64_t i) {
      QrFormQ<T>(a.matrix(i), tau.rows(), tau.at(i));
      return absl::OkStatus();
    }));
    a.Finish();
    return absl::OkStatus();
  }
};

template <typename T>
struct Ormqr {  // (reflectors, tau, c) -> (op(q) * c or c * op(q))
  static absl::Status Run(RunContext* ctx, const CallArgs& args) {
    XC_RETURN_IF_ERROR(CheckCounts(args, 3, 1));
    XC_ASSIGN_OR_RETURN(int64_t left, args.attributes->Int("left"));
    XC_ASSIGN_OR_RETURN(int64_t transpose, args.attributes->Int("transpose"));
    Batch<T> a, tau, c;
    XC_RETURN_IF_ERROR(a.Read(ctx, args.inputs[0], 2));
    XC_RETURN_IF_ERROR(tau.Read(ctx, args.inputs[1], 1));
    XC_RETURN_IF_ERROR(c.Init(ctx, args.outputs[0], 2, &args.inputs[2]));
    if (tau.rows() > a.cols() || tau.rows() > a.rows() || tau.count() != a.count() || c.count() != a.count() ||
        a.rows() != (left ? c.rows() : c.cols())) {
      return Mismatch();
    }
    XC_RETURN_IF_ERROR(ForMatrices(ctx, a.count(), [&](int64_t i) {
      QrMultiply<T>(a.matrix(i), tau.rows(), tau.at(i), c.matrix(i), left != 0, transpose != 0);
      return absl::OkStatus();
    }));
    c.Finish();
    return absl::OkStatus();
  }
};

// A tridiagonal matrix in place, with a diagonal above the upper one that elimination fills.
template <typename T>
struct Tridiagonal {
  T *lower, *diagonal, *upper;  // lower[k] is in row k + 1; it becomes the second diagonal above
  int64_t n;

  // Elimination with exchanges of neighbouring rows, of the matrix and `b`. Returns the 1-based place of the first zero
  // on the diagonal, or 0.
  int32_t Eliminate(const Matrix<T>& b) const {
    int32_t first_zero = 0;
    for (int64_t k = 0; k < n; ++k) {
      if (k + 1 == n) {
        if (diagonal[k] == T(0) && first_zero == 0) first_zero = static_cast<int32_t>(n);
        break;
      }
      const T below = lower[k];
      lower[k] = 0;
      if (below == T(0)) {
        if (diagonal[k] == T(0) && first_zero == 0) first_zero = static_cast<int32_t>(k + 1);
      } else if (std::abs(diagonal[k]) >= std::abs(below)) {
        const T factor = below / diagonal[k];
        diagonal[k + 1] -= factor * upper[k];
        for (int64_t j = 0; j < b.cols; ++j) b(k + 1, j) -= factor * b(k, j);
      } else {
        const T factor = diagonal[k] / below;
        diagonal[k] = below;
        const T next = diagonal[k + 1];
        diagonal[k + 1] = upper[k] - factor * next;
        upper[k] = next;
        if (k + 2 < n) {
          lower[k] = upper[k + 1];
          upper[k + 1] = -factor * lower[k];
        }
        for (int64_t j = 0; j < b.cols; ++j) {
          const T first = b(k, j);
          b(k, j) = b(k + 1, j);
          b(k + 1, j) = first - factor * b(k + 1, j);
        }
      }
    }
    return first_zero;
  }

  // After elimination: makes numbers on the diagonal that are tiny beside the matrix as large as its rounding errors.
  void Perturb() const {
    Real<T> largest = 0;
    for (int64_t k = 0; k < n; ++k) {
      largest = std::max(largest, std::abs(diagonal[k]));
      if (k + 1 < n) largest = std::max({largest, std::abs(upper[k]), std::abs(lower[k])});
    }
    constexpr Real<T> kEpsilon = std::numeric_limits<Real<T>>::epsilon();
    const Real<T> least = largest > 0 ? kEpsilon * largest : kEpsilon;
    for (int64_t k = 0; k < n; ++k) {
      const Real<T> size = std::abs(diagonal[k]);
      if (size < least) diagonal[k] = size == 0 ? T(least) : diagonal[k] / size * least;
    }
  }

  // b := the solution, after elimination.
  void Substitute(const Matrix<T>& b) const {
    for (int64_t j = 0; j < b.cols; ++j) {
      for (int64_t k = n - 1; k >= 0; --k) {
        T x = b(k, j);
        if (k + 1 < n) x -= upper[k] * b(k + 1, j);
        if (k + 2 < n) x -= lower[k] * b(k + 2, j);
        b(k, j) = x / diagonal[k];
      }
    }
  }
};

template <typename T>
struct Gtsv {  // (lower, diagonal, upper, b) -> (three factors, solution, info); lower[0] and upper[n - 1] are unused
  static absl::Status Run(RunContext* ctx, const CallArgs& args) {
    XC_RETURN_IF_ERROR(CheckCounts(args, 4, 5));
    Batch<T> lower, diagonal, upper, b;
    Batch<int32_t> info;
    XC_RETURN_IF_ERROR(lower.Init(ctx, args.outputs[0], 1, &args.inputs[0]));
    XC_RETURN_IF_ERROR(diagonal.Init(ctx, args.outputs[1], 1, &args.inputs[1]));
    XC_RETURN_IF_ERROR(upper.Init(ctx, args.outputs[2], 1, &args.inputs[2]));
    XC_RETURN_IF_ERROR(b.Init(ctx, args.outputs[3], 2, &args.inputs[3]));
    XC_RETURN_IF_ERROR(info.Init(ctx, args.outputs[4], 0));
    if (lower.rows() != b.rows() || diagonal.rows() != b.rows() || upper.rows() != b.rows() ||
        diagonal.count() != b.count() || lower.count() != b.count() || upper.count() != b.count() ||
        info.count() != b.count()) {
      return Mismatch();
    }
    XC_RETURN_IF_ERROR(ForMatrices(ctx, b.count(), [&](int64_t i) {
      const Tridiagonal<T> m{lower.at(i) + 1, diagonal.at(i), upper.at(i), b.rows()};
      *info.at(i) = m.Eliminate(b.matrix(i));
      if (*info.at(i) == 0) m.Substitute(b.matrix(i));
      return absl::OkStatus();
    }));
    lower.Finish();
    diagonal.Finish();
    upper.Finish();
    b.Finish();
    info.Finish();
    return absl::OkStatus();
  }
};

// (lower, diagonal, upper, b) -> (solution), as Gtsv; a singular matrix is taken for the nearest that is not.
template <typename T>
struct SolvePerturbed {
  static absl::Status Run(RunContext* ctx, const CallArgs& args) {
    XC_RETURN_IF_ERROR(CheckCounts(args, 4, 1));
    Batch<T> b, parts[3];
    XC_RETURN_IF_ERROR(b.Init(ctx, args.outputs[0], 2, &args.inputs[3]));
    for (int i = 0; i < 3; ++i) {
      XC_RETURN_IF_ERROR(parts[i].Read(ctx, args.inputs[i], 1));
      if (parts[i].rows() != b.rows() || parts[i].count() != b.count()) return Mismatch();
    }
    const int64_t n = b.rows();
    if (n == 0) return absl::OkStatus();
    XC_RETURN_IF_ERROR(ForMatrices(ctx, b.count(), [&](int64_t i) {
      std::vector<T> copies[3];
      for (int k = 0; k < 3; ++k) copies[k].assign(parts[k].at(i), parts[k].at(i) + n);
      const Tridiagonal<T> m{copies[0].data() + 1, copies[1].data(), copies[2].data(), n};
      m.Eliminate(b.matrix(i));
      m.Perturb();
      m.Substitute(b.matrix(i));
      return absl::OkStatus();
    }));
    b.Finish();
    return absl::OkStatus();
  }
};

}  // namespace

NamedCalls LapackFactorCalls() {
  NamedCalls calls;
  AddCalls<Potrf>("potrf", "potrf", &calls);
  AddCalls<Trsm>("trsm", "trsm", &calls);
  AddCalls<Getrf>("getrf", "getrf", &calls);
  AddCalls<Geqrf>("geqrf", "geqrf", &calls);
  AddCalls<Geqp3>("geqp3", "geqp3", &calls);
  AddCalls<Orgqr>("orgqr", "ungqr", &calls);
  AddCalls<Ormqr>("ormqr", "unmqr", &calls);
  AddCalls<Gtsv>("gtsv", "gtsv", &calls);
  calls.emplace_back("tridiagonal_solve_perturbed_ffi", OfAnyType<SolvePerturbed, 3>);
  calls.emplace_back("Qr", OfAnyType<Geqrf>);
  calls.emplace_back("ProductOfElementaryHouseholderReflectors", OfAnyType<Orgqr>);
  calls.emplace_back("LuDecomposition", OfAnyType<LuDecomposition>);
  return calls;
}

}  // namespace xc
