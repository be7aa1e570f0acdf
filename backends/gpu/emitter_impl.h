// What the emitters of the forms share.
#ifndef XC_BACKENDS_GPU_EMITTER_IMPL_H_
#define XC_BACKENDS_GPU_EMITTER_IMPL_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "backends/gpu/emitter.h"
#include "backends/gpu/kernel_function.h"
#include "backends/gpu/ptx.h"
#include "backends/gpu/start_groups.h"
#include "backends/gpu/step_accesses.h"

namespace xc::gpu {

class Emitter {
 public:
  Emitter(const plan::Plan& plan, const Target& target, const EmitOptions& options)
      : plan_(plan), target_(target), options_(options), accesses_(AccessesOf(plan)) {}

  absl::StatusOr<EmittedPlan> Run();

 private:
  // Each writes the code of a step and adds its launches. Unimplemented, with the reason: the host evaluates the step.
  absl::Status EmitKernel(const plan::Step& step, const HloInstruction& instruction, const plan::Kernel& kernel);
  absl::Status EmitStep(const plan::Step& step);
  absl::Status EmitGroups();
  // Groups no longer contain the step's kernels, those of its callees as well.
  void StartAlone(const plan::Step& step);
  // The code of the group's steps as one function. Unimplemented: one of them has none, or none beside others.
  absl::Status EmitGroup(const plan::Computation& computation, const StartGroup& group);
  absl::Status EmitSequence(const plan::Computation& computation, const StartGroup& group);
  absl::Status EmitLibraryCall(const plan::Step& step, const plan::LibraryCall& call);
  absl::Status EmitSortCall(const plan::Step& step, const plan::LibraryCall& call);
  absl::Status EmitFftCall(const plan::Step& step, const plan::LibraryCall& call);
  absl::Status EmitRandomCall(const plan::Step& step, const plan::LibraryCall& call);
  absl::Status EmitProduct(const plan::Step& step, const plan::LibraryCall& call);
  // Whether somebody else makes the product of the call.
  bool IsTaken(const plan::Step& step, const plan::LibraryCall& call) const;
  // Adds one start of the function that all with this key share, written by `write` when it is first needed.
  absl::Status AddLaunch(const plan::Step& step, const std::string& key, const std::vector<Parameter>& parameters,
                         std::vector<BufferSlice> arguments, int64_t scratch_bytes, int index_bits,
                         const std::function<absl::Status(KernelFunction&)>& write);
  // The same for a library call. The last `written` arguments are outputs, the others inputs.
  absl::Status AddCall(const plan::Step& step, const std::string& key, std::vector<BufferSlice> arguments, int written,
                       int64_t scratch_bytes, const std::function<absl::Status(KernelFunction&)>& write);

  // Writes one function by `write` and ends it. Unimplemented: nothing is left of it.
  absl::StatusOr<int> Write(const std::vector<Parameter>& parameters, int index_bits,
                            const std::function<absl::Status(KernelFunction&)>& write);
  absl::Status CloseModule();

  const plan::Plan& plan_;
  const Target target_;
  const EmitOptions options_;
  const std::vector<Accesses> accesses_;  // of the plan's computations
  EmittedPlan emitted_;
  // Kernel::code, and whether the memory is aligned, to functions; or to why there are none.
  absl::flat_hash_map<std::pair<int64_t, bool>, int> codes_;
  absl::flat_hash_map<int64_t, std::string> refused_;
  absl::flat_hash_set<int64_t> alone_;           // Kernel::code of those that do not stand beside others
  absl::flat_hash_map<std::string, int> calls_;  // of library calls, by function and descriptor; of groups, by parts
  std::unique_ptr<PtxModule> module_;            // open
  int functions_ = 0;                            // in it
};

// A kernel of a plan as the forms see it: its function, what its expression reads, where its results go.
class PlannedKernel {
 public:
  // `first`: the function's argument that is the kernel's first.
  PlannedKernel(KernelFunction& function, const HloInstruction* instruction, const plan::Kernel& kernel, int first = 0)
      : f(function), instruction(instruction), kernel(kernel), first(first) {}
  // Tells `fused` where the expression's inputs are.
  void Bind(codegen::FusedEmitter& fused) const {
    for (const auto& [leaf, i] : kernel.inputs) {
      if (i == known_argument) {
        fused.BindValue(leaf, known);
      } else {
        fused.BindMemory(leaf, f.argument(first + i));
      }
    }
    for (const auto& [parameter, constant] : kernel.scalars) fused.BindAlias(parameter, constant);
  }
  llvm::Value* output(int leaf) const { return f.argument(first + kernel.outputs[leaf]); }
  bool fusion() const { return instruction->opcode() == HloOpcode::kFusion; }
  const HloInstruction* root() const { return fusion() ? instruction->fused_root() : instruction; }

