// What is computed from memory on for an operand, and whether that is of a simple kind.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "backends/codegen/fused_emitter.h"

namespace xc::codegen {
namespace {

bool IsBroadcastScalar(const HloInstruction& value) {
  return value.opcode() == HloOpcode::kBroadcast && value.operand(0)->shape().rank() == 0;
}

bool IsComputed(const HloInstruction& value) { return value.IsElementwise() && value.operand_count() > 0; }

}  // namespace

bool FusedEmitter::EachFrom(const HloInstruction* value, absl::FunctionRef<Part(const HloInstruction*)> look) const {
  absl::flat_hash_set<const HloInstruction*> seen;
  std::vector<const HloInstruction*> left = {value};
  while (!left.empty()) {
    const HloInstruction* next = left.back();
    left.pop_back();
    for (auto it = alias_.find(next); it != alias_.end(); it = alias_.find(next)) next = it->second;
    if (!seen.insert(next).second) continue;
    if (next->shape().IsTuple()) return false;
    const Part part = look(next);
    if (part == Part::kOther) return false;
    if (part == Part::kComputed) left.insert(left.end(), next->operands().begin(), next->operands().end());
  }
  return true;
}

bool FusedEmitter::IsPairedRow(const HloInstruction* row) const {
  return EachFrom(row, [&](const HloInstruction* value) {
    // A row that is kept has neighbours beside each other.
    if (kept_row_ != nullptr && (value == kept_row_->made || value == kept_row_->taken)) return Part::kOther;
    const Shape& shape = value->shape();
    if (shape.rank() == 0 || values_.contains(value)) return Part::kGiven;
    if (memory_.contains(value)) {
      const bool row_of_bf16 =
          value->type() == ElementType::kBF16 && shape.layout_or_default().minor_to_major[0] == shape.rank() - 1;
      return row_of_bf16 ? Part::kGiven : Part::kOther;
    }
    if (IsBroadcastScalar(*value)) return Part::kGiven;
    return IsComputed(*value) ? Part::kComputed : Part::kOther;
  });
}

int FusedEmitter::RegisterBytes(const HloInstruction* row) const {
  constexpr int kWord = 4;
  int bytes = StorageBytes(ComplexComponent(row->type()));
  const bool narrow = EachFrom(row, [&](const HloInstruction* value) {
    const int own = IsNarrowFloat(value->type()) ? kWord : StorageBytes(ComplexComponent(value->type()));
    if (own >= kWord) return Part::kOther;
    bytes = std::max(bytes, own);
    if (value->shape().rank() == 0 || values_.contains(value) || memory_.contains(value)) return Part::kGiven;
    if (IsBroadcastScalar(*value)) return Part::kGiven;
    const HloOpcode op = value->opcode();
    const bool moves = op == HloOpcode::kBroadcast || op == HloOpcode::kReshape || op == HloOpcode::kSlice;
    return moves || IsComputed(*value) ? Part::kComputed : Part::kOther;
  });
  return narrow ? bytes : std::max(bytes, kWord);
}

bool FusedEmitter::IsShort(const HloInstruction* value) const {
  constexpr int kFew = 8;
  int count = 0;
  return EachFrom(value, [&](const HloInstruction* part) {
    if (++count > kFew) return Part::kOther;
    if (part->shape().rank() == 0 || values_.contains(part) || memory_.contains(part)) return Part::kGiven;
    const HloOpcode op = part->opcode();
    if (op == HloOpcode::kIota) return Part::kGiven;
    const bool simple = IsComputed(*part) && OpcodeCost(op) <= OpCost::kSimple && !IsComplex(part->type());
    return op == HloOpcode::kBroadcast || simple ? Part::kComputed : Part::kOther;
  });
}

}  // namespace xc::codegen
