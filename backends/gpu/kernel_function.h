// A kernel function under construction, for the emitters of the forms.
#ifndef XC_BACKENDS_GPU_KERNEL_FUNCTION_H_
#define XC_BACKENDS_GPU_KERNEL_FUNCTION_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "backends/codegen/fused_emitter.h"
#include "backends/gpu/emitter.h"
#include "backends/gpu/start_groups.h"
#include "backends/plan/plan.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace xc::gpu {

constexpr unsigned kGlobalMemory = 1;  // NVPTX's address space

// Memory that a kernel is given.
struct Parameter {
  bool written = false;
  bool shared = false;   // another parameter may be the same memory
  bool aligned = false;  // to kVectorBytes
};

class KernelFunction {
 public:
  using V = llvm::Value*;

  static constexpr int kThreads = kBlockThreads;

  KernelFunction(llvm::Module& module, const std::string& name, const std::vector<Parameter>& parameters,
                 const codegen::CodegenTarget& target);

  llvm::IRBuilder<>& b() { return builder_; }
  codegen::ElementEmitter& element() { return element_; }
  llvm::Function* function() { return function_; }
  V argument(int i) { return function_->getArg(i); }
  V Index(int64_t value) { return builder_.getIntN(element_.target().index_bits, value); }

  // A part of a function's work: `count` threads, of which each runs `body` with its number.
  struct Region {
    int64_t count = 0;
    std::function<absl::Status(V)> body;
    // Threads of a block, of which `count` is a multiple, where they run `body` together; 0: each for itself, or a
    // warp.
    int block = 0;
  };
  // Writes code for the regions, each in blocks of its own; they are of one block size, where they have any. To be
  // called once.
  absl::Status ForEach(const std::vector<Region>& regions);
  absl::Status ForEach(int64_t count, const std::function<absl::Status(V)>& body) {
    return ForEach({Region{count, body}});
  }
  // Writes code that `threads` threads run together for each of `count` blocks: `body(block)`. To be called once.
  absl::Status ForEachBlock(int64_t count, int threads, const std::function<absl::Status(V)>& body);
  // In a block: the thread's number, as an index; and a point that no thread passes before all have come to it. What
  // they wrote before is seen behind it.
  V Thread();
  void Barrier();
  // `count` elements that the threads of a block share, aligned to kVectorBytes.
  V SharedMemory(llvm::Type* element, int64_t count);
  // The same for the threads of a warp.
  void WarpBarrier();

  // Runs `body` where `condition` holds.
  absl::Status If(V condition, const std::function<absl::Status()>& body);

  // Ends the function.
  KernelCode Finish();

 private:
  KernelCode code_;
  llvm::IRBuilder<> builder_;
  llvm::Function* function_;
  codegen::ElementEmitter element_;
};

// The position of element number `linear` of an array with these dimensions, in row-major order.
codegen::Index PositionOf(const std::vector<int64_t>& dims, llvm::Value* linear);

}  // namespace xc::gpu

#endif  // XC_BACKENDS_GPU_KERNEL_FUNCTION_H_
