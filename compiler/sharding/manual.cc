#include "compiler/sharding/manual.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "compiler/make.h"
#include "compiler/sharding/parts.h"
#include "hlo/base/status.h"
#include "hlo/devices/device_groups.h"

namespace xc {
namespace {

using O = HloOpcode;

bool IsCallTo(const HloInstruction* i, absl::string_view target) {
  return i->opcode() == O::kCustomCall && i->custom_call_target() == target;
}

class Localizer {
 public:
  Localizer(HloModule* module, const EntryTilings& tilings)
      : module_(module), tilings_(tilings), devices_(DeviceCount(*module)) {}

  absl::Status Run() {
    XC_RETURN_IF_ERROR(CutParameters());
    for (HloComputation* computation : module_->ComputationPostOrder()) XC_RETURN_IF_ERROR(Replace(computation));
    return CutResults();
  }

 private:
  // The value behind calls that only say how it lies.
  static HloInstruction* Unannotated(HloInstruction* i) {
    while (IsCallTo(i, "Sharding") && i->operand_count() == 1) i = i->operand(0);
    return i;
  }

  // The device's part of a whole array.
  absl::StatusOr<HloInstruction*> Part(HloInstruction* whole, const DeviceTiling& tiling) {
    if (tiling.IsReplicated()) return whole;
    HloInstruction* source = Unannotated(whole);
    // What is there in this form already.
    if (const auto cut = cut_.find(source); cut != cut_.end() && cut->second.tiling == tiling) return cut->second.part;
    return parts_.Part(whole, tiling);
  }

  // The whole array of which each device has a part.
  HloInstruction* Gathered(HloInstruction* part, const DeviceTiling& tiling) {
    if (tiling.IsReplicated()) return part;
    const Int64List& local = part->shape().dims();
    Int64List tiles, whole;
    int64_t total = 1;
    for (int64_t d = 0; d < tiling.rank(); ++d) {
      tiles.push_back(tiling.Tiles(d));
      whole.push_back(local[d] * tiling.Tiles(d));
      total *= tiling.Tiles(d);
    }
    // Devices that together have all parts, in the order of the parts.
    ReplicaGroups groups;
    groups.groups.resize(devices_ / total);
    std::vector<Int64List> holders(total);
    for (int64_t device = 0; device < devices_; ++device) {
      int64_t tile = 0;
      for (int64_t d = 0; d < tiling.rank(); ++d) tile = tile * tiles[d] + tiling.TileOf(device, d);
      holders[tile].push_back(device);
    }
    for (const Int64List& of_tile : holders) {
      for (size_t g = 0; g < of_tile.size(); ++g) groups.groups[g].push_back(of_tile[g]);
    }
    Int64List dims = local;
    dims.insert(dims.begin(), 1);
    HloInstruction* one = make::Reshape(part, dims);
    dims[0] = total;
    HloInstruction* all = part->parent()->Add(O::kAllGather, Shape(part->type(), dims), {one});
    all->set_attr<AttrKind::kDimensions>({0});
    all->set_attr<AttrKind::kReplicaGroups>(std::move(groups));
    all->set_attr<AttrKind::kChannelId>(1);
    all->set_attr<AttrKind::kUseGlobalDeviceIds>(true);
    // [tiles…, part…] to the tiles and parts of each dimension next to each other.
    Int64List split = tiles, order;
    split.insert(split.end(), local.begin(), local.end());
    for (int64_t d = 0; d < tiling.rank(); ++d) {
      order.push_back(d);
      order.push_back(tiling.rank() + d);
    }
    return make::Reshape(make::Transpose(make::Reshape(all, split), order), whole);
  }

  // What stands for whole arrays stays until it is known who wants them.
  absl::Status CutParameters() {
    const auto cut = [&](HloInstruction* parameter, const DeviceTiling& tiling) -> absl::Status {
      if (tiling.IsReplicated()) return absl::OkStatus();
      XC_ASSIGN_OR_RETURN(HloInstruction* const stand_in, CutParameter(parameter, tiling));
      cut_[stand_in] = {tiling, parameter};
      stand_ins_.push_back(stand_in);
      return absl::OkStatus();
    };
    return ForEachArrayParameter(*module_, tilings_.parameters, cut);
  }

