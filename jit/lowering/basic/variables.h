// Resource variables during lowering: their current values inside the cluster.
#ifndef XC_JIT_LOWERING_BASIC_VARIABLES_H_
#define XC_JIT_LOWERING_BASIC_VARIABLES_H_

#include "jit/lowering/lowering.h"

namespace xc {

absl::StatusOr<VariableSlot*> VariableOperand(OpContext& c, int i);
// The value that operand `i` holds at this place of the graph; an error if it has none yet.
absl::StatusOr<Val> VariableValue(OpContext& c, int i);
absl::Status SetVariable(OpContext& c, int i, Val v);

}  // namespace xc

#endif  // XC_JIT_LOWERING_BASIC_VARIABLES_H_
