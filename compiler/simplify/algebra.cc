// The engine that applies rewrite rows until none fires.
#include <array>
#include <deque>

#include "absl/strings/str_cat.h"
#include "compiler/make.h"
#include "compiler/simplify/simplify.h"
#include "hlo/base/choices.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

std::array<std::vector<const RewriteRow*>, kOpcodeCount> IndexRows() {
  std::array<std::vector<const RewriteRow*>, kOpcodeCount> by_opcode;
  for (const absl::Span<const RewriteRow> family :
       {ArithmeticRows(), LogicRows(), ConvertRows(), ShapeRows(), SliceRows(), ReduceRows(), DotRows()}) {
    for (const RewriteRow& row : family) by_opcode[static_cast<int>(row.opcode)].push_back(&row);
  }
  return by_opcode;
}

// Rules compute with integers: shapes whose sizes are known only at run time are left as they are.
bool IsStatic(const HloInstruction* instruction) {
  if (instruction->shape().is_dynamic()) return false;
  for (const HloInstruction* operand : instruction->operands()) {
    if (operand->shape().is_dynamic()) return false;
  }
  return true;
}

constexpr int64_t kMostRows = 256;  // of one opcode

// Attempts are numbered from `number` on, which is a multiple of kMostRows.
HloInstruction* Rewrite(HloInstruction* instruction, PassContext& context,
                        const std::array<std::vector<const RewriteRow*>, kOpcodeCount>& rows, Attempts& attempts,
                        int64_t number) {
  if (attempts.replays() && attempts.next() / kMostRows * kMostRows != number) return nullptr;
  const auto attempt = [&](HloInstruction* (*apply)(HloInstruction*, PassContext&)) -> HloInstruction* {
    if (!attempts.Wanted(number++)) return nullptr;
    const int64_t before = instruction->parent()->instruction_count();
    HloInstruction* replacement = apply(instruction, context);
    attempts.Attempted(replacement != nullptr, instruction->parent()->instruction_count() != before);
    return replacement;
  };
  for (const RewriteRow* row : rows[static_cast<int>(instruction->opcode())]) {
    if (HloInstruction* replacement = attempt(row->apply)) {
      context.Count(absl::StrCat("simplify.", row->name));
      return replacement;
    }
  }
  if (instruction->IsElementwise()) {
    if (HloInstruction* replacement = attempt(SinkBroadcasts)) {
      context.Count("simplify.sink_broadcasts");
      return replacement;
    }
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<bool> SimplifyAlgebra(HloModule* module, PassContext& context) {
  static const auto* const kRows = new std::array<std::vector<const RewriteRow*>, kOpcodeCount>(IndexRows());
  bool changed = false;
  Attempts attempts;
  int64_t number = 0;
  for (HloComputation* computation : module->ComputationPostOrder()) {
    if (computation->IsFusion()) continue;
    XC_RETURN_IF_ERROR(context.CheckDeadline());
    // Ids are unique and stay so while instructions come and go; pointers may be reused.
    absl::flat_hash_map<int64_t, HloInstruction*> alive;
    std::deque<int64_t> work;
    absl::flat_hash_set<int64_t> queued;
    const auto enqueue = [&](HloInstruction* instruction) {
      alive[instruction->id()] = instruction;
      if (queued.insert(instruction->id()).second) work.push_back(instruction->id());
    };
    alive.reserve(computation->instruction_count());
    queued.reserve(computation->instruction_count());
    for (HloInstruction* instruction : computation->PostOrder()) enqueue(instruction);
    // Rules make progress by construction; the bound keeps a pair of rules that undo each other from running for ever.
    int64_t budget = 40 * computation->instruction_count() + 1000;
    bool here = false;
    while (!work.empty() && budget-- > 0) {
      if (budget % 1024 == 0) XC_RETURN_IF_ERROR(context.CheckDeadline());
      const int64_t id = work.front();
      work.pop_front();
      queued.erase(id);
      HloInstruction* instruction = alive.at(id);
      if ((instruction->IsDead() && !instruction->HasSideEffect()) || !IsStatic(instruction) ||
          !instruction->control_predecessors().empty() || !instruction->control_successors().empty()) {
        continue;
      }
      HloInstruction* replacement = Rewrite(instruction, context, *kRows, attempts, number);
      number += kMostRows;
      if (replacement == nullptr || replacement == instruction) continue;
      if (!SameShape(replacement->shape(), instruction->shape())) {
        return absl::InternalError(absl::StrCat("a rule replaced ", instruction->name(), " of shape ",
                                                instruction->shape().ToString(), " by ", replacement->name(), " of ",
                                                replacement->shape().ToString()));
      }
      if (const Metadata* metadata = instruction->FindAttr<AttrKind::kMetadata>();
          metadata != nullptr && replacement->opcode() != HloOpcode::kParameter && !replacement->IsConstant() &&
          !replacement->attributes().Has(AttrKind::kMetadata)) {
        replacement->set_attr<AttrKind::kMetadata>(*metadata);
      }
      const std::vector<HloInstruction*> users = instruction->users();
      instruction->ReplaceAllUsesWith(replacement);  // the dead go when the work is done
      here = true;
      // New instructions are reached through operands of the replacement that were never queued.
      std::vector<HloInstruction*> fresh = {replacement};
      while (!fresh.empty()) {
        HloInstruction* next = fresh.back();
        fresh.pop_back();
        const bool known = alive.contains(next->id());
        enqueue(next);
        if (known) continue;
        for (HloInstruction* operand : next->operands()) fresh.push_back(operand);
      }
      for (HloInstruction* user : users) enqueue(user);
    }
    if (here) computation->RemoveDead();
    changed |= here;
  }
  attempts.Done();
  return changed;
}

HloInstruction* SinkBroadcasts(HloInstruction* instruction, PassContext& context) {
  if (instruction->operand_count() == 0 || !instruction->shape().IsArray() || instruction->shape().rank() == 0) {
    return nullptr;
  }
  // op(broadcast(a), broadcast(b), broadcast(scalar)) -> broadcast(op(a, b, scalar)) if all that are not broadcast
  // scalars broadcast alike.
  const HloInstruction* pattern = nullptr;
  bool any_broadcast = false;
  for (const HloInstruction* operand : instruction->operands()) {
    if (operand->shape().rank() == 0 && instruction->shape().rank() != 0) return nullptr;  // scalar select, clamp
    if (operand->opcode() == HloOpcode::kBroadcast && operand->operand(0)->shape().rank() == 0) {
      any_broadcast = true;
      continue;
    }
    if (operand->opcode() != HloOpcode::kBroadcast) return nullptr;
    any_broadcast = true;
    if (pattern == nullptr) {
      pattern = operand;
    } else if (pattern->dimensions() != operand->dimensions() ||
               !SameDims(pattern->operand(0)->shape(), operand->operand(0)->shape())) {
      return nullptr;
    }
  }
  if (!any_broadcast) return nullptr;
  const Shape inner(instruction->type(), pattern == nullptr ? Int64List{} : pattern->operand(0)->shape().dims());
  if (inner.ElementCount() >= instruction->shape().ElementCount()) return nullptr;
  if (instruction->opcode() == HloOpcode::kBitcastConvert &&
      ElementBits(instruction->type()) != ElementBits(instruction->operand(0)->type())) {
    return nullptr;
  }
  std::vector<HloInstruction*> operands;
  for (HloInstruction* operand : instruction->operands()) {
    HloInstruction* source = operand->operand(0);
    operands.push_back(source->shape().rank() == 0 && inner.rank() != 0 ? make::Broadcast(source, inner.dims(), {})
                                                                        : source);
  }
  HloInstruction* small = instruction->parent()->Add(instruction->CloneWith(inner, operands));
  return make::Broadcast(small, instruction->shape().dims(), pattern == nullptr ? Int64List{} : pattern->dimensions());
}

}  // namespace xc
