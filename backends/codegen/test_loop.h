// For tests of emitted expressions: functions that are one loop.
#ifndef XC_BACKENDS_CODEGEN_TEST_LOOP_H_
#define XC_BACKENDS_CODEGEN_TEST_LOOP_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"

namespace llvm {
class Function;
class IRBuilderBase;
class Module;
class Value;
}  // namespace llvm

namespace xc::codegen {

// Adds `void name(void* x, void* y, void* out, int64 n)`, which does what `body` emits for i = 0, step, 2 step, … below
// n.
void AddLoopFunction(llvm::Module& module, const std::string& name, int64_t step,
                     absl::FunctionRef<void(llvm::IRBuilderBase& b, llvm::Function* f, llvm::Value* i)> body);

}  // namespace xc::codegen

#endif  // XC_BACKENDS_CODEGEN_TEST_LOOP_H_
