// On request only: what is written in f16 or bf16 is computed in f32, and rounded where it is stored, moved, compared
// or handed to ops that are not elementwise. XLA does the same by default (xla_allow_excess_precision).
#include <algorithm>

#include "compiler/expand/expand.h"
#include "compiler/make.h"
#include "compiler/memory/in_place.h"

namespace xc {
namespace {

using I = HloInstruction;

bool IsHalf(const Shape& shape) {
  return shape.IsArray() && (shape.type() == ElementType::kF16 || shape.type() == ElementType::kBF16);
}

// Whether the op computes with the values of f16 or bf16 arrays. Comparisons do not count: both sides of one are
// rounded alike, so that equal values stay equal. Nor does what names a precision itself.
bool IsHalfArithmetic(const I* op) {
  if (op->shape().is_dynamic() || !IsHalf(op->shape())) return false;
  switch (op->opcode()) {
    case HloOpcode::kDot:
      return op->operand_count() == 2 && op->operand(0)->type() == op->type() && op->operand(1)->type() == op->type();
    case HloOpcode::kBitcastConvert:
    case HloOpcode::kConvert:
    case HloOpcode::kCopy:
    case HloOpcode::kReducePrecision:
    case HloOpcode::kStochasticConvert:
      return false;
    default:
      return op->IsElementwise() && op->operand_count() > 0;
  }
}

bool IsRounding(const I* x) {
  return x->opcode() == HloOpcode::kConvert && IsHalf(x->shape()) && x->operand(0)->type() == ElementType::kF32;
}

// `x` in f32, before it was rounded if it was.
I* Unrounded(I* x) {
  if (!IsHalf(x->shape())) return x;
  return IsRounding(x) ? x->operand(0) : make::Convert(x, ElementType::kF32);
}

I* WithoutRounding(I* op) {
  if (op->opcode() == HloOpcode::kConvert && op->type() == ElementType::kF32) {
    return IsRounding(op->operand(0)) ? op->operand(0)->operand(0) : nullptr;
  }
  if (!IsHalfArithmetic(op)) return nullptr;
  std::vector<I*> operands = op->operands();
  // Products take the narrow values as they are, and add up in f32.
  if (op->opcode() != HloOpcode::kDot) std::transform(operands.begin(), operands.end(), operands.begin(), Unrounded);
  I* wide = op->parent()->Add(op->CloneWith(WithType(WithoutLayout(op->shape()), ElementType::kF32), operands));
  return make::Convert(wide, op->type());
}

}  // namespace

absl::StatusOr<bool> KeepExcessPrecision(HloModule* module, PassContext& context) {
  if (!context.options.excess_precision) return false;
  bool changed = false;
  for (HloComputation* computation : EmittedComputations(module)) {
    for (I* op : computation->PostOrder()) {
      I* value = WithoutRounding(op);
      if (value == nullptr) continue;
      context.Count("excess_precision.widened");
      computation->Replace(op, value);
      changed = true;
    }
    if (changed) computation->RemoveDead();
  }
  return changed;
}

}  // namespace xc
