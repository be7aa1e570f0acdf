// Convolutions for generated code, in HLO's full generality, by oneDNN or as products of patches.
#ifndef XC_BACKENDS_RUNTIME_CONVOLUTION_H_
#define XC_BACKENDS_RUNTIME_CONVOLUTION_H_

#include <cstdint>

#include "absl/status/status.h"
#include "backends/runtime/run_context.h"
#include "backends/runtime/types.h"

namespace xc {

// out[n, o, y] = sum over i, k of lhs[n, i, (y * stride + k * window_dilation - pad_low) / base_dilation] * rhs[i, o,
// k] where the position exists (else 0). Features and batches in groups as HLO has them. All strides are in elements.
// Plain data, so that generated code can hold it as a constant (field order and types are part of the interface).
// Types: as for MatmulDesc.
struct ConvDesc {
  int32_t lhs_type = 0, rhs_type = 0, out_type = 0;      // RtType
  int32_t rank = 0;                                      // spatial dimensions, 0 to 3
  int64_t batch = 1, in_features = 1, out_features = 1;  // of lhs, lhs and out, over all groups
  int64_t feature_groups = 1, batch_groups = 1;
  int64_t in[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, base_dilation[3] = {1, 1, 1}, window_dilation[3] = {1, 1, 1};
  int64_t pad_low[3] = {}, pad_high[3] = {};  // may be negative
  int64_t reversed[3] = {};                   // 1: the window is read backwards along this dimension
  int64_t lhs_strides[5] = {};                // batch, feature, spatial…
  int64_t rhs_strides[5] = {};                // input feature (within a group), output feature, spatial…
  int64_t out_strides[5] = {};                // batch, feature, spatial…
  int64_t packed = 0;                         // 1: rhs has been packed (PackWeights below), whatever rhs_strides say
};

// What is done with the result while its parts are still in the cache: body(env, begin, end) for pieces of `work`
// iterations, each piece a multiple of `grain`. Where `work` is a multiple of the result's positions (images times
// spatial ones), iterations go with positions, and those of a piece may use just their own; else all are there before.
struct ConvEpilogue {
  void (*body)(void* env, int64_t begin, int64_t end);
  void* env;
  int64_t work, grain;
  int64_t piece;  // iterations at a time, where all are done at the end
};

// Computes `out`, which must not overlap the inputs, then or meanwhile `epilogue` (null: nothing). The order of each
// sum depends on the descriptor and the CPU, not on the number of threads. Unimplemented for types outside the list;
// InvalidArgument for sizes that do not fit together.
absl::Status Convolution(RunContext* ctx, const ConvDesc& desc, const void* lhs, const void* rhs, void* out,
                         const ConvEpilogue* epilogue = nullptr);

// All of an epilogue, when the result is there.
void RunEpilogue(RunContext* ctx, const ConvEpilogue& epilogue);

// For weights that several runs use: whether `desc` is a convolution for which they can be brought, once, into the
// order in which the kernels read them; how many bytes that takes; and the packing, after which `desc.packed` is to
// be 1. The order is the same on all machines.
bool TakesPackedWeights(const ConvDesc& desc);
int64_t PackedWeightsBytes(const ConvDesc& desc);
void PackWeights(const ConvDesc& desc, const void* rhs, void* packed);

// For tests: never use oneDNN.
void SetConvolutionUseOneDnn(bool use);

}  // namespace xc

extern "C" {
int xc_rt_convolution(void* ctx, const xc::ConvDesc* desc, const void* lhs, const void* rhs, void* out);
// With an epilogue.
int xc_rt_convolution_then(void* ctx, const xc::ConvDesc* desc, const void* lhs, const void* rhs, void* out,
                           void (*body)(void* env, int64_t begin, int64_t end), void* env, int64_t work, int64_t grain,
                           int64_t piece);
}

#endif  // XC_BACKENDS_RUNTIME_CONVOLUTION_H_
