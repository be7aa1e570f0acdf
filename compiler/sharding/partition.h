// From a program of whole arrays to what each device computes of it: parts of arrays, and collectives between them.
#ifndef XC_COMPILER_SHARDING_PARTITION_H_
#define XC_COMPILER_SHARDING_PARTITION_H_

#include "absl/status/status.h"
#include "compiler/sharding/propagate.h"

namespace xc {

// `module` computes whole arrays on its partitions, which are one replica's, and has no manual parts; `tilings` are
// those of PropagateShardings. Afterwards its entry takes and gives a device's parts. Elementwise instructions,
// dots, convolutions over their batch and output features, sums and other plain reductions, what moves elements
// along dimensions that are not cut, rotations and reversals, what is sorted or joined along a dimension that can
// exchange its cut for one of another, what has dimensions that do not depend on each other (independent_dims.h),
// gathers of single elements and scatters compute parts, in loops and conditionals too; everything else computes
// whole arrays, which are gathered before. Calls are inlined. Donations and aliases stay.
absl::Status PartitionModule(HloModule* module, const EntryTilings& tilings);

}  // namespace xc

#endif  // XC_COMPILER_SHARDING_PARTITION_H_
