// custom-call: annotations that pass their operand on, TopK, and the functions of the runtime's registry.
#include "backends/runtime/custom_call.h"

#include <deque>
#include <string>
#include <vector>

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

// Row-major layouts of one call's arrays.
class Layouts {
 public:
  CallBuffer Buffer(const Shape& shape, void* data) {
    layouts_.emplace_back();
    for (int64_t d = shape.rank() - 1; d >= 0; --d) layouts_.back().push_back(d);
    return {static_cast<RtType>(shape.type()), shape.dims(), layouts_.back(), data};
  }

 private:
  std::deque<std::vector<int64_t>> layouts_;
};

void AddOutputs(Literal* literal, Layouts* layouts, std::vector<CallBuffer>* outputs) {
  if (literal->IsTuple()) {
    for (Literal& element : literal->mutable_tuple()) AddOutputs(&element, layouts, outputs);
  } else if (literal->shape().IsArray()) {
    outputs->push_back(layouts->Buffer(literal->shape(), literal->mutable_bytes()));
  }
}

OpResult Registered(const CallFunction& function, const HloInstruction& instruction, Operands& operands) {
  const std::string& target = instruction.custom_call_target();
  Literal result(instruction.shape());
  Layouts layouts;
  std::vector<CallBuffer> inputs, outputs;
  for (int64_t i = 0; i < operands.size(); ++i) {
    // Functions read their operands only.
    inputs.push_back(layouts.Buffer(operands[i].shape(), const_cast<uint8_t*>(operands[i].bytes())));
  }
  AddOutputs(&result, &layouts, &outputs);
  CallArgs args;
  args.target = target;
  args.inputs = inputs;
  args.outputs = outputs;
  if (const auto* config = instruction.FindAttr<AttrKind::kBackendConfig>()) args.backend_config = config->text;
  const absl::StatusOr<CallAttributes> attributes = CallAttributes::Parse(args.backend_config);
  const CallAttributes none;
  args.attributes = attributes.ok() ? &*attributes : &none;
  RunContext run;
  const absl::Status status = function(&run, args);
  if (!status.ok()) return absl::Status(status.code(), absl::StrCat("custom call ", target, ": ", status.message()));
  return result;
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
  if (const CallFunction* function = FindCustomCall(target)) return Registered(*function, instruction, operands);
  return absl::UnimplementedError(absl::StrCat("custom call target \"", target, "\" is not known"));
}

}  // namespace xc::interp
