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
    default:
      return nullptr;
  }
}

}  // namespace xc::interp
