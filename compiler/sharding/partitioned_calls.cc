#include "compiler/sharding/partitioned_calls.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "compiler/make.h"
#include "compiler/sharding/propagate.h"
#include "compiler/sharding/sharding_rule.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

using O = HloOpcode;

bool IsPartitioned(const HloInstruction& i) {
  return i.opcode() == O::kCustomCall && i.custom_call_target() == kPartitionedCallTarget;
}

HloInstruction* FirstCall(const HloModule& module) {
  for (HloComputation* computation : module.ComputationPostOrder()) {
    for (HloInstruction* i : computation->PostOrder()) {
      if (IsPartitioned(*i)) return i;
    }
  }
  return nullptr;
}

// A copy of all that `from`'s entry reaches, in `module`; the copy of its entry.
HloComputation* CopyEntry(const HloModule& from, HloModule* module) {
  absl::flat_hash_map<const HloComputation*, HloComputation*> computations;
  for (const HloComputation* computation : from.ComputationPostOrder()) {
    HloComputation* const copy = module->CloneComputation(computation, "partitioned");
    for (const auto& i : copy->instructions()) {
      i->mutable_attributes()->Erase(AttrKind::kMetadata);  // its frames are the other module's
      for (size_t c = 0; c < i->called_computations().size(); ++c) {
        i->SetCalledComputation(c, computations.at(i->called(c)));
      }
    }
    computations[computation] = copy;
  }
  return computations.at(from.entry());
}

HloInstruction* Annotate(HloInstruction* value, const char* target, Sharding sharding, const Shape& shape) {
  HloInstruction* const call = value->parent()->Add(O::kCustomCall, WithoutLayout(shape), {value});
  call->set_attr<AttrKind::kCustomCallTarget>(target);
  call->set_attr<AttrKind::kSharding>(std::move(sharding));
  return call;
}

Sharding Manual() {
  Sharding sharding;
  sharding.type = Sharding::Type::kManual;
  return sharding;
}

// The arrays of a value: itself, or the elements of a tuple.
std::vector<Shape> Arrays(const Shape& shape) {
  return shape.IsTuple() ? shape.tuple_shapes() : std::vector<Shape>{shape};
}

absl::Status CheckPart(const Sharding& sharding, const Shape& whole, const Shape& part, int64_t devices) {
  XC_ASSIGN_OR_RETURN(const DeviceTiling tiling, DeviceTiling::FromSharding(sharding, whole.rank(), devices));
  XC_ASSIGN_OR_RETURN(const Shape wanted, tiling.ShardShape(WithoutLayout(whole)));
  if (wanted.type() == part.type() && SameDims(wanted, part)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a device's part of ", whole.ToString(false), " is ",
                                                 wanted.ToString(false), ", the partitioned program has ",
                                                 part.ToString(false)));
}

absl::Status Replace(HloInstruction* call, const PartitionedCall& wanted, int64_t devices) {
  HloComputation* const computation = call->parent();
  const std::vector<Shape> results = Arrays(call->shape());
  const HloComputation& entry = *wanted.body->entry();
  const std::vector<Shape> parts = Arrays(entry.root()->shape());
  if (static_cast<int64_t>(wanted.operands.size()) != call->operand_count() ||
      entry.parameter_count() != call->operand_count() || wanted.results.size() != results.size() ||
      parts.size() != results.size()) {
    return absl::InvalidArgumentError(
        "the partitioned program has another number of operands or results than the call");
  }
  for (int64_t o = 0; o < call->operand_count(); ++o) {
    XC_RETURN_IF_ERROR(CheckPart(wanted.operands[o], call->operand(o)->shape(), entry.parameter(o)->shape(), devices));
  }
  for (size_t r = 0; r < results.size(); ++r) {
    XC_RETURN_IF_ERROR(CheckPart(wanted.results[r], results[r], parts[r], devices));
  }
  HloComputation* const body = CopyEntry(*wanted.body, call->module());
  std::vector<HloInstruction*> operands;
  for (int64_t o = 0; o < call->operand_count(); ++o) {
    HloInstruction* const whole = Annotate(call->operand(o), "Sharding", wanted.operands[o], call->operand(o)->shape());
    operands.push_back(Annotate(whole, "SPMDFullToShardShape", Manual(), body->parameter(o)->shape()));
  }
  HloInstruction* const run = computation->Add(O::kCall, body->root()->shape(), operands);
  run->AddCalledComputation(body);
  std::vector<HloInstruction*> made;
  for (size_t r = 0; r < results.size(); ++r) {
    HloInstruction* part = run->shape().IsTuple() ? make::GetTupleElement(run, static_cast<int64_t>(r)) : run;
    part = Annotate(part, "Sharding", Manual(), parts[r]);
    made.push_back(Annotate(part, "SPMDShardToFullShape", wanted.results[r], results[r]));
  }
  computation->Replace(call, call->shape().IsTuple() ? make::Tuple(computation, made) : made[0]);
  return absl::OkStatus();
}

