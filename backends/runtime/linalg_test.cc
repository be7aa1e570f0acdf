// Factorizations and solves by what they must satisfy, for every type and flag, over several block sizes.
#include "backends/runtime/linalg.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include "backends/runtime/dense.h"

namespace xc {
namespace {

template <typename T>
T RandomNumber(std::mt19937* random) {
  std::normal_distribution<double> normal;
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(normal(*random));
  } else {
    const double re = normal(*random), im = normal(*random);
    return T(re, im);
  }
}

template <typename T>
struct TypeNumber {
  static constexpr int value = static_cast<int>(std::is_same_v<T, float>    ? RtType::kF32
                                                : std::is_same_v<T, double> ? RtType::kF64
                                                : sizeof(T) == 8            ? RtType::kC64
                                                                            : RtType::kC128);
};

template <typename T>
class Linalg : public testing::Test {
 protected:
  Linalg() : executor(NewThreadPoolExecutor(2)), ctx(nullptr, executor.get()) {}
  static double Slack(int64_t n) { return (sizeof(Real<T>) == 4 ? 2e-6 : 1e-14) * (n + 5); }
  std::unique_ptr<Executor> executor;
  RunContext ctx;
};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Linalg, Types);

template <typename T>
void Fill(const Matrix<T>& a, std::mt19937* random) {
  for (int64_t j = 0; j < a.cols; ++j) {
    for (int64_t i = 0; i < a.rows; ++i) a(i, j) = RandomNumber<T>(random);
  }
}

// max |a * b - c| over max |c|.
template <typename T>
double ProductError(const Matrix<T>& a, const Matrix<T>& b, const Matrix<T>& c) {
  double error = 0, size = 1e-30;
  for (int64_t i = 0; i < c.rows; ++i) {
    for (int64_t j = 0; j < c.cols; ++j) {
      T sum = 0;
      for (int64_t p = 0; p < a.cols; ++p) sum += a(i, p) * b(p, j);
      error = std::max(error, static_cast<double>(std::abs(sum - c(i, j))));
      size = std::max(size, static_cast<double>(std::abs(c(i, j))));
    }
  }
  return error / size;
}

TYPED_TEST(Linalg, Cholesky) {
  using T = TypeParam;
  std::mt19937 random(1);
  for (int64_t n : {1, 2, 5, 64, 65, 150}) {
    for (int lower : {0, 1}) {
      constexpr int64_t kBatch = 2;
      CholeskyDesc d{TypeNumber<T>::value, lower, kBatch, n, {n * n, n, 1}, {n * n, 1, n}};  // row- to column-major
      std::vector<T> in(kBatch * n * n), out(in.size());
      std::vector<OwnedMatrix<T>*> full;
      for (int64_t b = 0; b < kBatch; ++b) {
        OwnedMatrix<T> g(n, n);
        Fill<T>(g, &random);
        auto* a = new OwnedMatrix<T>(n, n);
        full.push_back(a);
        for (int64_t i = 0; i < n; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            for (int64_t p = 0; p < n; ++p) (*a)(i, j) += g(i, p) * Conj(g(j, p));
            if (i == j) (*a)(i, j) = std::real((*a)(i, j)) + Real<T>(n);
          }
        }
        for (int64_t i = 0; i < n; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            const bool given = lower ? i >= j : i <= j;
            in[b * n * n + i * n + j] = given ? (*a)(i, j) : T(1e9);
          }
        }
      }
      ASSERT_EQ(xc_rt_cholesky(&this->ctx, &d, in.data(), out.data()), 0);
      for (int64_t b = 0; b < kBatch; ++b) {
        Matrix<T> f{out.data() + b * n * n, n, n, n};
        OwnedMatrix<T> adjoint(n, n);
        for (int64_t i = 0; i < n; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            adjoint(i, j) = Conj(f(j, i));
            if (lower ? i < j : i > j) {
              EXPECT_EQ(f(i, j), T(0));
            }
          }
        }
        const double error = lower ? ProductError<T>(f, adjoint, *full[b]) : ProductError<T>(adjoint, f, *full[b]);
        EXPECT_LT(error, this->Slack(n)) << n;
        delete full[b];
      }
    }
  }
}

// In any block of columns, and at the ends of such.
TYPED_TEST(Linalg, CholeskySaysWhichMinorIsNotPositive) {
  using T = TypeParam;
  constexpr int64_t kSize = 150;
  for (int64_t at : {0, 15, 16, 63, 64, 90, 149}) {
    OwnedMatrix<T> a(kSize, kSize);
    for (int64_t j = 0; j < kSize; ++j) {
      for (int64_t i = j; i < kSize; ++i) a(i, j) = T(i > j ? 0.001 : i == at ? -1 : 2);
    }
    int32_t info = -1;
    ASSERT_TRUE(CholeskyLower<T>(&this->ctx, a, &info).ok());
    EXPECT_EQ(info, at + 1);
  }
}

