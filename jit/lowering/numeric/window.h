// Padding, stride and dilation attributes of convolutions and pooling, resolved per spatial dimension.
#ifndef XC_JIT_LOWERING_NUMERIC_WINDOW_H_
#define XC_JIT_LOWERING_NUMERIC_WINDOW_H_

#include <string>
#include <vector>

#include "jit/lowering/lowering.h"

namespace xc {

// The places of batch, channel and spatial dimensions that a data_format string names.
struct DataFormat {
  int64_t batch = 0;
  int64_t channel = 0;
  std::vector<int64_t> spatial;
};

// From the node's data_format attribute (NHWC, NCHW, NDHWC, NCDHW); `rank` is that of the value.
absl::StatusOr<DataFormat> ReadDataFormat(OpContext& c, int64_t rank);

// Window dimensions for the spatial sizes: `input` sizes, `kernel` sizes, strides and dilations already per spatial
// dimension. Padding from the attributes padding and explicit_paddings.
absl::StatusOr<std::vector<WindowDim>> ReadWindow(OpContext& c, const DataFormat& format,
                                                  const std::vector<int64_t>& input, const std::vector<int64_t>& kernel,
                                                  const std::vector<int64_t>& strides,
                                                  const std::vector<int64_t>& dilations);

// The entries of a per-dimension attribute (such as strides) at the spatial dimensions; those of batch and channel must
// be 1.
absl::StatusOr<std::vector<int64_t>> SpatialAttr(OpContext& c, const std::string& name, const DataFormat& format,
                                                 int64_t rank);

// Does to `v`, whose channels are dimension `channel`, what the attribute fused_ops names (a bias, a sum, a
// normalization, an activation; their operands are those from number 2 on), and sets output 0.
absl::Status ApplyFusedOps(OpContext& c, Val v, int64_t channel);

// x * sigmoid(x), and x * tanh(log(1 + exp(x))).
Val Swish(Emitter& b, Val x);
Val Mish(Emitter& b, Val x);

}  // namespace xc

#endif  // XC_JIT_LOWERING_NUMERIC_WINDOW_H_
