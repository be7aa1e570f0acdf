// Arrays that a loop makes longer, x = concat(x, y), in the ops that compiled code has for them: what adds to their
// end, reads it, asks for their shape, works along other dimensions, or sums over them, as attention over a cache does.
#ifndef XC_JIT_LOWERING_DYNAMIC_ARRAY_H_
#define XC_JIT_LOWERING_DYNAMIC_ARRAY_H_

#include <string>

#include "jit/lowering/lowering.h"

namespace xc {

// How an op may take such an array.
enum class DynamicArrayUse {
  kNone,         // not at all
  kPass,         // as it is
  kElementwise,  // any operand
  kAppend,       // the first part
  kLast,         // x of a strided slice: a known number of last elements
  kPick,         // x of a gather: along another dimension
  kShape,        // its shape alone
  kProduct,      // rows or columns; or both operands, where the sum goes over them
  kSoftmax,
  kReduce,
  kTranspose,
  kExpandDims,
};
DynamicArrayUse UseOfDynamicArray(const Node& node);

// Whether an operand is such an array.
bool HasDynamicArray(OpContext& c);

// Lowers such an op; `lowering` is the op's own, for arrays of fixed shape. Unimplemented: the op has no such form.
absl::Status LowerDynamicArray(OpContext& c, LoweringFn lowering);

}  // namespace xc

#endif  // XC_JIT_LOWERING_DYNAMIC_ARRAY_H_
