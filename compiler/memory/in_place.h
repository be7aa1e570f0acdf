// Which instructions only pass bytes on, which computations are emitted where they are called, and which operands an
// output may overwrite. Scheduler, copy insertion, buffer assignment and emitters all ask here.
#ifndef XC_COMPILER_MEMORY_IN_PLACE_H_
#define XC_COMPILER_MEMORY_IN_PLACE_H_

#include <vector>

#include "hlo/module.h"

namespace xc {

// Whether the instruction emits nothing: each leaf of its result is a leaf of an operand (tuple, get-tuple-element,
// bitcast, reshape and same-bytes bitcast-convert, since all arrays are row-major by then, opt-barrier, …), or it has
// no bytes at all (after-all).
bool IsForwarding(const HloInstruction* instruction);

// The computations that a while, conditional or call runs as part of the caller's program. Empty for all other ops:
// fusions, reducers, comparators and combiners are part of their instruction.
std::vector<HloComputation*> InlineCallees(const HloInstruction* instruction);

// Computations that are part of the one program: the entry and, recursively, InlineCallees. Callers before callees.
std::vector<HloComputation*> EmittedComputations(const HloModule* module);

// Whether output leaf `leaf` of `instruction` may have exactly the bytes of array operand `operand` that dies there.
// The emitter's promise for each such pair: elementwise ops read all operands at an index before they write it; a
// fusion with one root does so too if every use of that operand in it is at the output's own index;
// dynamic-update-slice, scatter, sort and fusions whose root is a dynamic-update-slice write only over the operand.
bool MayOverwrite(const HloInstruction* instruction, int64_t operand, int64_t leaf);

// In a fused computation whose root is a dynamic-update-slice: the parameter that is updated in place, or nullptr if
// the fusion cannot run in place. Every other use of that parameter is a slice (ReadsUpdatedPlace) that feeds the
// update elementwise.
const HloInstruction* InPlaceUpdateParameter(const HloComputation* fused);

// Whether the instruction is a slice or dynamic-slice of what the dynamic-update-slice writes over: the same place and
// size of the same array.
bool ReadsUpdatedPlace(const HloInstruction* slice, const HloInstruction* update);

}  // namespace xc

#endif  // XC_COMPILER_MEMORY_IN_PLACE_H_
