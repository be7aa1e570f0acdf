// Convolutions of f32 and f64 whose features are neighbours in memory: tiles of the result are summed in registers,
// reading the input where it lies, without patches. Weights are packed in blocks of features, an order that does not
// depend on the machine; where each feature is a group of its own, they are read as they lie.
#ifndef XC_BACKENDS_RUNTIME_CONV_DIRECT_H_
#define XC_BACKENDS_RUNTIME_CONV_DIRECT_H_

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "absl/status/status.h"
#include "backends/runtime/convolution.h"

namespace xc {

// Whether `d` is such a convolution, but for its weights, which may lie in any way.
bool IsDirect(const ConvDesc& d);

struct StridedDim {
  int64_t size, stride;
};
// The stride at which one walks dimensions (the last one fastest), if there is one; 0 where there is one element.
std::optional<int64_t> OneStride(std::initializer_list<StridedDim> dims);

// Whether each feature is a group of its own, in weights, too, a neighbour of the next. Packed weights are for others.
bool IsByChannels(const ConvDesc& d);

// The stride at which the positions of the result lie, images and all, if they lie at one.
std::optional<int64_t> RowStride(const ConvDesc& d);

// A convolution that IsDirect or IsByChannels takes; weights that are not packed are packed first. Each sum is made in
// the order of the window, then of the features.
absl::Status ConvolutionDirect(RunContext* ctx, const ConvDesc& d, const void* lhs, const void* rhs, void* out,
                               const ConvEpilogue* epilogue);

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_CONV_DIRECT_H_
