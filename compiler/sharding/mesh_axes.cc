#include "compiler/sharding/mesh_axes.h"

#include <algorithm>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace xc {
namespace {

constexpr absl::string_view kMeshes = "xla.sdy.meshes";

// What stands in `text` between `before` and the next `]`.
absl::string_view ListBehind(absl::string_view text, absl::string_view before) {
  const size_t at = text.find(before);
  if (at == absl::string_view::npos) return "";
  text.remove_prefix(at + before.size());
  return text.substr(0, text.find(']'));
}

}  // namespace

MeshAxes MeshAxes::Of(const HloModule& module) {
  MeshAxes known;
  for (const auto& [name, text] : module.config().frontend_attributes) {
    if (name != kMeshes) continue;
    // {mesh = #sdy.mesh<["x"=4, "y"=2], device_ids=[…]>}
    Sharding all;
    all.type = Sharding::Type::kOther;
    int64_t devices = 1;
    for (absl::string_view axis : absl::StrSplit(ListBehind(text, "#sdy.mesh<["), ',', absl::SkipWhitespace())) {
      int64_t size = 0;
      const bool good = absl::SimpleAtoi(axis.substr(axis.rfind('=') + 1), &size);
      if (!good || size < 1 || size > module.config().num_partitions) return known;
      all.tile_dims.push_back(size);
      devices *= size;
      if (devices > module.config().num_partitions) return known;
    }
    for (absl::string_view id : absl::StrSplit(ListBehind(text, "device_ids=["), ',', absl::SkipWhitespace())) {
      if (!absl::SimpleAtoi(id, &all.devices.emplace_back())) return known;
    }
    const int64_t rank = static_cast<int64_t>(all.tile_dims.size());
    const absl::StatusOr<DeviceTiling> tiling = DeviceTiling::FromSharding(all, rank, module.config().num_partitions);
    // Of devices in an order that digits of their numbers do not give, nothing is known.
    if (!tiling.ok() || !tiling->order().empty()) return known;
    for (int64_t d = 0; d < rank; ++d) {
      if (!tiling->dim(d).empty()) known.axes_.push_back(tiling->dim(d));
    }
    return known;
  }
  return known;
}

void MeshAxes::Recognize(int64_t devices, DeviceTiling* tiling) const {
  if (axes_.empty() || tiling->IsReplicated() || !tiling->unreduced().empty()) return;
  DeviceTiling written = DeviceTiling::Replicated(tiling->rank());
  for (int64_t d = 0; d < tiling->rank(); ++d) {
    // From the outermost axis on: the one that says in which of the tiles that are left a device's lies.
    for (int64_t left = tiling->Tiles(d); left > 1;) {
      const auto is_next = [&](const std::vector<DeviceTiling::Digit>& axis) {
        DeviceTiling one = DeviceTiling::Replicated(1);
        for (const DeviceTiling::Digit& digit : axis) one.Append(0, digit);
        if (left % one.Tiles(0) != 0) return false;
        for (int64_t device = 0; device < devices; ++device) {
          if (tiling->TileOf(device, d) % left / (left / one.Tiles(0)) != one.TileOf(device, 0)) return false;
        }
        return true;
      };
      const auto next = std::find_if(axes_.begin(), axes_.end(), is_next);
      if (next == axes_.end()) return;
      for (const DeviceTiling::Digit& digit : *next) {
        written.Append(d, digit);
        left /= digit.size;
      }
    }
  }
  *tiling = std::move(written);
}

std::vector<std::pair<size_t, size_t>> MeshAxes::Split(const std::vector<DeviceTiling::Digit>& digits) const {
  std::vector<std::pair<size_t, size_t>> parts;
  size_t last = 0;
  for (size_t i = 0; i < digits.size(); ++i) {
    const auto has = [&](const auto& axis) { return std::find(axis.begin(), axis.end(), digits[i]) != axis.end(); };
    const size_t axis = std::find_if(axes_.begin(), axes_.end(), has) - axes_.begin();
    if (parts.empty() || axis != last) parts.emplace_back(i, i);
    parts.back().second = i + 1;
    last = axis;
  }
  return parts;
}

void MeshAxes::DropUneven(const Shape& shape, std::vector<DeviceTiling>* tilings) const {
  const auto leaves = Leaves(shape);
  for (size_t l = 0; l < leaves.size(); ++l) {
    DeviceTiling& tiling = (*tilings)[l];
    for (int64_t d = 0; d < tiling.rank(); ++d) {
      while (leaves[l].second->dim(d) % tiling.Tiles(d) != 0) {
        std::vector<DeviceTiling::Digit> kept = tiling.dim(d);
        kept.resize(Split(kept).back().first);
        tiling.Clear(d);
        for (const DeviceTiling::Digit& digit : kept) tiling.Append(d, digit);
      }
    }
  }
}

void DropMesh(HloModule* module) {
  FrontendAttributes& attributes = module->config().frontend_attributes;
  const auto is_mesh = [](const auto& attribute) { return attribute.first == kMeshes; };
  attributes.erase(std::remove_if(attributes.begin(), attributes.end(), is_mesh), attributes.end());
}

}  // namespace xc
