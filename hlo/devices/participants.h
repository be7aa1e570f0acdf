// How many devices a collective is for.
#ifndef XC_HLO_DEVICES_PARTICIPANTS_H_
#define XC_HLO_DEVICES_PARTICIPANTS_H_

#include <algorithm>
#include <cstdint>

#include "hlo/instruction.h"
#include "hlo/module.h"

namespace xc {

// The size of a group of a collective: of its largest replica group or, if it names none, the replicas of its module,
// times the partitions if it has a channel. 1 for ops without groups: collective-permute names its devices in pairs.
inline int64_t ParticipantCount(const HloInstruction& collective) {
  const ReplicaGroups* groups = collective.FindAttr<AttrKind::kReplicaGroups>();
  if (groups == nullptr) return 1;
  if (!groups->iota_dims.empty()) return groups->iota_dims.back();
  int64_t count = 0;
  for (const Int64List& group : groups->groups) count = std::max<int64_t>(count, group.size());
  if (count > 0) return count;
  const ModuleConfig& config = collective.parent()->module()->config();
  return config.replica_count * (collective.FindAttr<AttrKind::kChannelId>() != nullptr ? config.num_partitions : 1);
}

}  // namespace xc

#endif  // XC_HLO_DEVICES_PARTICIPANTS_H_
