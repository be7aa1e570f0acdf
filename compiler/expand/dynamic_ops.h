// For dynamic_dimensions.cc: arrays of bounds with the sizes that a run gives them, and what single ops are on such
// arrays.
#ifndef XC_COMPILER_EXPAND_DYNAMIC_OPS_H_
#define XC_COMPILER_EXPAND_DYNAMIC_OPS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo/builder/builder.h"

namespace xc::dynamic {

using Sizes = std::vector<Op>;  // s32 scalars, one per dimension; nothing where the size is the bound

// An array whose dimensions have the bounds as sizes. Elements beyond `sizes` are anything. No sizes: all are bounds.
struct DynamicArray {
  Op array;
  Sizes sizes;

  bool whole() const;
  Op size(int64_t d) const { return d < static_cast<int64_t>(sizes.size()) ? sizes[d] : Op(); }
};

// The shape without run-time sizes and layouts.
Shape Bounds(const Shape& shape);
// The size of dimension d as a number, the bound if there is no other.
Op SizeOf(HloBuilder& b, const DynamicArray& x, int64_t d);
// The smaller of two sizes of one dimension; either may be nothing.
Op Tied(HloBuilder& b, Op x, Op y);
// Whether each element lies within the sizes of the dimensions `dims`; nothing if all do.
Op Valid(HloBuilder& b, const DynamicArray& x, absl::Span<const int64_t> dims);
// The array with `fill`, a scalar, beyond the sizes of `dims`, or of all dimensions.
Op Filled(HloBuilder& b, const DynamicArray& x, Op fill, absl::Span<const int64_t> dims);
Op Filled(HloBuilder& b, const DynamicArray& x, Op fill);
Op ZeroFilled(HloBuilder& b, const DynamicArray& x);
// `size`; the run ends with InvalidArgument unless 0 <= checked <= limit. `message` says so, with `shown` for $0.
Op Checked(HloBuilder& b, Op size, Op checked, int64_t limit, Op shown, const std::string& message);
// The op as it is, on arrays of bounds.
Op OnBounds(HloBuilder& b, const HloInstruction& op, absl::Span<const Op> operands);

absl::Status NoForm(const HloInstruction& op, absl::string_view what);

// One op on dynamic arrays. Where one operand has a size and another only its bound, the size holds for both; what is
// sliced or gathered in part, and what is updated, counts with its bound. Errors: Unimplemented if the op has no form
// on such arrays.
using Rule = absl::StatusOr<DynamicArray> (*)(HloBuilder& b, const HloInstruction& op, std::vector<DynamicArray>& in);

// Null if there is none.
Rule ComputeRule(HloOpcode opcode);   // elementwise, reductions, products, sort
Rule MovementRule(HloOpcode opcode);  // reshape, slice, concatenate, gather, …

}  // namespace xc::dynamic

#endif  // XC_COMPILER_EXPAND_DYNAMIC_OPS_H_
