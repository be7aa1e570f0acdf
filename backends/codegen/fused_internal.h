// What the files of the fused emitter share.
#ifndef XC_BACKENDS_CODEGEN_FUSED_INTERNAL_H_
#define XC_BACKENDS_CODEGEN_FUSED_INTERNAL_H_

#include <vector>

#include "absl/types/span.h"
#include "backends/codegen/fused_emitter.h"

namespace xc::codegen {

// Whether the computation has loops, branches or calls.
bool HasControl(const HloComputation& computation);
// EmitApply for such computations, in vectors of `lanes`. Loops run only for lanes that are `active` (null: all).
absl::StatusOr<std::vector<Element>> EmitControl(ElementEmitter& element, const HloComputation& computation,
                                                 absl::Span<const Element> arguments, int lanes, llvm::Value* active);

// Whether the computation, of scalars and without control flow, is so long that it is better a function that is called
// than code in place, on targets that have modules for such functions. CallInPieces writes it, once, as several
// functions that call each other, and the call.
bool IsLong(const HloComputation& computation);
absl::StatusOr<std::vector<Element>> CallInPieces(ElementEmitter& element, const HloComputation& computation,
                                                  absl::Span<const Element> arguments, int lanes);

// Whether reads of `part` at all positions of `whole`'s last dimension could be so far beyond its end that there is no
// memory there.
bool ReachesFar(const Shape& part, const Shape& whole);

}  // namespace xc::codegen

#endif  // XC_BACKENDS_CODEGEN_FUSED_INTERNAL_H_
