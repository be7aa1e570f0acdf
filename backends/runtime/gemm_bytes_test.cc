// Products of bytes against plain sums: all values, with and without signs, all layouts, and more rows, columns and
// terms than are packed at once.
#include "backends/runtime/gemm_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "backends/runtime/convolution.h"

namespace xc {
namespace {

int32_t Value(RtType type, uint8_t bits) { return type == RtType::kS8 ? static_cast<int8_t>(bits) : bits; }

void Check(GemmTile t, bool a_transposed, bool b_transposed, bool c_transposed, std::mt19937* random) {
  // Room between rows, which is not to be written.
  t.a_m = a_transposed ? 1 : t.k + 3;
  t.a_k = a_transposed ? t.m + 2 : 1;
  t.b_k = b_transposed ? 1 : t.n + 5;
  t.b_n = b_transposed ? t.k : 1;
  t.c_m = c_transposed ? 1 : t.n + 1;
  t.c_n = c_transposed ? t.m + 1 : 1;
  const int64_t size = t.c_type == RtType::kS32 ? 4 : 1;
  std::vector<uint8_t> a((t.m + 3) * (t.k + 3)), b((t.k + 5) * (t.n + 5)), c(size * (t.m + 1) * (t.n + 1), 0xaa);
  for (uint8_t& x : a) x = (*random)();
  for (uint8_t& x : b) x = (*random)();
  std::vector<uint8_t> expected = c;
  for (int64_t i = 0; i < t.m; ++i) {
    for (int64_t j = 0; j < t.n; ++j) {
      uint32_t sum = 0;
      for (int64_t k = 0; k < t.k; ++k) {
        sum += Value(t.a_type, a[i * t.a_m + k * t.a_k]) * Value(t.b_type, b[k * t.b_k + j * t.b_n]);
      }
      std::memcpy(&expected[size * (i * t.c_m + j * t.c_n)], &sum, size);
    }
  }
  t.a = a.data();
  t.b = b.data();
  t.c = c.data();
  ASSERT_TRUE(ByteProduct(t).ok());
  EXPECT_TRUE(c == expected) << t.m << " " << t.n << " " << t.k << " types " << static_cast<int>(t.a_type) << " "
                             << static_cast<int>(t.b_type) << " " << static_cast<int>(t.c_type) << " transposed "
                             << a_transposed << b_transposed << c_transposed;
}

TEST(GemmBytes, SumsOfAllKinds) {
  using T = RtType;
  if (!HasByteProduct({T::kS8, T::kS8, T::kS32, 1, 1, 1})) GTEST_SKIP() << "this machine has no dot products of bytes";
  std::mt19937 random(7);
  for (T a : {T::kS8, T::kU8}) {
    for (T b : {T::kS8, T::kU8}) {
      for (T c : {T::kS32, T::kS8, T::kU8}) {
        for (const auto [m, n, k] : {std::array{64, 64, 32},
                                     {9, 100, 7},
                                     {8, 8, 4099},
                                     {23, 17, 64},
                                     {1100, 21, 35},
                                     {1, 1, 1},
                                     {13, 49, 130}}) {
          for (int layout = 0; layout < 8; ++layout) {
            Check({a, b, c, m, n, k}, layout & 1, layout & 2, layout & 4, &random);
          }
        }
      }
    }
  }
}

// oneDNN keeps products of dense operands and few terms, and large ones.
TEST(GemmBytes, WhichAreBetter) {
  using T = RtType;
  const auto prefers = [](int64_t m, int64_t k, int64_t a_row, bool several) {
    GemmTile t{T::kS8, T::kS8, T::kS32, m, 64, k};
    t.a_m = a_row;
    t.a_k = t.b_n = 1;
    t.b_k = 64;
    return PrefersByteProduct(t, several, 1024);
  };
  const bool has = HasByteProduct({T::kS8, T::kS8, T::kS32, 1, 1, 1});
  EXPECT_EQ(prefers(64, 32, 256, true), has);
  EXPECT_EQ(prefers(8, 2000, 2000, false), has);
  EXPECT_FALSE(prefers(64, 32, 32, true));
  EXPECT_FALSE(prefers(64, 32, 256, false));
  EXPECT_FALSE(prefers(2048, 32, 256, true));
}

// A convolution whose sums are beyond what f32 has all integers of, and odd ones among them, by either kernel.
TEST(GemmBytes, ConvolutionsAreExact) {
  constexpr int64_t kIn = 256, kOut = 16, kSide = 5;
  ConvDesc d;
  d.lhs_type = d.rhs_type = static_cast<int32_t>(RtType::kS8);
  d.out_type = static_cast<int32_t>(RtType::kS32);
  d.rank = 2;
  d.in_features = kIn;
  d.out_features = kOut;
  const auto set = [](int64_t* strides, std::array<int64_t, 5> to) { std::copy(to.begin(), to.end(), strides); };
  for (int s : {0, 1}) {
    d.in[s] = kSide;
    d.kernel[s] = d.out[s] = 3;
  }
  set(d.lhs_strides, {kSide * kSide * kIn, 1, kSide * kIn, kIn, 0});
  set(d.rhs_strides, {kOut, 1, 3 * kIn * kOut, kIn * kOut, 0});
  set(d.out_strides, {9 * kOut, 1, 3 * kOut, kOut, 0});
  std::mt19937 random(1);
  std::vector<int8_t> lhs(kSide * kSide * kIn), rhs(9 * kIn * kOut);
  for (int8_t& x : lhs) x = random() % 4 == 0 ? -127 : -128;
  for (int8_t& x : rhs) x = random() % 4 == 0 ? -127 : -128;
  std::vector<int32_t> expected(9 * kOut), out(9 * kOut);
  for (int64_t i = 0; i < 9 * 9 * kIn * kOut; ++i) {
    const int64_t o = i % kOut, f = i / kOut % kIn, w = i / kOut / kIn % 9, p = i / kOut / kIn / 9;
    const int64_t y = p / 3 + w / 3, x = p % 3 + w % 3;
    expected[p * kOut + o] += lhs[(y * kSide + x) * kIn + f] * rhs[(w * kIn + f) * kOut + o];
  }
  auto executor = NewThreadPoolExecutor(2);
  RunContext ctx(nullptr, executor.get());
  for (bool onednn : {true, false}) {
    SetConvolutionUseOneDnn(onednn);
    ASSERT_TRUE(Convolution(&ctx, d, lhs.data(), rhs.data(), out.data()).ok());
    EXPECT_EQ(out, expected) << onednn;
  }
  SetConvolutionUseOneDnn(true);
}

}  // namespace
}  // namespace xc
