// Turns a plan into LLVM modules: one function per computation (in bounded parts), loops and branches as native control
// flow, and a function for each kernel.
#ifndef XC_BACKENDS_CPU_IR_EMITTER_H_
#define XC_BACKENDS_CPU_IR_EMITTER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "backends/backend.h"
#include "backends/codegen/element.h"
#include "backends/cpu/jit.h"
#include "backends/plan/plan.h"
#include "compiler/memory/buffer_assignment.h"

namespace llvm {
class BasicBlock;
class Function;
class IRBuilderBase;
class Type;
class Value;
}  // namespace llvm

namespace xc::cpu {

// What an emission leaves behind.
struct EmittedProgram {
  std::vector<CodeModule> modules;
  std::string entry;  // name of `int32 entry(const Frame*)`
  std::vector<ProfileSite> profile_sites;
};

class IrEmitter {
 public:
  // Gives up after `deadline`. `profile`: the code tells where its time goes.
  IrEmitter(const plan::Plan& plan, const Target& target, absl::Time deadline, bool profile = false);
  ~IrEmitter();

  absl::StatusOr<EmittedProgram> Emit();

  // For the files of the op families.

  // The function being written: its module, builder, and the run's memory.
  struct FunctionScope;
  llvm::IRBuilderBase& b();
  llvm::Value* frame();
  llvm::Value* run_context();
  // The run's table of sizes, for code that serves several (code_form.h).
  llvm::Value* Sizes();
  // Where the leaf's bytes are; null pointer for leaves without bytes.
  llvm::Value* Pointer(const BufferSlice& slice);
  // A constant global that holds a copy of plain data.
  llvm::Value* DataPointer(const void* data, int64_t bytes);
  // Calls a runtime function that returns 0 or 1, and leaves the function with 1 when it fails.
  void CallChecked(const std::string& name, const std::vector<llvm::Value*>& arguments);
  void CallRuntime(const std::string& name, const std::vector<llvm::Value*>& arguments);
  // Calls a runtime function that returns a 32-bit number.
  llvm::Value* CallValue(const std::string& name, const std::vector<llvm::Value*>& arguments);
  // An array of pointers on the stack.
  llvm::Value* PointerArray(const std::vector<llvm::Value*>& pointers);
  llvm::Value* PointerArray(const std::vector<BufferSlice>& slices);
  void Copy(llvm::Value* to, llvm::Value* from, int64_t bytes);

  struct Impl;

 private:
  // Steps of a plan.
  absl::Status EmitStep(const plan::Step& step);
  absl::Status EmitAction(const plan::Step& step);
  absl::Status EmitKernel(const HloInstruction* instruction, const plan::Kernel& kernel);
  // One function for each form of a kernel, or a few.
  absl::Status EmitLoops(const HloInstruction* instruction, const plan::Kernel& kernel);
  absl::Status EmitConcatenate(const HloInstruction* instruction, const plan::Kernel& kernel);
  absl::Status EmitInterleave(const HloInstruction* instruction, const plan::Kernel& kernel);
  absl::Status EmitStitched(const HloInstruction* fusion, const plan::Kernel& kernel);
  absl::Status EmitUpdate(const HloInstruction* instruction, const plan::Kernel& kernel);
  absl::Status EmitColumnReduce(const HloInstruction* instruction, const plan::Kernel& kernel);
  absl::Status EmitScatter(const HloInstruction* scatter, const plan::Kernel& kernel);
  absl::Status EmitSelectAndScatter(const HloInstruction* instruction, const plan::Kernel& kernel);
  absl::Status EmitLibraryCall(const plan::LibraryCall& call);
  absl::StatusOr<llvm::Value*> EmitArgument(const plan::CallArgument& argument);
  absl::StatusOr<llvm::Value*> EmitComparator(const HloComputation& comparator);
  // A call of one of the executable's own functions (callbacks.h).
  void EmitCallBack(const char* function, int64_t number, const std::vector<BufferSlice>& inputs,
                    const std::vector<BufferSlice>& outputs);
  absl::Status EmitLoop(const plan::Loop& loop);
  absl::Status EmitBranch(const plan::Branch& branch);

  absl::Status CheckDeadline() const;
  absl::StatusOr<std::string> EmitComputation(const plan::Computation& computation);
  absl::Status EmitInline(const plan::Computation& computation);
  absl::Status EmitInlineOrCall(int computation);

  const plan::Plan& plan_;
  const Target target_;
  const absl::Time deadline_;
  codegen::CodegenTarget codegen_target_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace xc::cpu

#endif  // XC_BACKENDS_CPU_IR_EMITTER_H_
