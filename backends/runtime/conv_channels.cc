#include "backends/runtime/conv_channels.h"

#include <vector>

#include "backends/runtime/gemm_kernels.h"

namespace xc {
namespace {

// Where position `k` of the window reads along dimension `s` from output position `out`, in elements; -1 outside of the
// input.
int64_t ChannelPlace(const ConvDesc& d, int s, int64_t out, int64_t k) {
  const int64_t tap = d.reversed[s] ? d.kernel[s] - 1 - k : k;
  const int64_t x = out * d.stride[s] + tap * d.window_dilation[s] - d.pad_low[s];
  if (x < 0 || x % d.base_dilation[s] != 0 || x / d.base_dilation[s] >= d.in[s]) return -1;
  return s < d.rank ? x / d.base_dilation[s] * d.lhs_strides[2 + s] : 0;
}

int64_t SpatialStride(const ConvDesc& d, const int64_t* strides, int s) { return s < d.rank ? strides[2 + s] : 0; }

template <typename T>
void RunChannels(RunContext* ctx, const ConvDesc& d, const T* lhs, const T* rhs, T* out) {
  constexpr int64_t kGrain = 1 << 18;  // multiplications of a task
  const int64_t positions = d.out[0] * d.out[1] * d.out[2];
  const int64_t cost = d.in_features * d.kernel[0] * d.kernel[1] * d.kernel[2];
  ctx->ParallelFor(d.batch * positions, kGrain / cost + 1, [&](int64_t begin, int64_t end) {
    std::vector<LineRun> runs;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / positions, position = i % positions;
      const int64_t at[3] = {position / d.out[2] / d.out[1], position / d.out[2] % d.out[1], position % d.out[2]};
      const T* from = lhs + image * d.lhs_strides[0];
      T* to = out + image * d.out_strides[0];
      for (int s = 0; s < 3; ++s) to += at[s] * SpatialStride(d, d.out_strides, s);
      runs.clear();
      for (int64_t a = 0; a < d.kernel[0]; ++a) {
        const int64_t place0 = ChannelPlace(d, 0, at[0], a);
        for (int64_t b = 0; b < d.kernel[1] && place0 >= 0; ++b) {
          const int64_t place1 = ChannelPlace(d, 1, at[1], b);
          for (int64_t c = 0; c < d.kernel[2] && place1 >= 0; ++c) {
            const int64_t place2 = ChannelPlace(d, 2, at[2], c);
            if (place2 < 0) continue;
            runs.push_back({from + place0 + place1 + place2, rhs + a * SpatialStride(d, d.rhs_strides, 0) +
                                                                 b * SpatialStride(d, d.rhs_strides, 1) +
                                                                 c * SpatialStride(d, d.rhs_strides, 2)});
          }
        }
      }
      BestGemmKernels().channels(static_cast<RtType>(d.lhs_type), runs.data(), runs.size(), d.in_features, to);
    }
  });
}

}  // namespace

bool IsByChannels(const ConvDesc& d) {
  const RtType type = static_cast<RtType>(d.lhs_type);
  if ((type != RtType::kF32 && type != RtType::kF64) || d.rhs_type != d.lhs_type || d.out_type != d.lhs_type) {
    return false;
  }
  if (d.feature_groups == 1 || d.feature_groups != d.in_features || d.in_features != d.out_features) return false;
  return d.lhs_strides[1] == 1 && d.rhs_strides[1] == 1 && d.out_strides[1] == 1;
}

void ConvolutionByChannels(RunContext* ctx, const ConvDesc& d, const void* lhs, const void* rhs, void* out) {
  if (static_cast<RtType>(d.lhs_type) == RtType::kF32) {
    return RunChannels(ctx, d, static_cast<const float*>(lhs), static_cast<const float*>(rhs),
                       static_cast<float*>(out));
  }
  RunChannels(ctx, d, static_cast<const double*>(lhs), static_cast<const double*>(rhs), static_cast<double*>(out));
}

}  // namespace xc
