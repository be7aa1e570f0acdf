// The compiler's passes as the CPU backend runs them.
#ifndef XC_BACKENDS_CPU_PASSES_H_
#define XC_BACKENDS_CPU_PASSES_H_

#include <string>

#include "absl/status/statusor.h"
#include "backends/backend.h"
#include "backends/cpu/frame.h"
#include "hlo/module.h"

namespace xc::cpu {

// Runs the pipeline over `module` as `options` say; `evaluate` folds constants. Returns the report of times and rules.
absl::StatusOr<std::string> RunPasses(HloModule* module, const xc::CompileOptions& options, const Evaluate& evaluate);

}  // namespace xc::cpu

#endif  // XC_BACKENDS_CPU_PASSES_H_
