// Instructions by which a device gets its parts of arrays.
#ifndef XC_COMPILER_SHARDING_PARTS_H_
#define XC_COMPILER_SHARDING_PARTS_H_

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "compiler/sharding/propagate.h"

namespace xc {

// Parts of arrays in one module, by the number of the device that runs it.
class DeviceParts {
 public:
  explicit DeviceParts(int64_t devices) : devices_(devices) {}

  // A slice of `whole`, the device's part by `tiling`; `whole` itself if that does not cut. InvalidArgument where parts
  // would differ in size.
  absl::StatusOr<HloInstruction*> Part(HloInstruction* whole, const DeviceTiling& tiling);
  // `iota`, of the size of a device's part by `tiling`, as what the device has of the iota of the whole array.
  absl::StatusOr<HloInstruction*> FromStart(HloInstruction* iota, const DeviceTiling& tiling);
  // `indices`, in signed numbers, counted from where the device's part of an array of `whole` begins: of each index,
  // its number at `first` for the dimension `second` of the array.
  absl::StatusOr<HloInstruction*> Offset(HloInstruction* indices, int64_t index_vector_dim,
                                         const std::vector<std::pair<int64_t, int64_t>>& offsets,
                                         const DeviceTiling& tiling, const Shape& whole);

  // This device's number along dimension d of the tiling, times `size`: s32[].
  HloInstruction* StartOf(HloComputation* computation, const DeviceTiling& tiling, int64_t d, int64_t size);

 private:
  const int64_t devices_;
  absl::flat_hash_map<HloComputation*, HloInstruction*> partition_ids_;
};

// Makes the layouts of the results at the module's entry those of the devices' parts.
void CutResultLayouts(HloModule* module, const std::vector<DeviceTiling>& results);

// Calls `cut` with each parameter of the entry that is an array; `tilings` are those of the parameters' leaves.
// Unimplemented: a tuple of which a leaf lies on several devices.
absl::Status ForEachArrayParameter(
    const HloModule& module, const std::vector<DeviceTiling>& tilings,
    absl::FunctionRef<absl::Status(HloInstruction* parameter, const DeviceTiling& tiling)> cut);
// Makes a parameter of the entry, and its layout there, a device's part of the array. Returns what stands for the whole
// array where the parameter was used: a call that nothing else knows, to be replaced.
absl::StatusOr<HloInstruction*> CutParameter(HloInstruction* parameter, const DeviceTiling& tiling);

}  // namespace xc

#endif  // XC_COMPILER_SHARDING_PARTS_H_
