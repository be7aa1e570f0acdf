// The routines of BLAS in which LAPACK spends its time, by their Fortran names, over the runtime's matrix kernels. They
// take the place of the reference library's, whose loops are scalar; what is not here comes from there. All of them run
// on the calling thread, so that sums have one order.
#include <algorithm>
#include <complex>
#include <cstdint>
#include <vector>

#include "backends/runtime/gemm_kernels.h"
#include "backends/runtime/scratch.h"
#include "backends/runtime/type_of.h"
#include "hlo/base/per_thread.h"

namespace xc {
namespace {

using Int = int32_t;  // Fortran's default INTEGER

template <typename T>
T Conjugate(T x) {
  return x;
}
template <typename T>
std::complex<T> Conjugate(std::complex<T> x) {
  return std::conj(x);
}

bool Is(const char* option, char letter) { return (*option | 0x20) == (letter | 0x20); }

// Element (i, j) stands at data[i * row + j * column].
template <typename T>
struct View {
  const T* data;
  int64_t row, column;
  const T& operator()(int64_t i, int64_t j) const { return data[i * row + j * column]; }
};

template <typename T>
T* Scratch(int64_t count, ScratchSlot slot) {
  absl::StatusOr<char*> bytes = ThreadScratch(count * sizeof(T), slot);
  return bytes.ok() ? reinterpret_cast<T*>(*bytes) : nullptr;
}

// c, column-major m by n, = a * b. Without memory for the kernels' scratch, by plain loops.
template <typename T>
void Product(int64_t m, int64_t n, int64_t k, const View<T>& a, const View<T>& b, T* c) {
  constexpr int64_t kTiny = 256;
  const RtType type = TypeOf<T>();
  // Transposed: the kernels want the result's rows in one piece.
  const GemmTile tile{type, type, type, n, m, k, b.data, b.column, b.row, a.data, a.column, a.row, c, m, 1};
  if (m * n * k > kTiny) {
    const GemmKernels& kernels = BestGemmKernels();
    if (char* scratch = Scratch<char>(kernels.gemm_scratch(tile), kKernelScratch)) return kernels.gemm(tile, scratch);
  }
  for (int64_t j = 0; j < n; ++j) {
    std::fill_n(c + j * m, m, T(0));
    for (int64_t p = 0; p < k; ++p) {
      for (int64_t i = 0; i < m; ++i) c[j * m + i] += a(i, p) * b(p, j);
    }
  }
}

// y = alpha * sum + beta * y; a beta of 0 does not read y.
template <typename T>
void Update(int64_t n, T alpha, const T* sum, T beta, T* y, int64_t stride = 1) {
  if (beta == T(0)) {
    for (int64_t i = 0; i < n; ++i) y[i * stride] = alpha * sum[i];
  } else if (beta == T(1)) {
    for (int64_t i = 0; i < n; ++i) y[i * stride] += alpha * sum[i];
  } else {
    for (int64_t i = 0; i < n; ++i) y[i * stride] = alpha * sum[i] + beta * y[i * stride];
  }
}

template <typename T>
void Scale(int64_t n, T beta, T* y, int64_t stride = 1) {
  if (beta == T(1)) return;
  for (int64_t i = 0; i < n; ++i) y[i * stride] = beta == T(0) ? T(0) : beta * y[i * stride];
}

// op(a), of `rows` by `columns`, as it stands or, where it has to be conjugated, in `copy`.
template <typename T>
View<T> Operand(const char* op, int64_t rows, int64_t columns, const T* a, int64_t lda, std::vector<T>* copy) {
  if (Is(op, 'N')) return {a, 1, lda};
  const View<T> view{a, lda, 1};
  if (!Is(op, 'C') || std::is_floating_point_v<T>) return view;
  copy->resize(rows * columns);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) (*copy)[i * columns + j] = Conjugate(view(i, j));
  }
  return {copy->data(), columns, 1};
}

// c = alpha * a * b + beta * c, in pieces whose products stay in the nearest caches.
template <typename T>
void Gemm(int64_t m, int64_t n, int64_t k, T alpha, const View<T>& a, const View<T>& b, T beta, T* c, int64_t ldc) {
  constexpr int64_t kRows = 256, kColumns = 96;
  static_assert(kRows * kColumns * sizeof(T) <= 512 << 10);
  static PerThread<std::vector<T>> products;
  if (alpha == T(0) || k == 0) {
    for (int64_t j = 0; j < n; ++j) Scale(m, beta, c + j * ldc);
    return;
  }
  std::vector<T>& product = products.Get();
  product.resize(kRows * kColumns);
  for (int64_t i = 0; i < m; i += kRows) {
    const int64_t rows = std::min(kRows, m - i);
    for (int64_t j = 0; j < n; j += kColumns) {
      const int64_t columns = std::min(kColumns, n - j);
      Product<T>(rows, columns, k, {&a(i, 0), a.row, a.column}, {&b(0, j), b.row, b.column}, product.data());
      for (int64_t s = 0; s < columns; ++s) {
        Update(rows, alpha, product.data() + s * rows, beta, c + i + (j + s) * ldc);
      }
    }
  }
}

