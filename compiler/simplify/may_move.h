// Which instructions compute one array or tuple from their operands, wherever and whenever they run.
#ifndef XC_COMPILER_SIMPLIFY_MAY_MOVE_H_
#define XC_COMPILER_SIMPLIFY_MAY_MOVE_H_

#include "hlo/module.h"

namespace xc {

// Not so: parameters, what orders or marks other instructions, what runs other code or code that is not known here,
// what has an effect, and sizes that only the run knows.
bool MayMove(const HloInstruction* i);

}  // namespace xc

#endif  // XC_COMPILER_SIMPLIFY_MAY_MOVE_H_
