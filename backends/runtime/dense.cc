// Blocked Cholesky, LU and triangular solves, and Householder QR.
#include "backends/runtime/dense.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "backends/runtime/gemm_kernels.h"
#include "backends/runtime/matmul.h"
#include "backends/runtime/type_of.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

constexpr int64_t kBlockSize = 64;

template <typename T>
inline T Product(T a, T b) {
  return a * b;
}
// Without the library's care for infinities, which costs a call.
template <typename T>
inline std::complex<T> Product(std::complex<T> a, std::complex<T> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// The size by which LAPACK chooses pivots.
template <typename T>
inline T PivotSize(T x) {
  return std::abs(x);
}
template <typename T>
inline T PivotSize(std::complex<T> x) {
  return std::abs(x.real()) + std::abs(x.imag());
}

template <typename T>
inline Real<T> RealPart(T x) {
  return std::real(x);
}

// y = y * u^-1 for an upper triangle of at most a block.
template <typename T>
void SolveBlock(const Matrix<T>& u, const Matrix<T>& y, bool unit) {
  if (BestGemmKernels().solve(TypeOf<T>(), u.rows, u.data, u.ld, unit, y.rows, y.data, y.ld)) return;
  for (int64_t i = 0; i < u.rows; ++i) {
    T* x = &y(0, i);
    for (int64_t p = 0; p < i; ++p) {
      const T* before = &y(0, p);
      const T factor = u(p, i);
      for (int64_t r = 0; r < y.rows; ++r) x[r] -= Product(before[r], factor);
    }
    if (unit) continue;
    const T inverse = T(1) / u(i, i);
    for (int64_t r = 0; r < y.rows; ++r) x[r] = Product(x[r], inverse);
  }
}

// y = y * u^-1 for an upper triangle: the form of all triangular solves here, since whole columns of y lie in memory
// one after the other and no row of it waits for another.
template <typename T>
absl::Status UpperSolve(RunContext* ctx, const Matrix<T>& u, const Matrix<T>& y, bool unit) {
  static_assert(kBlockSize <= kSolveSize);
  const int64_t n = u.rows;
  for (int64_t k = 0; k < n; k += kBlockSize) {
    const int64_t size = std::min(kBlockSize, n - k);
    const Matrix<T> here = y.Part(0, k, y.rows, size);
    if (k > 0) XC_RETURN_IF_ERROR(MultiplySubtract(ctx, y.Part(0, 0, y.rows, k), u.Part(0, k, k, size), here));
    const Matrix<T> diagonal = u.Part(k, k, size, size);
    ctx->ParallelFor(y.rows, 32, [&](int64_t begin, int64_t end) {
      SolveBlock<T>(diagonal, here.Part(begin, 0, end - begin, size), unit);
    });
  }
  return absl::OkStatus();
}

}  // namespace

template <typename T>
absl::Status MultiplySubtract(RunContext* ctx, const Matrix<T>& a, const Matrix<T>& b, const Matrix<T>& c) {
  if (c.rows == 0 || c.cols == 0 || a.cols == 0) return absl::OkStatus();
  // More is a product that is worth packing, and several threads.
  constexpr int64_t kSmall = int64_t{1} << 20;
  if (c.rows * c.cols * a.cols <= kSmall &&
      BestGemmKernels().subtract(TypeOf<T>(), c.rows, c.cols, a.cols, a.data, a.ld, b.data, b.ld, c.data, c.ld)) {
    return absl::OkStatus();
  }
  if (c.rows * c.cols * a.cols <= 8192) {
    for (int64_t j = 0; j < c.cols; ++j) {
      for (int64_t p = 0; p < a.cols; ++p) {
        const T value = b(p, j);
        for (int64_t i = 0; i < c.rows; ++i) c(i, j) -= Product(a(i, p), value);
      }
    }
    return absl::OkStatus();
  }
  OwnedMatrix<T> product(c.rows, c.cols);
  MatmulDesc d;
  d.a_type = d.b_type = d.c_type = static_cast<int32_t>(TypeOf<T>());
  d.m = c.rows;
  d.n = c.cols;
  d.k = a.cols;
  d.a_m = d.b_k = d.c_m = 1;
  d.a_k = a.ld;
  d.b_n = b.ld;
  d.c_n = product.ld;
  XC_RETURN_IF_ERROR(Matmul(ctx, d, a.data, b.data, product.data));
  for (int64_t j = 0; j < c.cols; ++j) {
    for (int64_t i = 0; i < c.rows; ++i) c(i, j) -= product(i, j);
  }
  return absl::OkStatus();
}