// b = alpha * op(a) * b or b * op(a) for triangular a, which is made whole first.
template <typename T>
void Trmm(const char* side, const char* uplo, const char* op, const char* diag, int64_t m, int64_t n, T alpha,
          const T* a, int64_t lda, T* b, int64_t ldb) {
  const bool left = Is(side, 'L'), lower = Is(uplo, 'L'), unit = Is(diag, 'U');
  const int64_t size = left ? m : n;
  std::vector<T> square(size * size), old(m * n);
  for (int64_t j = 0; j < size; ++j) {
    for (int64_t i = lower ? j : 0; i < (lower ? size : j + 1); ++i) {
      const T x = i == j && unit ? T(1) : a[i + j * lda];
      square[i + j * size] = Is(op, 'C') ? Conjugate(x) : x;
    }
  }
  for (int64_t j = 0; j < n; ++j) std::copy_n(b + j * ldb, m, old.data() + j * m);
  const View<T> t = Is(op, 'N') ? View<T>{square.data(), 1, size} : View<T>{square.data(), size, 1};
  const View<T> o{old.data(), 1, m};
  Gemm<T>(m, n, size, alpha, left ? t : o, left ? o : t, T(0), b, ldb);
}

// y = alpha * op(a) * x + beta * y for real types.
template <typename T>
void Gemv(bool transpose, int64_t m, int64_t n, T alpha, const T* a, int64_t lda, const T* x, int64_t incx, T beta,
          T* y, int64_t incy) {
  const int64_t to = transpose ? n : m, from = transpose ? m : n;
  if (alpha == T(0) || from == 0) return Scale(to, beta, y, incy);
  static PerThread<std::vector<T>> sums;
  std::vector<T>& sum = sums.Get();
  sum.resize(to);
  const View<T> view = transpose ? View<T>{a, lda, 1} : View<T>{a, 1, lda};
  const RtType type = TypeOf<T>();
  const GemmTile tile{type, type, type, 1, to, from, x, 0, incx, a, view.column, view.row, sum.data(), to, 1};
  char* scratch = Scratch<char>(8 * from + 64, kKernelScratch);
  if (scratch == nullptr || !BestGemmKernels().skinny(tile, scratch)) {
    for (int64_t i = 0; i < to; ++i) {
      sum[i] = 0;
      for (int64_t p = 0; p < from; ++p) sum[i] += view(i, p) * x[p * incx];
    }
  }
  Update(to, alpha, sum.data(), beta, y, incy);
}

constexpr int64_t kBlock = 64, kSmall = 16;

// y = alpha * a * x + beta * y for symmetric a, of which one triangle is read, by block columns: the block on the
// diagonal made whole, and what is below (or above) it, which counts for both sides.
template <typename T>
void Symv(const char* uplo, int64_t n, T alpha, const T* a, int64_t lda, const T* x, int64_t incx, T beta, T* y,
          int64_t incy) {
  Scale(n, beta, y, incy);
  if (alpha == T(0)) return;
  const bool lower = Is(uplo, 'L');
  if (n <= kSmall) {
    for (int64_t j = 0; j < n; ++j) {
      const T* column = a + j * lda;
      T sum = column[j] * x[j * incx];
      for (int64_t i = lower ? j + 1 : 0; i < (lower ? n : j); ++i) {
        y[i * incy] += alpha * x[j * incx] * column[i];
        sum += column[i] * x[i * incx];
      }
      y[j * incy] += alpha * sum;
    }
    return;
  }
  T whole[kBlock * kBlock];
  for (int64_t k = 0; k < n; k += kBlock) {
    const int64_t size = std::min(kBlock, n - k);
    const T* diagonal = a + k + k * lda;
    for (int64_t j = 0; j < size; ++j) {
      for (int64_t i = j; i < size; ++i) {
        whole[i + j * size] = whole[j + i * size] = lower ? diagonal[i + j * lda] : diagonal[j + i * lda];
      }
    }
    Gemv<T>(false, size, size, alpha, whole, size, x + k * incx, incx, T(1), y + k * incy, incy);
    const int64_t first = lower ? k + size : 0, rows = lower ? n - first : k;
    if (rows == 0) continue;
    const T* panel = a + first + k * lda;
    Gemv<T>(false, rows, size, alpha, panel, lda, x + k * incx, incx, T(1), y + first * incy, incy);
    Gemv<T>(true, rows, size, alpha, panel, lda, x + first * incx, incx, T(1), y + k * incy, incy);
  }
}

