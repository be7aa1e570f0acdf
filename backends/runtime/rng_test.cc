// The generators against numbers that jax.lax.rng_bit_generator and XLA's CPU backend gave (jax 0.10.2);
// the distributions against their moments.
#include "backends/runtime/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace xc {
namespace {

struct Case {
  RngAlgorithm algorithm;
  int element_bytes;
  std::vector<int64_t> dims;
  uint64_t counter;  // afterwards
  std::vector<uint64_t> values;
};

// From the state {0x123456789abcdef, 0xfedcba9876543210}.
const Case kCases[] = {
    {RngAlgorithm::kDefault, 1, {3}, 0xfedcba9876543211, {0x42, 0xb5, 0x2}},
    {RngAlgorithm::kDefault,
     1,
     {5, 3},
     0xfedcba9876543214,
     {0x42, 0xb5, 0x2, 0x17, 0x19, 0x7a, 0x98, 0x89, 0x49, 0x67, 0xcf, 0x9b, 0xcb, 0x8a, 0xe5}},
    {RngAlgorithm::kDefault, 2, {3}, 0xfedcba9876543211, {0x3d42, 0x90b5, 0x5702}},
    {RngAlgorithm::kDefault,
     2,
     {5, 3},
     0xfedcba9876543214,
     {0x3d42, 0x90b5, 0x5702, 0xf917, 0x2319, 0x777a, 0x7b98, 0x9f89, 0xdd49, 0x9c67, 0xb2cf, 0x479b, 0xbecb, 0xfd8a,
      0x66e5}},
    {RngAlgorithm::kDefault, 4, {3}, 0xfedcba9876543211, {0x1ec53d42, 0xcfa390b5, 0xf2235702}},
    {RngAlgorithm::kDefault,
     4,
     {5, 3},
     0xfedcba9876543214,
     {0x1ec53d42, 0xcfa390b5, 0xf2235702, 0xe71ff917, 0xcb472319, 0xd682777a, 0xa09c7b98, 0x304e9f89, 0x9f63dd49,
      0x3e1b9c67, 0x5d43b2cf, 0x1ece479b, 0x7a29becb, 0xb70bfd8a, 0xa07766e5}},
    {RngAlgorithm::kDefault, 8, {3}, 0xfedcba9876543212, {0xcfa390b51ec53d42, 0xe71ff917f2235702, 0xd682777acb472319}},
    {RngAlgorithm::kDefault,
     8,
     {5, 3},
     0xfedcba9876543218,
     {0xcfa390b51ec53d42, 0xe71ff917f2235702, 0xd682777acb472319, 0x304e9f89a09c7b98, 0x3e1b9c679f63dd49,
      0x1ece479b5d43b2cf, 0xb70bfd8a7a29becb, 0xa8e9b0f4a07766e5, 0x60e01ae975a5e1a4, 0x502a8e45b8d04f1d,
      0x1a375911149f9524, 0x558e2da937bfa74, 0x73bcd7f11e15cf2b, 0xc78f70ac882da2f8, 0x20963ebf79fb638d}},
    {RngAlgorithm::kThreeFry, 1, {3}, 0xfedcba9876543212, {0x7f, 0x11, 0x2}},
    {RngAlgorithm::kThreeFry,
     1,
     {5, 3},
     0xfedcba9876543219,
     {0x7f, 0x2, 0x4e, 0x11, 0x2e, 0x7a, 0xa8, 0x10, 0x78, 0x99, 0x82, 0xe6, 0x38, 0xa6, 0xf2}},
    {RngAlgorithm::kThreeFry, 2, {3}, 0xfedcba9876543212, {0xa37f, 0xd111, 0x4d02}},
    {RngAlgorithm::kThreeFry,
     2,
     {5, 3},
     0xfedcba9876543219,
     {0xa37f, 0x4d02, 0x264e, 0xd111, 0x402e, 0xda7a, 0x5a8, 0x2210, 0x9a78, 0x8d99, 0x4182, 0x8ee6, 0x7238, 0xe6a6,
      0x7af2}},
    {RngAlgorithm::kThreeFry, 4, {3}, 0xfedcba9876543212, {0xaed4a37f, 0x1130d111, 0xc3cc4d02}},
    {RngAlgorithm::kThreeFry,
     4,
     {5, 3},
     0xfedcba9876543219,
     {0xaed4a37f, 0xc3cc4d02, 0xaee5264e, 0x1130d111, 0x798e402e, 0xb089da7a, 0x49b105a8, 0xe8e52210, 0xf0a39a78,
      0xaf0a8d99, 0xdde94182, 0xdd188ee6, 0xe2a77238, 0xace8e6a6, 0x56cf7af2}},
    {RngAlgorithm::kThreeFry, 8, {3}, 0xfedcba9876543213, {0x1130d111aed4a37f, 0x798e402ec3cc4d02, 0xb089da7aaee5264e}},
    {RngAlgorithm::kThreeFry,
     8,
     {5, 3},
     0xfedcba987654321f,
     {0x1130d111aed4a37f, 0x798e402ec3cc4d02, 0xb089da7aaee5264e, 0xaf0a8d9949b105a8, 0xdde94182e8e52210,
      0xdd188ee6f0a39a78, 0x403dbb94e2a77238, 0xc3dc607face8e6a6, 0x865bc44256cf7af2, 0xdec05b52aec69f6e,
      0x83c5c5d844496796, 0x4050f5ff99e634b6, 0x4278e75ae9d06f9f, 0xbbec2cd05895c990, 0x8246145b8cebde72}},
};

RngDesc MakeDesc(RngAlgorithm algorithm, int bytes, const std::vector<int64_t>& dims, int state_words = 2) {
  RngDesc d;
  d.algorithm = static_cast<int>(algorithm);
  d.element_bytes = bytes;
  d.state_words = state_words;
  d.rank = dims.size();
  std::copy(dims.begin(), dims.end(), d.dims);
  return d;
}

std::vector<uint64_t> Values(const std::vector<uint8_t>& bytes, int size) {
  std::vector<uint64_t> values(bytes.size() / size);
  for (size_t i = 0; i < values.size(); ++i) std::memcpy(&values[i], bytes.data() + i * size, size);
  return values;
}

TEST(RngBitGenerator, MatchesXla) {
  RunContext ctx;
  for (const Case& c : kCases) {
    const RngDesc d = MakeDesc(c.algorithm, c.element_bytes, c.dims);
    uint64_t state[2] = {0x123456789abcdef, 0xfedcba9876543210};
    std::vector<uint8_t> out(c.values.size() * c.element_bytes);
    ASSERT_EQ(xc_rt_rng_bit_generator(&ctx, &d, state, state, out.data()), 0);
    EXPECT_EQ(Values(out, c.element_bytes), c.values) << static_cast<int>(c.algorithm) << " " << c.element_bytes;
    EXPECT_EQ(state[0], 0x123456789abcdefu);
    EXPECT_EQ(state[1], c.counter);
  }
}

TEST(RngBitGenerator, PhiloxCounterOf128Bits) {
  RunContext ctx;
  uint64_t state[3] = {5, ~uint64_t{0}, 9};
  uint32_t out[10];
  RngDesc d = MakeDesc(RngAlgorithm::kPhilox, 4, {10}, 3);
  ASSERT_TRUE(RngBitGenerator(&ctx, d, state, state, out).ok());
  const std::vector<uint32_t> expected = {0xef6f6e7c, 0x61720f63, 0xbfc03a2,  0xe4e5853c, 0x4d0bbb27,
                                          0xf67a75df, 0x6c03ce2c, 0x3b5c98d7, 0xb6dee4ad, 0x22054c06};
  EXPECT_EQ(std::vector<uint32_t>(out, out + 10), expected);
  EXPECT_EQ(state[1], 2);
  EXPECT_EQ(state[2], 10);
  uint64_t wrapping[2] = {5, ~uint64_t{0}};
  d.state_words = 2;
  ASSERT_TRUE(RngBitGenerator(&ctx, d, wrapping, wrapping, out).ok());
  EXPECT_EQ(out[0], 0x4e5aa1bau);
  EXPECT_EQ(out[4], 0x3dae66bu);
  EXPECT_EQ(wrapping[1], 2);
}

TEST(RngBitGenerator, ThreeFrySplits) {
  // The array holds the words of counts 0, 1, … in halves along the first even or the first largest dimension.
  RunContext ctx;
  uint64_t state[2] = {5, 7}, after[2];
  std::vector<uint32_t> words(4000);
  ASSERT_TRUE(RngBitGenerator(&ctx, MakeDesc(RngAlgorithm::kThreeFry, 4, {4000}), state, after, words.data()).ok());
  EXPECT_EQ(words[0], 0xee74f173u);
  struct Split {
    std::vector<int64_t> dims;
    int dim;
  };
  for (const Split& s : {Split{{3, 3}, 0}, Split{{3, 4}, 1}, Split{{4, 6}, 0}, Split{{3, 5, 5}, 1}, Split{{3, 5, 7}, 2},
                         Split{{2, 1, 3}, 0}, Split{{1, 5}, 1}}) {
    int64_t n = 1, outer = 1, inner = 1;
    for (size_t i = 0; i < s.dims.size(); ++i) {
      n *= s.dims[i];
      if (static_cast<int>(i) < s.dim) outer *= s.dims[i];
      if (static_cast<int>(i) > s.dim) inner *= s.dims[i];
    }
    const int64_t size = s.dims[s.dim], half = (size + 1) / 2;
    std::vector<uint32_t> out(n);
    ASSERT_TRUE(RngBitGenerator(&ctx, MakeDesc(RngAlgorithm::kThreeFry, 4, s.dims), state, after, out.data()).ok());
    EXPECT_EQ(after[1], 7 + outer * half * inner);
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t x = 0; x < size; ++x) {
        for (int64_t i = 0; i < inner; ++i) {
          const int64_t count = (o * half + x / 2) * inner + i;
          ASSERT_EQ(out[(o * size + x) * inner + i], words[2 * count + x % 2]);
        }
      }
    }
  }
}