TYPED_TEST(Linalg, CholeskyOfNoPositiveMatrixIsNan) {
  using T = TypeParam;
  std::vector<T> a = {T(1), T(0), T(0), T(-1), T(4), T(0), T(0), T(9)};
  CholeskyDesc d{TypeNumber<T>::value, 1, 2, 2, {4, 2, 1}, {4, 2, 1}};
  ASSERT_EQ(xc_rt_cholesky(&this->ctx, &d, a.data(), a.data()), 0);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(std::isnan(std::real(a[i])));
  EXPECT_EQ(a[4], T(2));
  EXPECT_EQ(a[7], T(3));
}

TYPED_TEST(Linalg, TriangularSolve) {
  using T = TypeParam;
  std::mt19937 random(2);
  for (auto [n, m] :
       {std::pair<int64_t, int64_t>{1, 3}, {4, 1}, {7, 5}, {16, 64}, {16, 8}, {70, 33}, {130, 2}, {33, 150}}) {
    for (int flags = 0; flags < 24; ++flags) {
      const int left = flags & 1, lower = flags >> 1 & 1, unit = flags >> 2 & 1, transpose = 1 + flags / 8;
      const int64_t rows = left ? n : m, cols = left ? m : n;
      OwnedMatrix<T> a(n, n), b(rows, cols), effective(n, n), x(rows, cols);
      Fill<T>(a, &random);
      Fill<T>(b, &random);
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          if (i != j) a(i, j) /= Real<T>(n);
        }
        a(i, i) += Real<T>(4);
      }
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          const bool in = i == j || (lower ? i > j : i < j);
          const T value = !in ? T(0) : (i == j && unit ? T(1) : a(i, j));
          if (transpose == 1) effective(i, j) = value;
          if (transpose == 2) effective(j, i) = value;
          if (transpose == 3) effective(j, i) = Conj(value);
        }
      }
      // a and out column-major, b row-major.
      std::vector<T> b_rows(rows * cols);
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < cols; ++j) b_rows[i * cols + j] = b(i, j);
      }
      TriangularSolveDesc d{TypeNumber<T>::value, left,        lower, unit, transpose, 0, 1, rows, cols, {0, 1, n},
                            {0, cols, 1},         {0, 1, rows}};
      ASSERT_EQ(xc_rt_triangular_solve(&this->ctx, &d, a.data, b_rows.data(), x.data), 0);
      const double error = left ? ProductError<T>(effective, x, b) : ProductError<T>(x, effective, b);
      EXPECT_LT(error, this->Slack(n)) << n << " flags " << flags;
    }
  }
}

// Threads change no bit, nor do other right-hand sides as far as no product is in between.
TYPED_TEST(Linalg, TriangularSolveIsTheSameForPartsAndThreads) {
  using T = TypeParam;
  std::mt19937 random(4);
  // Within the first block of columns, since products of other sizes may be cut in other ways.
  constexpr int64_t n = 131, m = 157, kBlock = 64;
  OwnedMatrix<T> a(n, n), b(m, n);
  Fill<T>(a, &random);
  Fill<T>(b, &random);
  for (int64_t i = 0; i < n; ++i) a(i, i) += Real<T>(40);
  auto solve = [&](RunContext* ctx, int64_t from, int64_t rows, bool left) {
    // Of the right-hand sides from `from` on; for `left` they are columns, and a is read as its transpose.
    OwnedMatrix<T> x(rows, n);
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < rows; ++i) x(i, j) = b(from + i, j);
    }
    TriangularSolveDesc d{TypeNumber<T>::value, left, left, 0, 1, 0, 1, rows, n, {0, 1, n}, {0, 1, rows}, {0, 1, rows}};
    if (left) {
      std::swap(d.rows, d.cols);
      for (int64_t* strides : {d.a, d.b, d.out}) std::swap(strides[1], strides[2]);
    }
    EXPECT_EQ(xc_rt_triangular_solve(ctx, &d, a.data, x.data, x.data), 0);
    return std::move(x.storage);
  };
  for (bool left : {false, true}) {
    RunContext one;
    const std::vector<T> whole = solve(&one, 0, m, left);
    EXPECT_EQ(solve(&this->ctx, 0, m, left), whole) << left;
    constexpr int64_t kFrom = 5, kRows = 3;
    const std::vector<T> part = solve(&this->ctx, kFrom, kRows, left);
    for (int64_t j = 0; j < kBlock; ++j) {
      for (int64_t i = 0; i < kRows; ++i) EXPECT_EQ(part[i + j * kRows], whole[kFrom + i + j * m]) << i << " " << j;
    }
  }
}

