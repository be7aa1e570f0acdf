#include "backends/runtime/conv_copies.h"

#include <algorithm>

#include "backends/runtime/arena.h"
#include "backends/runtime/conv_direct.h"
#include "backends/runtime/conv_layout.h"
#include "backends/runtime/strided_copy.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

absl::Status NoCopies() { return absl::UnimplementedError("convolution that copies do not make direct"); }

// Several features of the result for each of the input, which are groups, as one by channels.
absl::Status WithRepeatedFeatures(RunContext* ctx, const ConvDesc& d, const void* lhs, const void* rhs, void* out) {
  const int64_t times = d.out_features / d.in_features, size = SizeOf(static_cast<RtType>(d.lhs_type));
  if (d.feature_groups != d.in_features || times == 1) return NoCopies();
  ConvDesc by_channels = d;
  by_channels.in_features = by_channels.feature_groups = d.out_features;
  // In memory: images, positions, features of the input, and repetitions of each.
  int64_t dims[6] = {d.batch}, from[6] = {d.lhs_strides[0]}, to[6];
  for (int s = 0; s < d.rank; ++s) {
    dims[1 + s] = d.in[s];
    from[1 + s] = d.lhs_strides[2 + s];
  }
  const int rank = d.rank + 3;
  dims[rank - 2] = d.in_features;
  from[rank - 2] = d.lhs_strides[1];
  dims[rank - 1] = times;
  from[rank - 1] = 0;
  RowMajorStrides(absl::MakeSpan(dims, rank), to);
  ChannelsLast(d.rank, d.out_features, d.in, by_channels.lhs_strides);
  if (!IsByChannels(by_channels)) return NoCopies();
  XC_ASSIGN_OR_RETURN(Block repeated, Block::Allocate(dims[0] * to[0] * size));
  StridedCopy(ctx, absl::MakeSpan(dims, rank), size, lhs, absl::MakeSpan(from, rank), repeated.data(),
              absl::MakeSpan(to, rank));
  return ConvolutionDirect(ctx, by_channels, repeated.data(), rhs, out, nullptr);
}

absl::Status WithFeaturesLast(RunContext* ctx, const ConvDesc& d, const void* lhs, const void* rhs, void* out) {
  if (d.lhs_type != static_cast<int32_t>(RtType::kF64)) return NoCopies();
  ConvDesc last = d;
  ChannelsLast(d.rank, d.in_features, d.in, last.lhs_strides);
  ChannelsLast(d.rank, d.out_features, d.out, last.out_strides);
  if (!IsDirect(last)) return NoCopies();
  const int64_t size = SizeOf(RtType::kF64);
  const int64_t lhs_sizes[5] = {d.batch, d.in_features, d.in[0], d.in[1], d.in[2]};
  const int64_t out_sizes[5] = {d.batch, d.out_features, d.out[0], d.out[1], d.out[2]};
  ChannelsLastTensor in, result;
  XC_RETURN_IF_ERROR(in.Init(d.rank, lhs_sizes, d.lhs_strides, size, lhs));
  XC_RETURN_IF_ERROR(result.Init(d.rank, out_sizes, d.out_strides, size, out));
  in.CopyIn(ctx);
  XC_RETURN_IF_ERROR(ConvolutionDirect(ctx, last, in.data(), rhs, result.data(), nullptr));
  result.CopyOut(ctx);
  return absl::OkStatus();
}

}  // namespace

absl::Status ConvolutionOfCopies(RunContext* ctx, const ConvDesc& d, const void* lhs, const void* rhs, void* out) {
  absl::Status status = WithRepeatedFeatures(ctx, d, lhs, rhs, out);
  return absl::IsUnimplemented(status) ? WithFeaturesLast(ctx, d, lhs, rhs, out) : status;
}

}  // namespace xc
