// Which parts of arrays that follow from no parameter (iotas, spread scalars, random numbers from a whole key) devices
// will need, so that each makes its own part only.
#ifndef XC_COMPILER_SHARDING_WANTED_H_
#define XC_COMPILER_SHARDING_WANTED_H_

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "compiler/sharding/propagate.h"

namespace xc {

// Of iotas and broadcasts in the entry of `module` that would be whole on each device by PropagateShardings: how what
// is computed from them lies, followed backwards from results and other operands. Those that are needed whole, and
// those that uses cut in ways that do not fit, are left out. Calls are not looked into.
absl::StatusOr<absl::flat_hash_map<const HloInstruction*, DeviceTiling>> WantedTilings(const HloModule& module,
                                                                                       const EntryTilings& tilings,
                                                                                       int64_t devices);

}  // namespace xc

#endif  // XC_COMPILER_SHARDING_WANTED_H_
