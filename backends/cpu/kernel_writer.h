// Kernel functions: opening one, having its body written, and calling it, on several threads if it pays.
#ifndef XC_BACKENDS_CPU_KERNEL_WRITER_H_
#define XC_BACKENDS_CPU_KERNEL_WRITER_H_

#include <functional>
#include <string>
#include <vector>

#include "backends/cpu/ir_emitter.h"
#include "backends/cpu/ir_emitter_impl.h"
#include "backends/plan/plan.h"

namespace xc::cpu {

// A kernel is void name(ptr arguments…, i64 begin, i64 end).
class KernelWriter {
 public:
  // Writes the code for the arguments' addresses at the emitter's current place.
  KernelWriter(IrEmitter* emitter, IrEmitter::Impl* impl, const Target& target, const plan::Kernel& kernel);

  // To be called inside the body: the kernel function's parameter for argument `i`, and for a leaf of the result.
  llvm::Value* argument(int i) { return scope_->function->getArg(i); }
  llvm::Value* output(int leaf) { return argument(kernel_.outputs[leaf]); }
  // To be called inside the body: tells `fused` where the inputs of the kernel's expression are in memory.
  void Bind(codegen::FusedEmitter& fused);

  // `body(begin, end)` writes the code for outer iterations [begin, end) of `work`; pieces are multiples of `grain`.
  // Small kernels are inlined into the caller; the code of others is written once.
  absl::Status Write(int64_t work, int64_t grain, const std::function<absl::Status(llvm::Value*, llvm::Value*)>& body);

 private:
  // Writes the call. `code` is the module to write the kernel's entry for parallel loops to; null: it exists already.
  void Call(CodeModule* code, llvm::Function* kernel, const std::string& name, int64_t work, int64_t grain, bool small);
  // void name(ptr arguments, i64 begin, i64 end) in `module`.
  llvm::Function* WriteParallelEntry(llvm::Module& module, llvm::FunctionCallee kernel, const std::string& name,
                                     bool exported);

  IrEmitter* emitter_;
  IrEmitter::Impl* impl_;
  const Target& target_;
  const plan::Kernel& kernel_;
  std::vector<llvm::Value*> pointers_;
  IrEmitter::FunctionScope* scope_ = nullptr;
};

}  // namespace xc::cpu

#endif  // XC_BACKENDS_CPU_KERNEL_WRITER_H_
