// How results lie on devices, where a program for several of them does not say: followed from parameters and
// annotations through its instructions.
#ifndef XC_COMPILER_SHARDING_PROPAGATE_H_
#define XC_COMPILER_SHARDING_PROPAGATE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "hlo/devices/device_tiling.h"
#include "hlo/module.h"

namespace xc {

struct EntryTilings {
  // Of the leaves of the entry's parameters and of its result, in order. Tokens have none (of no dimensions).
  std::vector<DeviceTiling> parameters, results;
};

// `module` computes whole arrays on `devices` partitions: `sharding` attributes of parameters, and calls "Sharding" and
// "SPMDShardToFullShape", say how arrays lie. Everything else follows forwards, from operands to results; where
// operands disagree, along each dimension what they agree on counts (agree.h). What one device computes for all (custom
// calls with a maximal sharding), and what is computed with it, is not cut. Arrays that calls "xla.sdy.ShardingGroup"
// put into a group lie as any of them. Parts of a result that would not be equal are not cut. InvalidArgument for
// shardings that do not fit their arrays.
absl::StatusOr<EntryTilings> PropagateShardings(const HloModule& module, int64_t devices);

// Takes those calls out, when they have had their effect.
void DropShardingGroups(HloModule* module);

// How the operands of a custom call, arrays, lie by the same rules; where it is run more than once, at the last time.
absl::StatusOr<std::vector<DeviceTiling>> OperandTilings(const HloModule& module, int64_t devices,
                                                         const HloInstruction* call);

// How the leaves of an instruction's result lie by the same rules, where those of its operands lie like this.
absl::StatusOr<std::vector<DeviceTiling>> ResultTilings(const HloInstruction& instruction, int64_t devices,
                                                        const std::vector<std::vector<DeviceTiling>>& operands);

}  // namespace xc

#endif  // XC_COMPILER_SHARDING_PROPAGATE_H_
