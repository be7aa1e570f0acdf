// Which instructions can be part of a fusion, and which its root.
#include "absl/strings/str_cat.h"
#include "compiler/fuse/emittable.h"
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
  if (Decision code = CanEmit(*i); !code) return code;
  switch (i->opcode()) {
    case HloOpcode::kConstant:
      return i->shape().IsScalar() ? Decision::Yes() : Decision::No("it is a constant array");
    case HloOpcode::kConcatenate:
      return i->operand_count() <= 4 ? Decision::Yes() : Decision::No("it joins too many arrays to choose per element");
    case HloOpcode::kReduce:
      return i->operand_count() == 2 ? Decision::Yes() : Decision::No("it has several results");
    case HloOpcode::kParameter:
    case HloOpcode::kOptBarrier:
    case HloOpcode::kBitcast:
    case HloOpcode::kDynamicUpdateSlice:
    case HloOpcode::kReduceWindow:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kFusion:
    case HloOpcode::kMap:
      return Decision::No(absl::StrCat(OpcodeName(i->opcode()), " stands by itself"));
    default:
      return Decision::Yes();
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
    case HloOpcode::kReduce:
      if (!target.reduce_input_fusion) return Decision::No("the backend reads reductions' input from memory");
      if (HasControl(i)) return Decision::No("it has control dependencies");
      return CanEmit(*i);
    default:
      return CanBeFused(i, target);
  }
}

}  // namespace xc
