// What code for GPUs is generated for.
#ifndef XC_BACKENDS_GPU_TARGET_H_
#define XC_BACKENDS_GPU_TARGET_H_

#include <string>

#include "absl/status/statusor.h"
#include "backends/codegen/element.h"
#include "compiler/pass.h"

namespace xc::gpu {

struct Target {
  std::string name = "sm_80";       // LLVM's processor name
  std::string features = "+ptx78";  // LLVM's feature string
};

// The target for devices of a compute capability (80 and later; 90 is 9.0). Code of an older one runs on newer devices.
// Errors: the device is older than sm_80.
absl::StatusOr<Target> TargetOfCapability(int capability);

// What passes and planner ask, and what expressions are emitted for.
TargetInfo TargetInfoOf(const Target& target);
codegen::CodegenTarget CodegenTargetOf(const Target& target);

}  // namespace xc::gpu

#endif  // XC_BACKENDS_GPU_TARGET_H_
