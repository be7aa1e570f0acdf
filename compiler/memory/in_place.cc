// The rules of which bytes are passed on and which may be overwritten.
#include "compiler/memory/in_place.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "hlo/base/choices.h"
#include "hlo/ops/known_calls.h"

namespace xc {

bool IsForwarding(const HloInstruction* instruction) {
  switch (instruction->opcode()) {
    case HloOpcode::kParameter:
    case HloOpcode::kConstant:
      return false;
    case HloOpcode::kBitcastConvert:
      // Bytes become pred by comparison with zero.
      if (instruction->type() == ElementType::kPred && instruction->operand(0)->type() != ElementType::kPred)
        return false;
      return !IsSubByte(instruction->type()) && !IsSubByte(instruction->operand(0)->type());
    default:
      return OpcodeAccess(instruction->opcode()) == OpAccess::kStructure;
  }
}

std::vector<HloComputation*> InlineCallees(const HloInstruction* instruction) {
  switch (instruction->opcode()) {
    case HloOpcode::kWhile:
    case HloOpcode::kConditional:
    case HloOpcode::kCall:
      return instruction->called_computations();
    default:
      return {};
  }
}

std::vector<HloComputation*> EmittedComputations(const HloModule* module) {
  std::vector<HloComputation*> order = module->ComputationPostOrder();
  std::reverse(order.begin(), order.end());  // callers before callees
  absl::flat_hash_set<const HloComputation*> emitted = {module->entry()};
  std::erase_if(order, [&](const HloComputation* computation) {
    if (!emitted.contains(computation)) return true;
    for (const auto& instruction : computation->instructions()) {
      for (const HloComputation* callee : InlineCallees(instruction.get())) emitted.insert(callee);
    }
    return false;
  });
  return order;
}

namespace {

bool SameBytesPerElement(const Shape& a, const Shape& b) {
  return a.IsArray() && b.IsArray() && StorageBytes(a.type()) == StorageBytes(b.type()) &&
         ChooseSafe(a.ElementCount() == b.ElementCount());
}

// Whether `instruction` computes the element at a row-major position from the operands' elements at that position.
bool KeepsPosition(const HloInstruction* instruction, const HloInstruction* operand) {
  switch (instruction->opcode()) {
    case HloOpcode::kReshape:
    case HloOpcode::kBitcast:
      return true;
    case HloOpcode::kBitcastConvert:
      return instruction->shape().ElementCount() == operand->shape().ElementCount();
    case HloOpcode::kCopy:
      return SameDims(instruction->shape(), operand->shape());
    default:
      return instruction->IsElementwise() && instruction->shape().IsArray() &&
             SameDims(instruction->shape(), operand->shape());
  }
}

// Whether every use of `from` leads, through instructions that keep the position, only to operand `at` of `end` or
// (with end == nullptr) to the root.
bool OnlyReachesInPosition(const HloInstruction* from, const HloInstruction* end, int64_t at) {
  std::vector<const HloInstruction*> work = {from};
  absl::flat_hash_set<const HloInstruction*> seen = {from};
  while (!work.empty()) {
    const HloInstruction* instruction = work.back();
    work.pop_back();
    for (const HloInstruction* user : instruction->users()) {
      if (user == end) {
        for (int64_t i = 0; i < user->operand_count(); ++i) {
          if (at >= 0 && user->operand(i) == instruction && i != at) return false;
        }
        continue;
      }
      if (!KeepsPosition(user, instruction)) return false;
      if (seen.insert(user).second) work.push_back(user);
    }
  }
  return true;
}

// Whether the reduction goes along the trailing dimensions, so that each result comes from one run of its operand.
bool ReducesRows(const HloInstruction* reduce) {
  if (reduce->operand_count() != 2) return false;
  const Shape& from = reduce->operand(0)->shape();
  const Int64List& reduced = reduce->dimensions();
  bool within = false;
  for (int64_t d = 0; d < from.rank(); ++d) {
    if (from.dim(d) == 1) continue;
    const bool is_reduced = std::find(reduced.begin(), reduced.end(), d) != reduced.end();
    if (within && !is_reduced) return false;
    within |= is_reduced;
  }
  return true;
}

// Whether the stage of a stitched fusion uses its operand, which is `whole` in shape, only by reducing its rows, each
// for the stage's result of that row.
bool StageReadsRows(const HloInstruction* stage, int64_t operand, const Shape& whole) {
  if (!SameDims(stage->operand(operand)->shape(), whole)) return false;
  if (stage->opcode() == HloOpcode::kReduce) return operand == 0 && ReducesRows(stage);
  if (stage->opcode() != HloOpcode::kFusion) return false;
  std::vector<const HloInstruction*> work = {stage->fused_computation()->parameter(operand)};
  absl::flat_hash_set<const HloInstruction*> seen = {work[0]};
  while (!work.empty()) {
    const HloInstruction* instruction = work.back();
    work.pop_back();
    if (instruction == stage->fused_root()) return false;
    for (const HloInstruction* user : instruction->users()) {
      if (!seen.insert(user).second) continue;
      if (user->opcode() == HloOpcode::kReduce) {
        if (user->operand(0) != instruction || user->operand(1) == instruction || !ReducesRows(user) ||
            !SameDims(instruction->shape(), whole) || !OnlyReachesInPosition(user, nullptr, 0)) {
          return false;
        }
        continue;
      }
      if (!KeepsPosition(user, instruction)) return false;
      work.push_back(user);
    }
  }
  return true;
}

// Whether a stitched fusion, which is done with what a row has in common before it writes the row, reads the value, a
// parameter or a member that goes along the rows, only in the row it writes, and last at the place it writes.
bool StitchedReadsInPlace(const HloInstruction* value, const HloInstruction* root) {
  if (!SameDims(value->shape(), root->shape())) return false;
  for (const HloInstruction* user : value->users()) {
    const bool along = user->opcode() == HloOpcode::kFusion && SameDims(user->shape(), root->shape());
    for (int64_t i = 0; i < user->operand_count(); ++i) {
      if (user->operand(i) != value) continue;
      if (along ? !OnlyReachesInPosition(user->fused_computation()->parameter(i), nullptr, 0)
                : !StageReadsRows(user, i, root->shape())) {
        return false;
      }
    }
    if (along && user != root && !StitchedReadsInPlace(user, root)) return false;
  }
  return true;
}

}  // namespace

bool ReadsUpdatedPlace(const HloInstruction* slice, const HloInstruction* update) {
  const bool fixed = slice->opcode() == HloOpcode::kSlice;
  if (!fixed && slice->opcode() != HloOpcode::kDynamicSlice) return false;
  if (slice->operand(0) != update->operand(0) || !SameDims(slice->shape(), update->operand(1)->shape())) return false;
  const int64_t starts = update->operand_count() - 2;
  if (!fixed && slice->operand_count() - 1 != starts) return false;
  for (int64_t d = 0; d < starts; ++d) {
    const HloInstruction* start = update->operand(d + 2);
    if (fixed) {
      // Inside of its operand, as the slice is: the update's start stays as it is.
      if (slice->slice().strides[d] != 1 || !start->IsConstant()) return false;
      if (start->literal().GetInt(0) != slice->slice().starts[d]) return false;
      continue;
    }
    const HloInstruction* other = slice->operand(d + 1);
    if (other == start) continue;
    if (!other->IsConstant() || !start->IsConstant() || other->type() != start->type() ||
        !other->literal().BitEqual(start->literal())) {
      return false;
    }
  }
  return true;
}

const HloInstruction* InPlaceUpdateParameter(const HloComputation* fused) {
  const HloInstruction* root = fused->root();
  if (root->opcode() != HloOpcode::kDynamicUpdateSlice) return nullptr;
  const HloInstruction* parameter = root->operand(0);
  if (parameter->opcode() != HloOpcode::kParameter) return nullptr;
  for (int64_t i = 1; i < root->operand_count(); ++i) {
    if (root->operand(i) == parameter) return nullptr;
  }
  for (const HloInstruction* user : parameter->users()) {
    if (user == root) continue;
    if (!ReadsUpdatedPlace(user, root) || !OnlyReachesInPosition(user, root, 1)) return nullptr;
  }
  return parameter;
}

bool MayOverwrite(const HloInstruction* instruction, int64_t operand, int64_t leaf) {
  const HloInstruction* source = instruction->operand(operand);
  switch (instruction->opcode()) {
    case HloOpcode::kDynamicUpdateSlice:
      return operand == 0;
    case HloOpcode::kScatter:
      return operand == leaf && operand < (instruction->operand_count() - 1) / 2;
    case HloOpcode::kSort:
      return operand == leaf;
    case HloOpcode::kFusion: {
      const HloComputation* fused = instruction->fused_computation();
      const HloInstruction* parameter = fused->parameter(operand);
      if (const HloInstruction* updated = InPlaceUpdateParameter(fused)) return updated == parameter;
      if (fused->root()->opcode() == HloOpcode::kFusion) {
        return SameBytesPerElement(source->shape(), instruction->shape()) &&
               StitchedReadsInPlace(parameter, fused->root());
      }
      if (fused->root()->opcode() == HloOpcode::kTuple) {
        // Several results over one index space: all values at an index are computed before any is written.
        const HloInstruction* tuple = fused->root();
        for (const HloInstruction* element : tuple->operands()) {
          if (!element->shape().IsArray() || !SameDims(element->shape(), tuple->operand(0)->shape())) return false;
        }
        return SameBytesPerElement(source->shape(), tuple->operand(leaf)->shape()) &&
               OnlyReachesInPosition(parameter, tuple, -1);
      }
      return SameBytesPerElement(source->shape(), instruction->shape()) && OnlyReachesInPosition(parameter, nullptr, 0);
    }
    case HloOpcode::kCustomCall: {
      if (!source->shape().IsArray()) return false;
      int64_t input = 0;
      for (int64_t i = 0; i < operand; ++i) input += instruction->operand(i)->shape().LeafCount();
      for (const CallAlias& alias : CallAliases(*instruction)) {
        if (alias.output == leaf && alias.input == input) return true;
      }
      return false;
    }
    case HloOpcode::kCopy:
      return SameBytesPerElement(source->shape(), instruction->shape());
    default:
      return instruction->IsElementwise() && KeepsPosition(instruction, source) &&
             SameBytesPerElement(source->shape(), instruction->shape());
  }
}

}  // namespace xc
