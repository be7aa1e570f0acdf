// What both readers of modules (text and wire format) check and normalize, so that the two give equal modules.
#ifndef XC_HLO_TEXT_STRUCTURE_H_
#define XC_HLO_TEXT_STRUCTURE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "hlo/module.h"

namespace xc {

// The first attribute (as text names it) without which the instruction has no meaning; empty if all are there.
absl::string_view MissingAttribute(const HloInstruction& instruction);

// Drops attributes that say what holds anyway (is_stable=false, feature_group_count=1, the comparison type of the
// operands), and sets those that readers may rely on (dimension numbers of dots, the window of a convolution).
void CanonicalizeAttributes(HloInstruction* instruction);

// Reads attributes of the module line: ", replica_count=2, num_partitions=4".
absl::Status ParseModuleAttributes(absl::string_view text, ModuleConfig* config);

// Whether a text in braces is closed by its last character, strings in it skipped.
bool IsBraced(absl::string_view text);

// The bytes of a literal of `shape`, or -1 if they are more than `limit`, a dimension is unknown, or a leaf is no
// array.
int64_t BoundedBytes(const Shape& shape, int64_t limit);

// No computation may call itself, even through others, and calls may not nest deeper than `max_depth`. Returns the
// message of the error and sets `*at`; empty if all is well. Called computations must not be null.
std::string CallGraphError(const HloModule& module, int max_depth, const HloComputation** at);

}  // namespace xc

#endif  // XC_HLO_TEXT_STRUCTURE_H_
