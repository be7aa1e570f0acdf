// Deep equality of modules and computations, with the first difference as the reason.
#ifndef XC_HLO_ANALYSIS_EQUALITY_H_
#define XC_HLO_ANALYSIS_EQUALITY_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "hlo/module.h"

namespace xc {

struct EqualityOptions {
  // Also compare the names of instructions and computations.
  bool names = false;
  // Also compare metadata, statistics, origins and stack frames.
  bool metadata = false;
  // Compare layouts in shapes (one that is missing differs from one that is there).
  bool layouts = true;
  // Compare what the HloModule line says, and computations that the entry does not reach.
  bool config = true;
};

// Whether an attribute only tells where an instruction came from.
inline bool IsMetadata(AttrKind kind) {
  return kind == AttrKind::kMetadata || kind == AttrKind::kStatistics || kind == AttrKind::kOrigin;
}

// OK if equal; else what the first difference is, named after `a`. Instruction ids and the order of the text do not
// matter, nor does the name of the module. Both modules must be free of cycles.
absl::Status DeepEqual(const HloModule& a, const HloModule& b, const EqualityOptions& options = {});
// The same for computations and all that they call.
absl::Status DeepEqual(const HloComputation& a, const HloComputation& b, const EqualityOptions& options = {});

// What differs between the attributes of two instructions of one opcode but for those of kind `except`, or nothing.
std::string AttributeDifference(const Attributes& a, const Attributes& b, bool metadata = false,
                                std::optional<AttrKind> except = std::nullopt);

}  // namespace xc

#endif  // XC_HLO_ANALYSIS_EQUALITY_H_
