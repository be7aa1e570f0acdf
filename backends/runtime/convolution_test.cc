// Convolutions of all kinds by both kernels against a naive loop.
#include "backends/runtime/convolution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace xc {
namespace {

// Windows have one number per spatial dimension: where there is none, a stride or dilation is 1 and a padding 0.
struct Case {
  using PerDimension = std::vector<int64_t>;
  const char* name;
  int64_t sizes[3];  // batch, input features, output features
  PerDimension in = {}, kernel = {};
  PerDimension stride = {}, base_dilation = {}, window_dilation = {}, pad_low = {}, pad_high = {}, reversed = {};
  int64_t feature_groups = 1, batch_groups = 1;
  int rank() const { return static_cast<int>(in.size()); }
};

const Case kCases[] = {
    {.name = "plain", .sizes = {2, 5, 7}, .in = {9, 10}, .kernel = {3, 3}, .pad_low = {1, 1}, .pad_high = {1, 1}},
    {.name = "wide", .sizes = {1, 64, 96}, .in = {30, 30}, .kernel = {3, 3}, .pad_low = {1, 1}, .pad_high = {1, 1}},
    {.name = "many images",
     .sizes = {9, 16, 32},
     .in = {14, 15},
     .kernel = {3, 3},
     .stride = {2, 2},
     .pad_high = {1, 1}},
    {.name = "strided",
     .sizes = {2, 3, 16},
     .in = {21, 22},
     .kernel = {7, 7},
     .stride = {2, 2},
     .pad_low = {3, 3},
     .pad_high = {3, 3}},
    {.name = "dilated",
     .sizes = {1, 4, 8},
     .in = {20, 19},
     .kernel = {3, 2},
     .stride = {1, 2},
     .window_dilation = {3, 2},
     .pad_low = {2, 0},
     .pad_high = {1, 3}},
    {.name = "pointwise", .sizes = {2, 12, 20}, .in = {5, 6}, .kernel = {1, 1}},
    {.name = "pointwise, rows in pages", .sizes = {2, 1024, 40}, .in = {3, 5}, .kernel = {1, 1}},
    {.name = "strided pointwise", .sizes = {2, 12, 20}, .in = {8, 8}, .kernel = {1, 1}, .stride = {2, 2}},
    {.name = "depthwise",
     .sizes = {2, 16, 32},
     .in = {10, 10},
     .kernel = {3, 3},
     .pad_low = {1, 1},
     .pad_high = {1, 1},
     .feature_groups = 16},
    {.name = "a group for each feature",
     .sizes = {2, 141, 141},
     .in = {7, 8},
     .kernel = {3, 2},
     .stride = {2, 1},
     .pad_low = {1, 1},
     .pad_high = {2, 0},
     .feature_groups = 141},
    {.name = "a group for each of few features",
     .sizes = {2, 3, 3},
     .in = {6, 5},
     .kernel = {3, 2},
     .base_dilation = {2, 1},
     .window_dilation = {1, 2},
     .pad_low = {1, 2},
     .pad_high = {1, 1},
     .reversed = {1, 1},
     .feature_groups = 3},
    {.name = "groups",
     .sizes = {2, 6, 9},
     .in = {8, 8},
     .kernel = {3, 3},
     .pad_low = {1, 1},
     .pad_high = {0, 1},
     .feature_groups = 3},
    {.name = "batch groups",
     .sizes = {6, 4, 9},
     .in = {8, 8},
     .kernel = {3, 3},
     .pad_low = {1, 1},
     .pad_high = {0, 1},
     .batch_groups = 3},
    {.name = "one dimension",
     .sizes = {3, 4, 5},
     .in = {30},
     .kernel = {5},
     .stride = {3},
     .pad_low = {2},
     .pad_high = {1}},
    {.name = "three dimensions",
     .sizes = {2, 3, 4},
     .in = {5, 6, 7},
     .kernel = {2, 3, 3},
     .stride = {1, 2, 1},
     .pad_low = {0, 1, 1},
     .pad_high = {1, 1, 1}},
    {.name = "no dimension", .sizes = {4, 6, 5}},
    {.name = "gradient of input",
     .sizes = {3, 8, 6},
     .in = {5, 5},
     .kernel = {3, 3},
     .base_dilation = {2, 2},
     .pad_low = {1, 1},
     .pad_high = {2, 2},
     .reversed = {1, 1}},
    {.name = "base dilation",
     .sizes = {2, 8, 6},
     .in = {5, 4},
     .kernel = {4, 3},
     .base_dilation = {3, 2},
     .window_dilation = {1, 2},
     .pad_low = {2, 1},
     .pad_high = {1, 3}},
    {.name = "base dilation, groups",
     .sizes = {2, 8, 4},
     .in = {5, 4},
     .kernel = {4, 3},
     .base_dilation = {2, 2},
     .pad_low = {2, 1},
     .pad_high = {1, 2},
     .feature_groups = 2},
    {.name = "base dilation, much padding",
     .sizes = {2, 3, 4},
     .in = {5},
     .kernel = {1},
     .base_dilation = {2},
     .pad_high = {1}},
    {.name = "base dilation and stride",
     .sizes = {2, 3, 4},
     .in = {9},
     .kernel = {3},
     .stride = {2},
     .base_dilation = {3},
     .pad_low = {2},
     .pad_high = {2}},
    {.name = "reversed",
     .sizes = {1, 4, 4},
     .in = {9, 9},
     .kernel = {3, 4},
     .pad_low = {1, 1},
     .pad_high = {1, 1},
     .reversed = {1, 0}},
    {.name = "gradient of weights", .sizes = {8, 6, 16}, .in = {10, 10}, .kernel = {8, 8}},
    {.name = "gradient of weights, padded",
     .sizes = {5, 3, 7},
     .in = {10, 10},
     .kernel = {10, 10},
     .pad_low = {1, 1},
     .pad_high = {1, 1}},
    {.name = "gradient of strided weights",
     .sizes = {4, 16, 32},
     .in = {28, 28},
     .kernel = {14, 14},
     .window_dilation = {2, 2},
     .pad_low = {1, 1}},
    {.name = "gradient of depthwise weights",
     .sizes = {16, 3, 16},
     .in = {10, 10},
     .kernel = {10, 10},
     .pad_low = {1, 1},
     .pad_high = {1, 1},
     .batch_groups = 16},
    {.name = "negative padding",
     .sizes = {1, 3, 4},
     .in = {9, 9},
     .kernel = {3, 3},
     .pad_low = {-1, -2},
     .pad_high = {-1, 1}},
    {.name = "few positions",
     .sizes = {2, 40, 96},
     .in = {5, 4},
     .kernel = {3, 3},
     .pad_low = {1, 1},
     .pad_high = {1, 1}},
    {.name = "few positions, dilated and reversed",
     .sizes = {1, 33, 130},
     .in = {6, 7, 5},
     .kernel = {3, 2, 2},
     .stride = {2, 1, 2},
     .window_dilation = {1, 3, 1},
     .pad_low = {1, 0, 2},
     .pad_high = {0, 2, 1},
     .reversed = {1, 0, 1}},
    {.name = "pointwise with strides",
     .sizes = {3, 40, 24},
     .in = {9, 12},
     .kernel = {1, 1},
     .stride = {2, 2},
     .pad_low = {0, 1}},
    {.name = "one position", .sizes = {1, 64, 50}, .in = {7}, .kernel = {7}},
    {.name = "more padding than window",
     .sizes = {1, 3, 4},
     .in = {3},
     .kernel = {2},
     .pad_low = {5},
     .pad_high = {40}},
    {.name = "signal", .sizes = {1, 1, 1}, .in = {5400}, .kernel = {100}, .pad_low = {99}, .pad_high = {99}},
    {.name = "signal, valid part", .sizes = {1, 1, 2}, .in = {333}, .kernel = {9}},
    {.name = "signal, dilated and reversed",
     .sizes = {2, 3, 1},
     .in = {77},
     .kernel = {4},
     .window_dilation = {5},
     .pad_low = {-2},
     .pad_high = {9},
     .reversed = {1}},
    {.name = "image of one channel",
     .sizes = {2, 1, 1},
     .in = {12, 40},
     .kernel = {5, 7},
     .stride = {2, 1},
     .base_dilation = {3, 1},
     .window_dilation = {1, 2},
     .pad_low = {2, 6},
     .pad_high = {1, 7},
     .reversed = {1, 1}},
    {.name = "lines along the first dimension",
     .sizes = {1, 2, 2},
     .in = {40, 3},
     .kernel = {3, 2},
     .stride = {1, 2},
     .pad_low = {1, 1},
     .pad_high = {30, 0}},
    {.name = "wide depthwise",
     .sizes = {2, 6, 12},
     .in = {6, 33},
     .kernel = {3, 3},
     .pad_low = {1, 1},
     .pad_high = {1, 1},
     .feature_groups = 6},
};

ConvDesc MakeDesc(const Case& c, RtType type, RtType out_type, int layout) {
  ConvDesc d;
  d.lhs_type = d.rhs_type = static_cast<int>(type);
  d.out_type = static_cast<int>(out_type);
  d.rank = c.rank();
  d.batch = c.sizes[0];
  d.in_features = c.sizes[1];
  d.out_features = c.sizes[2];
  d.feature_groups = c.feature_groups;
  d.batch_groups = c.batch_groups;
  for (int s = 0; s < 3; ++s) {
    const auto of = [s](const Case::PerDimension& values, int64_t otherwise) {
      return s < static_cast<int>(values.size()) ? values[s] : otherwise;
    };
    d.in[s] = of(c.in, 1);
    d.kernel[s] = of(c.kernel, 1);
    d.stride[s] = of(c.stride, 1);
    d.base_dilation[s] = of(c.base_dilation, 1);
    d.window_dilation[s] = of(c.window_dilation, 1);
    d.pad_low[s] = of(c.pad_low, 0);
    d.pad_high[s] = of(c.pad_high, 0);
    d.reversed[s] = of(c.reversed, 0);
    const int64_t padded = (d.in[s] - 1) * d.base_dilation[s] + 1 + d.pad_low[s] + d.pad_high[s];
    d.out[s] = (padded - (d.kernel[s] - 1) * d.window_dilation[s] - 1) / d.stride[s] + 1;
  }
  // Layout 0: features last; 1: batch, feature, spatial; 2: spatial, feature, batch; 3: features last, weights spatial,
  // input feature, output feature, as TensorFlow has them.
  auto strides = [&](int64_t first, int64_t second, const int64_t* spatial, int64_t* out) {
    int64_t order[5], sizes[5] = {first, second, spatial[0], spatial[1], spatial[2]};
    int n = 0;
    if (layout == 3 && out == d.rhs_strides) {
      for (int s = 0; s < c.rank(); ++s) order[n++] = 2 + s;
      order[n++] = 0;
      order[n++] = 1;
    } else if (layout == 0 || layout == 3) {
      order[n++] = 0;
      for (int s = 0; s < c.rank(); ++s) order[n++] = 2 + s;
      order[n++] = 1;
    } else if (layout == 1) {
      for (int i = 0; i < 2 + c.rank(); ++i) order[n++] = i;
    } else {
      for (int s = 0; s < c.rank(); ++s) order[n++] = 2 + s;
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

// Small whole numbers, which every type holds, and what comes out.
struct Problem {
  const Case& c;
  int layout;
  std::vector<double> lhs, rhs, expected;
};

Problem MakeProblem(const Case& c, int layout) {
  const ConvDesc d = MakeDesc(c, RtType::kF64, RtType::kF64, layout);
  std::mt19937 random(5);
  Problem p{c, layout};
  p.lhs.resize(Count(d.batch, d.in_features, d.in));
  p.rhs.resize(Count(d.in_features / d.feature_groups, d.out_features, d.kernel));
  for (double& x : p.lhs) x = static_cast<int>(random() % 7) - 3;
  for (double& x : p.rhs) x = static_cast<int>(random() % 5) - 2;
  p.expected = Naive(d, p.lhs, p.rhs);
  return p;
}

template <typename T, typename Out = T>
void Solve(RunContext* ctx, const Problem& p, RtType type, RtType out_type, double tolerance) {
  const ConvDesc d = MakeDesc(p.c, type, out_type, p.layout);
  std::vector<T> l(p.lhs.size()), r(p.rhs.size());
  for (size_t i = 0; i < l.size(); ++i) l[i] = FromDouble<T>(p.lhs[i]);
  for (size_t i = 0; i < r.size(); ++i) r[i] = FromDouble<T>(p.rhs[i]);
  std::vector<Out> out(p.expected.size(), FromDouble<Out>(77));
  const auto check = [&](const ConvDesc& desc, const void* weights, const char* how) {
    const absl::Status status = Convolution(ctx, desc, l.data(), weights, out.data());
    ASSERT_TRUE(status.ok()) << p.c.name << ": " << status;
    for (size_t i = 0; i < p.expected.size(); ++i) {
      ASSERT_LE(std::abs(ToDouble(out[i]) - p.expected[i]), std::abs(p.expected[i]) * tolerance)
          << p.c.name << how << " layout " << p.layout << " at " << i << ": " << ToDouble(out[i]) << " not "
          << p.expected[i];
    }
  };
  check(d, r.data(), "");
  if (!TakesPackedWeights(d)) return;
  std::vector<char> packed(PackedWeightsBytes(d));
  PackWeights(d, r.data(), packed.data());
  ConvDesc with_packed = d;
  with_packed.packed = 1;
  std::fill(out.begin(), out.end(), FromDouble<Out>(77));
  check(with_packed, packed.data(), ", weights packed,");
}

TEST(Convolution, AllKindsLayoutsAndKernels) {
  auto executor = NewThreadPoolExecutor(3);
  RunContext ctx(nullptr, executor.get());
  for (const Case& c : kCases) {
    for (int layout = 0; layout < 4; ++layout) {
      const Problem p = MakeProblem(c, layout);
      for (bool onednn : {true, false}) {
        SetConvolutionUseOneDnn(onednn);
        Solve<float>(&ctx, p, RtType::kF32, RtType::kF32, 0);
        Solve<BF16>(&ctx, p, RtType::kBF16, RtType::kBF16, 0.005);
        Solve<BF16, float>(&ctx, p, RtType::kBF16, RtType::kF32, 0);
        Solve<int8_t, int32_t>(&ctx, p, RtType::kS8, RtType::kS32, 0);
      }
      Solve<double>(&ctx, p, RtType::kF64, RtType::kF64, 0);
      Solve<int32_t>(&ctx, p, RtType::kS32, RtType::kS32, 0);
      Solve<int64_t>(&ctx, p, RtType::kS64, RtType::kS64, 0);
      Solve<_Float16>(&ctx, p, RtType::kF16, RtType::kF16, 0.001);
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

// Both parts of input and weights count, with their signs.
template <typename R>
void ComplexLine(RtType type) {
  RunContext ctx;
  const Case line = {.name = "line", .sizes = {1, 1, 1}, .in = {100}, .kernel = {7}, .pad_low = {2}, .pad_high = {1}};
  std::vector<std::complex<R>> lhs, rhs, out(97);
  for (int i = 0; i < 100; ++i) lhs.emplace_back(i % 7 - 3, i % 5 - 2);
  for (int i = 0; i < 7; ++i) rhs.emplace_back(i - 3, 2 - i % 3);
  const ConvDesc d = MakeDesc(line, type, type, 1);
  ASSERT_TRUE(Convolution(&ctx, d, lhs.data(), rhs.data(), out.data()).ok());
  for (int y = 0; y < 97; ++y) {
    for (int k = std::max(0, 2 - y); k < std::min(7, 102 - y); ++k) out[y] -= lhs[y + k - 2] * rhs[k];
    EXPECT_EQ(out[y], std::complex<R>(0)) << y;
  }
}

TEST(Convolution, LinesOfComplexNumbers) {
  ComplexLine<float>(RtType::kC64);
  ComplexLine<double>(RtType::kC128);
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
