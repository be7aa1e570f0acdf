// Fusion: which instructions are computed together, as one expression per element.
#ifndef XC_COMPILER_FUSE_FUSE_H_
#define XC_COMPILER_FUSE_FUSE_H_

#include <string>

#include "compiler/pass.h"

namespace xc {

// Yes, or no and why.
struct Decision {
  static Decision Yes() { return {}; }
  static Decision No(std::string reason) { return {std::move(reason)}; }
  explicit operator bool() const { return reason.empty(); }
  std::string reason;
};

// Whether the op can stand inside a fused expression, computed element by element where its users want it.
Decision CanBeFused(const HloInstruction* instruction, const TargetInfo& target);
// Whether the op can be the result of a fusion.
Decision CanBeFusionRoot(const HloInstruction* instruction, const TargetInfo& target);

// Loop and input fusion: producers move into their consumers where the bytes saved are worth more than what is computed
// twice, then neighbours of one index space that read the same arrays become one fusion with several results.
absl::StatusOr<bool> FuseInstructions(HloModule* module, PassContext& context);

}  // namespace xc

#endif  // XC_COMPILER_FUSE_FUSE_H_
