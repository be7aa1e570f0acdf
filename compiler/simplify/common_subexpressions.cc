// Common subexpression elimination, of loops and branches too: equal programs of equal operands have equal results.
#include <algorithm>
#include <optional>

#include "absl/hash/hash.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "compiler/simplify/simplify.h"
#include "hlo/base/choices.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// Attributes that say nothing about the value computed.
bool IsAnnotation(AttrKind kind) {
  switch (kind) {
    case AttrKind::kMetadata:
    case AttrKind::kSharding:
    case AttrKind::kFrontendAttributes:
    case AttrKind::kStatistics:
    case AttrKind::kOrigin:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool SameAttributes(const HloInstruction* a, const HloInstruction* b) {
  const auto &x = a->attributes().entries(), &y = b->attributes().entries();
  size_t i = 0, j = 0;
  while (true) {
    while (i < x.size() && IsAnnotation(x[i].first)) ++i;
    while (j < y.size() && IsAnnotation(y[j].first)) ++j;
    if (i == x.size() || j == y.size()) return i == x.size() && j == y.size();
    if (x[i].first != y[j].first) return false;
    if (x[i].second != y[j].second && !AttrEqual(*x[i].second, *y[j].second)) return false;
    ++i;
    ++j;
  }
}

namespace {

// Factorizations and solves: of other custom calls nothing is known but that they have, or have no side effects.
bool IsLapackCall(const HloInstruction* call) {
  return absl::StartsWith(call->attr_or<AttrKind::kCustomCallTarget>(""), "lapack_");
}

// Whether what the instruction computes is decided by its operands, attributes and called computations.
bool IsFunction(const HloInstruction* instruction) {
  if (instruction->opcode() == HloOpcode::kCustomCall && !IsLapackCall(instruction)) return false;
  switch (instruction->opcode()) {
    case HloOpcode::kOptBarrier:  // keeps its operands apart
    case HloOpcode::kAsyncStart:
    case HloOpcode::kAsyncUpdate:
    case HloOpcode::kAsyncDone:
    case HloOpcode::kDomain:
      return false;
    case HloOpcode::kConstant:
      return !instruction->literal().elided();
    default:
      return !instruction->HasSideEffect() && instruction->control_predecessors().empty() &&
             instruction->control_successors().empty();
  }
}

// Whether two computations are the same program. False after `budget` instructions.
bool SameProgram(const HloComputation* a, const HloComputation* b, int64_t* budget) {
  if (a == b) {
    return std::all_of(a->instructions().begin(), a->instructions().end(),
                       [](const auto& instruction) { return IsFunction(instruction.get()); });
  }
  if (a->instruction_count() != b->instruction_count() || a->parameter_count() != b->parameter_count()) return false;
  *budget -= a->instruction_count();
  if (*budget < 0) return false;
  const std::vector<HloInstruction*> x = a->PostOrder(), y = b->PostOrder();
  absl::flat_hash_map<const HloInstruction*, const HloInstruction*> match;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i]->opcode() != y[i]->opcode() || !IsFunction(x[i]) || !IsFunction(y[i])) return false;
    if (x[i]->shape() != y[i]->shape() || x[i]->operand_count() != y[i]->operand_count()) return false;
    if (x[i]->parameter_number() != y[i]->parameter_number()) return false;
    for (int64_t o = 0; o < x[i]->operand_count(); ++o) {
      if (match.at(x[i]->operand(o)) != y[i]->operand(o)) return false;
    }
    if (x[i]->IsConstant() && !x[i]->literal().BitEqual(y[i]->literal())) return false;
    if (!SameAttributes(x[i], y[i])) return false;
    if (x[i]->called_computations().size() != y[i]->called_computations().size()) return false;
    for (size_t c = 0; c < x[i]->called_computations().size(); ++c) {
      if (!SameProgram(x[i]->called(c), y[i]->called(c), budget)) return false;
    }
    match[x[i]] = y[i];
  }
  return match.at(a->root()) == b->root();
}

// Whether the instruction may stand for an equal one.
bool MayMerge(const HloInstruction* instruction) {
  return instruction->opcode() != HloOpcode::kParameter && instruction->opcode() != HloOpcode::kFusion &&
         IsFunction(instruction);
}

std::vector<const HloInstruction*> KeyOperands(const HloInstruction* instruction) {
  std::vector<const HloInstruction*> operands(instruction->operands().begin(), instruction->operands().end());
  if (IsCommutative(instruction->opcode()) && operands.size() == 2 && operands[0]->id() > operands[1]->id()) {
    std::swap(operands[0], operands[1]);
  }
  return operands;
}

