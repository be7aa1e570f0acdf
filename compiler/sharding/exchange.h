// Collectives by which devices get other parts of arrays than they have.
#ifndef XC_COMPILER_SHARDING_EXCHANGE_H_
#define XC_COMPILER_SHARDING_EXCHANGE_H_

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "compiler/sharding/parts.h"

namespace xc {

// What a device has of an array: the part that `tiling` gives it.
struct DevicePart {
  HloInstruction* part = nullptr;
  DeviceTiling tiling;
};

// Exchanges between the devices of one module.
class DeviceExchange {
 public:
  explicit DeviceExchange(int64_t devices) : devices_(devices), parts_(devices) {}

  // The array by another tiling: an all-to-all where a cut moves from one dimension to another, a permutation where
  // other devices have parts of the same size, all-gathers along dimensions that are cut less, slices along those that
  // are cut more.
  absl::StatusOr<DevicePart> In(const DevicePart& from, const DeviceTiling& tiling);
  DeviceParts& parts() { return parts_; }
  // `op` of the parts of all devices that differ in `digits` only.
  HloInstruction* AllReduce(HloInstruction* part, HloOpcode op, const std::vector<DeviceTiling::Digit>& digits,
                            const Int64List& order);
  // `part`, of an array that lies by `tiling`, of the device that has tile source(t) along dimension d, for the device
  // that has tile t there.
  HloInstruction* Permute(HloInstruction* part, const DeviceTiling& tiling, int64_t d,
                          absl::FunctionRef<int64_t(int64_t)> source);

 private:
  using Digits = std::vector<DeviceTiling::Digit>;
  // Devices that differ in `digits` only, the first of which counts most: in the order of their numbers there.
  std::vector<Int64List> Groups(const Digits& digits, const Int64List& order) const;
  // Adds the collective among such devices.
  HloInstruction* Collective(HloInstruction* part, HloOpcode opcode, const Shape& shape, const Digits& digits,
                             const Int64List& order);
  // Each pair: a device, and the one that gets its part.
  HloInstruction* Permutation(HloInstruction* part, std::vector<Int64List> pairs);
  // The part that `to` gives a device, which cuts the dimensions into as many tiles as `from`.
  HloInstruction* Reassign(HloInstruction* part, const DeviceTiling& from, const DeviceTiling& to);
  HloInstruction* AllGather(HloInstruction* part, int64_t d, const Digits& digits, const Int64List& order);
  HloInstruction* AllToAll(HloInstruction* part, int64_t from, int64_t to, const Digits& digits,
                           const Int64List& order);

  const int64_t devices_;
  DeviceParts parts_;
  int64_t channels_ = 0;
  // What was made of a part before.
  absl::flat_hash_map<const HloInstruction*, std::vector<DevicePart>> made_;
};

}  // namespace xc

#endif  // XC_COMPILER_SHARDING_EXCHANGE_H_