TEST(RngBitGenerator, ScalarEmptyAndLarge) {
  auto executor = NewThreadPoolExecutor(3);
  RunContext parallel(nullptr, executor.get()), single;
  uint64_t state[2] = {5, 7}, after[2];
  uint32_t word;
  ASSERT_TRUE(RngBitGenerator(&single, MakeDesc(RngAlgorithm::kThreeFry, 4, {}), state, after, &word).ok());
  EXPECT_EQ(word, 0xee74f173u);
  EXPECT_EQ(after[1], 8);
  ASSERT_TRUE(RngBitGenerator(&single, MakeDesc(RngAlgorithm::kPhilox, 4, {3, 0}), state, after, nullptr).ok());
  EXPECT_EQ(after[1], 7);
  for (RngAlgorithm algorithm : {RngAlgorithm::kThreeFry, RngAlgorithm::kPhilox}) {
    for (int bytes : {1, 4, 8}) {
      std::vector<uint8_t> a(100001 * bytes), b(a.size());
      const RngDesc d = MakeDesc(algorithm, bytes, {100001});
      ASSERT_TRUE(RngBitGenerator(&single, d, state, after, a.data()).ok());
      ASSERT_TRUE(RngBitGenerator(&parallel, d, state, after, b.data()).ok());
      EXPECT_EQ(a, b);
    }
  }
}

