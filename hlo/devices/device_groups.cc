#include "hlo/devices/device_groups.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "hlo/module.h"

namespace xc {
namespace {

constexpr int64_t kMaxDevices = 1 << 16;

enum class Members { kReplicas, kPartitions, kReplicasWithPartitions, kDevices };

Members MembersOf(const HloInstruction& i) {
  if (i.FindAttr<AttrKind::kChannelId>() == nullptr) return Members::kReplicas;
  if (i.attr_or<AttrKind::kUseGlobalDeviceIds>(false)) return Members::kDevices;
  switch (i.opcode()) {
    case HloOpcode::kAllToAll:
    case HloOpcode::kRaggedAllToAll:
    case HloOpcode::kCollectivePermute:
    case HloOpcode::kCollectivePermuteStart:
    case HloOpcode::kCollectiveBroadcast:
      return Members::kPartitions;
    default:
      return Members::kReplicasWithPartitions;
  }
}

// The iota form as lists.
std::vector<Int64List> Listed(const ReplicaGroups& groups) {
  if (groups.iota_dims.empty()) return groups.groups;
  Int64List dims = groups.iota_reshape_dims.empty() ? groups.iota_dims : groups.iota_reshape_dims;
  Int64List order = groups.iota_transpose;
  if (order.empty()) {
    order.resize(dims.size());
    std::iota(order.begin(), order.end(), 0);
  }
  Int64List strides(dims.size(), 1);
  int64_t total = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    strides[d] = total;
    total *= dims[d];
  }
  std::vector<Int64List> lists;
  const int64_t size = groups.iota_dims.back();
  for (int64_t i = 0; i < total; ++i) {
    // Position i of the transposed array.
    int64_t rest = i, number = 0;
    for (size_t d = order.size(); d-- > 0;) {
      number += rest % dims[order[d]] * strides[order[d]];
      rest /= dims[order[d]];
    }
    if (i % size == 0) lists.emplace_back();
    lists.back().push_back(number);
  }
  return lists;
}

}  // namespace

int64_t DeviceCount(const HloModule& module) {
  const ModuleConfig& config = module.config();
  const int64_t replicas = std::max<int64_t>(config.replica_count, 1),
                parts = std::max<int64_t>(config.num_partitions, 1);
  return replicas > INT32_MAX || parts > INT32_MAX ? INT64_MAX : replicas * parts;
}

absl::StatusOr<std::vector<Int64List>> DeviceGroups(const HloInstruction& i) {
  const ModuleConfig& config = i.module()->config();
  const int64_t devices = DeviceCount(*i.module());
  if (devices > kMaxDevices) {
    return absl::UnimplementedError(absl::StrCat("a module for ", devices, " devices; ", kMaxDevices, " are possible"));
  }
  const int64_t replicas = std::max<int64_t>(config.replica_count, 1), parts = devices / replicas;
  const Members members = MembersOf(i);
  const int64_t names = members == Members::kPartitions ? parts : members == Members::kDevices ? devices : replicas;
  std::vector<Int64List> lists;
  const auto* groups = i.FindAttr<AttrKind::kReplicaGroups>();
  if (groups != nullptr) lists = Listed(*groups);
  if (lists.empty()) {
    lists.emplace_back(names);
    std::iota(lists[0].begin(), lists[0].end(), 0);
  }
  std::vector<Int64List> result;
  for (const Int64List& list : lists) {
    for (int64_t number : list) {
      if (number < 0 || number >= names) {
        return absl::InvalidArgumentError(absl::StrCat(i.name(), " names ",
                                                       members == Members::kPartitions ? "partition "
                                                       : members == Members::kDevices  ? "device "
                                                                                       : "replica ",
                                                       number, "; the module has ", names));
      }
    }
    switch (members) {
      case Members::kDevices:
        result.push_back(list);
        break;
      case Members::kReplicas:
        for (int64_t p = 0; p < parts; ++p) {
          for (Int64List& group = result.emplace_back(); int64_t r : list) group.push_back(r * parts + p);
        }
        break;
      case Members::kPartitions:
        for (int64_t r = 0; r < replicas; ++r) {
          for (Int64List& group = result.emplace_back(); int64_t p : list) group.push_back(r * parts + p);
        }
        break;
      case Members::kReplicasWithPartitions: {
        Int64List& group = result.emplace_back();
        for (int64_t r : list) {
          for (int64_t p = 0; p < parts; ++p) group.push_back(r * parts + p);
        }
        break;
      }
    }
  }
  return result;
}

absl::StatusOr<Int64List> DevicePairs(const HloInstruction& permute) {
  const ModuleConfig& config = permute.module()->config();
  const int64_t devices = DeviceCount(*permute.module()), replicas = std::max<int64_t>(config.replica_count, 1),
                parts = devices / replicas;
  const bool partitions = MembersOf(permute) == Members::kPartitions;
  Int64List pairs;
  for (const Int64List& pair : permute.attr<AttrKind::kSourceTargetPairs>()) {
    for (int64_t number : pair) {
      if (number >= (partitions ? parts : replicas)) {
        return absl::InvalidArgumentError(absl::StrCat(permute.name(), " names ",
                                                       partitions ? "partition " : "replica ", number,
                                                       "; the module has ", partitions ? parts : replicas));
      }
    }
    for (int64_t other = 0; other < (partitions ? replicas : parts); ++other) {
      for (int64_t number : pair) pairs.push_back(partitions ? other * parts + number : number * parts + other);
    }
  }
  return pairs;
}

}  // namespace xc
