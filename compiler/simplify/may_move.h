// Which instructions give the same value wherever in a computation, and however often, they run.
#ifndef XC_COMPILER_SIMPLIFY_MAY_MOVE_H_
#define XC_COMPILER_SIMPLIFY_MAY_MOVE_H_

#include "hlo/module.h"

namespace xc {

// Whether `i` is pure: its value depends on its operands and attributes alone, and running it has no other effect.
// False for parameters; for after-all, add-dependency, optimization-barrier and domain, and whatever has control
// dependencies, which order or mark other instructions; for control flow, calls and custom calls; for side effects; and
// for results of bounded-dynamic size.
bool MayMove(const HloInstruction* i);

}  // namespace xc

#endif  // XC_COMPILER_SIMPLIFY_MAY_MOVE_H_
