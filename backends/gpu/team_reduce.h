// Reductions of rows by warps: 32 threads that share one position.
#ifndef XC_BACKENDS_GPU_WARP_REDUCE_H_
#define XC_BACKENDS_GPU_WARP_REDUCE_H_

#include <vector>

#include "backends/codegen/fused_emitter.h"
#include "backends/gpu/kernel_function.h"

namespace xc::gpu {

constexpr int64_t kWarp = 32;

// Each thread reduces every 32nd element; the warp's values are then combined pairwise. The order depends on the row's
// length only. All threads of the warp must come to it.
class WarpReducer : public codegen::RowReducer {
 public:
  // `lane`: the thread's number in its warp, in the index type.
  WarpReducer(KernelFunction& f, llvm::Value* lane) : f_(f), lane_(lane) {}
  absl::StatusOr<codegen::Element> Reduce(codegen::FusedEmitter& fused, const HloInstruction* reduce,
                                          const std::vector<codegen::Term>& at) override;

 private:
  // The value of the thread whose number differs in the bit `mask`.
  llvm::Value* Shuffle(llvm::Value* value, int mask);

  KernelFunction& f_;
  llvm::Value* lane_;
};

// Whether `value` or what it is computed from within its computation has a reduction of rows of at least 32 elements:
// whether a warp for each position is worth it.
bool HasLongRows(const HloInstruction& value);

}  // namespace xc::gpu

#endif  // XC_BACKENDS_GPU_WARP_REDUCE_H_
