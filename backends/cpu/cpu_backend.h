// The CPU backend: module to native code.
#ifndef XC_BACKENDS_CPU_CPU_BACKEND_H_
#define XC_BACKENDS_CPU_CPU_BACKEND_H_

#include <memory>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/jit.h"
#include "backends/program/calls.h"

namespace xc::cpu {

// Optimizes and plans `module`, of static shapes, and generates code. `evaluate` folds constants and runs what has no
// native code; null: nothing is folded, and such ops fail when they are reached.
absl::StatusOr<std::unique_ptr<Executable>> CompileModule(std::unique_ptr<HloModule> module,
                                                          const xc::CompileOptions& options, Evaluate evaluate);

// Makes an executable of what `options.store` received when an equal module was compiled, with no pass run and no code
// generated. `program` must come from a build and for a machine of the same identity: its code is trusted.
absl::StatusOr<std::unique_ptr<Executable>> LoadModule(const HloModule& module, absl::string_view program,
                                                       Evaluate evaluate);

// See Backend::CompileGeneral; of modules of static shapes.
absl::StatusOr<std::shared_ptr<const GeneralProgram>> CompileGeneral(std::vector<std::unique_ptr<HloModule>> samples,
                                                                     const xc::CompileOptions& options,
                                                                     absl::string_view program, Evaluate evaluate);

// What passes and planner are told of `target`.
TargetInfo TargetInfoOf(const Target& target);

// Target, this build of the compiler and of LLVM; empty if they cannot be told.
std::string CodeIdentity(const xc::CompileOptions& options);

}  // namespace xc::cpu

#endif  // XC_BACKENDS_CPU_CPU_BACKEND_H_
