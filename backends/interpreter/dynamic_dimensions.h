// Ops on arrays whose sizes only a run knows: they are evaluated on arrays of those sizes.
#ifndef XC_BACKENDS_INTERPRETER_DYNAMIC_DIMENSIONS_H_
#define XC_BACKENDS_INTERPRETER_DYNAMIC_DIMENSIONS_H_

#include <functional>

#include "backends/interpreter/op.h"

namespace xc::interp {

// Whether an operand has other sizes than its bounds, and the op is none of those that ask for, set or ignore sizes.
bool HasDynamicDimensions(const HloInstruction& instruction, const Operands& operands);

// Evaluates an instruction on operands of the shapes that its own operands have.
using Evaluate = std::function<OpResult(const HloInstruction& instruction, Operands& operands)>;

// Cuts operands to their sizes, evaluates the op on them, and puts the result into an array of the bounds. A dimension
// that is sliced or gathered in part counts with its bound, with zeros beyond its size; so do arrays that are updated
// in part, which keep what they hold there. Where one operand has a size and another only its bound, the size holds for
// both. Unimplemented for a reshape of several run-time sizes into one another; InvalidArgument where sizes do not fit.
OpResult RunOnDynamicDimensions(const HloInstruction& instruction, Operands& operands, const Evaluate& evaluate);

}  // namespace xc::interp

#endif  // XC_BACKENDS_INTERPRETER_DYNAMIC_DIMENSIONS_H_
