// The axes of the mesh that a module was written for: arrays are cut by whole ones.
#ifndef XC_COMPILER_SHARDING_MESH_AXES_H_
#define XC_COMPILER_SHARDING_MESH_AXES_H_

#include <utility>
#include <vector>

#include "hlo/devices/device_tiling.h"
#include "hlo/module.h"

namespace xc {

class MeshAxes {
 public:
  // By the module's attribute `xla.sdy.meshes`; of a module without one, or with one that is not understood, nothing
  // is known.
  static MeshAxes Of(const HloModule& module);

  // Writes a tiling in digits of the axes, where it cuts each dimension by a list of them.
  void Recognize(int64_t devices, DeviceTiling* tiling) const;

  // The digits of a dimension axis by axis, from the first of each to behind its last one. Those that belong to no
  // axis are one.
  std::vector<std::pair<size_t, size_t>> Split(const std::vector<DeviceTiling::Digit>& digits) const;
  // Takes from the tilings of the leaves of an array or tuple the axes, from the last one on, by which the parts of a
  // dimension would differ in size.
  void DropUneven(const Shape& shape, std::vector<DeviceTiling>* tilings) const;

 private:
  std::vector<std::vector<DeviceTiling::Digit>> axes_;
};

// Takes the attribute out of the module, for which it has no meaning once it is known how results lie.
void DropMesh(HloModule* module);

}  // namespace xc

#endif  // XC_COMPILER_SHARDING_MESH_AXES_H_
