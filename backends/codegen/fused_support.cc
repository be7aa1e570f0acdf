// Which expressions the fused emitter can write.
#include "backends/codegen/elementwise.h"
#include "backends/codegen/fused_emitter.h"
#include "backends/codegen/fused_internal.h"

namespace xc::codegen {
namespace {

bool StaticArray(const Shape& shape) { return shape.IsArray() && !shape.is_dynamic(); }

bool CanEmitComputation(const HloComputation& computation);

bool CanEmitOne(const HloInstruction& i) {
  for (const HloInstruction* operand : i.operands()) {
    const bool tuple_user = i.opcode() == HloOpcode::kGetTupleElement;
    if (!tuple_user && !StaticArray(operand->shape())) return false;
  }
  if (i.opcode() == HloOpcode::kReduce || i.opcode() == HloOpcode::kReduceWindow) {
    if (i.shape().is_dynamic() || !CanEmitApply(*i.to_apply())) return false;
    return true;
  }
  if (!StaticArray(i.shape())) return false;
  if (IsElementwise(i.opcode())) return CanEmitElementwise(i);
  if (OpcodeAccess(i.opcode()) == OpAccess::kMoves) return true;
  switch (i.opcode()) {
    case HloOpcode::kParameter:
    case HloOpcode::kOptBarrier:
    case HloOpcode::kReshape:
      return true;
    case HloOpcode::kConstant:
      return !i.literal().elided();
    case HloOpcode::kBitcast:
      return ElementBits(i.type()) == ElementBits(i.operand(0)->type()) &&
             IsComplex(i.type()) == IsComplex(i.operand(0)->type()) &&
             i.shape().ElementCount() == i.operand(0)->shape().ElementCount();
    case HloOpcode::kGetTupleElement:
      return i.operand(0)->opcode() == HloOpcode::kReduce || i.operand(0)->opcode() == HloOpcode::kReduceWindow ||
             i.operand(0)->opcode() == HloOpcode::kTuple;
    case HloOpcode::kMap:
      return CanEmitApply(*i.to_apply());
    case HloOpcode::kFusion:
      return CanEmitComputation(*i.fused_computation());
    default:
      return false;
  }
}

bool CanEmitComputation(const HloComputation& computation) {
  for (const auto& i : computation.instructions()) {
    if (i->opcode() == HloOpcode::kTuple && i->IsRoot()) {
      for (const HloInstruction* operand : i->operands()) {
        if (!StaticArray(operand->shape())) return false;
      }
      continue;
    }
    if (!CanEmitOne(*i)) return false;
  }
  return true;
}

}  // namespace

bool CanEmitFused(const HloInstruction& instruction) {
  if (instruction.opcode() == HloOpcode::kFusion) {
    for (const HloInstruction* operand : instruction.operands()) {
      if (!StaticArray(operand->shape())) return false;
    }
    return !instruction.shape().is_dynamic() && CanEmitComputation(*instruction.fused_computation());
  }
  return CanEmitOne(instruction);
}

bool CanEmitApply(const HloComputation& computation) {
  if (HasControl(computation)) return CanEmitControl(computation);
  for (const auto& i : computation.instructions()) {
    if (i->opcode() == HloOpcode::kTuple && i->IsRoot()) continue;
    if (!i->shape().IsScalar()) return false;
    if (i->opcode() != HloOpcode::kParameter && !CanEmitOne(*i)) return false;
  }
  return true;
}

}  // namespace xc::codegen