// How the results lie where nobody says: as the first operand of the same shape, or whole on each device.
std::vector<DeviceTiling> LikeOperands(const std::vector<Shape>& results, const std::vector<Shape>& operands,
                                       const std::vector<DeviceTiling>& tilings) {
  std::vector<DeviceTiling> like;
  for (const Shape& shape : results) {
    like.push_back(DeviceTiling::Replicated(shape.rank()));
    for (size_t o = operands.size(); o-- > 0;) {
      if (SameDims(operands[o], shape)) like.back() = tilings[o];
    }
  }
  return like;
}

// The rule that its author gave, or "".
std::string RuleOf(const HloInstruction& call) {
  const auto* pairs = call.FindAttr<AttrKind::kFrontendAttributes>();
  if (pairs == nullptr) return "";
  for (const auto& [name, text] : *pairs) {
    if (name == kShardingRuleAttribute) return text;
  }
  return "";
}

// What the author is asked of a call.
absl::Status Describe(const HloInstruction& call, int64_t devices, std::vector<ShardedShape>* operands,
                      std::vector<ShardedShape>* results) {
  XC_ASSIGN_OR_RETURN(std::vector<DeviceTiling> operand_tilings, OperandTilings(*call.module(), devices, &call));
  std::vector<Shape> operand_shapes, result_shapes;
  for (const HloInstruction* operand : call.operands()) operand_shapes.push_back(WithoutLayout(operand->shape()));
  for (const Shape& shape : Arrays(call.shape())) {
    if (!shape.IsArray()) return absl::UnimplementedError("a partitioned call has results that are no arrays");
    result_shapes.push_back(WithoutLayout(shape));
  }
  std::vector<DeviceTiling> result_tilings;
  if (const std::string text = RuleOf(call); !text.empty()) {
    XC_ASSIGN_OR_RETURN(const ShardingRule rule, ParseShardingRule(text));
    XC_ASSIGN_OR_RETURN(RuleTilings by_rule, TilingsByRule(rule, operand_tilings, operand_shapes, result_shapes));
    operand_tilings = std::move(by_rule.operands);
    result_tilings = std::move(by_rule.results);
  } else {
    result_tilings = LikeOperands(result_shapes, operand_shapes, operand_tilings);
  }
  for (size_t o = 0; o < operand_shapes.size(); ++o) {
    operands->push_back({operand_shapes[o], operand_tilings[o].ToSharding(devices)});
  }
  for (size_t r = 0; r < result_shapes.size(); ++r) {
    results->push_back({result_shapes[r], result_tilings[r].ToSharding(devices)});
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status PartitionCalls(HloModule* module, int64_t devices, const CallPartitioner& partition) {
  // One after the other: how the operands of the second lie depends on what became of the first.
  while (HloInstruction* const call = FirstCall(*module)) {
    std::vector<ShardedShape> operands, results;
    const auto* config = call->FindAttr<AttrKind::kBackendConfig>();
    const std::string name = call->name();
    const auto replace = [&]() -> absl::Status {
      XC_RETURN_IF_ERROR(Describe(*call, devices, &operands, &results));
      XC_ASSIGN_OR_RETURN(const PartitionedCall wanted,
                          partition(config == nullptr ? "" : config->text, operands, results));
      return Replace(call, wanted, devices);
    };
    if (const absl::Status status = replace(); !status.ok()) {
      return absl::Status(status.code(), absl::StrCat("custom partitioning of ", name, ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace xc