namespace {

// The columns of a, whose rows are at least as many, one by one. The number of the first that has no root, from 1 on.
template <typename T>
int32_t CholeskyColumns(const Matrix<T>& a) {
  for (int64_t j = 0; j < a.cols; ++j) {
    Real<T> d = RealPart(a(j, j));
    for (int64_t p = 0; p < j; ++p) d -= std::norm(a(j, p));
    if (!(d > 0)) {
      a(j, j) = d;
      return static_cast<int32_t>(j + 1);
    }
    const Real<T> root = std::sqrt(d);
    a(j, j) = root;
    for (int64_t p = 0; p < j; ++p) {
      const T factor = Conj(a(j, p));
      for (int64_t i = j + 1; i < a.rows; ++i) a(i, j) -= Product(a(i, p), factor);
    }
    for (int64_t i = j + 1; i < a.rows; ++i) a(i, j) /= root;
  }
  return 0;
}

// By blocks of columns: each less what those before it contribute, its triangle, and what is below it, which is a
// triangular solve. Blocks are made of smaller ones; complex numbers, for which there is no kernel, of columns.
template <typename T>
absl::Status CholeskyBlocks(RunContext* ctx, const Matrix<T>& a, int64_t block, int32_t* info) {
  constexpr int64_t kSmallBlock = 16;
  constexpr bool kReal = std::is_floating_point_v<T>;
  const int64_t n = a.rows;
  *info = 0;
  for (int64_t k = 0; k < n; k += block) {
    const int64_t size = std::min(block, n - k), below = n - k - size;
    if (k > 0) {
      OwnedMatrix<T> row(k, size);
      for (int64_t p = 0; p < k; ++p) {
        for (int64_t j = 0; j < size; ++j) row(p, j) = Conj(a(k + j, p));
      }
      // Only the lower triangle is to be written: the diagonal block goes apart.
      OwnedMatrix<T> corner(size, size);
      XC_RETURN_IF_ERROR(MultiplySubtract<T>(ctx, a.Part(k, 0, size, k), row, corner));
      for (int64_t j = 0; j < size; ++j) {
        for (int64_t i = j; i < size; ++i) a(k + i, k + j) += corner(i, j);
      }
      XC_RETURN_IF_ERROR(
          MultiplySubtract<T>(ctx, a.Part(k + size, 0, below, k), row, a.Part(k + size, k, below, size)));
    }
    if (kReal && block > kSmallBlock) {
      XC_RETURN_IF_ERROR(CholeskyBlocks(ctx, a.Part(k, k, size, size), kSmallBlock, info));
    } else {
      *info = CholeskyColumns(a.Part(k, k, kReal ? size : n - k, size));
    }
    if (*info != 0) {
      *info += static_cast<int32_t>(k);
      return absl::OkStatus();
    }
    if (!kReal || below == 0) continue;
    OwnedMatrix<T> upper(size, size);
    for (int64_t j = 0; j < size; ++j) {
      for (int64_t p = 0; p <= j; ++p) upper(p, j) = a(k + j, k + p);
    }
    ctx->ParallelFor(below, 64, [&](int64_t begin, int64_t end) {
      SolveBlock<T>(upper, a.Part(k + size + begin, k, end - begin, size), false);
    });
  }
  return absl::OkStatus();
}

}  // namespace

template <typename T>
absl::Status CholeskyLower(RunContext* ctx, const Matrix<T>& a, int32_t* info) {
  return CholeskyBlocks(ctx, a, kBlockSize, info);
}

template <typename T>
absl::Status TriangularSolve(RunContext* ctx, const Matrix<T>& a, const Matrix<T>& b, bool left, bool lower, bool unit,
                             MatrixOp op) {
  // Everything becomes an upper triangle on the right: op(A) X = B is X^T op(A)^T = B^T, and a lower triangle is an
  // upper one with rows and columns in reverse.
  const int64_t n = a.rows, m = left ? b.cols : b.rows;
  const bool transpose = (op != MatrixOp::kNone) != left;
  const bool conjugate = op == MatrixOp::kAdjoint;
  const bool reverse = lower != transpose;
  auto at = [&](int64_t i) { return reverse ? n - 1 - i : i; };
  OwnedMatrix<T> u(n, n);
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i <= j; ++i) {
      const T x = transpose ? a(at(j), at(i)) : a(at(i), at(j));
      u(i, j) = conjugate ? Conj(x) : x;
    }
  }
  if (!left && !reverse) return UpperSolve<T>(ctx, u, b, unit);
  OwnedMatrix<T> y(m, n);
  auto copy = [&](auto move) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < m; ++i) move(y(i, j), left ? b(at(j), i) : b(i, at(j)));
    }
  };
  copy([](T& to, T from) { to = from; });
  XC_RETURN_IF_ERROR(UpperSolve<T>(ctx, u, y, unit));
  copy([](T from, T& to) { to = from; });
  return absl::OkStatus();
}