TEST(RngBitGenerator, Errors) {
  RunContext ctx;
  uint64_t state[3] = {};
  EXPECT_EQ(RngBitGenerator(&ctx, MakeDesc(RngAlgorithm::kThreeFry, 4, {1}, 3), state, state, state).message(),
            "rng: a state of 3 64-bit words");
  EXPECT_EQ(RngBitGenerator(&ctx, MakeDesc(RngAlgorithm::kPhilox, 3, {1}), state, state, state).message(),
            "rng: elements of 3 bytes");
}

TEST(Rng, UniformStaysInRangeAndFillsIt) {
  RunContext ctx;
  const int n = 100000;
  const float low = -2, high = 3;
  std::vector<float> x(n), y(n);
  ASSERT_EQ(xc_rt_rng_uniform(&ctx, static_cast<int>(RtType::kF32), n, &low, &high, x.data()), 0);
  ASSERT_EQ(xc_rt_rng_uniform(&ctx, static_cast<int>(RtType::kF32), n, &low, &high, y.data()), 0);
  EXPECT_NE(x, y);  // the state moved on
  double sum = 0;
  for (float v : x) {
    ASSERT_GE(v, low);
    ASSERT_LT(v, high);
    sum += v;
  }
  EXPECT_NEAR(sum / n, 0.5, 0.03);
  const int8_t a = -100, b = 100;
  std::vector<int8_t> z(n);
  ASSERT_EQ(xc_rt_rng_uniform(&ctx, static_cast<int>(RtType::kS8), n, &a, &b, z.data()), 0);
  EXPECT_EQ(*std::min_element(z.begin(), z.end()), -100);
  EXPECT_EQ(*std::max_element(z.begin(), z.end()), 99);
}

TEST(Rng, NormalHasItsMoments) {
  RunContext ctx;
  const int n = 100000;
  const double mean = 2, deviation = 3;
  std::vector<double> x(n);
  ASSERT_EQ(xc_rt_rng_normal(&ctx, static_cast<int>(RtType::kF64), n, &mean, &deviation, x.data()), 0);
  double sum = 0, squares = 0;
  for (double v : x) sum += v;
  for (double v : x) squares += (v - sum / n) * (v - sum / n);
  EXPECT_NEAR(sum / n, 2, 0.05);
  EXPECT_NEAR(std::sqrt(squares / n), 3, 0.05);
  EXPECT_EQ(RngNormal(&ctx, RtType::kS32, 1, &mean, &mean, x.data()).message(),
            "normal random numbers of element type 4");
}

}  // namespace
}  // namespace xc