// Of the attributes that tell apart what else is alike by the thousand: slices, elements and comparisons of one array.
size_t AttributeHash(const HloInstruction* instruction) {
  size_t hash = 0;
  for (const auto& [kind, value] : instruction->attributes().entries()) {
    if (IsAnnotation(kind)) continue;
    if (const auto* number = std::get_if<int64_t>(value.get())) hash = absl::HashOf(hash, *number);
    if (const auto* list = std::get_if<Int64List>(value.get())) hash = absl::HashOf(hash, *list);
    if (const auto* slice = std::get_if<SliceAttr>(value.get())) {
      hash = absl::HashOf(hash, slice->starts, slice->limits, slice->strides);
    }
    if (const auto* padding = std::get_if<PaddingAttr>(value.get())) {
      for (const PaddingDim& dim : padding->dims) hash = absl::HashOf(hash, dim.low, dim.high, dim.interior);
    }
    if (const auto* direction = std::get_if<CompareDirection>(value.get())) {
      hash = absl::HashOf(hash, static_cast<int>(*direction));
    }
  }
  return hash;
}

size_t KeyHash(const HloInstruction* instruction) {
  size_t hash = absl::HashOf(static_cast<int>(instruction->opcode()), static_cast<int>(instruction->type()),
                             instruction->shape().dims(), AttributeHash(instruction));
  for (const HloInstruction* operand : KeyOperands(instruction)) hash = absl::HashOf(hash, operand);
  if (instruction->IsConstant()) {
    // Where large ones begin alike they are compared.
    constexpr int64_t kBegin = 1024;
    const Literal& literal = instruction->literal();
    hash = absl::HashOf(hash, absl::MakeConstSpan(literal.bytes(), std::min(kBegin, literal.byte_size())));
  }
  return hash;
}

bool Same(const HloInstruction* a, const HloInstruction* b) {
  if (a->opcode() != b->opcode() || !SameShape(a->shape(), b->shape()) || KeyOperands(a) != KeyOperands(b))
    return false;
  if (a->shape().is_dynamic() != b->shape().is_dynamic()) return false;
  // The operands and results of custom calls, whose layouts count.
  if (a->opcode() == HloOpcode::kBitcast && !(a->shape().layout_or_default() == b->shape().layout_or_default())) {
    return false;
  }
  if (a->opcode() == HloOpcode::kCustomCall && !(a->shape() == b->shape())) return false;  // layouts, too
  if (a->IsConstant()) return a->shared_literal() == b->shared_literal() || a->literal().BitEqual(b->literal());
  if (!SameAttributes(a, b)) return false;
  if (a->called_computations().size() != b->called_computations().size()) return false;
  // Of all that a comparison looks at.
  constexpr int64_t kMostInstructions = 4096;
  int64_t budget = kMostInstructions;
  for (size_t i = 0; i < a->called_computations().size(); ++i) {
    if (!SameProgram(a->called(i), b->called(i), &budget)) return false;
  }
  return true;
}

// The instructions of a computation that stand for themselves so far.
class Kept {
 public:
  // The place of the one that is equal to `instruction`, whose key has this hash; -1: there is none.
  int64_t Find(const HloInstruction* instruction, size_t hash) const {
    const auto candidates = places_.find(hash);
    if (candidates == places_.end()) return -1;
    for (int64_t place : candidates->second) {
      if (Same(kept_[place], instruction)) return place;
    }
    return -1;
  }
  // Without a hash, Find does not find it.
  void Add(HloInstruction* instruction, std::optional<size_t> hash) {
    if (hash) places_[*hash].push_back(static_cast<int64_t>(kept_.size()));
    kept_.push_back(instruction);
  }
  // Null: there is none, or it is not equal to `instruction`.
  HloInstruction* At(int64_t place, const HloInstruction* instruction) const {
    if (place < 0 || place >= static_cast<int64_t>(kept_.size())) return nullptr;
    return Same(kept_[place], instruction) ? kept_[place] : nullptr;
  }

 private:
  std::vector<HloInstruction*> kept_;
  absl::flat_hash_map<size_t, std::vector<int64_t>> places_;
};

}  // namespace

absl::StatusOr<bool> EliminateCommonSubexpressions(HloModule* module, PassContext& context) {
  bool changed = false;
  // What is equal for these sizes need not be for those that the code was made for, which say with what it is merged.
  Attempts attempts;
  int64_t number = 0;
  for (HloComputation* computation : module->ComputationPostOrder()) {
    Kept kept;
    bool here = false;
    for (HloInstruction* instruction : computation->PostOrder()) {
      if (!MayMerge(instruction)) continue;
      XC_RETURN_IF_ERROR(context.CheckDeadline());
      HloInstruction* equal = nullptr;
      std::optional<size_t> hash;
      if (!attempts.replays()) hash = KeyHash(instruction);
      if (attempts.Wanted(number++)) {
        const int64_t place = ChooseAny(hash ? kept.Find(instruction, *hash) : -1);
        equal = kept.At(place, instruction);
        attempts.Attempted(equal != nullptr);
      }
      if (equal == nullptr) {
        kept.Add(instruction, hash);
        continue;
      }
      instruction->ReplaceAllUsesWith(equal);
      context.Count("cse.instruction");
      here = true;
    }
    if (here) computation->RemoveDead();
    changed |= here;
  }
  attempts.Done();
  if (changed) module->RemoveUnusedComputations();
  return changed;
}

}  // namespace xc
