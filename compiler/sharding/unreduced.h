// Arrays of which each device has a summand.
#ifndef XC_COMPILER_SHARDING_UNREDUCED_H_
#define XC_COMPILER_SHARDING_UNREDUCED_H_

#include "absl/status/status.h"
#include "compiler/sharding/propagate.h"

namespace xc {

// The leaves of which `tilings` say that devices have summands get a dimension in front, along which these lie, one for
// each device that shares in the sum; the module takes the sum of a parameter's. A result's are those of its products,
// as far as it is a sum of such; of anything else the first is all of it, and the others zeros. Their tilings are of
// that form afterwards. Unimplemented for such a leaf inside of a tuple that is no result.
absl::Status StackUnreduced(HloModule* module, EntryTilings* tilings);

// The shape of a stacked leaf without the dimension along which summands lie.
Shape WithoutStack(const Shape& stacked);

// After PartitionModule, the devices' parts at the entry without that dimension, which is 1 there. `before`: the
// tilings as they were given to StackUnreduced.
void DropStacks(HloModule* module, const EntryTilings& before);

}  // namespace xc

#endif  // XC_COMPILER_SHARDING_UNREDUCED_H_
