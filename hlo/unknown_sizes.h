// Modules that leave sizes open, as XLA's unbounded dimensions do (`f32[?,8]`), for the sizes that arguments have.
#ifndef XC_HLO_UNKNOWN_SIZES_H_
#define XC_HLO_UNKNOWN_SIZES_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace xc {

// Gives all sizes of the module that are unknown the values that follow from its parameters' shapes, which
// `argument_shape` says for those that have such sizes; arrays inside of tuples count as arguments of their own. A size
// that a broadcast or reshape makes follows from the operand's where the operand has it, or all others; a slice's limit
// may be unknown, and is then the operand's size. Errors, with the instruction: shapes that contradict each other or
// the module, and sizes that nothing determines. A module without unknown sizes stays as it is.
absl::Status BindUnknownSizes(
    const std::function<absl::StatusOr<Shape>(int64_t argument, const Shape& type)>& argument_shape, HloModule* module);

}  // namespace xc

#endif  // XC_HLO_UNKNOWN_SIZES_H_