  KernelFunction& f;
  const HloInstruction* instruction;
  const plan::Kernel& kernel;
  const int first;
  // The value of the inputs that are this argument, at the position that is written; -1: all are in memory.
  int known_argument = -1;
  codegen::Element known;
};

// What becomes of an element of a product or a convolution.
struct ProductResult {
  bool store = true;
  // Whether there is more to do with a value: the element of this number.
  std::function<absl::Status(codegen::Element, llvm::Value*)> then;
};

// Whether an array or a number of the instruction, of those that it reads or of those fused into it, needs 64-bit
// places.
bool AnyWide(const HloInstruction& instruction);

// Whether vectors may be read and written: all memory is aligned.
inline bool IsAligned(const plan::Kernel& kernel) {
  for (const plan::Argument& argument : kernel.arguments) {
    if (argument.slice.offset % kVectorBytes != 0) return false;
  }
  return true;
}

// The forms (loops.cc, stitched.cc, column_reduce.cc): the regions of a kernel, which must outlive them.
using Regions = std::vector<KernelFunction::Region>;
Regions LoopRegions(const PlannedKernel& kernel);
Regions ColumnRegions(const PlannedKernel& kernel);
Regions ConcatenateRegions(const PlannedKernel& kernel);
Regions InterleaveRegions(const PlannedKernel& kernel);
Regions UpdateRegions(const PlannedKernel& kernel);
Regions StitchedRegions(const PlannedKernel& kernel);
Regions ScatterRegions(const PlannedKernel& kernel);
Regions SelectAndScatterRegions(const PlannedKernel& kernel);
// Those of a kernel of any form; none: it has a function to itself, EmitTransposes.
Regions RegionsOf(const PlannedKernel& kernel);
// What such a kernel's regions are in all, of which `instruction` stands for it.
KernelShape LoopShape(const plan::Kernel& kernel, const HloInstruction& instruction);
KernelShape ColumnShape(const plan::Kernel& kernel, const HloInstruction& instruction);
KernelShape StitchedShape(const plan::Kernel& kernel, const HloInstruction& instruction);
// Writes what one thread does that computes element `number` of the first nest.
absl::Status EmitElement(const PlannedKernel& kernel, llvm::Value* number);
// Writes the function's whole body.
absl::Status EmitTransposes(const PlannedKernel& kernel);

// Copies and fills as regions (copies.cc). Arguments from number `first` on: where each copy goes, where it comes from;
// what is filled.
KernelFunction::Region CopyAtOnce(KernelFunction& f, int first, const std::vector<plan::Copy>& copies);
KernelFunction::Region CopyRegion(KernelFunction& f, int first, const plan::Copy& copy);
KernelFunction::Region FillRegion(KernelFunction& f, int first, const plan::Clear& clear);

// Library calls (dots.cc, …). Parameters are the call's arrays, in order. `aligned`: vectors of the operands may be
// read.
absl::Status EmitMatmul(KernelFunction& f, const MatmulDesc& desc, const ProductResult& result, bool aligned);
absl::Status EmitConvolution(KernelFunction& f, const ConvDesc& desc, const ProductResult& result);
absl::Status EmitTriangularSolve(KernelFunction& f, const TriangularSolveDesc& desc);
absl::Status EmitCholesky(KernelFunction& f, const CholeskyDesc& desc);
// One pass of a Fourier transform (fft.cc).
struct FftPass {
  int dimension = 0;            // of the transform
  int64_t radix = 1, done = 1;  // points of `done` are transformed before, radix times as many afterwards
  int number = 0;
  bool first = false, last = false;  // reads the operand, writes the result; others scratch memory
};
// The passes of a transform. `in_place`: the result may lie where the operand does, so that no pass does both.
// Unimplemented: a length has a prime factor that is too large.
absl::StatusOr<std::vector<FftPass>> FftPasses(const FftDesc& desc, bool in_place);
int64_t FftScratchBytes(const FftDesc& desc, const std::vector<FftPass>& passes);
// Parameters: the operand, of the first; the result, of the last; scratch memory of FftScratchBytes, if that is any.
absl::Status EmitFftPass(KernelFunction& f, const FftDesc& desc, const FftPass& pass);
// Parameters: the operands, the results, scratch memory of SortScratchBytes.
absl::Status EmitSort(KernelFunction& f, const HloInstruction& sort, const SortDesc& desc);
int64_t SortScratchBytes(const SortDesc& desc);
// Parameters: the operand, the values, their numbers, scratch memory of 4 bytes for each element.
absl::Status EmitTopK(KernelFunction& f, const TopKDesc& desc);
// Parameters: the state, the array; and: the state, the next state, which may be the same.
absl::Status EmitRandomBits(KernelFunction& f, const RngDesc& desc);
absl::Status EmitNextRandomState(KernelFunction& f, const RngDesc& desc);

// Writes the functions of the C library (device_math.cc) and of the C++ library (device_complex.cc, which calls such of
// C) that emitted code in `module` calls and that are known here.
void DefineDeviceMath(llvm::Module& module);
void DefineDeviceComplexMath(llvm::Module& module);

}  // namespace xc::gpu

#endif  // XC_BACKENDS_GPU_EMITTER_IMPL_H_
