// Convolutions that our own direct kernels take from copies, in the order that they read and write.
#ifndef XC_BACKENDS_RUNTIME_CONV_COPIES_H_
#define XC_BACKENDS_RUNTIME_CONV_COPIES_H_

#include "absl/status/status.h"
#include "backends/runtime/convolution.h"

namespace xc {

// `d` by direct kernels, of an input in which each feature is repeated for every one of the result's that is made of it
// alone, or, of f64, of arrays with features last. Unimplemented: it is of neither kind.
absl::Status ConvolutionOfCopies(RunContext* ctx, const ConvDesc& d, const void* lhs, const void* rhs, void* out);

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_CONV_COPIES_H_
