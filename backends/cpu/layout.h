// Layout normalization: gives every array of a module row-major layout, so that emitters see one memory order.
#ifndef XC_BACKENDS_CPU_LAYOUT_H_
#define XC_BACKENDS_CPU_LAYOUT_H_

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace xc::cpu {

// Entry parameters and results keep their bytes: one with another layout becomes the row-major array of the same bytes,
// transposed inside. Bitcasts that reinterpret other layouts become transposes around a reshape. Unimplemented for
// tuple parameters with such layouts. Returns whether anything changed.
absl::StatusOr<bool> NormalizeLayouts(HloModule* module);

}  // namespace xc::cpu

#endif  // XC_BACKENDS_CPU_LAYOUT_H_
