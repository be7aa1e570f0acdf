// Operations among several devices, which are read as HLO has them; what runs one is the backend's to say.
#include "importers/stablehlo/lower/lower.h"

namespace xc::stablehlo {

using A = AttrKind;

// The row's opcode with what collectives share: groups of replicas, a channel, and for some a dimension or a reducer.
void LowerCollective(OpLowering& op) {
  Attributes attributes;
  if (op.attrs.Has("source_target_pairs")) {
    attributes.Set<A::kSourceTargetPairs>(op.attrs.IntLists("source_target_pairs"));
  } else {
    ReplicaGroups groups;
    groups.groups = op.attrs.IntLists("replica_groups");
    // Shorter groups are filled up with -1.
    for (Int64List& group : groups.groups) group.erase(std::remove(group.begin(), group.end(), -1), group.end());
    attributes.Set<A::kReplicaGroups>(std::move(groups));
  }
  if (op.attrs.Has("channel_handle")) {
    AttrReader handle = op.Fields("channel_handle");
    const int64_t channel = handle.Int("handle");
    handle.Int("type", 0);
    op.Finish(handle, "channel_handle");
    if (channel > 0) attributes.Set<A::kChannelId>(channel);
  }
  if (op.attrs.Bool("use_global_device_ids", false)) attributes.Set<A::kUseGlobalDeviceIds>(true);
  for (absl::string_view name : {"all_gather_dim", "scatter_dimension", "split_dimension"}) {
    if (op.attrs.Has(name)) attributes.Set<A::kDimensions>({op.attrs.Int(name)});
  }
  if (op.attrs.Has("split_dimension")) {
    op.attrs.Int("split_count");
    if (op.attrs.Int("concat_dimension") != op.attrs.Int("split_dimension")) {
      op.Fail("is supported only where concat_dimension and split_dimension are the same");
    }
  }
  std::vector<HloComputation*> called;
  if (!op.op.regions.empty()) called.push_back(op.FlatRegion(0));
  op.Emit(op.op.row->opcode, op.Operands(), std::move(attributes), called);
}

}  // namespace xc::stablehlo
