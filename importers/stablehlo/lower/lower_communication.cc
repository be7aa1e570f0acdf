// Operations among several devices, which are read as HLO has them; what runs one is the backend's to say.
#include "importers/stablehlo/lower/lower.h"

namespace xc::stablehlo {

using A = AttrKind;

namespace {

// An all-to-all whose pieces are put together along another dimension than that which is split: HLO's, along a
// dimension of one piece for each device, which is moved between the two.
void ExchangeAlong(OpLowering& op, int64_t split, int64_t concat, int64_t count, Attributes attributes) {
  std::vector<Op> results;
  for (int64_t i = 0; i < static_cast<int64_t>(op.op.operands.size()); ++i) {
    const Op x = op.in(i);
    Int64List dims = x.dims();
    const int64_t rank = x.rank();
    if (split < 0 || split >= rank || concat < 0 || concat >= rank || count < 1 || dims[split] % count != 0) {
      return op.Fail(absl::StrCat("cannot split dimension ", split, " in ", count, " and join along ", concat));
    }
    dims[split] /= count;
    Int64List pieces = dims;
    pieces.insert(pieces.begin() + split, count);
    const Op apart = op.b.Reshape(x, pieces);
    if (!op.ok()) return;
    attributes.Set<A::kDimensions>({split});
    const Shape shape = apart.shape();
    const Op exchanged = op.b.Make(HloOpcode::kAllToAll, {apart}, attributes, {}, &shape);
    Int64List order;
    for (int64_t d = 0; d < rank; ++d) {
      if (d == concat) order.push_back(split);
      order.push_back(d < split ? d : d + 1);
    }
    dims[concat] *= count;
    results.push_back(op.b.Reshape(op.b.Transpose(exchanged, order), dims));
  }
  op.BindEach(results);
}

}  // namespace

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
    const int64_t count = op.attrs.Int("split_count"), split = op.attrs.Int("split_dimension"),
                  concat = op.attrs.Int("concat_dimension");
    if (concat != split) return ExchangeAlong(op, split, concat, count, std::move(attributes));
  }
  std::vector<HloComputation*> called;
  if (!op.op.regions.empty()) called.push_back(op.FlatRegion(0));
  op.Emit(op.op.row->opcode, op.Operands(), std::move(attributes), called);
}

}  // namespace xc::stablehlo
