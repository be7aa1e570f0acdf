// Custom calls: functions of the runtime's registry. Arrays are in the layouts of the call's operands and result; the
// function is told so.
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/plan/planner_impl.h"
#include "hlo/base/status.h"
#include "hlo/ops/known_calls.h"

namespace xc::plan {

absl::StatusOr<Decision> PlanCustomCall(Planner& planner, const HloInstruction* call) {
  if (!HasCustomCall(call->custom_call_target())) {
    return Decision::No(absl::StrCat("no function is registered for ", call->custom_call_target()));
  }
  if (call->custom_call_target() == "TopK" && call->operand_count() == 1 && !HasOrder(call->operand(0)->type())) {
    return Decision::No(absl::StrCat("the order of ", ElementTypeName(call->operand(0)->type()), " is not known"));
  }
  std::deque<std::vector<int64_t>> layouts;
  auto buffer = [&](const Shape& shape) {
    if (!shape.IsArray()) return CallBuffer{static_cast<RtType>(shape.type()), {}, {}, nullptr};
    layouts.push_back(shape.layout_or_default().minor_to_major);
    return CallBuffer{static_cast<RtType>(shape.type()), shape.dims(), layouts.back(), nullptr};
  };
  std::vector<CallBuffer> inputs, outputs;
  CustomCall step{static_cast<int64_t>(planner.plan().custom_calls.size()), {}, planner.Slices(call)};
  for (const HloInstruction* operand : call->operands()) {
    // AssignLayouts takes them apart.
    if (operand->shape().IsTuple()) return Decision::No(absl::StrCat("its operand ", operand->name(), " is a tuple"));
    inputs.push_back(buffer(operand->shape()));
    step.inputs.push_back(planner.Slice(operand));
  }
  for (const auto& [index, part] : Leaves(call->shape())) outputs.push_back(buffer(*part));
  CallArgs args;
  args.target = call->custom_call_target();
  args.inputs = inputs;
  args.outputs = outputs;
  args.tuple_result = call->shape().IsTuple();
  if (const auto* config = call->FindAttr<AttrKind::kBackendConfig>()) args.backend_config = config->text;
  XC_ASSIGN_OR_RETURN(PreparedCall prepared, PreparedCall::Make(args));
  planner.plan().custom_calls.push_back(std::move(prepared));
  for (const CallAlias& alias : CallAliases(*call)) {
    planner.AddCopy(call, step.outputs[alias.output], planner.Slice(call->operand(alias.input)));
    step.inputs[alias.input] = step.outputs[alias.output];
  }
  planner.Add(call, std::move(step));
  return Decision::Yes();
}

}  // namespace xc::plan
