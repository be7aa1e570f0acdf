// Kernel functions: opening one, having its body written, and calling it, on several threads if it pays.
#ifndef XC_BACKENDS_CPU_KERNEL_WRITER_H_
#define XC_BACKENDS_CPU_KERNEL_WRITER_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "backends/cpu/ir_emitter.h"
#include "backends/cpu/ir_emitter_impl.h"

namespace xc::cpu {

// A kernel is void name(ptr arguments…, i64 begin, i64 end).
class KernelWriter {
 public:
  KernelWriter(IrEmitter* emitter, IrEmitter::Impl* impl, const Target& target)
      : emitter_(emitter), impl_(impl), target_(target) {}

  // Registers a pointer that the kernel gets; the same one is passed once. `written`: an output.
  int Argument(llvm::Value* pointer, bool written);
  // The argument may be the same memory as another.
  void set_aliased(int argument) { aliased_.insert(argument); }
  // Inside the body: the kernel's own value of an argument.
  llvm::Value* argument(int i) { return scope_->function->getArg(i); }

  // Kernels with equal, non-empty keys (and arguments of the same pattern) have the same code: it is written once.
  void set_key(const std::string& key) { key_ = key; }

  // `body(begin, end)` writes the code for outer iterations [begin, end) of `work`; pieces are multiples of `grain`.
  // `cost` is the estimated number of scalar operations of all of it: small kernels are inlined into the caller.
  absl::Status Write(int64_t work, int64_t grain, int64_t cost,
                     const std::function<absl::Status(llvm::Value*, llvm::Value*)>& body);

 private:
  // `code` null: the kernel and its entry for parallel loops exist.
  void Call(CodeModule* code, llvm::Function* kernel, const std::string& name, int64_t work, int64_t grain,
            int64_t cost);
  void WriteParallelEntry(CodeModule* code, llvm::Function* kernel, const std::string& name);
  std::string FullKey() const;

  IrEmitter* emitter_;
  IrEmitter::Impl* impl_;
  const Target& target_;
  std::vector<llvm::Value*> pointers_;
  std::vector<bool> written_;
  std::string key_;
  absl::flat_hash_set<int> aliased_;
  IrEmitter::FunctionScope* scope_ = nullptr;
};

// The arrays that an expression reads: operands, and constants inside fusions.
struct IrEmitter::Leaves {
  // In memory: the instruction (a fusion parameter or an operand), argument number.
  std::vector<std::pair<const HloInstruction*, int>> memory;
  // Values of fusion parameters that are constants with equal elements.
  std::vector<std::pair<const HloInstruction*, const HloInstruction*>> aliases;
};

}  // namespace xc::cpu

#endif  // XC_BACKENDS_CPU_KERNEL_WRITER_H_