// One triangle of c = alpha * (op(a) * op(b)^T + op(b) * op(a)^T) + beta * c, with op(a) of n by k, by block columns.
template <typename T>
void Syr2k(const char* uplo, const char* op, int64_t n, int64_t k, T alpha, const T* a, int64_t lda, const T* b,
           int64_t ldb, T beta, T* c, int64_t ldc) {
  const bool lower = Is(uplo, 'L'), plain = Is(op, 'N');
  const View<T> u = plain ? View<T>{a, 1, lda} : View<T>{a, lda, 1};
  const View<T> v = plain ? View<T>{b, 1, ldb} : View<T>{b, ldb, 1};
  static PerThread<std::vector<T>> sums;
  std::vector<T>& sum = sums.Get();
  for (int64_t j = 0; j < n; j += kBlock) {
    const int64_t size = std::min(kBlock, n - j);
    const int64_t first = lower ? j : 0, rows = lower ? n - j : j + size;
    sum.resize(rows * size);
    auto add = [&](const View<T>& x, const View<T>& y, T keep) {
      Gemm<T>(rows, size, k, alpha, {&x(first, 0), x.row, x.column}, {&y(j, 0), y.column, y.row}, keep, sum.data(),
              rows);
    };
    if (k == 0) {  // there may be no a and b to point to
      std::fill(sum.begin(), sum.end(), T(0));
    } else {
      add(u, v, T(0));
      add(v, u, T(1));
    }
    for (int64_t s = 0; s < size; ++s) {
      const int64_t skip = lower ? s : 0, count = lower ? rows - s : j + s + 1;
      Update(count, T(1), sum.data() + s * rows + skip, beta, c + first + skip + (j + s) * ldc);
    }
  }
}

// Fortran's vectors with a negative stride begin at their end.
template <typename T>
T* First(T* x, int64_t n, int64_t stride) {
  return stride < 0 ? x - (n - 1) * stride : x;
}

}  // namespace
}  // namespace xc

// Characters' lengths follow at the end of the argument list; they are not looked at.
#define XC_BLAS(p, T)                                                                                                \
  void p##gemm_(const char* op_a, const char* op_b, const xc::Int* m, const xc::Int* n, const xc::Int* k,            \
                const T* alpha, const T* a, const xc::Int* lda, const T* b, const xc::Int* ldb, const T* beta, T* c, \
                const xc::Int* ldc) {                                                                                \
    if (*m <= 0 || *n <= 0) return;                                                                                  \
    std::vector<T> copy_a, copy_b;                                                                                   \
    xc::Gemm<T>(*m, *n, *k, *alpha, xc::Operand<T>(op_a, *m, *k, a, *lda, &copy_a),                                  \
                xc::Operand<T>(op_b, *k, *n, b, *ldb, &copy_b), *beta, c, *ldc);                                     \
  }                                                                                                                  \
  void p##trmm_(const char* side, const char* uplo, const char* op, const char* diag, const xc::Int* m,              \
                const xc::Int* n, const T* alpha, const T* a, const xc::Int* lda, T* b, const xc::Int* ldb) {        \
    if (*m > 0 && *n > 0) xc::Trmm<T>(side, uplo, op, diag, *m, *n, *alpha, a, *lda, b, *ldb);                       \
  }

#define XC_BLAS_REAL(p, T)                                                                                          \
  XC_BLAS(p, T)                                                                                                     \
  void p##gemv_(const char* op, const xc::Int* m, const xc::Int* n, const T* alpha, const T* a, const xc::Int* lda, \
                const T* x, const xc::Int* incx, const T* beta, T* y, const xc::Int* incy) {                        \
    const bool transpose = !xc::Is(op, 'N');                                                                        \
    if (*m <= 0 || *n <= 0) return;                                                                                 \
    xc::Gemv<T>(transpose, *m, *n, *alpha, a, *lda, xc::First(x, transpose ? *m : *n, *incx), *incx, *beta,         \
                xc::First(y, transpose ? *n : *m, *incy), *incy);                                                   \
  }                                                                                                                 \
  void p##symv_(const char* uplo, const xc::Int* n, const T* alpha, const T* a, const xc::Int* lda, const T* x,     \
                const xc::Int* incx, const T* beta, T* y, const xc::Int* incy) {                                    \
    xc::Symv<T>(uplo, *n, *alpha, a, *lda, xc::First(x, *n, *incx), *incx, *beta, xc::First(y, *n, *incy), *incy);  \
  }                                                                                                                 \
  void p##syr2k_(const char* uplo, const char* op, const xc::Int* n, const xc::Int* k, const T* alpha, const T* a,  \
                 const xc::Int* lda, const T* b, const xc::Int* ldb, const T* beta, T* c, const xc::Int* ldc) {     \
    xc::Syr2k<T>(uplo, op, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc);                                       \
  }

extern "C" {
XC_BLAS_REAL(s, float)
XC_BLAS_REAL(d, double)
XC_BLAS(c, std::complex<float>)
XC_BLAS(z, std::complex<double>)
}
