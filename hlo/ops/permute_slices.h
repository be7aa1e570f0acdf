// collective-permute with slice_sizes: (inputs, outputs, starts in inputs, starts in outputs) sends slices of the
// inputs into the outputs, which are the result. Inputs are one array or a tuple of arrays; each has one slice, whose
// start is a tuple of scalars, or several, in a tuple of such tuples.
#ifndef XC_HLO_OPS_PERMUTE_SLICES_H_
#define XC_HLO_OPS_PERMUTE_SLICES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo/shape.h"

namespace xc {

struct PermuteSlice {
  int64_t buffer = -1;  // element of the tuples of inputs and outputs; -1: they are arrays
  ShapeIndex starts;    // of the tuple of its start within the starts
  std::vector<int64_t> sizes;
};

// The slices in order, from the shapes of the four operands; InvalidArgument, without the instruction's name, when they
// do not fit together.
absl::StatusOr<std::vector<PermuteSlice>> PermuteSlices(absl::Span<const Shape* const> operands,
                                                        absl::Span<const std::vector<int64_t>> sizes);

}  // namespace xc

#endif  // XC_HLO_OPS_PERMUTE_SLICES_H_
