// Short forms for the instructions that passes make, with shapes inferred as the builder does, added to the computation
// of their first operand.
#ifndef XC_COMPILER_MAKE_H_
#define XC_COMPILER_MAKE_H_

#include <optional>

#include "hlo/module.h"

namespace xc::make {

HloInstruction* Unary(HloOpcode opcode, HloInstruction* x);
HloInstruction* Binary(HloOpcode opcode, HloInstruction* a, HloInstruction* b);
HloInstruction* Compare(CompareDirection direction, HloInstruction* a, HloInstruction* b);
HloInstruction* Select(HloInstruction* p, HloInstruction* on_true, HloInstruction* on_false);
HloInstruction* Convert(HloInstruction* x, ElementType type);
// Dimension i of `x` becomes dimension dimensions[i] of the result.
HloInstruction* Broadcast(HloInstruction* x, Int64List dims, Int64List dimensions);
HloInstruction* Reshape(HloInstruction* x, Int64List dims);
// Dimension i of the result is dimension permutation[i] of `x`.
HloInstruction* Transpose(HloInstruction* x, Int64List permutation);
HloInstruction* Slice(HloInstruction* x, Int64List starts, Int64List limits, Int64List strides);
HloInstruction* GetTupleElement(HloInstruction* tuple, int64_t index);
HloInstruction* Tuple(HloComputation* computation, absl::Span<HloInstruction* const> elements);
// A constant scalar, rounded to `type`.
HloInstruction* Scalar(HloComputation* computation, ElementType type, double value);
HloInstruction* ScalarInt(HloComputation* computation, ElementType type, int64_t value);
// `dims` of a scalar constant.
HloInstruction* Full(HloComputation* computation, ElementType type, const Int64List& dims, double value);
HloInstruction* Reduce(HloInstruction* x, HloInstruction* init, Int64List dimensions, HloComputation* combiner);
HloInstruction* ReduceWindow(HloInstruction* x, HloInstruction* init, WindowAttr window, HloComputation* combiner);
// (x, y) -> x op y on scalars of `type`.
HloComputation* Combiner(HloModule* module, HloOpcode opcode, ElementType type);

// The dimension list {0, …, n-1}.
Int64List Iota(int64_t n);
Int64List InversePermutation(const Int64List& permutation);
bool IsIdentity(const Int64List& permutation);

}  // namespace xc::make

namespace xc {

// Whether the combiner computation is exactly `parameter 0 opcode parameter 1` (in either order if commutative).
bool IsCombiner(const HloComputation* computation, HloOpcode opcode);
// The commutative and (but for rounding) associative operation that the combiner is in this way, if it is one.
std::optional<HloOpcode> CombinerOpcode(const HloComputation* combiner);

}  // namespace xc

#endif  // XC_COMPILER_MAKE_H_
