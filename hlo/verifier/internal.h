// The groups of rules that make up the verifier, in the order in which they run: later ones rely on earlier ones.
#ifndef XC_HLO_VERIFIER_INTERNAL_H_
#define XC_HLO_VERIFIER_INTERNAL_H_

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "hlo/verifier/verifier.h"

namespace xc::verifier {

template <typename... Parts>
absl::Status Error(const HloInstruction& instruction, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(DescribeInstruction(instruction), ": ", parts...));
}
template <typename... Parts>
absl::Status Error(const HloComputation& computation, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("computation ", computation.name(), ": ", parts...));
}

// Entry, parents, operands and users, names, parameter numbers, roots; no cycles among instructions.
absl::Status VerifyStructure(const HloModule& module);
// Called computations exist, and do not call each other in a circle or too deeply.
absl::Status VerifyCallGraph(const HloModule& module, const VerifierOptions& options);
// Every shape is valid by itself.
absl::Status VerifyShapes(const HloModule& module, const VerifierOptions& options);
// One instruction: its shape is the inferred one; attributes and literal fit.
absl::Status VerifyInstruction(const HloInstruction& instruction);
// Starts and their dones, replica groups, channels.
absl::Status VerifyCommunication(const HloInstruction& instruction);
// Aliasing, donors, entry layout, schedule, sizes of all values together.
absl::Status VerifyModuleConfig(const HloModule& module);

}  // namespace xc::verifier

#endif  // XC_HLO_VERIFIER_INTERNAL_H_
