#include "compiler/sharding/wanted.h"

#include <utility>
#include <vector>

#include "compiler/sharding/partition_rules.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

using O = HloOpcode;
using Tilings = std::vector<DeviceTiling>;  // of the leaves of a shape

Tilings Whole(const Shape& shape) {
  Tilings leaves;
  for (const auto& [index, leaf] : Leaves(shape)) {
    leaves.push_back(DeviceTiling::Replicated(leaf->IsArray() ? leaf->rank() : 0));
  }
  return leaves;
}

class Backwards {
 public:
  Backwards(const HloModule& module, const EntryTilings& tilings, int64_t devices)
      : entry_(*module.entry()), tilings_(tilings), devices_(devices) {}

  absl::StatusOr<absl::flat_hash_map<const HloInstruction*, DeviceTiling>> Run() {
    const std::vector<HloInstruction*> order = entry_.PostOrder();
    XC_RETURN_IF_ERROR(FollowForwards(order));
    for (const HloInstruction* i : order) wanted_[i] = Whole(i->shape());
    wanted_[entry_.root()] = tilings_.results;
    absl::flat_hash_map<const HloInstruction*, DeviceTiling> found;
    for (size_t n = order.size(); n-- > 0;) {
      const HloInstruction& i = *order[n];
      Tilings lies = forwards_.at(&i);
      for (size_t l = 0; l < lies.size(); ++l) {
        if (lies[l].IsReplicated()) lies[l] = wanted_.at(&i)[l];
      }
      if ((i.opcode() == O::kIota || i.opcode() == O::kBroadcast) && forwards_.at(&i)[0].IsReplicated() &&
          !lies[0].IsReplicated() && lies[0].ShardShape(WithoutLayout(i.shape())).ok()) {
        found.emplace(&i, lies[0]);
      }
      Visit(i, lies);
    }
    return found;
  }

 private:
  absl::Status FollowForwards(const std::vector<HloInstruction*>& order) {
    size_t leaf = 0;
    for (const HloInstruction* parameter : entry_.parameters()) {
      const int64_t count = parameter->shape().LeafCount();
      forwards_[parameter].assign(tilings_.parameters.begin() + leaf, tilings_.parameters.begin() + leaf + count);
      leaf += count;
    }
    for (const HloInstruction* i : order) {
      if (i->opcode() == O::kParameter) continue;
      std::vector<Tilings> operands;
      for (const HloInstruction* operand : i->operands()) operands.push_back(forwards_.at(operand));
      XC_ASSIGN_OR_RETURN(forwards_[i], ResultTilings(*i, devices_, operands));
    }
    return absl::OkStatus();
  }

  // What the operands of `i`, whose leaves lie by `lies`, should be.
  void Visit(const HloInstruction& i, const Tilings& lies) {
    const auto want = [&](int64_t o, const DeviceTiling& tiling, size_t leaf = 0) {
      DeviceTiling& wanted = wanted_.at(i.operand(o))[leaf];
      if (wanted.rank() == tiling.rank()) wanted.MergeFrom(tiling);
    };
    switch (i.opcode()) {
      case O::kTuple: {
        size_t next = 0;
        for (int64_t o = 0; o < i.operand_count(); ++o) {
          for (int64_t l = 0; l < i.operand(o)->shape().LeafCount(); ++l) want(o, lies[next++], l);
        }
        return;
      }
      case O::kGetTupleElement: {
        size_t first = 0;
        for (int64_t e = 0; e < i.tuple_index(); ++e) first += i.operand(0)->shape().tuple_shape(e).LeafCount();
        for (size_t l = 0; l < lies.size(); ++l) want(0, lies[l], first + l);
        return;
      }
      case O::kWhile:
      case O::kOptBarrier:
      case O::kCopy:
        for (size_t l = 0; l < lies.size(); ++l) want(0, lies[l], l);
        return;
      case O::kCustomCall:
        if (i.custom_call_target() == "Sharding" && i.operand_count() == 1) want(0, lies[0]);
        return;
      case O::kReshape: {
        DeviceTiling result = lies[0];
        want(0, Reshaped(i.shape(), i.operand(0)->shape(), &result));
        return;
      }
      case O::kBroadcast:
      case O::kTranspose: {
        DeviceTiling operand = DeviceTiling::Replicated(i.operand(0)->shape().rank());
        for (size_t d = 0; d < i.dimensions().size(); ++d) {
          if (i.opcode() == O::kBroadcast) {
            TakeCut(lies[0], i.dimensions()[d], &operand, d);
          } else {
            TakeCut(lies[0], d, &operand, i.dimensions()[d]);
          }
        }
        want(0, operand);
        return;
      }
      default:
        break;
    }
    if (const std::optional<Movement> movement = MovementOf(i)) {
      DeviceTiling kept = lies[0];
      for (int64_t d = 0; d < kept.rank(); ++d) {
        if (!movement->keeps[d]) kept.Clear(d);
      }
      for (int64_t o = 0; o < movement->arrays; ++o) want(o, kept);
      return;
    }
    if (!i.IsElementwise() || !i.shape().IsArray()) return;
    for (int64_t o = 0; o < i.operand_count(); ++o) want(o, lies[0]);
  }

  const HloComputation& entry_;
  const EntryTilings& tilings_;
  const int64_t devices_;
  absl::flat_hash_map<const HloInstruction*, Tilings> forwards_, wanted_;
};

}  // namespace

absl::StatusOr<absl::flat_hash_map<const HloInstruction*, DeviceTiling>> WantedTilings(const HloModule& module,
                                                                                       const EntryTilings& tilings,
                                                                                       int64_t devices) {
  return Backwards(module, tilings, devices).Run();
}

}  // namespace xc
