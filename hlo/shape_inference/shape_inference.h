// Shape inference: the result shape of an op from its operands, attributes and called computations, or an error that
// says what the op has and what it should have. Verifier and builder stand on it.
#ifndef XC_HLO_SHAPE_INFERENCE_SHAPE_INFERENCE_H_
#define XC_HLO_SHAPE_INFERENCE_SHAPE_INFERENCE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo/attributes.h"
#include "hlo/module.h"
#include "hlo/opcode.h"
#include "hlo/shape.h"

namespace xc {

// All that the result shape of an op depends on.
struct ShapeQuery {
  HloOpcode opcode;
  absl::Span<const Shape* const> operands;
  const Attributes* attributes = nullptr;
  absl::Span<HloComputation* const> called;
  // The shape that is asked for, where operands do not determine all of it: dimensions of broadcast, reshape and iota,
  // the element type of convert, bitcast-convert, dot and convolution, everything of a custom-call or parameter. May be
  // null for ops that need none; then dot and convolution take the type of their operands.
  const Shape* given = nullptr;
};

// The shape without layout. Checks the number of operands, the attributes that the op requires, their ranges, operand
// types and dimensions, and signatures of called computations. Never aborts, whatever the operands are, as long as
// every operand shape has passed ValidateShape.
absl::StatusOr<Shape> InferShape(const ShapeQuery& query);

// The same for an instruction as it stands (its own shape is `given`).
absl::StatusOr<Shape> InferShape(const HloInstruction& instruction);

// OK if `attributes` has all that `opcode` requires, so that `attr<>()` of those cannot fail.
absl::Status CheckRequiredAttributes(HloOpcode opcode, const Attributes& attributes);

// OK if an op may call this many computations.
absl::Status CheckCalledComputationCount(HloOpcode opcode, int64_t count);

// Sizes of the output of sliding a window over `dims`. Rank and parameters of the window are checked.
absl::StatusOr<std::vector<int64_t>> WindowedSizes(absl::Span<const int64_t> dims, const WindowAttr& window);

// OK if generators of random bits can start from a state of this shape: u64[2] or u64[3], or as many bytes of u32. The
// verifier admits any array, as XLA's does: those that are never used are removed.
absl::Status CheckRandomState(const Shape& state);

// Whether a value of shape `have` may stand where `want` is asked for: same types and dimensions; layouts, and whether
// dimensions are dynamic, are not looked at, and an unknown size agrees with any.
bool Agree(const Shape& have, const Shape& want);

}  // namespace xc

#endif  // XC_HLO_SHAPE_INFERENCE_SHAPE_INFERENCE_H_