namespace {

// Exchanges row i with row pivots[i] - 1, for the first `count` rows, column by column, as they lie in memory.
template <typename T>
void SwapRows(const Matrix<T>& a, const int32_t* pivots, int64_t count) {
  for (int64_t c = 0; c < a.cols; ++c) {
    T* column = &a(0, c);
    for (int64_t i = 0; i < count; ++i) std::swap(column[i], column[pivots[i] - 1]);
  }
}

// Lu of a matrix that has at least as many rows as columns: of its left half, then of what is left of the right one, so
// that most of the work is matrix products. `before`: the columns to its left, which `info` counts.
template <typename T>
absl::Status TallLu(RunContext* ctx, const Matrix<T>& a, int32_t* pivots, int32_t* info, int64_t before) {
  constexpr int64_t kColumns = 8;
  const int64_t m = a.rows, n = a.cols;
  if (n <= kColumns) {
    for (int64_t j = 0; j < n; ++j) {
      T* column = &a(0, j);
      int64_t best = j;
      Real<T> most = PivotSize(column[j]);
      for (int64_t i = j + 1; i < m; ++i) {
        const Real<T> size = PivotSize(column[i]);
        if (size > most) best = i, most = size;
      }
      pivots[j] = static_cast<int32_t>(best + 1);
      if (best != j) {
        for (int64_t c = 0; c < n; ++c) std::swap(a(j, c), a(best, c));
      }
      if (column[j] == T(0)) {
        if (*info == 0) *info = static_cast<int32_t>(before + j + 1);
      } else {
        const T pivot = column[j];
        for (int64_t i = j + 1; i < m; ++i) column[i] /= pivot;
      }
      for (int64_t c = j + 1; c < n; ++c) {
        T* other = &a(0, c);
        const T factor = other[j];
        for (int64_t i = j + 1; i < m; ++i) other[i] -= Product(column[i], factor);
      }
    }
    return absl::OkStatus();
  }
  const int64_t half = (n / 2 + kColumns - 1) / kColumns * kColumns;
  const Matrix<T> left = a.Part(0, 0, m, half), right = a.Part(0, half, m, n - half);
  XC_RETURN_IF_ERROR(TallLu<T>(ctx, left, pivots, info, before));
  SwapRows(right, pivots, half);
  const Matrix<T> above = right.Part(0, 0, half, n - half), below = right.Part(half, 0, m - half, n - half);
  XC_RETURN_IF_ERROR(TriangularSolve<T>(ctx, left.Part(0, 0, half, half), above, true, true, true, MatrixOp::kNone));
  XC_RETURN_IF_ERROR(MultiplySubtract<T>(ctx, left.Part(half, 0, m - half, half), above, below));
  XC_RETURN_IF_ERROR(TallLu<T>(ctx, below, pivots + half, info, before + half));
  SwapRows(left.Part(half, 0, m - half, half), pivots + half, n - half);
  for (int64_t j = half; j < n; ++j) pivots[j] += static_cast<int32_t>(half);
  return absl::OkStatus();
}

}  // namespace

template <typename T>
absl::Status Lu(RunContext* ctx, const Matrix<T>& a, int32_t* pivots, int32_t* info) {
  const int64_t m = a.rows, n = a.cols, steps = std::min(m, n);
  *info = 0;
  XC_RETURN_IF_ERROR(TallLu<T>(ctx, a.Part(0, 0, m, steps), pivots, info, 0));
  if (n == steps) return absl::OkStatus();
  const Matrix<T> right = a.Part(0, steps, m, n - steps);
  SwapRows(right, pivots, steps);
  return TriangularSolve<T>(ctx, a.Part(0, 0, steps, steps), right, true, true, true, MatrixOp::kNone);
}

