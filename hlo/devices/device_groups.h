// Which devices of a launch take part in a collective.
#ifndef XC_HLO_DEVICES_DEVICE_GROUPS_H_
#define XC_HLO_DEVICES_DEVICE_GROUPS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/instruction.h"

namespace xc {

// How many devices run the module: replicas times partitions. Device d is partition d mod P of replica d div P.
int64_t DeviceCount(const HloModule& module);

// The groups of a collective as device numbers, in the order of ranks. Its replica groups, however they are written,
// name replicas, or partitions, or devices: without a channel replicas, of the device's own partition; with one and
// use_global_device_ids devices; with one alone partitions of the device's own replica (all-to-all, permutations,
// broadcasts) or replicas with all their partitions (the others). No groups: all that there are. Collective-permute has
// groups of those that could take part. InvalidArgument for numbers that the module does not have.
absl::StatusOr<std::vector<Int64List>> DeviceGroups(const HloInstruction& collective);

// Source and target devices of a collective-permute, by turns.
absl::StatusOr<Int64List> DevicePairs(const HloInstruction& permute);

}  // namespace xc

#endif  // XC_HLO_DEVICES_DEVICE_GROUPS_H_
