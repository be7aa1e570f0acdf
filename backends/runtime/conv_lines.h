// Convolutions with few features as sums of shifted lines: along a dimension whose elements are neighbours in the input
// and in the result, each tap of the window is one multiplication of a line with a weight.
#ifndef XC_BACKENDS_RUNTIME_CONV_LINES_H_
#define XC_BACKENDS_RUNTIME_CONV_LINES_H_

#include <optional>

#include "absl/status/status.h"
#include "backends/runtime/convolution.h"

namespace xc {

// `d` with such a dimension as the last of three, if it has one and features so few that matrix kernels would idle.
std::optional<ConvDesc> AsLines(const ConvDesc& d);

// A convolution that AsLines gave. Sums are made in the order of the window, then of the features.
absl::Status ConvolutionByLines(RunContext* ctx, const ConvDesc& d, const void* lhs, const void* rhs, void* out);

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_CONV_LINES_H_
