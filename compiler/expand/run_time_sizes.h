// Modules whose arrays have sizes that only a run knows, as modules of arrays of the bounds.
#ifndef XC_COMPILER_EXPAND_RUN_TIME_SIZES_H_
#define XC_COMPILER_EXPAND_RUN_TIME_SIZES_H_

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace xc {

// Whether the number of elements that count in some array is computed while the module runs.
bool HasRunTimeSizes(const HloModule& module);

// Every value `f32[<=8,4]` becomes a tuple `(f32[8,4], s32[])` of the array of bounds and the size of each dimension
// that has one; in the result too, where elements beyond the sizes are zero. Parameters of the entry become arrays of
// the bounds, all of which count. Ops mask what lies beyond the sizes where it would count (sized_ops.h).
// Unimplemented, with the module in pieces: an op or a layout has no such form.
absl::Status ExpandRunTimeSizes(HloModule* module);

}  // namespace xc

#endif  // XC_COMPILER_EXPAND_RUN_TIME_SIZES_H_
