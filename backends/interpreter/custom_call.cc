// custom-call: annotations that pass their operand on, and TopK.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backends/interpreter/numeric.h"
#include "backends/interpreter/reduction.h"

namespace xc::interp {
namespace {

// Annotations for compilers of several devices: one device has nothing to do.
bool IsAnnotation(const std::string& target) {
  for (const char* name : {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "MoveToHost", "MoveToDevice",
                           "annotate_device_placement", "LayoutConstraint", "xla.sdy.FuncResultSharding",
                           "xla.sdy.PropagationBarrier", "xla.sdy.ShardingGroup"}) {
    if (target == name) return true;
  }
  return false;
}

}  // namespace

OpResult CustomCall(const HloInstruction& instruction, Operands& operands, OpContext& context) {
  const std::string& target = instruction.custom_call_target();
  if (IsAnnotation(target)) {
    if (operands.size() == 1 && SameShape(operands[0].shape(), instruction.shape())) return operands.Take(0);
    if (instruction.shape().IsTuple() && instruction.shape().tuple_size() == 0) return Literal(instruction.shape());
    return absl::InvalidArgumentError(absl::StrCat(target, " should give the shape of its operand"));
  }
  if (target == "TopK") {
    if (operands.size() != 1 || !instruction.shape().IsTuple() || instruction.shape().tuple_size() != 2 ||
        operands[0].shape().rank() == 0 || operands[0].shape().rank() != instruction.shape().tuple_shape(0).rank()) {
      return absl::InvalidArgumentError("TopK takes an array and gives its largest elements and their indices");
    }
    const auto* config = instruction.FindAttr<AttrKind::kBackendConfig>();
    const bool smallest = config != nullptr && absl::StrContains(config->text, "largest = false");
    return TopKOf(operands[0], !smallest, instruction.shape());
  }
  return absl::UnimplementedError(absl::StrCat("custom call target \"", target, "\" is not known"));
}

}  // namespace xc::interp