namespace {

// The Euclidean norm of n numbers, which neither overflows nor vanishes before its time.
template <typename T>
Real<T> Norm(int64_t n, const T* x, int64_t stride) {
  using R = Real<T>;
  // In double the squares of floats cannot leave the range; those of doubles seldom do.
  constexpr int64_t kLanes = 8;
  double sums[kLanes] = {};
  auto add = [&](int64_t i, int64_t l) {
    const double re = std::real(x[i * stride]), im = std::imag(x[i * stride]);
    sums[l] += re * re + im * im;
  };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) add(i + l, l);
  }
  for (int64_t l = 0; i < n; ++i, ++l) add(i, l);
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t l = 0; l < half; ++l) sums[l] += sums[l + half];
  }
  if (sums[0] > 1e-280 && sums[0] < 1e280) return static_cast<R>(std::sqrt(sums[0]));
  R largest = 0;
  for (i = 0; i < n; ++i) largest = std::max(largest, static_cast<R>(std::abs(x[i * stride])));
  if (!(largest > 0)) return sums[0] == 0 ? 0 : static_cast<R>(sums[0]);
  R sum = 0;
  for (i = 0; i < n; ++i) sum += std::norm(x[i * stride] / largest);
  return largest * std::sqrt(sum);
}

}  // namespace

template <typename T>
void MakeReflector(int64_t n, T* alpha, T* x, int64_t stride, T* tau) {
  using R = Real<T>;
  const R re = std::real(*alpha), im = std::imag(*alpha);
  const R norm = Norm(n - 1, x, stride);
  if (norm == 0 && im == 0) {
    *tau = 0;
    return;
  }
  const R length = std::hypot(std::hypot(re, im), norm);
  const R beta = re >= 0 ? -length : length;
  *tau = (T(beta) - *alpha) / beta;
  const T divisor = *alpha - beta;
  for (int64_t i = 0; i < n - 1; ++i) x[i * stride] /= divisor;
  *alpha = beta;
}

namespace {

// ReflectLeft on columns j … j + kColumns - 1, for a contiguous tail: the sums of several columns do not wait for each
// other.
template <int kColumns, typename T>
void ReflectColumns(const T* __restrict tail, T tau, const Matrix<T>& c, int64_t j) {
  const int64_t n = c.rows - 1;
  T sums[kColumns] = {};
  for (int64_t i = 0; i < n; ++i) {
    for (int k = 0; k < kColumns; ++k) sums[k] += Product(Conj(tail[i]), c(i + 1, j + k));
  }
  for (int k = 0; k < kColumns; ++k) {
    T* __restrict column = c.data + (j + k) * c.ld;
    const T dot = Product(column[0] + sums[k], tau);
    column[0] -= dot;
    for (int64_t i = 0; i < n; ++i) column[i + 1] -= Product(tail[i], dot);
  }
}

}  // namespace

template <typename T>
void ReflectLeft(const T* tail, int64_t stride, T tau, const Matrix<T>& c) {
  if (tau == T(0)) return;
  if (stride == 1 && BestGemmKernels().reflect(TypeOf<T>(), c.rows - 1, tail, &tau, c.cols, c.data, c.ld)) return;
  if (stride == 1) {
    int64_t j = 0;
    for (; j + 4 <= c.cols; j += 4) ReflectColumns<4>(tail, tau, c, j);
    for (; j < c.cols; ++j) ReflectColumns<1>(tail, tau, c, j);
    return;
  }
  for (int64_t j = 0; j < c.cols; ++j) {
    T dot = c(0, j);
    for (int64_t i = 1; i < c.rows; ++i) dot += Product(Conj(tail[(i - 1) * stride]), c(i, j));
    dot = Product(dot, tau);
    c(0, j) -= dot;
    for (int64_t i = 1; i < c.rows; ++i) c(i, j) -= Product(tail[(i - 1) * stride], dot);
  }
}

template <typename T>
void ReflectRight(const T* tail, int64_t stride, T tau, const Matrix<T>& c) {
  if (tau == T(0)) return;
  std::vector<T> dots(c.rows);
  for (int64_t i = 0; i < c.rows; ++i) dots[i] = c(i, 0);
  for (int64_t j = 1; j < c.cols; ++j) {
    for (int64_t i = 0; i < c.rows; ++i) dots[i] += Product(c(i, j), tail[(j - 1) * stride]);
  }
  for (T& dot : dots) dot = Product(dot, tau);
  for (int64_t i = 0; i < c.rows; ++i) c(i, 0) -= dots[i];
  for (int64_t j = 1; j < c.cols; ++j) {
    const T factor = Conj(tail[(j - 1) * stride]);
    for (int64_t i = 0; i < c.rows; ++i) c(i, j) -= Product(dots[i], factor);
  }
}

