// What is known of custom calls: what their functions get and give, and those that have a meaning by their names alone,
// annotations and approximate top-k.
#ifndef XC_HLO_OPS_KNOWN_CALLS_H_
#define XC_HLO_OPS_KNOWN_CALLS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/instruction.h"

namespace xc {

// Whether the call tells compilers of several devices or memories something about its operand, and gives the operand.
bool IsAnnotation(const HloInstruction& call);

// Whether every backend knows the call by its name, without a function that is registered for it: ApproxTopK and
// PartialReduce (below), PadToStatic and SliceToDynamic.
bool IsKnownCall(const HloInstruction& call);

// ApproxTopK and PartialReduce: (arrays…, initial values…) with a comparator to those elements of each line along
// `dimension` that come first. How many there are, `kept`, is what the result has room for.
bool IsApproxTopK(const HloInstruction& call);
struct ApproxTopKForm {
  int64_t arrays = 0;
  int64_t dimension = 0;
  int64_t kept = 0;
};
// InvalidArgument when operands, comparator, result or configuration do not fit.
absl::StatusOr<ApproxTopKForm> ApproxTopKOf(const HloInstruction& call);

// The arrays and tokens that a custom call's operands are made of, in order, with the layouts that the call asks for.
std::vector<const Shape*> CallOperandLeaves(const HloInstruction& call);

// Leaf `output` of the result is, by output_to_operand_aliasing, the buffer of leaf `input` of the operands. Leaves
// that differ in layout are not paired: their bytes are not the same.
struct CallAlias {
  int64_t output = 0;
  int64_t input = 0;
};
std::vector<CallAlias> CallAliases(const HloInstruction& call);

}  // namespace xc

#endif  // XC_HLO_OPS_KNOWN_CALLS_H_
