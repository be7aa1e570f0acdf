// Convolution as matrix products of patches with weights: every type, dilation and padding, no library.
#ifndef XC_BACKENDS_RUNTIME_CONV_PATCHES_H_
#define XC_BACKENDS_RUNTIME_CONV_PATCHES_H_

#include "absl/status/status.h"
#include "backends/runtime/convolution.h"
#include "backends/runtime/matmul.h"

namespace xc {

// As Convolution(); the descriptor has been checked and no tensor is empty.
absl::Status ConvolutionByPatches(RunContext* ctx, const ConvDesc& desc, const void* lhs, const void* rhs, void* out);

// Whether it is better to gather all patches into one matrix and to multiply that with the weights where they lie than
// to bring the weights into another order, as libraries do: of f32, without groups, with weights and result that are
// matrices as they lie, and less to gather than there are weights, or no window. `product` says which product.
bool AsProductOfPatches(const ConvDesc& d, MatmulDesc* product);
absl::Status MultiplyPatches(RunContext* ctx, const ConvDesc& d, const MatmulDesc& product, const void* lhs,
                             const void* rhs, void* out);

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_CONV_PATCHES_H_
