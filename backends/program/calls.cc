#include "backends/program/calls.h"

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// Builds a literal of `shape` from the leaves' bytes, starting at *next.
Literal Read(const Shape& shape, const void* const* inputs, int64_t* next) {
  if (shape.IsTuple()) {
    std::vector<Literal> elements;
    for (const Shape& element : shape.tuple_shapes()) elements.push_back(Read(element, inputs, next));
    return Literal::Tuple(std::move(elements));
  }
  Literal literal{shape};
  const void* bytes = inputs[(*next)++];
  if (shape.IsArray() && bytes != nullptr) literal.FromLayout(static_cast<const uint8_t*>(bytes));
  return literal;
}

absl::Status Write(const Literal& literal, const Shape& shape, void* const* outputs, int64_t* next) {
  if (shape.IsTuple()) {
    for (int64_t i = 0; i < shape.tuple_size(); ++i) {
      XC_RETURN_IF_ERROR(Write(literal.tuple()[i], shape.tuple_shape(i), outputs, next));
    }
    return absl::OkStatus();
  }
  void* bytes = outputs[(*next)++];
  if (!shape.IsArray() || bytes == nullptr) return absl::OkStatus();
  if (!SameDims(literal.shape(), shape) || literal.shape().type() != shape.type()) {
    return absl::InternalError(absl::StrCat("evaluator gave ", literal.shape().ToString(), " for ", shape.ToString()));
  }
  Literal copy = literal.Clone();
  *copy.mutable_shape() = shape;
  copy.ToLayout(static_cast<uint8_t*>(bytes));
  return absl::OkStatus();
}

}  // namespace

absl::Status EvaluateInto(const Evaluate& evaluate, const HloInstruction& instruction, const void* const* inputs,
                          void* const* outputs) {
  std::vector<Literal> operands;
  std::vector<const Literal*> pointers;
  int64_t next = 0;
  for (const HloInstruction* operand : instruction.operands()) {
    operands.push_back(Read(operand->shape(), inputs, &next));
  }
  for (const Literal& operand : operands) pointers.push_back(&operand);
  XC_ASSIGN_OR_RETURN(Literal result, evaluate(instruction, pointers));
  next = 0;
  return Write(result, instruction.shape(), outputs, &next);
}

absl::Status CallTable::RunSite(int64_t site, const void* const* inputs, void* const* outputs) const {
  const HloInstruction& instruction = *sites[site].instruction;
  if (evaluate == nullptr) {
    return absl::UnimplementedError(absl::StrCat("there is no code for ", OpcodeName(instruction.opcode()),
                                                 " (instruction ", instruction.name(), "): ", sites[site].reason));
  }
  return EvaluateInto(evaluate, instruction, inputs, outputs);
}

}  // namespace xc
