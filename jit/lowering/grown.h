// Arrays that a loop makes longer, x = concat(x, y), in the few ops that compiled code has for them: what adds to their
// end, reads it, asks for their shape, or moves along other dimensions.
#ifndef XC_JIT_LOWERING_GROWN_H_
#define XC_JIT_LOWERING_GROWN_H_

#include "jit/lowering/lowering.h"

namespace xc {

// Whether an operand is such an array.
bool HasGrown(OpContext& c);

// Lowers such an op; `lowering` is the op's own, for arrays of fixed shape. Unimplemented: the op has no such form.
absl::Status LowerGrown(OpContext& c, LoweringFn lowering);

}  // namespace xc

#endif  // XC_JIT_LOWERING_GROWN_H_
