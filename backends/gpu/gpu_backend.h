// Compiles modules for GPUs.
#ifndef XC_BACKENDS_GPU_GPU_BACKEND_H_
#define XC_BACKENDS_GPU_GPU_BACKEND_H_

#include <memory>

#include "absl/status/statusor.h"
#include "backends/backend.h"
#include "backends/program/calls.h"

namespace xc::gpu {

// An executable on the first device, or on the emulator where the options say so. Errors: there is no driver or device.
absl::StatusOr<std::unique_ptr<Executable>> CompileModule(std::unique_ptr<HloModule> module,
                                                          const CompileOptions& options, Evaluate evaluate);

}  // namespace xc::gpu

#endif  // XC_BACKENDS_GPU_GPU_BACKEND_H_
