// Which instructions can be part of a fusion, and which its root.
#include "absl/strings/str_cat.h"
#include "compiler/fuse/fuse.h"
#include "compiler/fuse/fusion_group.h"

namespace xc {
namespace {

Decision CanTakePart(const HloInstruction* i) {
  if (!i->shape().IsArray()) return Decision::No("it is not an array");
  if (i->shape().is_dynamic()) return Decision::No("its shape is dynamic");
  for (const HloInstruction* operand : i->operands()) {
    if (!operand->shape().IsArray()) return Decision::No("an operand is not an array");
    if (operand->shape().is_dynamic()) return Decision::No("an operand's shape is dynamic");
  }
  if (HasControl(i)) return Decision::No("it has control dependencies");
  if (i->HasSideEffect()) return Decision::No("it has a side effect");
  return Decision::Yes();
}

}  // namespace

Decision CanBeFused(const HloInstruction* i, const TargetInfo& target) {
  if (Decision part = CanTakePart(i); !part) return part;
  switch (i->opcode()) {
    case HloOpcode::kConstant:
      return i->shape().IsScalar() && !i->literal().elided() ? Decision::Yes() : Decision::No("it is a constant array");
    case HloOpcode::kReshape:
      return Decision::Yes();
    case HloOpcode::kConcatenate:
      return i->operand_count() <= 4 ? Decision::Yes() : Decision::No("it joins too many arrays to choose per element");
    case HloOpcode::kReduce:
      return i->operand_count() == 2 ? Decision::Yes() : Decision::No("it has several results");
    case HloOpcode::kBitcastConvert:
      return SameDims(i->shape(), i->operand(0)->shape()) && IsComplex(i->type()) == IsComplex(i->operand(0)->type())
                 ? Decision::Yes()
                 : Decision::No("it sees the same memory as elements of another number");
    case HloOpcode::kStochasticConvert:
      return Decision::No("it is not an elementwise expression");
    default:
      if (OpcodeAccess(i->opcode()) == OpAccess::kMoves && i->opcode() != HloOpcode::kDynamicUpdateSlice) {
        return Decision::Yes();
      }
      return i->IsElementwise() ? Decision::Yes()
                                : Decision::No(absl::StrCat(OpcodeName(i->opcode()), " is not computed per element"));
  }
}

Decision CanBeFusionRoot(const HloInstruction* i, const TargetInfo& target) {
  switch (i->opcode()) {
    case HloOpcode::kConcatenate:
      return JoinsRuns(*i) || Interleaves(*i) ? CanTakePart(i) : CanBeFused(i, target);
    case HloOpcode::kReshape:
    case HloOpcode::kConstant:
    case HloOpcode::kCopy:
      return Decision::No("it needs no code of its own");
    case HloOpcode::kDynamicUpdateSlice:
      return CanTakePart(i);
    case HloOpcode::kReduce: {
      if (!target.reduce_input_fusion) return Decision::No("the backend reads reductions' input from memory");
      if (i->shape().is_dynamic() || HasControl(i)) return Decision::No("its shape is dynamic");
      for (const HloInstruction* operand : i->operands()) {
        if (operand->shape().is_dynamic()) return Decision::No("an operand's shape is dynamic");
      }
      return Decision::Yes();
    }
    default:
      return CanBeFused(i, target);
  }
}

}  // namespace xc
