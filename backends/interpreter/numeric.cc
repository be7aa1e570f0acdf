// The table of numeric ops.
#include "backends/interpreter/numeric.h"

namespace xc::interp {

OpFn FindNumeric(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kBatchNormTraining:
      return BatchNormTraining;
    case HloOpcode::kBatchNormInference:
      return BatchNormInference;
    case HloOpcode::kBatchNormGrad:
      return BatchNormGrad;
    case HloOpcode::kCholesky:
      return Cholesky;
    case HloOpcode::kFft:
      return FourierTransform;
    case HloOpcode::kRng:
      return RngNumbers;
    case HloOpcode::kRngBitGenerator:
      return RngBits;
    case HloOpcode::kRngGetAndUpdateState:
      return RngState;
    case HloOpcode::kTriangularSolve:
      return TriangularSolve;
    case HloOpcode::kCustomCall:
      return CustomCall;
    default:
      return nullptr;
  }
}

}  // namespace xc::interp
