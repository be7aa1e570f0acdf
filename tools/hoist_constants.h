// Makes the constants of a module parameters of its entry, so that a compiler finds nothing to fold.
#ifndef XC_TOOLS_HOIST_CONSTANTS_H_
#define XC_TOOLS_HOIST_CONSTANTS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace xc {

// Replaces the constants of the entry, and of what calls, loops and branches of it run, by further parameters behind
// those that the entry has. Returns their values, in order. Calls pass them as further operands; the state of a loop
// and the operand of a branch become a tuple of what they were and the values. An iota from which, and from nothing
// else, another value is computed counts as a constant. Those stay that no one can pass: in computations that fusions,
// reductions, sorts and the like call, or that several loops or branches share; and constants that the text left out.
absl::StatusOr<std::vector<std::shared_ptr<const Literal>>> HoistConstants(HloModule* module);

// Whether nothing is computed in the entry: what parameters and constants hold is handed out.
bool OnlyHandsOut(const HloModule& module);

}  // namespace xc

#endif  // XC_TOOLS_HOIST_CONSTANTS_H_