template <typename T>
void QrFactor(const Matrix<T>& a, T* tau, int32_t* permutation) {
  const int64_t m = a.rows, n = a.cols, steps = std::min(m, n);
  using R = Real<T>;
  auto norm_below = [&](int64_t row, int64_t j) {
    R sum = 0;
    for (int64_t i = row; i < m; ++i) sum += std::norm(a(i, j));
    return sum;
  };
  if (permutation != nullptr) {
    for (int64_t j = 0; j < n; ++j) permutation[j] = static_cast<int32_t>(j + 1);
  }
  for (int64_t k = 0; k < steps; ++k) {
    if (permutation != nullptr) {
      int64_t best = k;
      R best_norm = norm_below(k, k);
      for (int64_t j = k + 1; j < n; ++j) {
        const R norm = norm_below(k, j);
        if (norm > best_norm) {
          best = j;
          best_norm = norm;
        }
      }
      if (best != k) {
        for (int64_t i = 0; i < m; ++i) std::swap(a(i, k), a(i, best));
        std::swap(permutation[k], permutation[best]);
      }
    }
    T* tail = k + 1 < m ? &a(k + 1, k) : nullptr;
    MakeReflector(m - k, &a(k, k), tail, 1, &tau[k]);
    ReflectLeft(tail, 1, Conj(tau[k]), a.Part(k, k + 1, m - k, n - k - 1));
  }
}

template <typename T>
void QrFormQ(const Matrix<T>& a, int64_t k, const T* tau) {
  const int64_t m = a.rows, n = a.cols;
  for (int64_t j = k; j < n; ++j) {
    for (int64_t i = 0; i < m; ++i) a(i, j) = i == j ? T(1) : T(0);
  }
  for (int64_t j = std::min(k, n) - 1; j >= 0; --j) {
    T* tail = j + 1 < m ? &a(j + 1, j) : nullptr;
    ReflectLeft(tail, 1, tau[j], a.Part(j, j + 1, m - j, n - j - 1));
    for (int64_t i = j + 1; i < m; ++i) a(i, j) = Product(-tau[j], a(i, j));
    a(j, j) = T(1) - tau[j];
    for (int64_t i = 0; i < j; ++i) a(i, j) = 0;
  }
}

template <typename T>
void QrMultiply(const Matrix<T>& a, int64_t k, const T* tau, const Matrix<T>& c, bool left, bool adjoint) {
  // Q = H(0) H(1) …: the last reflector comes first on the left of c, without adjoint.
  const bool forward = left == adjoint;
  for (int64_t s = 0; s < k; ++s) {
    const int64_t j = forward ? s : k - 1 - s;
    const T* tail = j + 1 < a.rows ? &a(j + 1, j) : nullptr;
    const T factor = adjoint ? Conj(tau[j]) : tau[j];
    if (left) {
      ReflectLeft(tail, 1, factor, c.Part(j, 0, c.rows - j, c.cols));
    } else {
      ReflectRight(tail, 1, factor, c.Part(0, j, c.rows, c.cols - j));
    }
  }
}

#define XC_INSTANTIATE(T)                                                                                       \
  template absl::Status MultiplySubtract<T>(RunContext*, const Matrix<T>&, const Matrix<T>&, const Matrix<T>&); \
  template absl::Status CholeskyLower<T>(RunContext*, const Matrix<T>&, int32_t*);                              \
  template absl::Status TriangularSolve<T>(RunContext*, const Matrix<T>&, const Matrix<T>&, bool, bool, bool,   \
                                           MatrixOp);                                                           \
  template absl::Status Lu<T>(RunContext*, const Matrix<T>&, int32_t*, int32_t*);                               \
  template void MakeReflector<T>(int64_t, T*, T*, int64_t, T*);                                                 \
  template void ReflectLeft<T>(const T*, int64_t, T, const Matrix<T>&);                                         \
  template void ReflectRight<T>(const T*, int64_t, T, const Matrix<T>&);                                        \
  template void QrFactor<T>(const Matrix<T>&, T*, int32_t*);                                                    \
  template void QrFormQ<T>(const Matrix<T>&, int64_t, const T*);                                                \
  template void QrMultiply<T>(const Matrix<T>&, int64_t, const T*, const Matrix<T>&, bool, bool);
XC_INSTANTIATE(float)
XC_INSTANTIATE(double)
XC_INSTANTIATE(std::complex<float>)
XC_INSTANTIATE(std::complex<double>)
#undef XC_INSTANTIATE

}  // namespace xc
