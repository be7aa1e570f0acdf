#include "hlo/builder/make_instruction.h"

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "hlo/base/status.h"
#include "hlo/shape_inference/shape_inference.h"

namespace xc {

absl::StatusOr<HloInstruction*> MakeInstruction(HloComputation* computation, HloOpcode opcode,
                                                absl::Span<HloInstruction* const> operands, Attributes&& attributes,
                                                absl::Span<HloComputation* const> called, const Shape* given) {
  std::vector<const Shape*> shapes;
  shapes.reserve(operands.size());
  for (const HloInstruction* operand : operands) shapes.push_back(&operand->shape());
  XC_ASSIGN_OR_RETURN(Shape shape, InferShape({opcode, shapes, &attributes, called, given}));
  std::unique_ptr<HloInstruction> instruction = HloInstruction::Create(opcode, std::move(shape), operands);
  *instruction->mutable_attributes() = std::move(attributes);
  for (HloComputation* c : called) instruction->AddCalledComputation(c);
  return computation->Add(std::move(instruction));
}

Literal RoundedScalar(ElementType type, double value) {
  Literal literal{Shape::Scalar(type)};
  if (IsIntegral(type) && std::trunc(value) == value && std::fabs(value) < 0x1p62) {
    literal.SetInt(0, static_cast<int64_t>(value));
  } else {
    literal.SetDouble(0, value);
  }
  return literal;
}

Literal ScalarOfInt(ElementType type, int64_t value) {
  Literal literal{Shape::Scalar(type)};
  literal.SetInt(0, value);
  return literal;
}

}  // namespace xc
