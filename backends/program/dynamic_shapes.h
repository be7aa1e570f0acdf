// Arrays of sizes that only a run knows, for backends whose code is for static shapes: compiled as arrays of their
// bounds, with the sizes beside them; modules that have no such form are evaluated as they are written.
#ifndef XC_BACKENDS_PROGRAM_DYNAMIC_SHAPES_H_
#define XC_BACKENDS_PROGRAM_DYNAMIC_SHAPES_H_

#include <functional>
#include <memory>

#include "backends/backend.h"

namespace xc {

using CompileStatic = std::function<absl::StatusOr<std::unique_ptr<Executable>>(std::unique_ptr<HloModule>)>;
// Compiles any module by `compile`, which takes those of static shapes.
absl::StatusOr<std::unique_ptr<Executable>> CompileDynamic(std::unique_ptr<HloModule> module,
                                                           const CompileOptions& options, const CompileStatic& compile);

using LoadStatic = std::function<absl::StatusOr<std::unique_ptr<Executable>>(const HloModule&)>;
// The same for what was stored for the module.
absl::StatusOr<std::unique_ptr<Executable>> LoadDynamic(const HloModule& module, const LoadStatic& load);

}  // namespace xc

#endif  // XC_BACKENDS_PROGRAM_DYNAMIC_SHAPES_H_
