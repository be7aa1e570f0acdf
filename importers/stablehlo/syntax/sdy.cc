#include "importers/stablehlo/syntax/sdy.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"

namespace xc::stablehlo {
namespace {

constexpr int64_t kMaxMeshDevices = 1 << 16;

class ShardingText {
 public:
  ShardingText(absl::string_view text, const Meshes& meshes) : text_(text), meshes_(meshes) {}

  absl::StatusOr<SdySharding> One() {
    Name();
    XC_RETURN_IF_ERROR(Expect('<'));
    SdySharding sharding;
    XC_RETURN_IF_ERROR(Mesh(&sharding.mesh));
    XC_RETURN_IF_ERROR(Expect(','));
    XC_RETURN_IF_ERROR(Expect('['));
    while (!Take(']')) {
      XC_RETURN_IF_ERROR(Expect('{'));
      sharding.dims.emplace_back();
      while (!Take('}')) {
        if (Take('?')) {
          sharding.open.push_back(static_cast<int64_t>(sharding.dims.size()) - 1);
        } else {
          XC_ASSIGN_OR_RETURN(MeshAxisRef axis, Axis(sharding.mesh));
          sharding.dims.back().push_back(axis);
        }
        Take(',');
      }
      if (Take('p')) Number();  // a priority
      Take(',');
    }
    while (Take(',')) {  // replicated={…}, unreduced={…}
      const bool unreduced = Name() == "unreduced";
      XC_RETURN_IF_ERROR(Expect('='));
      XC_RETURN_IF_ERROR(Expect('{'));
      while (!Take('}')) {
        XC_ASSIGN_OR_RETURN(MeshAxisRef axis, Axis(sharding.mesh));
        if (unreduced) sharding.unreduced.push_back(axis);
        Take(',');
      }
    }
    XC_RETURN_IF_ERROR(Expect('>'));
    return sharding;
  }

  absl::StatusOr<std::vector<SdySharding>> Several() {
    const size_t open = text_.find('[');
    if (open == absl::string_view::npos) return Error("`[`");
    at_ = open + 1;
    std::vector<SdySharding> shardings;
    while (!Take(']')) {
      XC_ASSIGN_OR_RETURN(shardings.emplace_back(), One());
      Take(',');
    }
    return shardings;
  }

 private:
  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat("expected ", what, " at offset ", at_, " of the sharding `", text_.substr(0, 100), "`"));
  }
  bool Take(char c) {
    while (at_ < text_.size() && absl::ascii_isspace(text_[at_])) ++at_;
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  absl::Status Expect(char c) { return Take(c) ? absl::OkStatus() : Error(absl::StrCat("`", std::string(1, c), "`")); }
  // `#sdy.sharding` and other names.
  std::string Name() {
    while (at_ < text_.size() && absl::ascii_isspace(text_[at_])) ++at_;
    const size_t start = at_;
    while (at_ < text_.size() && (absl::ascii_isalnum(text_[at_]) || text_[at_] == '#' || text_[at_] == '.' ||
                                  text_[at_] == '_' || text_[at_] == '-' || text_[at_] == '$')) {
      ++at_;
    }
    return std::string(text_.substr(start, at_ - start));
  }
  int64_t Number() {
    int64_t number = 0;
    while (at_ < text_.size() && absl::ascii_isspace(text_[at_])) ++at_;
    while (at_ < text_.size() && absl::ascii_isdigit(text_[at_])) {
      number = std::min<int64_t>(number * 10 + (text_[at_++] - '0'), kMaxMeshDevices + 1);
    }
    return number;
  }
  absl::StatusOr<std::string> Quoted() {
    XC_RETURN_IF_ERROR(Expect('"'));
    const size_t end = text_.find('"', at_);
    if (end == absl::string_view::npos) return Error("`\"`");
    const std::string name(text_.substr(at_, end - at_));
    at_ = end + 1;
    return name;
  }

  absl::Status Mesh(DeviceMesh* mesh) {
    if (Take('@')) {
      std::string name;
      if (at_ < text_.size() && text_[at_] == '"') {
        XC_ASSIGN_OR_RETURN(name, Quoted());
      } else {
        name = Name();
      }
      const auto known = meshes_.find(name);
      if (known == meshes_.end()) {
        return absl::InvalidArgumentError(absl::StrCat("there is no mesh @", name));
      }
      *mesh = known->second;
      return absl::OkStatus();
    }
    if (Name() != "mesh") return Error("a mesh");
    XC_RETURN_IF_ERROR(Expect('<'));
    XC_RETURN_IF_ERROR(Expect('['));
    while (!Take(']')) {
      DeviceMesh::Axis axis;
      XC_ASSIGN_OR_RETURN(axis.name, Quoted());
      XC_RETURN_IF_ERROR(Expect('='));
      axis.size = Number();
      mesh->axes.push_back(std::move(axis));
      Take(',');
    }
    if (Take(',')) {  // device_ids=[…]
      Name();
      XC_RETURN_IF_ERROR(Expect('='));
      XC_RETURN_IF_ERROR(Expect('['));
      while (!Take(']')) {
        if (at_ >= text_.size() || !absl::ascii_isdigit(text_[at_])) return Error("a device");
        mesh->device_ids.push_back(Number());
        Take(',');
      }
    }
    return Expect('>');
  }

  absl::StatusOr<MeshAxisRef> Axis(const DeviceMesh& mesh) {
    XC_ASSIGN_OR_RETURN(const std::string name, Quoted());
    MeshAxisRef ref;
    for (ref.axis = 0; ref.axis < static_cast<int64_t>(mesh.axes.size()); ++ref.axis) {
      if (mesh.axes[ref.axis].name == name) break;
    }
    if (ref.axis == static_cast<int64_t>(mesh.axes.size())) {
      return absl::InvalidArgumentError(absl::StrCat("the mesh has no axis \"", name, "\""));
    }
    if (Take(':')) {  // a part of it, (what comes before)size
      XC_RETURN_IF_ERROR(Expect('('));
      ref.pre_size = Number();
      XC_RETURN_IF_ERROR(Expect(')'));
      ref.size = Number();
      const int64_t size = mesh.axes[ref.axis].size;
      if (ref.pre_size < 1 || ref.size < 1 || ref.pre_size > size || size % (ref.pre_size * ref.size) != 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("the axis \"", name, "\" of ", size, " devices has no part (", ref.pre_size, ")", ref.size));
      }
    }
    return ref;
  }

