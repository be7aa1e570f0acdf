#include "service/pjrt/shown_collectives.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/runtime/collectives.h"
#include "backends/runtime/custom_call.h"
#include "compiler/make.h"
#include "hlo/opcode.h"

namespace xc::pjrt {
namespace {

using O = HloOpcode;

template <typename T>
T Value(const CallAttributes& attributes, absl::string_view name) {
  const CallAttributes::Value* const value = attributes.Find(name);
  const T* const held = value == nullptr ? nullptr : std::get_if<T>(value);
  return held == nullptr ? T() : *held;
}

// Null where there is no instruction for it.
HloInstruction* Shown(HloInstruction* call, const CallAttributes& attributes) {
  const std::optional<O> opcode = OpcodeFromName(Value<std::string>(attributes, "op"));
  if (opcode != O::kAllReduce && opcode != O::kReduceScatter && opcode != O::kAllGather && opcode != O::kAllToAll &&
      opcode != O::kCollectivePermute && opcode != O::kCollectiveBroadcast) {
    return nullptr;
  }
  const bool reduces = opcode == O::kAllReduce || opcode == O::kReduceScatter;
  const std::optional<O> reduction = OpcodeFromName(Value<std::string>(attributes, "reduction"));
  if (reduces && !reduction) return nullptr;
  HloInstruction* const shown = call->parent()->Add(*opcode, call->shape(), call->operands());
  if (reduces) {
    shown->AddCalledComputation(make::Combiner(call->module(), *reduction, call->operand(0)->type()));
  }
  if (attributes.Find("dimension") != nullptr) {
    shown->set_attr<AttrKind::kDimensions>({Value<int64_t>(attributes, "dimension")});
  }
  if (opcode == O::kCollectivePermute) {
    const auto pairs = Value<std::vector<int64_t>>(attributes, "pairs");
    std::vector<Int64List> by_two;
    for (size_t i = 0; i + 1 < pairs.size(); i += 2) by_two.push_back({pairs[i], pairs[i + 1]});
    shown->set_attr<AttrKind::kSourceTargetPairs>(std::move(by_two));
  } else {
    const auto members = Value<std::vector<int64_t>>(attributes, "groups");
    ReplicaGroups groups;
    size_t next = 0;
    for (const int64_t size : Value<std::vector<int64_t>>(attributes, "sizes")) {
      if (size < 0 || next + size > members.size()) break;
      groups.groups.emplace_back(members.begin() + next, members.begin() + next + size);
      next += size;
    }
    shown->set_attr<AttrKind::kReplicaGroups>(std::move(groups));
  }
  shown->set_attr<AttrKind::kChannelId>(Value<int64_t>(attributes, "id") + 1);
  if (opcode == O::kAllReduce || opcode == O::kReduceScatter || opcode == O::kAllGather) {
    shown->set_attr<AttrKind::kUseGlobalDeviceIds>(true);
  }
  if (const auto* metadata = call->FindAttr<AttrKind::kMetadata>()) shown->set_attr<AttrKind::kMetadata>(*metadata);
  return shown;
}

}  // namespace

void ShowCollectives(HloModule* module) {
  for (HloComputation* computation : module->ComputationPostOrder()) {
    for (HloInstruction* i : computation->PostOrder()) {
      if (i->opcode() != O::kCustomCall || i->custom_call_target() != kCollectiveTarget) continue;
      const auto* config = i->FindAttr<AttrKind::kBackendConfig>();
      const absl::StatusOr<CallAttributes> attributes = CallAttributes::Parse(config == nullptr ? "" : config->text);
      HloInstruction* const shown = attributes.ok() ? Shown(i, *attributes) : nullptr;
      if (shown == nullptr) continue;
      const std::vector<HloInstruction*> before = i->control_predecessors(), after = i->control_successors();
      i->RemoveControlDependencies();
      for (HloInstruction* b : before) shown->AddControlPredecessor(b);
      for (HloInstruction* a : after) a->AddControlPredecessor(shown);
      computation->Replace(i, shown);
    }
  }
}

}  // namespace xc::pjrt
