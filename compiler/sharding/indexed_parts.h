// Gathers and scatters whose arrays or updates are cut along dimensions in which indices count: devices do what
// concerns their parts, and sum the results.
#ifndef XC_COMPILER_SHARDING_INDEXED_PARTS_H_
#define XC_COMPILER_SHARDING_INDEXED_PARTS_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/sharding/exchange.h"

namespace xc {

// Of a gather that takes single elements along dimensions by which `array` is cut: each device takes those that are in
// its part and nothing for the others, and all sum what they have. Nothing for other gathers.
absl::StatusOr<std::optional<DevicePart>> GatherFromParts(const HloInstruction& gather, const DevicePart& array,
                                                          const DevicePart& indices, DeviceExchange* exchange);

// Of a slice that is within one tile along dimensions by which `array` is cut, and too short there to be cut itself:
// the device that has it gives it to all. Nothing for other slices.
absl::StatusOr<std::optional<DevicePart>> SliceFromParts(const HloInstruction& slice, const DevicePart& array,
                                                         DeviceExchange* exchange);

// Of a scatter with operands `x`, whose results lie by `to` as far as they can. Sums of updates that are cut are made
// on each device apart first.
absl::StatusOr<std::vector<DevicePart>> ScatterIntoParts(const HloInstruction& scatter,
                                                         const std::vector<DevicePart>& x, const DeviceTiling& to,
                                                         DeviceExchange* exchange);

}  // namespace xc

#endif  // XC_COMPILER_SHARDING_INDEXED_PARTS_H_
