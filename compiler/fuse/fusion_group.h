// A fusion in the making: a root, the instructions computed with it, and how often each is evaluated.
#ifndef XC_COMPILER_FUSE_FUSION_GROUP_H_
#define XC_COMPILER_FUSE_FUSION_GROUP_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "compiler/fuse/fuse.h"

namespace xc {

// Whether the order of an instruction beside others is given by more than its operands.
inline bool HasControl(const HloInstruction* i) {
  return !i->control_predecessors().empty() || !i->control_successors().empty();
}

// Where in the generated code an instruction's element is computed. Instructions read at the same position share code;
// an op that moves elements (slice, transpose, …) makes a new position for its operand.
struct Evaluation {
  uint64_t position = 0;
  int64_t times = 0;     // elements computed in all, over the whole loop
  bool strided = false;  // neighbouring lanes are not neighbours in memory
  bool inner = false;    // inside the loop of a reduction
};

class FusionGroup {
 public:
  FusionGroup(HloInstruction* root, int id, const TargetInfo& target);

  HloInstruction* root() const { return root_; }
  int id() const { return id_; }
  const std::vector<HloInstruction*>& members() const { return members_; }
  // Members that take code: constants and their broadcasts do not.
  int64_t instruction_count() const { return instruction_count_; }
  bool Contains(const HloInstruction* i) const { return evaluations_.contains(i); }
  bool has_reduce() const { return reduce_ != nullptr; }
  const HloInstruction* reduce() const { return reduce_; }
  int64_t input_count() const { return static_cast<int64_t>(inputs_.size()); }
  const absl::flat_hash_set<const HloInstruction*>& inputs() const { return inputs_; }

  // Where `producer` would be evaluated by its users in the group.
  std::vector<Evaluation> EvaluationsOf(const HloInstruction* producer) const;
  Decision CanAdd(const HloInstruction* producer, const std::vector<Evaluation>& evaluations) const;
  void Add(HloInstruction* producer, std::vector<Evaluation> evaluations);

 private:
  void CountInputs(const HloInstruction* member);

  HloInstruction* root_;
  int id_;
  const TargetInfo& target_;
  std::vector<HloInstruction*> members_;  // users before operands
  absl::flat_hash_map<const HloInstruction*, std::vector<Evaluation>> evaluations_;
  absl::flat_hash_set<const HloInstruction*> inputs_;  // operands outside, scalar constants apart
  const HloInstruction* reduce_ = nullptr;
  int64_t instruction_count_ = 1;
  int64_t code_size_ = 1;  // of the generated code, estimated, in instructions
};

// Whether the instruction is a constant of the code wherever it is fused: a scalar, or one repeated.
bool IsCodeConstant(const HloInstruction* instruction);

// Operations per element in units of an addition, for one evaluation of the op itself.
int64_t ElementCost(const HloInstruction* instruction, const TargetInfo& target);

}  // namespace xc

#endif  // XC_COMPILER_FUSE_FUSION_GROUP_H_