  absl::Status Replace(HloComputation* computation) {
    std::vector<HloInstruction*> replaced;
    for (HloInstruction* i : computation->PostOrder()) {
      HloInstruction* value = nullptr;
      if (IsCallTo(i, "SPMDFullToShardShape") && i->operand_count() == 1 && i->shape().IsArray()) {
        DeviceTiling tiling = DeviceTiling::Replicated(i->shape().rank());
        const auto* sharding = i->operand(0)->FindAttr<AttrKind::kSharding>();
        if (sharding != nullptr) {
          XC_ASSIGN_OR_RETURN(tiling, DeviceTiling::FromSharding(*sharding, i->shape().rank(), devices_));
        }
        XC_ASSIGN_OR_RETURN(value, Part(i->operand(0), tiling));
      } else if (IsCallTo(i, "SPMDShardToFullShape") && i->operand_count() == 1 && i->shape().IsArray()) {
        DeviceTiling tiling = DeviceTiling::Replicated(i->shape().rank());
        if (const auto* sharding = i->FindAttr<AttrKind::kSharding>()) {
          XC_ASSIGN_OR_RETURN(tiling, DeviceTiling::FromSharding(*sharding, i->shape().rank(), devices_));
        }
        HloInstruction* part = Unannotated(i->operand(0));
        if (tiling.IsReplicated()) {
          value = part;
        } else {
          cut_[i] = {tiling, part};
          stand_ins_.push_back(i);
          continue;
        }
      } else {
        continue;
      }
      if (!SameDims(value->shape(), i->shape())) {
        return absl::UnimplementedError(absl::StrCat(i->name(), ": is ", i->shape().ToString(false),
                                                     ", the device's part is ", value->shape().ToString(false)));
      }
      i->ReplaceAllUsesWith(value);
      replaced.push_back(i);
    }
    for (auto it = replaced.rbegin(); it != replaced.rend(); ++it) {
      if (!(*it)->IsRoot()) computation->Remove(*it);
    }
    return absl::OkStatus();
  }

  absl::Status CutResults() {
    HloComputation* entry = module_->entry();
    HloInstruction* root = entry->root();
    HloInstruction* new_root = nullptr;
    bool cut = false;
    if (root->shape().IsArray()) {
      XC_ASSIGN_OR_RETURN(new_root, Part(root, tilings_.results[0]));
      cut = new_root != root;
    } else {
      std::vector<HloInstruction*> elements;
      size_t leaf = 0;
      for (int64_t e = 0; e < root->shape().tuple_size(); ++e) {
        HloInstruction* element = root->opcode() == O::kTuple ? root->operand(e) : make::GetTupleElement(root, e);
        if (element->shape().IsTuple()) {
          leaf += element->shape().LeafCount();  // stays whole
        } else {
          XC_ASSIGN_OR_RETURN(HloInstruction * part, Part(element, tilings_.results[leaf++]));
          cut |= part != element;
          element = part;
        }
        elements.push_back(element);
      }
      if (cut) new_root = make::Tuple(entry, elements);
    }
    if (cut) {
      entry->set_root(new_root);
      CutResultLayouts(module_, tilings_.results);
    }
    module_->config().input_output_alias.clear();
    module_->config().buffer_donors.clear();
    // Whoever still wants whole arrays gets them; what only named them goes before.
    for (HloComputation* computation : module_->ComputationPostOrder()) {
      const std::vector<HloInstruction*> order = computation->PostOrder();
      for (auto it = order.rbegin(); it != order.rend(); ++it) {
        HloInstruction* i = *it;
        if (!i->IsDead() || i->opcode() == O::kParameter || i->HasSideEffect() || cut_.contains(i)) continue;
        computation->Remove(i);
      }
    }
    for (auto it = stand_ins_.rbegin(); it != stand_ins_.rend(); ++it) {
      HloInstruction* stand_in = *it;
      if (!stand_in->IsDead()) stand_in->ReplaceAllUsesWith(Gathered(cut_.at(stand_in).part, cut_.at(stand_in).tiling));
      stand_in->parent()->Remove(stand_in);
    }
    return absl::OkStatus();
  }

  struct Cut {
    DeviceTiling tiling;
    HloInstruction* part = nullptr;
  };
  HloModule* module_;
  const EntryTilings& tilings_;
  const int64_t devices_;
  DeviceParts parts_{devices_};
  absl::flat_hash_map<const HloInstruction*, Cut> cut_;  // whole arrays of which the device has a part
  std::vector<HloInstruction*> stand_ins_;
};

}  // namespace

bool HasManualParts(const HloModule& module) {
  for (const auto& computation : module.computations()) {
    for (const auto& i : computation->instructions()) {
      if (IsCallTo(i.get(), "SPMDFullToShardShape")) return true;
      // Collectives, and parts that get no arrays.
      if (IsCallTo(i.get(), "SPMDShardToFullShape") || IsCollective(i->opcode())) return true;
    }
  }
  return false;
}

absl::Status LocalizeManualParts(HloModule* module, const EntryTilings& tilings) {
  return Localizer(module, tilings).Run();
}

}  // namespace xc
