// Emits HLO's elementwise ops on scalars or vectors, from tables of op by kind of type.
#ifndef XC_BACKENDS_CODEGEN_ELEMENTWISE_H_
#define XC_BACKENDS_CODEGEN_ELEMENTWISE_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/codegen/element.h"
#include "backends/codegen/math.h"
#include "hlo/instruction.h"

namespace xc::codegen {

// The value of elementwise `instruction` where its operands have the values `operands` (scalars among vectors are
// repeated). With `round` false, results of narrow float types are left unrounded in f32. Unimplemented for what has no
// emitter: see IsKnownElementwise (compiler/fuse/emittable.h).
absl::StatusOr<Element> EmitElementwise(ElementEmitter& e, const HloInstruction& instruction,
                                        absl::Span<const Element> operands, bool round = true);

}  // namespace xc::codegen

#endif  // XC_BACKENDS_CODEGEN_ELEMENTWISE_H_
