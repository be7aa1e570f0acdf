// The CPU backend: module to native code.
#ifndef XC_BACKENDS_CPU_CPU_BACKEND_H_
#define XC_BACKENDS_CPU_CPU_BACKEND_H_

#include <chrono>
#include <memory>
#include <optional>

#include "backends/backend.h"
#include "backends/cpu/frame.h"

namespace xc::cpu {

// Compiles `module` as it is (after all passes): schedules it, assigns buffers, generates code. `evaluate` runs the ops
// that have no native code; null: such ops fail when they are reached.
absl::StatusOr<std::unique_ptr<Executable>> CompileModule(std::unique_ptr<HloModule> module,
                                                          const xc::CompileOptions& options, Evaluate evaluate);

// Makes an executable of what `options.store` received when an equal module was compiled, with no pass run and no code
// generated. `program` must come from a build and for a machine of the same identity: its code is trusted.
absl::StatusOr<std::unique_ptr<Executable>> LoadModule(const HloModule& module, absl::string_view program,
                                                       Evaluate evaluate);

// The options' deadline by the clock that passes look at; nothing if there is none.
std::optional<std::chrono::steady_clock::time_point> PassDeadline(const xc::CompileOptions& options);

// Target, this build of the compiler and of LLVM; empty if they cannot be told.
std::string CodeIdentity(const xc::CompileOptions& options);

}  // namespace xc::cpu

#endif  // XC_BACKENDS_CPU_CPU_BACKEND_H_
