// The routines of blas.cc against sums as their definition has them.
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

extern "C" {
#define XC_DECLARE(p, T)                                                                                      \
  void p##gemm_(const char*, const char*, const int32_t*, const int32_t*, const int32_t*, const T*, const T*, \
                const int32_t*, const T*, const int32_t*, const T*, T*, const int32_t*, size_t, size_t);      \
  void p##trmm_(const char*, const char*, const char*, const char*, const int32_t*, const int32_t*, const T*, \
                const T*, const int32_t*, T*, const int32_t*, size_t, size_t, size_t, size_t);
#define XC_DECLARE_REAL(p, T)                                                                                        \
  void p##gemv_(const char*, const int32_t*, const int32_t*, const T*, const T*, const int32_t*, const T*,           \
                const int32_t*, const T*, T*, const int32_t*, size_t);                                               \
  void p##symv_(const char*, const int32_t*, const T*, const T*, const int32_t*, const T*, const int32_t*, const T*, \
                T*, const int32_t*, size_t);                                                                         \
  void p##syr2k_(const char*, const char*, const int32_t*, const int32_t*, const T*, const T*, const int32_t*,       \
                 const T*, const int32_t*, const T*, T*, const int32_t*, size_t, size_t);
XC_DECLARE(s, float)
XC_DECLARE(d, double)
XC_DECLARE(c, std::complex<float>)
XC_DECLARE(z, std::complex<double>)
XC_DECLARE_REAL(s, float)
XC_DECLARE_REAL(d, double)
}

