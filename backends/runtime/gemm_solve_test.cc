// Kernels of factorizations in every instruction set, on integers, whose sums are exact in any order.
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "backends/runtime/all_gemm_kernels.h"

namespace xc {
namespace {

// y * u^-1 for integers y = x * u gives x back.
template <typename T>
void ExpectSolved(RtType type) {
  for (const GemmKernels* kernels : AllGemmKernels()) {
    for (auto [n, rows, unit] :
         {std::tuple{1, 1, false}, {4, 37, true}, {7, 16, false}, {64, 157, true}, {63, 5, false}}) {
      const int ldu = n + 2, ldy = rows + 3;
      std::vector<T> u(ldu * n, T{99}), x(ldy * n, T{99}), y;
      for (int j = 0; j < n; ++j) {
        for (int i = 0; i < j; ++i) u[i + j * ldu] = T((i * 5 + j * 3) % 7 == 0);
        if (!unit) u[j + j * ldu] = T(2);
        for (int r = 0; r < rows; ++r) x[r + j * ldy] = T((r * 7 + j * 3) % 11 - 5);
      }
      y = x;
      for (int j = 0; j < n; ++j) {
        for (int r = 0; r < rows; ++r) {
          T sum = x[r + j * ldy] * (unit ? T(1) : u[j + j * ldu]);
          for (int i = 0; i < j; ++i) sum += x[r + i * ldy] * u[i + j * ldu];
          y[r + j * ldy] = sum;
        }
      }
      ASSERT_TRUE(kernels->solve(type, n, u.data(), ldu, unit, rows, y.data(), ldy));
      EXPECT_EQ(y, x) << n << " " << rows << " " << unit;
    }
  }
}

TEST(GemmSolve, SolveInEveryInstructionSet) {
  ExpectSolved<float>(RtType::kF32);
  ExpectSolved<double>(RtType::kF64);
  float number = 1;
  EXPECT_FALSE(BestGemmKernels().solve(RtType::kC64, 1, &number, 1, true, 1, &number, 1));
  EXPECT_FALSE(BestGemmKernels().solve(RtType::kF32, kSolveSize + 1, &number, 1, true, 1, &number, 1));
}

template <typename T>
void ExpectSubtracted(RtType type) {
  for (const GemmKernels* kernels : AllGemmKernels()) {
    for (auto [rows, columns, k] : {std::tuple{1, 1, 1}, {37, 4, 8}, {64, 9, 64}, {157, 7, 63}, {5, 3, 2}}) {
      const int lda = rows + 1, ldb = k + 2, ldc = rows + 3;
      std::vector<T> a(lda * k), b(ldb * columns), c(ldc * columns, T{99}), want;
      for (size_t i = 0; i < a.size(); ++i) a[i] = T(static_cast<int>(i * 7 % 11) - 5);
      for (size_t i = 0; i < b.size(); ++i) b[i] = T(static_cast<int>(i * 5 % 7) - 3);
      want = c;
      for (int j = 0; j < columns; ++j) {
        for (int i = 0; i < rows; ++i) {
          for (int p = 0; p < k; ++p) want[i + j * ldc] -= a[i + p * lda] * b[p + j * ldb];
        }
      }
      ASSERT_TRUE(kernels->subtract(type, rows, columns, k, a.data(), lda, b.data(), ldb, c.data(), ldc));
      EXPECT_EQ(c, want) << rows << " " << columns << " " << k;
    }
  }
}

TEST(GemmSolve, SubtractInEveryInstructionSet) {
  ExpectSubtracted<float>(RtType::kF32);
  ExpectSubtracted<double>(RtType::kF64);
  float number = 1;
  EXPECT_FALSE(BestGemmKernels().subtract(RtType::kC64, 1, 1, 1, &number, 1, &number, 1, &number, 1));
}

template <typename T>
void ExpectReflected(RtType type) {
  for (const GemmKernels* kernels : AllGemmKernels()) {
    for (auto [n, columns] : {std::tuple{0, 2}, {1, 1}, {17, 5}, {32, 4}, {70, 9}}) {
      const int ldc = n + 3;
      const T tau = T(2);
      std::vector<T> tail(n), c(ldc * columns), want;
      for (int i = 0; i < n; ++i) tail[i] = T(i * 7 % 5 - 2);
      for (size_t i = 0; i < c.size(); ++i) c[i] = T(static_cast<int>(i * 5 % 7) - 3);
      want = c;
      for (int j = 0; j < columns; ++j) {
        T* column = want.data() + j * ldc;
        T dot = column[0];
        for (int i = 0; i < n; ++i) dot += tail[i] * column[i + 1];
        column[0] -= dot * tau;
        for (int i = 0; i < n; ++i) column[i + 1] -= tail[i] * dot * tau;
      }
      ASSERT_TRUE(kernels->reflect(type, n, tail.data(), &tau, columns, c.data(), ldc));
      EXPECT_EQ(c, want) << n << " " << columns;
    }
  }
}

TEST(GemmSolve, ReflectInEveryInstructionSet) {
  ExpectReflected<float>(RtType::kF32);
  ExpectReflected<double>(RtType::kF64);
  float number = 1;
  EXPECT_FALSE(BestGemmKernels().reflect(RtType::kC64, 1, &number, &number, 1, &number, 1));
}

}  // namespace
}  // namespace xc
