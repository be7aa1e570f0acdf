// The compiler's passes as compile options ask for them.
#ifndef XC_BACKENDS_PROGRAM_PASSES_H_
#define XC_BACKENDS_PROGRAM_PASSES_H_

#include <chrono>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "backends/backend.h"
#include "backends/program/calls.h"
#include "compiler/pass.h"
#include "hlo/module.h"

namespace xc {

// Runs the pipeline over `module` for `target`; `evaluate` folds constants. Returns the report of times and rules.
absl::StatusOr<std::string> RunPasses(HloModule* module, const CompileOptions& options, const TargetInfo& target,
                                      const Evaluate& evaluate);

// The options' deadline by the clock that passes look at; nothing if there is none.
std::optional<std::chrono::steady_clock::time_point> PassDeadline(const CompileOptions& options);

}  // namespace xc

#endif  // XC_BACKENDS_PROGRAM_PASSES_H_
