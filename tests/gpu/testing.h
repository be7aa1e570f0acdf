// For tests of the GPU backend: modules on the emulator, and beside the interpreter.
#ifndef XC_TESTS_GPU_TESTING_H_
#define XC_TESTS_GPU_TESTING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/backend.h"
#include "hlo/literal.h"

namespace xc {

// The module of `text`, compiled for a platform (of gpu, for the emulator). Ends the test's process if it is none, or
// cannot be compiled.
std::unique_ptr<Executable> CompileText(const std::string& platform, const std::string& text,
                                        bool gpu_libraries = true);

// A run on inputs of its own for each `seed`.
absl::StatusOr<std::vector<Literal>> RunOnInputs(const Executable& executable, int64_t seed = 0);

// Expects the interpreter's results of a run of `executable`, which is the module of `text`.
void ExpectRight(const Executable& executable, const std::string& text, int64_t seed = 0);

// The same for the module on the emulator, with kernels for all but `evaluated` instructions.
void ExpectSame(const std::string& text, size_t evaluated = 0);

}  // namespace xc

#endif  // XC_TESTS_GPU_TESTING_H_
