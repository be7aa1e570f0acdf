// Custom calls whose author says how devices share the work (jax.experimental.custom_partitioning).
#ifndef XC_COMPILER_SHARDING_PARTITIONED_CALLS_H_
#define XC_COMPILER_SHARDING_PARTITIONED_CALLS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace xc {

inline constexpr char kPartitionedCallTarget[] = "CustomSPMDPartitioning";

// One array of such a call, and how it lies on the devices.
struct ShardedShape {
  Shape shape;
  Sharding sharding;
};

// What the author wants for a call.
struct PartitionedCall {
  std::vector<Sharding> operands, results;
  std::unique_ptr<HloModule> body;  // from a device's parts of the operands to its parts of the results
};

// Asks the author of the call that is named `key` (its backend_config). `operands` lie as it follows from what is
// before the call, and from its sharding rule (sharding_rule.h), if it has one; `results` as that rule says, else as
// the first operand of the same shape, or whole on each device.
using CallPartitioner = std::function<absl::StatusOr<PartitionedCall>(
    const std::string& key, const std::vector<ShardedShape>& operands, const std::vector<ShardedShape>& results)>;

// Makes each call to kPartitionedCallTarget of `module`, which computes whole arrays on `devices` partitions, a manual
// part (compiler/sharding/manual.h) with its author's body. Errors: what the author says, or a body that does not fit.
absl::Status PartitionCalls(HloModule* module, int64_t devices, const CallPartitioner& partition);

}  // namespace xc

#endif  // XC_COMPILER_SHARDING_PARTITIONED_CALLS_H_