namespace xc {
namespace {

using C64 = std::complex<float>;
using C128 = std::complex<double>;

template <typename T>
auto Pick(auto s, auto d, auto c, auto z) {
  if constexpr (std::is_same_v<T, float>) return s;
  if constexpr (std::is_same_v<T, double>) return d;
  if constexpr (std::is_same_v<T, C64>) return c;
  if constexpr (std::is_same_v<T, C128>) return z;
}

template <typename T>
class Blas : public testing::Test {};
using Types = testing::Types<float, double, C64, C128>;
TYPED_TEST_SUITE(Blas, Types);
template <typename T>
class RealBlas : public testing::Test {};
using RealTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(RealBlas, RealTypes);

// Column-major, with more memory than it takes between columns.
template <typename T>
struct Array {
  Array(int32_t rows, int32_t cols, int seed) : rows(rows), cols(cols), ld(rows + 3), data(ld * cols) {
    for (size_t i = 0; i < data.size(); ++i) {
      const double x = static_cast<double>((i * 37 + seed * 101) % 61) / 30 - 1;
      if constexpr (std::is_floating_point_v<T>) {
        data[i] = static_cast<T>(x);
      } else {
        data[i] = T(x, 1 - static_cast<double>((i * 53 + seed) % 41) / 20);
      }
    }
  }
  T& operator()(int32_t i, int32_t j) { return data[i + j * ld]; }
  // Element of the matrix that `op` makes of it.
  T Op(char op, int32_t i, int32_t j) {
    if (op == 'N') return (*this)(i, j);
    if constexpr (!std::is_floating_point_v<T>) {
      if (op == 'C') return std::conj((*this)(j, i));
    }
    return (*this)(j, i);
  }
  int32_t rows, cols, ld;
  std::vector<T> data;
};

template <typename T>
void ExpectNear(Array<T>& got, Array<T>& want, const std::string& what) {
  const double tolerance = sizeof(T) == sizeof(std::complex<double>) || std::is_same_v<T, double> ? 1e-12 : 1e-3;
  for (size_t i = 0; i < got.data.size(); ++i) {
    ASSERT_NEAR(std::abs(got.data[i] - want.data[i]), 0, tolerance) << what << " at " << i;
  }
}

constexpr int32_t kSizes[][3] = {{1, 1, 1}, {3, 5, 2}, {70, 9, 33}, {300, 130, 41}, {20, 200, 300}, {4, 4, 0}};

TYPED_TEST(Blas, Gemm) {
  using T = TypeParam;
  for (const auto& [m, n, k] : kSizes) {
    for (char op_a : {'N', 'T', 'C'}) {
      for (char op_b : {'N', 'T', 'C'}) {
        Array<T> a(op_a == 'N' ? m : k, op_a == 'N' ? k : m, 1), b(op_b == 'N' ? k : n, op_b == 'N' ? n : k, 2);
        Array<T> c(m, n, 3), want = c;
        const T alpha = T(0.5), beta = m == 70 ? T(0) : m == 300 ? T(1) : T(-2);
        for (int32_t j = 0; j < n; ++j) {
          for (int32_t i = 0; i < m; ++i) {
            T sum = 0;
            for (int32_t p = 0; p < k; ++p) sum += a.Op(op_a, i, p) * b.Op(op_b, p, j);
            want(i, j) = alpha * sum + beta * want(i, j);
          }
        }
        Pick<T>(sgemm_, dgemm_, cgemm_, zgemm_)(&op_a, &op_b, &m, &n, &k, &alpha, a.data.data(), &a.ld, b.data.data(),
                                                &b.ld, &beta, c.data.data(), &c.ld, 1, 1);
        ExpectNear(c, want, std::string("gemm ") + op_a + op_b + std::to_string(m));
      }
    }
  }
}

TYPED_TEST(Blas, Trmm) {
  using T = TypeParam;
  for (const auto& [m, n, unused] : kSizes) {
    if (m * n > 5000) continue;
    for (int flags = 0; flags < 24; ++flags) {
      const char side = flags & 1 ? 'L' : 'R', uplo = flags & 2 ? 'L' : 'U', diag = flags & 4 ? 'U' : 'N';
      const char op = "NTC"[flags / 8];
      const int32_t size = side == 'L' ? m : n;
      Array<T> a(size, size, 1), b(m, n, 2), full = a, want = b;
      for (int32_t j = 0; j < size; ++j) {
        for (int32_t i = 0; i < size; ++i) {
          if (i == j && diag == 'U') full(i, j) = 1;
          if (i != j && (i > j) != (uplo == 'L')) full(i, j) = 0;
        }
      }
      const T alpha = T(2);
      for (int32_t j = 0; j < n; ++j) {
        for (int32_t i = 0; i < m; ++i) {
          T sum = 0;
          for (int32_t p = 0; p < size; ++p) {
            sum += side == 'L' ? full.Op(op, i, p) * b(p, j) : b(i, p) * full.Op(op, p, j);
          }
          want(i, j) = alpha * sum;
        }
      }
      Pick<T>(strmm_, dtrmm_, ctrmm_, ztrmm_)(&side, &uplo, &op, &diag, &m, &n, &alpha, a.data.data(), &a.ld,
                                              b.data.data(), &b.ld, 1, 1, 1, 1);
      ExpectNear(b, want, std::string("trmm ") + side + uplo + op + diag + std::to_string(m));
    }
  }
}

// Every stride-th element of a vector, from the end for negative strides.
template <typename T>
T& Element(Array<T>& x, int32_t n, int32_t stride, int32_t i) {
  return x.data[stride > 0 ? i * stride : (i - n + 1) * stride];
}

TYPED_TEST(RealBlas, MatrixTimesVector) {
  using T = TypeParam;
  for (const auto& [m, n, unused] : kSizes) {
    for (char op : {'N', 'T', 'S'}) {  // S: symmetric, by its lower triangle or, for negative strides, its upper one
      for (int32_t stride : {1, 2, -3}) {
        const int32_t columns = op == 'S' ? m : n;
        const int32_t from = op == 'N' ? columns : m, to = op == 'T' ? columns : m;
        Array<T> a(m, columns, 1), x(3 * from, 1, 2), y(3 * to, 1, 3), want = y;
        const T alpha = T(0.5), beta = stride == 1 ? T(0) : stride == 2 ? T(1) : T(-2);
        const char uplo = stride > 0 ? 'L' : 'U';
        for (int32_t i = 0; i < to; ++i) {
          T sum = 0;
          for (int32_t p = 0; p < from; ++p) {
            const bool mirror = op == 'T' || (op == 'S' && (i > p) != (uplo == 'L'));
            sum += (mirror ? a(p, i) : a(i, p)) * Element(x, from, stride, p);
          }
          Element(want, to, stride, i) = alpha * sum + beta * Element(want, to, stride, i);
        }
        if (op == 'S') {
          Pick<T>(ssymv_, dsymv_, 0, 0)(&uplo, &m, &alpha, a.data.data(), &a.ld, x.data.data(), &stride, &beta,
                                        y.data.data(), &stride, 1);
        } else {
          Pick<T>(sgemv_, dgemv_, 0, 0)(&op, &m, &n, &alpha, a.data.data(), &a.ld, x.data.data(), &stride, &beta,
                                        y.data.data(), &stride, 1);
        }
        ExpectNear(y, want,
                   std::string("matrix times vector ") + op + std::to_string(m) + " " + std::to_string(stride));
      }
    }
  }
}

TYPED_TEST(RealBlas, Syr2k) {
  using T = TypeParam;
  for (const auto& [n, unused, k] : kSizes) {
    for (char op : {'N', 'T'}) {
      for (char uplo : {'L', 'U'}) {
        Array<T> a(op == 'N' ? n : k, op == 'N' ? k : n, 1), b(op == 'N' ? n : k, op == 'N' ? k : n, 2);
        Array<T> c(n, n, 3), want = c;
        const T alpha = T(-1), beta = T(0.5);
        for (int32_t j = 0; j < n; ++j) {
          for (int32_t i = uplo == 'L' ? j : 0; i < (uplo == 'L' ? n : j + 1); ++i) {
            T sum = 0;
            for (int32_t p = 0; p < k; ++p) {
              sum += a.Op(op, i, p) * b.Op(op, j, p) + b.Op(op, i, p) * a.Op(op, j, p);
            }
            want(i, j) = alpha * sum + beta * want(i, j);
          }
        }
        Pick<T>(ssyr2k_, dsyr2k_, 0, 0)(&uplo, &op, &n, &k, &alpha, a.data.data(), &a.ld, b.data.data(), &b.ld, &beta,
                                        c.data.data(), &c.ld, 1, 1);
        ExpectNear(c, want, std::string("syr2k ") + op + uplo + std::to_string(n));
      }
    }
  }
}

}  // namespace
}  // namespace xc
