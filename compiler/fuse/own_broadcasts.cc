// Arrays that are updated in place. Of equal elements: each update gets its own, so that none is kept for a later one
// and copied. Those that a scatter has twice: the second is a copy.
#include "absl/container/flat_hash_set.h"
#include "compiler/fuse/fuse.h"
#include "compiler/memory/in_place.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// How many operands, from the first on, the instruction would write its results over.
int64_t UpdatedOperands(const HloInstruction* i) {
  if (i->opcode() == HloOpcode::kDynamicUpdateSlice) return 1;
  if (i->opcode() == HloOpcode::kScatter) return (i->operand_count() - 1) / 2;
  return 0;
}

}  // namespace

absl::StatusOr<bool> GiveUpdatesOwnBroadcasts(HloModule* module, PassContext& context) {
  bool changed = false;
  for (HloComputation* computation : EmittedComputations(module)) {
    XC_RETURN_IF_ERROR(context.CheckDeadline());
    for (HloInstruction* i : computation->PostOrder()) {
      for (int64_t o = 0; o < UpdatedOperands(i); ++o) {
        HloInstruction* broadcast = i->operand(o);
        if (broadcast->opcode() != HloOpcode::kBroadcast || !broadcast->operand(0)->shape().IsScalar()) continue;
        if (broadcast->user_count() < 2 || broadcast == computation->root()) continue;
        i->ReplaceOperand(o, computation->Add(broadcast->CloneWith(broadcast->shape(), {broadcast->operand(0)})));
        context.Count("fuse.broadcasts_of_updates");
        changed = true;
      }
    }
  }
  return changed;
}

absl::StatusOr<bool> GiveScattersOwnOperands(HloModule* module, PassContext& context) {
  bool changed = false;
  for (HloComputation* computation : EmittedComputations(module)) {
    for (HloInstruction* scatter : computation->PostOrder()) {
      if (scatter->opcode() != HloOpcode::kScatter) continue;
      absl::flat_hash_set<const HloInstruction*> seen;
      for (int64_t o = 0; o < scatter->operand_count(); ++o) {
        HloInstruction* operand = scatter->operand(o);
        if (seen.insert(operand).second || operand->shape().is_dynamic()) continue;
        scatter->ReplaceOperand(o, computation->Add(HloOpcode::kCopy, WithoutLayout(operand->shape()), {operand}));
        context.Count("fuse.operands_of_scatters");
        changed = true;
      }
    }
  }
  return changed;
}

}  // namespace xc
