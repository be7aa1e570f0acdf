// Shardings of the dialect sdy, as text: how arrays lie on the axes of a mesh.
#ifndef XC_IMPORTERS_STABLEHLO_SYNTAX_SDY_H_
#define XC_IMPORTERS_STABLEHLO_SYNTAX_SDY_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlo/attributes.h"
#include "hlo/devices/device_tiling.h"
#include "hlo/devices/mesh_groups.h"

namespace xc::stablehlo {

using Meshes = std::map<std::string, DeviceMesh, std::less<>>;

struct SdySharding {
  DeviceMesh mesh;
  std::vector<std::vector<MeshAxisRef>> dims;
  std::vector<int64_t> open;  // dimensions that may be cut further
  std::vector<MeshAxisRef> unreduced;
};

// `#sdy.sharding<@mesh, [{"x"}, {"y", ?}], replicated={"z"}>`, or without its name. InvalidArgument for what is no
// sharding, a mesh or an axis that is not there.
absl::StatusOr<SdySharding> ParseSharding(absl::string_view text, const Meshes& meshes);
// `[<@mesh, [{"x"}]>, <@mesh, [{}]>]`, or in `#sdy.sharding_per_value<…>`.
absl::StatusOr<std::vector<SdySharding>> ParseShardings(absl::string_view text, const Meshes& meshes);
// `{"x", "y"}`, or in `#sdy.manual_axes<…>` or the like: the names.
std::vector<std::string> ParseAxisNames(absl::string_view text);

// The sharding by those of its axes that `keep` names (null: all), on as many devices as the mesh has.
absl::StatusOr<DeviceTiling> TilingOf(const SdySharding& sharding, const std::vector<std::string>* keep = nullptr);
int64_t DevicesOf(const DeviceMesh& mesh);

}  // namespace xc::stablehlo

#endif  // XC_IMPORTERS_STABLEHLO_SYNTAX_SDY_H_
