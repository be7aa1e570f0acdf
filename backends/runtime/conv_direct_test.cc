// Tiles of every instruction set and height against a naive loop; epilogues of every kind of task.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <numeric>
#include <vector>

#include "backends/runtime/all_gemm_kernels.h"
#include "backends/runtime/convolution.h"

namespace xc {
namespace {

template <typename T>
void TestTiles(const GemmKernels& kernels, RtType type) {
  constexpr int64_t kLanes = kDirectBlockBytes / sizeof(T), kLength = 5, kRuns = 3;
  const int64_t most = kernels.direct_blocks * kLanes, block = kRuns * kLength * kLanes;
  std::vector<T> in(1000), weights(kernels.direct_blocks * block);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(i * 7 % 11) - 5;
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<int>(i * 5 % 13) - 6;
  for (int64_t rows = 1; rows <= kernels.direct_rows; ++rows) {
    for (int64_t columns : {int64_t{1}, kLanes - 1, kLanes, most - 1, most}) {
      // The second run is left out.
      DirectRun runs[2];
      for (int r = 0; r < 2; ++r) {
        runs[r].weights = 2 * r * kLength * kLanes;
        runs[r].distance = r == 0 ? -1 : 37 * sizeof(T);
        for (int64_t i = 0; i < rows; ++i) runs[r].places[i] = &in[i * 37 + r * 101];
      }
      const int64_t pitch = columns + 3;
      std::vector<T> out(rows * pitch, 77);
      ASSERT_TRUE(kernels.direct({type, rows, columns, runs, 2, kLength, weights.data(), block, out.data(), pitch}));
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < pitch; ++j) {
          T expected = j < columns ? 0 : 77;
          for (int64_t r = 0; r < 2 && j < columns; ++r) {
            for (int64_t p = 0; p < kLength; ++p) {
              expected += static_cast<const T*>(runs[r].places[i])[p] *
                          weights[j / kLanes * block + runs[r].weights + p * kLanes + j % kLanes];
            }
          }
          ASSERT_EQ(out[i * pitch + j], expected) << rows << "x" << columns << " at " << i << ", " << j;
        }
      }
    }
  }
}

TEST(ConvDirect, TilesOfEveryInstructionSet) {
  for (const GemmKernels* kernels : AllGemmKernels()) {
    TestTiles<float>(*kernels, RtType::kF32);
    TestTiles<double>(*kernels, RtType::kF64);
    EXPECT_FALSE(kernels->direct({RtType::kF16, 1, 1, nullptr, 0, 0, nullptr, 0, nullptr, 0}));
  }
}

// Counts how often each iteration was done, and adds to the result's elements.
struct Counted {
  std::vector<std::atomic<int>> times;
  float* out;
  int64_t elements;  // of an iteration; 0: nothing is added

  static void Body(void* env, int64_t begin, int64_t end) {
    auto* self = static_cast<Counted*>(env);
    for (int64_t i = begin; i < end; ++i) {
      self->times[i].fetch_add(1);
      for (int64_t e = 0; e < self->elements; ++e) self->out[i * self->elements + e] += 1000;
    }
  }
};

void TestEpilogue(int64_t size, int64_t in_features, int64_t out_features, bool packed, int64_t parts_of_row) {
  ConvDesc d;
  d.lhs_type = d.rhs_type = d.out_type = static_cast<int32_t>(RtType::kF32);
  d.rank = 2;
  d.batch = 1;
  d.in_features = in_features;
  d.out_features = out_features;
  for (int s = 0; s < 2; ++s) {
    d.in[s] = d.out[s] = size;
    d.kernel[s] = 3;
    d.pad_low[s] = d.pad_high[s] = 1;
    d.lhs_strides[2 + s] = in_features * (s == 0 ? size : 1);
    d.out_strides[2 + s] = out_features * (s == 0 ? size : 1);
    d.rhs_strides[2 + s] = in_features * out_features * (s == 0 ? 3 : 1);
  }
  d.lhs_strides[0] = in_features * size * size;
  d.out_strides[0] = out_features * size * size;
  d.rhs_strides[0] = out_features;
  d.lhs_strides[1] = d.rhs_strides[1] = d.out_strides[1] = 1;
  const int64_t rows = size * size;
  std::vector<float> lhs(rows * in_features, 1), rhs(9 * in_features * out_features, 1), out(rows * out_features);
  std::vector<char> weights(PackedWeightsBytes(d));
  PackWeights(d, rhs.data(), weights.data());
  d.packed = packed;
  auto executor = NewThreadPoolExecutor(3);
  RunContext ctx(nullptr, executor.get());
  // Without parts, the epilogue's iterations have nothing to do with positions.
  const int64_t work = parts_of_row == 0 ? rows + 1 : rows * parts_of_row;
  Counted counted{std::vector<std::atomic<int>>(work), out.data(), parts_of_row == 0 ? 0 : out_features / parts_of_row};
  ASSERT_EQ(xc_rt_convolution_then(&ctx, &d, lhs.data(), packed ? static_cast<void*>(weights.data()) : rhs.data(),
                                   out.data(), &Counted::Body, &counted, work, 1, 7),
            0);
  for (const auto& times : counted.times) ASSERT_EQ(times.load(), 1);
  for (int64_t y = 0; y < size; ++y) {
    for (int64_t x = 0; x < size; ++x) {
      const int64_t taps = (y == 0 || y == size - 1 ? 2 : 3) * (x == 0 || x == size - 1 ? 2 : 3);
      for (int64_t o = 0; o < out_features; ++o) {
        ASSERT_EQ(out[(y * size + x) * out_features + o], taps * in_features + (parts_of_row == 0 ? 0 : 1000));
      }
    }
  }
}

TEST(ConvDirect, EpiloguesRunOnceForEachPart) {
  for (bool packed : {false, true}) {
    for (int64_t parts : {0, 1, 8}) {
      TestEpilogue(40, 16, 32, packed, parts);   // many rows
      TestEpilogue(9, 128, 192, packed, parts);  // tasks for parts of the features
      TestEpilogue(3, 3, 8, packed, parts);      // joined runs
    }
  }
}

TEST(ConvDirect, PackedWeightsOfOtherConvolutionsAreRefused) {
  ConvDesc d;
  d.lhs_type = d.rhs_type = d.out_type = static_cast<int32_t>(RtType::kF32);
  d.in_features = d.out_features = 4;
  d.packed = 1;
  d.lhs_strides[1] = 2;
  float x[16] = {};
  RunContext ctx;
  EXPECT_EQ(Convolution(&ctx, d, x, x, x).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace xc
