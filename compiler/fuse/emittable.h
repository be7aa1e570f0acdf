// What can be written as code element by element. Fusion, the planner and the emitters ask here, so that nothing is
// fused or planned that no emitter knows.
#ifndef XC_COMPILER_FUSE_EMITTABLE_H_
#define XC_COMPILER_FUSE_EMITTABLE_H_

#include "compiler/decision.h"
#include "hlo/module.h"

namespace xc {

// Whether `instruction`, and all it is made of if it is a fusion or has a called computation, is an expression: each
// element of the result is computed from elements of the operands. The reason names what is not.
Decision CanEmit(const HloInstruction& instruction);

// Whether a computation (a reducer, a comparator, a map's body) can be written where it is applied, on scalars.
Decision CanApply(const HloComputation& computation);

// Whether elementwise `opcode` has code for operands of `type`: what the op table defines, mostly.
bool IsKnownElementwise(HloOpcode opcode, ElementType type);

// Whether elementwise `opcode` of f16 can be computed in f16 itself, with the bits of computing in f32 and rounding.
bool IsHalfOp(HloOpcode opcode);

// For reducers that are one commutative, associative op of their two parameters: that op; kParameter otherwise.
HloOpcode SimpleReducer(const HloComputation& computation);

// Whether the reduction runs along the operand's most minor dimension with a simple reducer, so that vector lanes
// belong along the reduced elements rather than along the results.
bool IsRowReduce(const HloInstruction& reduce);

}  // namespace xc

#endif  // XC_COMPILER_FUSE_EMITTABLE_H_
