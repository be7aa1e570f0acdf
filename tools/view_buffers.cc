// The lives of a module's values on the schedule of its entry.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compiler/memory/buffer_assignment.h"
#include "compiler/memory/schedule.h"
#include "hlo/base/status.h"
#include "tools/view.h"

namespace xc {
namespace {

using Positions = absl::flat_hash_map<const HloInstruction*, int64_t>;

// The position of the last instruction that reads the value, through tuples, their elements and bitcasts.
int64_t LastUse(const HloInstruction* value, const Positions& positions, int64_t end, int depth = 0) {
  if (value->IsRoot()) return end;
  int64_t last = positions.at(value);
  for (const HloInstruction* user : value->users()) {
    const auto it = positions.find(user);
    if (it == positions.end()) continue;
    last = std::max(last, it->second);
    const bool passes_on = user->opcode() == HloOpcode::kTuple || user->opcode() == HloOpcode::kGetTupleElement ||
                           user->opcode() == HloOpcode::kBitcast;
    if (passes_on && depth < 16) last = std::max(last, LastUse(user, positions, end, depth + 1));
  }
  return last;
}

}  // namespace

absl::StatusOr<MemoryUse> MemoryOf(const HloModule& module) {
  std::unique_ptr<HloModule> copy = module.Clone();
  XC_RETURN_IF_ERROR(FlattenCalls(copy.get()).status());
  XC_RETURN_IF_ERROR(ScheduleModule(copy.get()));
  XC_ASSIGN_OR_RETURN(const BufferAssignment buffers, AssignBuffers(copy.get()));
  const std::vector<HloInstruction*>& order = copy->schedule().at(copy->entry());
  Positions positions;
  for (size_t i = 0; i < order.size(); ++i) positions[order[i]] = static_cast<int64_t>(i);
  MemoryUse memory;
  memory.bytes = buffers.arena_bytes();
  memory.steps = static_cast<int64_t>(order.size());
  for (const HloInstruction* instruction : order) {
    // Values that are only handed on live in the buffers of those that made them.
    if (!buffers.Has(instruction) || instruction->opcode() == HloOpcode::kTuple ||
        instruction->opcode() == HloOpcode::kGetTupleElement || instruction->opcode() == HloOpcode::kBitcast) {
      continue;
    }
    const int64_t leaves = instruction->shape().LeafCount();
    for (int64_t leaf = 0; leaf < leaves; ++leaf) {
      const BufferSlice& slice = buffers.Slice(instruction, leaf);
      if (slice.kind != BufferSlice::Kind::kArena || slice.size == 0) continue;
      memory.values.push_back({leaves == 1 ? instruction->name() : absl::StrCat(instruction->name(), " leaf ", leaf),
                               slice.offset, slice.size, positions.at(instruction),
                               LastUse(instruction, positions, static_cast<int64_t>(order.size()) - 1)});
    }
  }
  return memory;
}

}  // namespace xc
