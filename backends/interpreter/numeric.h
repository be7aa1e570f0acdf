// Ops that compute something of their own: normalization, random numbers, transforms, factorizations, custom calls.
#ifndef XC_BACKENDS_INTERPRETER_NUMERIC_H_
#define XC_BACKENDS_INTERPRETER_NUMERIC_H_

#include "backends/interpreter/op.h"

namespace xc::interp {

OpResult BatchNormTraining(const HloInstruction& instruction, Operands& operands, OpContext& context);
OpResult BatchNormInference(const HloInstruction& instruction, Operands& operands, OpContext& context);
OpResult BatchNormGrad(const HloInstruction& instruction, Operands& operands, OpContext& context);
OpResult Cholesky(const HloInstruction& instruction, Operands& operands, OpContext& context);
OpResult FourierTransform(const HloInstruction& instruction, Operands& operands, OpContext& context);
OpResult RngBits(const HloInstruction& instruction, Operands& operands, OpContext& context);
OpResult RngNumbers(const HloInstruction& instruction, Operands& operands, OpContext& context);
OpResult RngState(const HloInstruction& instruction, Operands& operands, OpContext& context);
OpResult TriangularSolve(const HloInstruction& instruction, Operands& operands, OpContext& context);
OpResult CustomCall(const HloInstruction& instruction, Operands& operands, OpContext& context);

}  // namespace xc::interp

#endif  // XC_BACKENDS_INTERPRETER_NUMERIC_H_
