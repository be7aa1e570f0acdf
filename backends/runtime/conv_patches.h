// Convolution as matrix products (im2col): the inputs of each output position, its patch, are copied into a row of a
// matrix, which is multiplied with the weights. Serves every type, dilation and padding, without a library.
#ifndef XC_BACKENDS_RUNTIME_CONV_PATCHES_H_
#define XC_BACKENDS_RUNTIME_CONV_PATCHES_H_

#include "absl/status/status.h"
#include "backends/runtime/convolution.h"
#include "backends/runtime/matmul.h"

namespace xc {

// Does what Convolution() does, for a descriptor that has been checked and tensors that are not empty.
absl::Status ConvolutionByPatches(RunContext* ctx, const ConvDesc& desc, const void* lhs, const void* rhs, void* out);

// Whether one product of all patches with the weights as they lie in memory is quicker than a library's kernel, which
// first brings the weights into an order of its own. So it is in f32, without groups, where weights and result are
// matrices as they lie, and where the patches are fewer bytes than the weights or the window has one element. `product`
// is set to that product.
bool AsProductOfPatches(const ConvDesc& d, MatmulDesc* product);
// Computes the convolution as that product.
absl::Status MultiplyPatches(RunContext* ctx, const ConvDesc& d, const MatmulDesc& product, const void* lhs,
                             const void* rhs, void* out);

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_CONV_PATCHES_H_
