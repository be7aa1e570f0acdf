// Turns a scheduled module with assigned buffers into LLVM modules: one function per emitted computation (in bounded
// parts), loops and conditionals as native control flow, and a kernel function for each fusion or large op.
#ifndef XC_BACKENDS_CPU_IR_EMITTER_H_
#define XC_BACKENDS_CPU_IR_EMITTER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "backends/codegen/element.h"
#include "backends/cpu/jit.h"
#include "backends/runtime/custom_call.h"
#include "compiler/memory/buffer_assignment.h"
#include "hlo/module.h"

namespace llvm {
class BasicBlock;
class Function;
class IRBuilderBase;
class Type;
class Value;
}  // namespace llvm

namespace xc::cpu {

class KernelWriter;

// What an emission leaves behind.
struct EmittedProgram {
  std::vector<CodeModule> modules;
  std::string entry;  // name of `int32 entry(const Frame*)`
  // Constants used by kernels beyond those of the buffer assignment: they follow them in Frame::constants.
  std::vector<std::shared_ptr<const Literal>> extra_constants;
  std::vector<const HloInstruction*> fallbacks;
  std::vector<PreparedCall> custom_calls;
  int64_t kernel_count = 0;
};

class IrEmitter {
 public:
  // Gives up after `deadline`.
  IrEmitter(const HloModule& module, const BufferAssignment& buffers, const Target& target, absl::Time deadline);
  ~IrEmitter();

  absl::StatusOr<EmittedProgram> Emit();

  // For the files of the op families.

  // The function being written: its module, builder, and the run's memory.
  struct FunctionScope;
  llvm::IRBuilderBase& b();
  llvm::Value* frame();
  llvm::Value* run_context();
  // Where the leaf's bytes are; null pointer for leaves without bytes.
  llvm::Value* Pointer(const BufferSlice& slice);
  llvm::Value* Pointer(const HloInstruction* instruction, int64_t leaf = 0) {
    return Pointer(buffers_.Slice(instruction, leaf));
  }
  // Pointer to `literal`, which becomes a constant of the program.
  llvm::Value* ConstantPointer(const std::shared_ptr<const Literal>& literal);
  // A constant global that holds a copy of plain data.
  llvm::Value* DataPointer(const void* data, int64_t bytes);
  // Calls a runtime function that returns 0 or 1, and leaves the function with 1 when it fails.
  void CallChecked(const std::string& name, const std::vector<llvm::Value*>& arguments);
  void CallRuntime(const std::string& name, const std::vector<llvm::Value*>& arguments);
  // Calls a runtime function that returns a 32-bit number.
  llvm::Value* CallValue(const std::string& name, const std::vector<llvm::Value*>& arguments);
  // An array of pointers on the stack.
  llvm::Value* PointerArray(const std::vector<llvm::Value*>& pointers);
  void Copy(llvm::Value* to, llvm::Value* from, int64_t bytes);
  const BufferAssignment& buffers() const { return buffers_; }

  absl::Status EmitInstruction(const HloInstruction* instruction);
  absl::Status EmitFallback(const HloInstruction* instruction);
  // False: no function of the name is registered, or it has no code for the types.
  absl::StatusOr<bool> EmitCustomCall(const HloInstruction* call);
  absl::Status EmitFused(const HloInstruction* instruction);
  // A concatenation or a fusion whose root is one, operand by operand.
  absl::Status EmitConcatenate(const HloInstruction* instruction);
  absl::Status EmitInterleave(const HloInstruction* instruction);
  // A fusion that StitchRows made.
  absl::Status EmitStitched(const HloInstruction* fusion);
  absl::Status EmitDynamicUpdateSlice(const HloInstruction* instruction, const HloInstruction* update_op);
  // False: not a product that the runtime takes.
  absl::StatusOr<bool> EmitDot(const HloInstruction* dot);
  absl::StatusOr<bool> EmitConvolution(const HloInstruction* convolution);
  // Reductions over all but the minor dimensions, row by row. False: not of this form.
  absl::StatusOr<bool> EmitColumnReduce(const HloInstruction* instruction);
  absl::Status EmitScatter(const HloInstruction* scatter);
  // False: other types or computations than it knows.
  absl::StatusOr<bool> EmitSelectAndScatter(const HloInstruction* i);
  // False: no runtime kernel for it.
  absl::StatusOr<bool> EmitLibraryOp(const HloInstruction* instruction);
  absl::StatusOr<bool> EmitSort(const HloInstruction* sort);
  absl::StatusOr<llvm::Value*> EmitComparator(const HloComputation& comparator);
  absl::Status EmitWhile(const HloInstruction* loop);
  absl::Status EmitConditional(const HloInstruction* conditional);
  absl::Status EmitCall(const HloInstruction* call);

  struct Impl;

 private:
  struct Leaves;
  // The arrays that `instruction`'s code reads and writes, as arguments of `kernel`.
  Leaves CollectLeaves(const HloInstruction* instruction, KernelWriter& kernel);
  // What decides the code of a fusion's kernel, apart from the argument pattern; "" for other ops.
  std::string KernelKey(const char* kind, const HloInstruction* instruction, const Leaves& leaves) const;
  // Whether a fusion whose root is a dynamic-update-slice writes no more than the window, after a copy of the array
  // where that is not in place.
  bool UpdatesWindow(const HloInstruction* fusion) const;
  std::vector<int> OutputArguments(const HloInstruction* instruction, KernelWriter& kernel);
  absl::Status CheckDeadline() const;
  absl::StatusOr<std::string> EmitComputation(const HloComputation* computation);
  absl::Status EmitInline(const HloComputation* computation);
  absl::Status EmitInlineOrCall(const HloComputation* computation);
  std::vector<HloInstruction*> Sequence(const HloComputation* computation) const;

  const HloModule& module_;
  const BufferAssignment& buffers_;
  const Target target_;
  const absl::Time deadline_;
  codegen::CodegenTarget codegen_target_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace xc::cpu

#endif  // XC_BACKENDS_CPU_IR_EMITTER_H_
