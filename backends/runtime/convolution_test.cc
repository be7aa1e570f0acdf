// Convolutions of all kinds by both kernels against a naive loop.
#include "backends/runtime/convolution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace xc {
namespace {

struct Case {
  const char* name;
  int rank;
  int64_t batch, in_features, out_features, feature_groups, batch_groups;
  int64_t in[3], kernel[3], stride[3], base_dilation[3], window_dilation[3], pad_low[3], pad_high[3], reversed[3];
};

const Case kCases[] = {
    {"plain", 2, 2, 5, 7, 1, 1, {9, 10, 1}, {3, 3, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 0}, {1, 1, 0}, {}},
    {"wide", 2, 1, 64, 96, 1, 1, {30, 30, 1}, {3, 3, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 0}, {1, 1, 0}, {}},
    {"many images",
     2,
     9,
     16,
     32,
     1,
     1,
     {14, 15, 1},
     {3, 3, 1},
     {2, 2, 1},
     {1, 1, 1},
     {1, 1, 1},
     {0, 0, 0},
     {1, 1, 0},
     {}},
    {"strided", 2, 2, 3, 16, 1, 1, {21, 22, 1}, {7, 7, 1}, {2, 2, 1}, {1, 1, 1}, {1, 1, 1}, {3, 3, 0}, {3, 3, 0}, {}},
    {"dilated", 2, 1, 4, 8, 1, 1, {20, 19, 1}, {3, 2, 1}, {1, 2, 1}, {1, 1, 1}, {3, 2, 1}, {2, 0, 0}, {1, 3, 0}, {}},
    {"pointwise", 2, 2, 12, 20, 1, 1, {5, 6, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {}, {}, {}},
    {"strided pointwise", 2, 2, 12, 20, 1, 1, {8, 8, 1}, {1, 1, 1}, {2, 2, 1}, {1, 1, 1}, {1, 1, 1}, {}, {}, {}},
    {"depthwise",
     2,
     2,
     16,
     32,
     16,
     1,
     {10, 10, 1},
     {3, 3, 1},
     {1, 1, 1},
     {1, 1, 1},
     {1, 1, 1},
     {1, 1, 0},
     {1, 1, 0},
     {}},
    {"groups", 2, 2, 6, 9, 3, 1, {8, 8, 1}, {3, 3, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 0}, {0, 1, 0}, {}},
    {"batch groups", 2, 6, 4, 9, 1, 3, {8, 8, 1}, {3, 3, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 0}, {0, 1, 0}, {}},
    {"one dimension",
     1,
     3,
     4,
     5,
     1,
     1,
     {30, 1, 1},
     {5, 1, 1},
     {3, 1, 1},
     {1, 1, 1},
     {1, 1, 1},
     {2, 0, 0},
     {1, 0, 0},
     {}},
    {"three dimensions",
     3,
     2,
     3,
     4,
     1,
     1,
     {5, 6, 7},
     {2, 3, 3},
     {1, 2, 1},
     {1, 1, 1},
     {1, 1, 1},
     {0, 1, 1},
     {1, 1, 1},
     {}},
    {"no dimension", 0, 4, 6, 5, 1, 1, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {}, {}, {}},
    {"gradient of input",
     2,
     3,
     8,
     6,
     1,
     1,
     {5, 5, 1},
     {3, 3, 1},
     {1, 1, 1},
     {2, 2, 1},
     {1, 1, 1},
     {1, 1, 0},
     {2, 2, 0},
     {1, 1, 0}},
    {"base dilation",
     2,
     2,
     8,
     6,
     1,
     1,
     {5, 4, 1},
     {4, 3, 1},
     {1, 1, 1},
     {3, 2, 1},
     {1, 2, 1},
     {2, 1, 0},
     {1, 3, 0},
     {}},
    {"base dilation, groups",
     2,
     2,
     8,
     4,
     2,
     1,
     {5, 4, 1},
     {4, 3, 1},
     {1, 1, 1},
     {2, 2, 1},
     {1, 1, 1},
     {2, 1, 0},
     {1, 2, 0},
     {}},
    {"base dilation, much padding",
     1,
     2,
     3,
     4,
     1,
     1,
     {5, 1, 1},
     {1, 1, 1},
     {1, 1, 1},
     {2, 1, 1},
     {1, 1, 1},
     {0, 0, 0},
     {1, 0, 0},
     {}},
    {"base dilation and stride",
     1,
     2,
     3,
     4,
     1,
     1,
     {9, 1, 1},
     {3, 1, 1},
     {2, 1, 1},
     {3, 1, 1},
     {1, 1, 1},
     {2, 0, 0},
     {2, 0, 0},
     {}},
    {"reversed",
     2,
     1,
     4,
     4,
     1,
     1,
     {9, 9, 1},
     {3, 4, 1},
     {1, 1, 1},
     {1, 1, 1},
     {1, 1, 1},
     {1, 1, 0},
     {1, 1, 0},
     {1, 0, 0}},
    {"gradient of weights",
     2,
     8,
     6,
     16,
     1,
     1,
     {10, 10, 1},
     {8, 8, 1},
     {1, 1, 1},
     {1, 1, 1},
     {1, 1, 1},
     {0, 0, 0},
     {0, 0, 0},
     {}},
    {"gradient of weights, padded",
     2,
     5,
     3,
     7,
     1,
     1,
     {10, 10, 1},
     {10, 10, 1},
     {1, 1, 1},
     {1, 1, 1},
     {1, 1, 1},
     {1, 1, 0},
     {1, 1, 0},
     {}},
    {"gradient of strided weights",
     2,
     4,
     16,
     32,
     1,
     1,
     {28, 28, 1},
     {14, 14, 1},
     {1, 1, 1},
     {1, 1, 1},
     {2, 2, 1},
     {1, 1, 0},
     {0, 0, 0},
     {}},
    {"gradient of depthwise weights",
     2,
     16,
     3,
     16,
     1,
     16,
     {10, 10, 1},
     {10, 10, 1},
     {1, 1, 1},
     {1, 1, 1},
     {1, 1, 1},
     {1, 1, 0},
     {1, 1, 0},
     {}},
    {"negative padding",
     2,
     1,
     3,
     4,
     1,
     1,
     {9, 9, 1},
     {3, 3, 1},
     {1, 1, 1},
     {1, 1, 1},
     {1, 1, 1},
     {-1, -2, 0},
     {-1, 1, 0},
     {}},
    {"few positions",
     2,
     2,
     40,
     96,
     1,
     1,
     {5, 4, 1},
     {3, 3, 1},
     {1, 1, 1},
     {1, 1, 1},
     {1, 1, 1},
     {1, 1, 0},
     {1, 1, 0},
     {}},
    {"few positions, dilated and reversed",
     3,
     1,
     33,
     130,
     1,
     1,
     {6, 7, 5},
     {3, 2, 2},
     {2, 1, 2},
     {1, 1, 1},
     {1, 3, 1},
     {1, 0, 2},
     {0, 2, 1},
     {1, 0, 1}},
    {"pointwise with strides",
     2,
     3,
     40,
     24,
     1,
     1,
     {9, 12, 1},
     {1, 1, 1},
     {2, 2, 1},
     {1, 1, 1},
     {1, 1, 1},
     {0, 1, 0},
     {0, 0, 0},
     {}},
    {"one position",
     1,
     1,
     64,
     50,
     1,
     1,
     {7, 1, 1},
     {7, 1, 1},
     {1, 1, 1},
     {1, 1, 1},
     {1, 1, 1},
     {0, 0, 0},
     {0, 0, 0},
     {}},
    {"more padding than window",
     1,
     1,
     3,
     4,
     1,
     1,
     {3, 1, 1},
     {2, 1, 1},
     {1, 1, 1},
     {1, 1, 1},
     {1, 1, 1},
     {5, 0, 0},
     {40, 0, 0},
     {}},
};

ConvDesc MakeDesc(const Case& c, RtType type, RtType out_type, int layout) {
  ConvDesc d;
  d.lhs_type = d.rhs_type = static_cast<int>(type);
  d.out_type = static_cast<int>(out_type);
  d.rank = c.rank;
  d.batch = c.batch;
  d.in_features = c.in_features;
  d.out_features = c.out_features;
  d.feature_groups = c.feature_groups;
  d.batch_groups = c.batch_groups;
  for (int s = 0; s < 3; ++s) {
    d.in[s] = c.in[s];
    d.kernel[s] = c.kernel[s];
    d.stride[s] = c.stride[s];
    d.base_dilation[s] = c.base_dilation[s];
    d.window_dilation[s] = c.window_dilation[s];
    d.pad_low[s] = c.pad_low[s];
    d.pad_high[s] = c.pad_high[s];
    d.reversed[s] = c.reversed[s];
    const int64_t padded = (c.in[s] - 1) * c.base_dilation[s] + 1 + c.pad_low[s] + c.pad_high[s];
    d.out[s] = (padded - (c.kernel[s] - 1) * c.window_dilation[s] - 1) / c.stride[s] + 1;
  }
  // Layout 0: features last; 1: batch, feature, spatial; 2: spatial, feature, batch; 3: features last, weights spatial,
  // input feature, output feature, as TensorFlow has them.
  auto strides = [&](int64_t first, int64_t second, const int64_t* spatial, int64_t* out) {
    int64_t order[5], sizes[5] = {first, second, spatial[0], spatial[1], spatial[2]};
    int n = 0;
    if (layout == 3 && out == d.rhs_strides) {
      for (int s = 0; s < c.rank; ++s) order[n++] = 2 + s;
      order[n++] = 0;
      order[n++] = 1;
    } else if (layout == 0 || layout == 3) {
      order[n++] = 0;
      for (int s = 0; s < c.rank; ++s) order[n++] = 2 + s;
      order[n++] = 1;
    } else if (layout == 1) {
      for (int i = 0; i < 2 + c.rank; ++i) order[n++] = i;
    } else {
      for (int s = 0; s < c.rank; ++s) order[n++] = 2 + s;
      order[n++] = 1;
      order[n++] = 0;
    }
    int64_t stride = 1;
    for (int i = n - 1; i >= 0; --i) {
      out[order[i]] = stride;
      stride *= sizes[order[i]];
    }
  };
  strides(d.batch, d.in_features, d.in, d.lhs_strides);
  strides(d.in_features / d.feature_groups, d.out_features, d.kernel, d.rhs_strides);
  strides(d.batch / d.batch_groups, d.out_features, d.out, d.out_strides);
  return d;
}

int64_t Count(int64_t a, int64_t b, const int64_t* s) { return a * b * s[0] * s[1] * s[2]; }

std::vector<double> Naive(const ConvDesc& d, const std::vector<double>& lhs, const std::vector<double>& rhs) {
  const int64_t images = d.batch / d.batch_groups, in_group = d.in_features / d.feature_groups;
  const int64_t out_group = d.out_features / (d.feature_groups * d.batch_groups);
  std::vector<double> out(Count(images, d.out_features, d.out));
  auto at = [&](const int64_t* strides, int64_t a, int64_t b, const int64_t* x) {
    int64_t i = a * strides[0] + b * strides[1];
    for (int s = 0; s < d.rank; ++s) i += x[s] * strides[2 + s];
    return i;
  };
  for (int64_t n = 0; n < images; ++n) {
    for (int64_t o = 0; o < d.out_features; ++o) {
      const int64_t group = o / out_group;
      const int64_t image = d.batch_groups > 1 ? group * images + n : n;
      const int64_t first = d.feature_groups > 1 ? group * in_group : 0;
      for (int64_t p = 0; p < d.out[0] * d.out[1] * d.out[2]; ++p) {
        const int64_t y[3] = {p / (d.out[1] * d.out[2]), p / d.out[2] % d.out[1], p % d.out[2]};
        double sum = 0;
        for (int64_t w = 0; w < d.kernel[0] * d.kernel[1] * d.kernel[2]; ++w) {
          const int64_t k[3] = {w / (d.kernel[1] * d.kernel[2]), w / d.kernel[2] % d.kernel[1], w % d.kernel[2]};
          int64_t x[3];
          bool inside = true;
          for (int s = 0; s < 3; ++s) {
            const int64_t step = d.reversed[s] ? d.kernel[s] - 1 - k[s] : k[s];
            x[s] = y[s] * d.stride[s] + step * d.window_dilation[s] - d.pad_low[s];
            inside = inside && x[s] >= 0 && x[s] % d.base_dilation[s] == 0 && x[s] / d.base_dilation[s] < d.in[s];
            x[s] /= d.base_dilation[s];
          }
          if (!inside) continue;
          for (int64_t i = 0; i < in_group; ++i) {
            sum += lhs[at(d.lhs_strides, image, first + i, x)] * rhs[at(d.rhs_strides, i, o, k)];
          }
        }
        out[at(d.out_strides, n, o, y)] = sum;
      }
    }
  }
  return out;
}

template <typename T>
T FromDouble(double x) {
  return static_cast<T>(x);
}
struct BF16 {
  uint16_t bits;
};
template <>
BF16 FromDouble<BF16>(double x) {
  const float f = x;
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  return BF16{static_cast<uint16_t>(bits >> 16)};
}
double ToDouble(BF16 x) {
  const uint32_t bits = static_cast<uint32_t>(x.bits) << 16;
  float f;
  std::memcpy(&f, &bits, 4);
  return f;
}
template <typename T>
double ToDouble(T x) {
  return static_cast<double>(x);
}

template <typename T, typename Out = T>
void RunCase(RunContext* ctx, const Case& c, RtType type, RtType out_type, int layout, double tolerance) {
  const ConvDesc d = MakeDesc(c, type, out_type, layout);
  std::mt19937 random(5);
  std::vector<double> lhs(Count(d.batch, d.in_features, d.in));
  std::vector<double> rhs(Count(d.in_features / d.feature_groups, d.out_features, d.kernel));
  for (double& x : lhs) x = static_cast<int>(random() % 7) - 3;
  for (double& x : rhs) x = static_cast<int>(random() % 5) - 2;
  std::vector<T> l(lhs.size()), r(rhs.size());
  for (size_t i = 0; i < l.size(); ++i) l[i] = FromDouble<T>(lhs[i]);
  for (size_t i = 0; i < r.size(); ++i) r[i] = FromDouble<T>(rhs[i]);
  const std::vector<double> expected = Naive(d, lhs, rhs);
  std::vector<Out> out(expected.size(), FromDouble<Out>(77));
  const absl::Status status = Convolution(ctx, d, l.data(), r.data(), out.data());
  ASSERT_TRUE(status.ok()) << c.name << ": " << status;
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_LE(std::abs(ToDouble(out[i]) - expected[i]), std::abs(expected[i]) * tolerance)
        << c.name << " layout " << layout << " at " << i << ": " << ToDouble(out[i]) << " not " << expected[i];
  }
}

TEST(Convolution, AllKindsLayoutsAndKernels) {
  auto executor = NewThreadPoolExecutor(3);
  RunContext ctx(nullptr, executor.get());
  for (bool onednn : {true, false}) {
    SetConvolutionUseOneDnn(onednn);
    for (const Case& c : kCases) {
      for (int layout = 0; layout < 4; ++layout) {
        RunCase<float>(&ctx, c, RtType::kF32, RtType::kF32, layout, 0);
        RunCase<BF16>(&ctx, c, RtType::kBF16, RtType::kBF16, layout, 0.005);
        RunCase<BF16, float>(&ctx, c, RtType::kBF16, RtType::kF32, layout, 0);
        if (onednn) continue;
        RunCase<double>(&ctx, c, RtType::kF64, RtType::kF64, layout, 0);
        RunCase<int32_t>(&ctx, c, RtType::kS32, RtType::kS32, layout, 0);
        RunCase<_Float16>(&ctx, c, RtType::kF16, RtType::kF16, layout, 0.001);
      }
    }
  }
  SetConvolutionUseOneDnn(true);
}

TEST(Convolution, SameBitsWithAnyNumberOfThreads) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (const Case& c : kCases) {
    for (int layout : {0, 3}) {
      const ConvDesc d = MakeDesc(c, RtType::kF32, RtType::kF32, layout);
      std::vector<float> lhs(Count(d.batch, d.in_features, d.in));
      std::vector<float> rhs(Count(d.in_features / d.feature_groups, d.out_features, d.kernel));
      for (float& x : lhs) x = normal(random);
      for (float& x : rhs) x = normal(random);
      std::vector<float> first(Count(d.batch / d.batch_groups, d.out_features, d.out)), out(first.size());
      for (int threads = 1; threads <= 3; ++threads) {
        auto executor = NewThreadPoolExecutor(threads);
        RunContext ctx(nullptr, executor.get());
        std::vector<float>& to = threads == 1 ? first : out;
        ASSERT_EQ(xc_rt_convolution(&ctx, &d, lhs.data(), rhs.data(), to.data()), 0);
        if (threads > 1) {
          EXPECT_EQ(std::memcmp(first.data(), out.data(), out.size() * 4), 0) << c.name;
        }
      }
    }
  }
}

TEST(Convolution, EmptyAndWrong) {
  RunContext ctx;
  ConvDesc d = MakeDesc(kCases[0], RtType::kF32, RtType::kF32, 0);
  d.out[0] = 4;
  float x = 0;
  EXPECT_EQ(Convolution(&ctx, d, &x, &x, &x).message(),
            "convolution: output size does not follow from input, window and padding");
  d = MakeDesc(kCases[0], RtType::kF32, RtType::kF32, 0);
  d.in_features = 0;
  std::vector<float> out(Count(d.batch, d.out_features, d.out), 5);
  ASSERT_TRUE(Convolution(&ctx, d, nullptr, nullptr, out.data()).ok());
  EXPECT_EQ(out, std::vector<float>(out.size(), 0));
  d.batch = 0;
  EXPECT_TRUE(Convolution(&ctx, d, nullptr, nullptr, nullptr).ok());
  d = MakeDesc(kCases[0], RtType::kPred, RtType::kPred, 0);
  const std::vector<char> in(1 << 20);
  std::vector<char> none(1 << 20);
  EXPECT_EQ(Convolution(&ctx, d, in.data(), in.data(), none.data()).code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace xc
