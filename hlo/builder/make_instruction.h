// One instruction with its inferred shape: what HloBuilder makes ops of, for those that have a computation already.
#ifndef XC_HLO_BUILDER_MAKE_INSTRUCTION_H_
#define XC_HLO_BUILDER_MAKE_INSTRUCTION_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo/module.h"

namespace xc {

// Adds an instruction to `computation`, in which the operands are. `given` is needed where operands do not determine
// the shape. Errors: operands, attributes or called computations break a rule of the op; then nothing is added, and the
// attributes are as they were.
absl::StatusOr<HloInstruction*> MakeInstruction(HloComputation* computation, HloOpcode opcode,
                                                absl::Span<HloInstruction* const> operands, Attributes&& attributes,
                                                absl::Span<HloComputation* const> called = {},
                                                const Shape* given = nullptr);

// A scalar of `type`, an array type: the number rounded, or for integers truncated, to it.
Literal RoundedScalar(ElementType type, double value);
Literal ScalarOfInt(ElementType type, int64_t value);

}  // namespace xc

#endif  // XC_HLO_BUILDER_MAKE_INSTRUCTION_H_
