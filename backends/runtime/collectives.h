// Collectives among the devices of a launch, as custom calls of the compiler's own ("xc.collective"): one target, whose
// attributes say which collective, and who takes part.
#ifndef XC_BACKENDS_RUNTIME_COLLECTIVES_H_
#define XC_BACKENDS_RUNTIME_COLLECTIVES_H_

#include "absl/status/statusor.h"
#include "backends/runtime/custom_call.h"

namespace xc {

inline constexpr char kCollectiveTarget[] = "xc.collective";

// Makes the function of a collective. Its attributes:
//   op: "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute", "collective-broadcast",
//       "ragged-all-to-all"; arrays are row-major
//   id: number of the op in its program;  name: of the instruction, for errors
//   groups, sizes: device numbers of all groups one after the other, in the order of ranks, and the groups' sizes; of
//       collective-permute: one group of all that take part, and in `pairs` source and target devices by turns
//   devices: how many the program is for
//   dimension: which one is gathered, scattered or split; all-to-all without it has an operand for each rank
//   reduction: "add", "multiply", "maximum", "minimum", "and", "or", "xor"
// Sums are made in the order of ranks: the same bits on every device, in every run. Types narrower than a byte take
// one.
absl::StatusOr<CallFunction> MakeCollective(const CallArgs& args);

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_COLLECTIVES_H_
