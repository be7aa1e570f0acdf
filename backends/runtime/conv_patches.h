// Convolution as matrix products of patches with weights: every type, dilation and padding, no library.
#ifndef XC_BACKENDS_RUNTIME_CONV_PATCHES_H_
#define XC_BACKENDS_RUNTIME_CONV_PATCHES_H_

#include "absl/status/status.h"
#include "backends/runtime/convolution.h"

namespace xc {

// As Convolution(); the descriptor has been checked and no tensor is empty.
absl::Status ConvolutionByPatches(RunContext* ctx, const ConvDesc& desc, const void* lhs, const void* rhs, void* out);

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_CONV_PATCHES_H_
