// Convolutions in which each feature is a group of its own, with features as the neighbours in memory: at each position
// of the result, each tap of the window is one product of all features with their weights.
#ifndef XC_BACKENDS_RUNTIME_CONV_CHANNELS_H_
#define XC_BACKENDS_RUNTIME_CONV_CHANNELS_H_

#include "backends/runtime/convolution.h"

namespace xc {

// Whether `d` is such a convolution, of f32 or f64.
bool IsByChannels(const ConvDesc& d);

// Sums are made in the order of the window.
void ConvolutionByChannels(RunContext* ctx, const ConvDesc& d, const void* lhs, const void* rhs, void* out);

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_CONV_CHANNELS_H_
