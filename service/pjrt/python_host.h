// In a process of Python that has jaxlib: what JAX registers for custom calls on the CPU reaches this compiler, too,
// and so do its setting for the number of devices and what programs say of how devices share custom calls.
#ifndef XC_SERVICE_PJRT_PYTHON_HOST_H_
#define XC_SERVICE_PJRT_PYTHON_HOST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/sharding/partitioned_calls.h"

namespace xc::pjrt {

// jaxlib keeps handlers for its own client alone. Puts a function before its own one that hands each to both, and takes
// over those that are registered already. Once for the process; nothing happens in one without Python or jaxlib. What
// goes wrong is said on stderr, as such handlers are then missed by name when a program needs them.
void ShareHandlersOfJaxlib();

// Lets jnp.from_dlpack copy, of arrays of this client. Once for the process, as above.
void CopyDlpackForJaxlib();

// What JAX's setting `jax_num_cpu_devices` says, which it gives its own client alone; 0 where it says nothing.
int64_t DevicesOfJaxSetting();

// Whether JAX's setting `jax_cpu_enable_async_dispatch`, which it gives its own client alone, is off.
bool WaitsByJaxSetting();

// Asks the function of jax.experimental.custom_partitioning that a call is registered with (a CallPartitioner of
// PartitionCalls). FailedPrecondition in a process without JAX; Internal with what the function raises.
absl::StatusOr<PartitionedCall> PartitionByJax(const std::string& key, const std::vector<ShardedShape>& operands,
                                               const std::vector<ShardedShape>& results);

// Hands the sharding of an array to the function that asks for it (jax.debug.inspect_array_sharding); `callback` is the
// backend_config of the call "InspectSharding". Errors as above, but InvalidArgument for what the function raises.
absl::Status TellSharding(const std::string& callback, const Sharding& sharding);

}  // namespace xc::pjrt

#endif  // XC_SERVICE_PJRT_PYTHON_HOST_H_