TYPED_TEST(Linalg, Lu) {
  using T = TypeParam;
  std::mt19937 random(3);
  for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {5, 5}, {9, 4}, {4, 9}, {100, 150}, {150, 100}, {200, 200}}) {
    OwnedMatrix<T> a(m, n), f(m, n);
    Fill<T>(a, &random);
    f.storage = a.storage;
    f.data = f.storage.data();
    const int64_t k = std::min(m, n);
    std::vector<int32_t> pivots(k);
    int32_t info = -1;
    ASSERT_TRUE(Lu<T>(&this->ctx, f, pivots.data(), &info).ok());
    EXPECT_EQ(info, 0);
    OwnedMatrix<T> l(m, k), u(k, n);
    for (int64_t j = 0; j < k; ++j) {
      for (int64_t i = 0; i < m; ++i) l(i, j) = i == j ? T(1) : (i > j ? f(i, j) : T(0));
    }
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < k; ++i) u(i, j) = i <= j ? f(i, j) : T(0);
    }
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t j = 0; j < n; ++j) std::swap(a(i, j), a(pivots[i] - 1, j));
    }
    EXPECT_LT(ProductError<T>(l, u, a), this->Slack(n));
  }
  OwnedMatrix<T> singular(2, 2);
  int32_t pivots[2], info;
  ASSERT_TRUE(Lu<T>(&this->ctx, singular, pivots, &info).ok());
  EXPECT_EQ(info, 1);
}

TYPED_TEST(Linalg, Qr) {
  using T = TypeParam;
  std::mt19937 random(4);
  for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {5, 5}, {9, 4}, {4, 9}, {60, 40}}) {
    for (bool pivot : {false, true}) {
      OwnedMatrix<T> a(m, n), f(m, n);
      Fill<T>(a, &random);
      f.storage = a.storage;
      f.data = f.storage.data();
      const int64_t k = std::min(m, n);
      std::vector<T> tau(k);
      std::vector<int32_t> permutation(n);
      QrFactor<T>(f, tau.data(), pivot ? permutation.data() : nullptr);
      OwnedMatrix<T> r(k, n), q(m, m), permuted(m, n);
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = 0; i < std::min(k, j + 1); ++i) r(i, j) = f(i, j);
        for (int64_t i = 0; i < m; ++i) permuted(i, j) = a(i, pivot ? permutation[j] - 1 : j);
      }
      for (int64_t j = 0; j < k; ++j) {
        EXPECT_EQ(std::imag(r(j, j)), 0);
        if (pivot && j > 0) {
          EXPECT_LE(std::abs(r(j, j)), std::abs(r(j - 1, j - 1)) * 1.0001);
        }
        for (int64_t i = 0; i < m; ++i) q(i, j) = f(i, j);
      }
      QrFormQ<T>(q, k, tau.data());
      EXPECT_LT(ProductError<T>(q.Part(0, 0, m, k), r, permuted), this->Slack(n));
      OwnedMatrix<T> adjoint(m, m), one(m, m);
      for (int64_t i = 0; i < m; ++i) {
        one(i, i) = 1;
        for (int64_t j = 0; j < m; ++j) adjoint(i, j) = Conj(q(j, i));
      }
      EXPECT_LT(ProductError<T>(adjoint, q, one), this->Slack(m));
      // Q times, and adjoint Q times, from both sides.
      for (bool left : {false, true}) {
        for (bool take_adjoint : {false, true}) {
          OwnedMatrix<T> c(left ? m : 3, left ? 3 : m), product(c.rows, c.cols);
          Fill<T>(c, &random);
          product.storage = c.storage;
          product.data = product.storage.data();
          QrMultiply<T>(f, k, tau.data(), product, left, take_adjoint);
          const Matrix<T>& by = take_adjoint ? adjoint : q;
          EXPECT_LT(left ? ProductError<T>(by, c, product) : ProductError<T>(c, by, product), this->Slack(m));
        }
      }
    }
  }
}

TEST(LinalgErrors, OtherTypes) {
  RunContext ctx;
  CholeskyDesc d{4, 1, 1, 2, {4, 2, 1}, {4, 2, 1}};
  EXPECT_EQ(Cholesky(&ctx, d, nullptr, nullptr).message(), "cholesky of element type 4");
}

}  // namespace
}  // namespace xc
