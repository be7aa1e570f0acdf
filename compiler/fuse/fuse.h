// Fusion: which instructions are computed together, as one expression per element.
#ifndef XC_COMPILER_FUSE_FUSE_H_
#define XC_COMPILER_FUSE_FUSE_H_

#include <string>

#include "compiler/decision.h"
#include "compiler/pass.h"

namespace xc {

// Whether the op can stand inside a fused expression, computed element by element where its users want it.
Decision CanBeFused(const HloInstruction* instruction, const TargetInfo& target);
// Whether the op can be the result of a fusion.
Decision CanBeFusionRoot(const HloInstruction* instruction, const TargetInfo& target);

// Whether it is a concatenation whose operands' parts are long enough, in memory order, for a loop each: then their
// number does not matter.
bool JoinsRuns(const HloInstruction& instruction);

// Whether it is a concatenation of a few large arrays along a dimension of which each has one element, and behind which
// there are few elements or one: what `stack(…, axis=-1)` makes, and the halves of blocks of two or four that a sorting
// network puts together. Vectors of each are computed and stored alternately.
bool Interleaves(const HloInstruction& instruction);

// Loop and input fusion: producers move into their consumers where the bytes saved are worth more than what is computed
// twice, then neighbours of one index space that read the same arrays become one fusion with several results.
absl::StatusOr<bool> FuseInstructions(HloModule* module, PassContext& context);

// After fusion: a loop over rows and the reductions of rows that it reads become one fusion of kind custom, which holds
// them as nested fusions: the last is the result, the others give one value for each row.
absl::StatusOr<bool> StitchRows(HloModule* module, PassContext& context);

// Each scatter or dynamic-update-slice of an array of equal elements gets an array of its own to write over, where
// others read it too.
absl::StatusOr<bool> GiveUpdatesOwnBroadcasts(HloModule* module, PassContext& context);
// A scatter that has an array twice gets a copy in the second place: it writes some of its operands while it reads
// others.
absl::StatusOr<bool> GiveScattersOwnOperands(HloModule* module, PassContext& context);

}  // namespace xc

#endif  // XC_COMPILER_FUSE_FUSE_H_
