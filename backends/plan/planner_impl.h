// What the planner's files share: the plan under construction, and one function for each family of ops.
#ifndef XC_BACKENDS_PLAN_PLANNER_IMPL_H_
#define XC_BACKENDS_PLAN_PLANNER_IMPL_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "backends/plan/plan.h"
#include "compiler/decision.h"
#include "compiler/pass.h"

namespace xc::plan {

class Planner {
 public:
  Planner(const HloModule& module, const BufferAssignment& buffers, const TargetInfo& target, absl::Time deadline);

  absl::StatusOr<Plan> Run();

  // For the families of ops. Those that return a decision have added the steps, or added none and say why not.

  // A slice of the instruction's leaf.
  const BufferSlice& Slice(const HloInstruction* instruction, int64_t leaf = 0) const {
    return buffers_.Slice(instruction, leaf);
  }
  std::vector<BufferSlice> Slices(const HloInstruction* instruction) const;
  const TargetInfo& target() const { return target_; }
  template <typename Action>
  void Add(const HloInstruction* instruction, Action action) {
    steps_->push_back({instruction, std::move(action)});
  }
  // Adds a copy unless the slices are the same.
  void AddCopy(const HloInstruction* instruction, const BufferSlice& to, const BufferSlice& from);
  void AddCall(const HloInstruction* instruction, std::string function, std::vector<CallArgument> arguments);
  // The slice of a constant inside of a fused computation.
  BufferSlice ConstantSlice(const std::shared_ptr<const Literal>& literal);
  // The slice of a constant's elements in the order that convolutions read weights in.
  BufferSlice PackedWeights(const std::shared_ptr<const Literal>& literal, const ConvDesc& desc);
  // The slice of a constant matrix, the right operand of `desc`, in blocks of `columns` columns that lie one after the
  // other: [blocks, k, columns].
  BufferSlice ColumnBlocks(const std::shared_ptr<const Literal>& literal, const MatmulDesc& desc, int64_t columns);
  // The number of the code of a kernel; equal keys have equal code, "" has code of its own.
  int64_t CodeOf(const std::string& key);
  Plan& plan() { return plan_; }

 private:
  absl::StatusOr<int> PlanComputation(const HloComputation& computation);
  absl::Status PlanInstruction(const HloInstruction* instruction);
  absl::Status PlanControl(const HloInstruction* instruction);
  // Ops that are planned by themselves; "no" leaves them to PlanKernel.
  absl::StatusOr<Decision> PlanOp(const HloInstruction* instruction);

  const HloModule& module_;
  const BufferAssignment& buffers_;
  const TargetInfo& target_;
  const absl::Time deadline_;
  Plan plan_;
  std::vector<Step>* steps_ = nullptr;  // of the computation being planned
  absl::flat_hash_map<const Literal*, int64_t> constant_index_;
  absl::flat_hash_map<std::string, int64_t> codes_;
};

// kernels.cc: an expression, in the form that suits it.
void PlanKernel(Planner& planner, const HloInstruction* instruction);
// An update of a window of an array, after a copy of the array where that is not in place. `update` is the instruction
// or the root of the fusion that it is.
void PlanUpdate(Planner& planner, const HloInstruction* instruction, const HloInstruction* update);
// Whether a fusion whose root is a dynamic-update-slice writes no more than the window.
bool UpdatesWindow(const Planner& planner, const HloInstruction* fusion);
Decision PlanScatter(Planner& planner, const HloInstruction* scatter);
Decision PlanSelectAndScatter(Planner& planner, const HloInstruction* instruction);

// dots.cc
Decision PlanDot(Planner& planner, const HloInstruction* dot);
Decision PlanConvolution(Planner& planner, const HloInstruction* convolution);

// epilogues.cc: gives convolutions, and products, the elementwise kernels that follow them.
void AttachEpilogues(const Planner& planner, std::vector<Step>* steps);

// sort.cc
Decision PlanSort(Planner& planner, const HloInstruction* sort);
Decision PlanTopK(Planner& planner, const HloInstruction* topk);
// Whether the runtime's top-k knows the order of the type.
bool HasOrder(ElementType type);

// library_ops.cc: random numbers, Fourier transforms, factorizations, ragged arrays, transfers.
absl::StatusOr<Decision> PlanLibraryOp(Planner& planner, const HloInstruction* instruction);

// custom_calls.cc
absl::StatusOr<Decision> PlanCustomCall(Planner& planner, const HloInstruction* call);

}  // namespace xc::plan

#endif  // XC_BACKENDS_PLAN_PLANNER_IMPL_H_