  absl::string_view text_;
  const Meshes& meshes_;
  size_t at_ = 0;
};

}  // namespace

absl::StatusOr<SdySharding> ParseSharding(absl::string_view text, const Meshes& meshes) {
  return ShardingText(text, meshes).One();
}

absl::StatusOr<std::vector<SdySharding>> ParseShardings(absl::string_view text, const Meshes& meshes) {
  return ShardingText(text, meshes).Several();
}

std::vector<std::string> ParseAxisNames(absl::string_view text) {
  std::vector<std::string> names;
  for (size_t open = text.find('"'); open != absl::string_view::npos; open = text.find('"', open)) {
    const size_t close = text.find('"', open + 1);
    if (close == absl::string_view::npos) break;
    names.emplace_back(text.substr(open + 1, close - open - 1));
    open = close + 1;
  }
  return names;
}

int64_t DevicesOf(const DeviceMesh& mesh) {
  int64_t devices = 1;
  for (const DeviceMesh::Axis& axis : mesh.axes) {
    if (axis.size < 1 || devices > kMaxMeshDevices / axis.size) return kMaxMeshDevices + 1;
    devices *= axis.size;
  }
  return devices;
}

absl::StatusOr<DeviceTiling> TilingOf(const SdySharding& sharding, const std::vector<std::string>* keep) {
  const DeviceMesh& mesh = sharding.mesh;
  const int64_t devices = DevicesOf(mesh);
  if (devices > kMaxMeshDevices) {
    return absl::UnimplementedError(absl::StrCat("a mesh of more than ", kMaxMeshDevices, " devices"));
  }
  DeviceTiling tiling = DeviceTiling::Replicated(static_cast<int64_t>(sharding.dims.size()));
  if (!mesh.device_ids.empty() && !mesh.axes.empty() &&
      !std::is_sorted(mesh.device_ids.begin(), mesh.device_ids.end())) {
    Int64List sorted = mesh.device_ids;
    std::sort(sorted.begin(), sorted.end());
    for (int64_t i = 0; i < static_cast<int64_t>(sorted.size()); ++i) {
      if (sorted[i] != i || static_cast<int64_t>(sorted.size()) != devices) {
        return absl::InvalidArgumentError("the devices of a mesh should be all that there are, once each");
      }
    }
    tiling.set_order(mesh.device_ids);
  }
  Int64List strides(mesh.axes.size(), 1);
  for (size_t a = mesh.axes.size(); a-- > 1;) strides[a - 1] = strides[a] * mesh.axes[a].size;
  const auto kept = [&](const MeshAxisRef& ref) {
    return keep == nullptr || std::find(keep->begin(), keep->end(), mesh.axes[ref.axis].name) != keep->end();
  };
  const auto digit = [&](const MeshAxisRef& ref) {
    const int64_t whole = mesh.axes[ref.axis].size, size = ref.size == 0 ? whole : ref.size;
    return DeviceTiling::Digit{strides[ref.axis] * (whole / (ref.pre_size * size)), size};
  };
  for (size_t d = 0; d < sharding.dims.size(); ++d) {
    for (const MeshAxisRef& ref : sharding.dims[d]) {
      if (kept(ref)) tiling.Append(static_cast<int64_t>(d), digit(ref));
    }
  }
  for (const MeshAxisRef& ref : sharding.unreduced) {
    if (kept(ref)) tiling.AppendUnreduced(digit(ref));
  }
  if (tiling.IsReplicated() && tiling.unreduced().empty()) tiling.set_order({});
  return tiling;
}

}  // namespace xc::stablehlo
