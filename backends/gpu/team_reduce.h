// Reductions that several threads share: a warp, a block, or the threads of a block that stand in one column.
#ifndef XC_BACKENDS_GPU_TEAM_REDUCE_H_
#define XC_BACKENDS_GPU_TEAM_REDUCE_H_

#include <vector>

#include "backends/codegen/fused_emitter.h"
#include "backends/gpu/kernel_function.h"

namespace xc::gpu {

constexpr int64_t kWarp = 32;

// Threads that share positions.
struct Team {
  enum class Kind {
    kThread,  // one alone
    kWarp,    // exchange values by shuffles
    kBlock,   // all of a block, by shuffles and shared memory
    kColumn,  // those of a block whose numbers are alike in their last five bits, by shared memory
  };
  Kind kind = Kind::kThread;
  int64_t size = 1;

  // KernelFunction::Region::block for it.
  int block() const { return kind == Kind::kBlock ? KernelFunction::kThreads : 0; }

  // For each of `positions` positions at which rows of `length` elements are reduced.
  static Team ForRows(int64_t length, int64_t positions);
};

// Each thread of the team reduces every size-th element; their values are then combined in an order that depends on the
// row's length and the team only. All threads of the team must come to it; of a block's team, in one step of the kernel
// only, with no other step's reduction in between.
class TeamReducer : public codegen::RowReducer {
 public:
  // `member`: the thread's number in its team, in the index type.
  TeamReducer(KernelFunction& f, Team team, llvm::Value* member) : f_(f), team_(team), member_(member) {}
  absl::StatusOr<codegen::Element> Reduce(codegen::FusedEmitter& fused, const HloInstruction* reduce,
                                          const std::vector<codegen::Term>& at) override;
  // No thread passes before all of the team have come to it.
  void Wait();

 private:
  using Apply = std::function<absl::StatusOr<codegen::Element>(codegen::Element, codegen::Element)>;
  absl::StatusOr<codegen::Element> Combine(codegen::Element value, const Apply& apply);
  // Combines with the threads whose numbers differ in the bits below `count`.
  absl::StatusOr<codegen::Element> Exchange(codegen::Element value, int count, const Apply& apply);
  // The value of the thread whose number differs in the bit `mask`.
  llvm::Value* Shuffle(llvm::Value* value, int mask);

  KernelFunction& f_;
  const Team team_;
  llvm::Value* member_;
};

// The elements of a row that is reduced in `value`, or in what it is computed from within its computation; 0: none is.
int64_t RowLength(const HloInstruction& value);

}  // namespace xc::gpu

#endif  // XC_BACKENDS_GPU_TEAM_REDUCE_H_
