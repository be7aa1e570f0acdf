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

// Whether the computation should be written once, as a function of several pieces, and a call of it, where the target
// has modules for functions. All its values are scalars, and it has no control.
bool IsLong(const HloComputation& computation);
absl::StatusOr<std::vector<Element>> CallInPieces(ElementEmitter& element, const HloComputation& computation,
                                                  absl::Span<const Element> arguments, int lanes);

// Whether reads of `part` by all places of `whole`'s last dimension are outside of it more than now and then.
bool ReachesFar(const Shape& part, const Shape& whole);

}  // namespace xc::codegen

#endif  // XC_BACKENDS_CODEGEN_FUSED_INTERNAL_H_
