// Programs with manual parts, whose devices exchange what they compute by collectives of the program's own.
#ifndef XC_COMPILER_SHARDING_MANUAL_H_
#define XC_COMPILER_SHARDING_MANUAL_H_

#include "absl/status/status.h"
#include "compiler/sharding/propagate.h"
#include "hlo/module.h"

namespace xc {

// Whether some part of the module is written for one device ("SPMDFullToShardShape").
bool HasManualParts(const HloModule& module);

// Makes a module that computes whole arrays one that each of the partitions runs: parameters and results become the
// parts that `tilings` say; manual parts run on their parts as they are written; everything else is computed whole by
// each device, from what is gathered before it. What a manual part gets or gives in the tiling of a parameter or result
// is neither gathered nor cut. Aliases between parameters and results are dropped. Unimplemented: tuples as parameters,
// manual parts whose arrays are also cut along other axes.
absl::Status LocalizeManualParts(HloModule* module, const EntryTilings& tilings);

}  // namespace xc

#endif  // XC_COMPILER_SHARDING_MANUAL_H_
