// Replica groups by the axes of a mesh of devices, turned into the forms that the rest of the compiler knows.
#ifndef XC_HLO_DEVICES_MESH_GROUPS_H_
#define XC_HLO_DEVICES_MESH_GROUPS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo/attributes.h"

namespace xc {

// Devices in an array whose dimensions have names. In row-major order they are `device_ids`; if that is empty, the
// numbers 0, 1, … of an array of `iota_reshape_dims`, transposed by `iota_transpose`; or just 0, 1, ….
struct DeviceMesh {
  struct Axis {
    std::string name;
    int64_t size = 1;
  };
  std::vector<Axis> axes;
  Int64List device_ids, iota_reshape_dims, iota_transpose;
};

// An axis of a mesh, or a part of it: the axis is seen as an array [pre_size, size, rest], and the part is the middle.
struct MeshAxisRef {
  int64_t axis = 0;
  int64_t pre_size = 1;
  int64_t size = 0;  // 0: the whole axis
};

// A group holds the devices that differ along `axes` only, in the order that `axes` give, the first the slowest. In
// iota form, or as a list where the mesh has an order of its own. The axes' names are not kept.
absl::StatusOr<ReplicaGroups> GroupsOfMesh(const DeviceMesh& mesh, absl::Span<const MeshAxisRef> axes);

}  // namespace xc

#endif  // XC_HLO_DEVICES_MESH_GROUPS_H_
