// Runs one instruction in the evaluator, on copies of its operands; and runs custom calls. Generated code has no unwind
// tables: an exception ends here, as the run's error.
#include "absl/strings/str_cat.h"
#include "backends/cpu/frame.h"
#include "backends/runtime/run_context.h"
#include "hlo/base/exceptions.h"
#include "hlo/base/status.h"

namespace xc::cpu {
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

absl::Status Run(const Frame& frame, int64_t site, const void* const* inputs, void* const* outputs) {
  const HloInstruction& instruction = *frame.fallback->sites[site];
  if (frame.fallback->evaluate == nullptr) {
    return absl::UnimplementedError(absl::StrCat("the cpu backend has no code for ", OpcodeName(instruction.opcode()),
                                                 " (instruction ", instruction.name(), ")"));
  }
  std::vector<Literal> operands;
  std::vector<const Literal*> pointers;
  int64_t next = 0;
  for (const HloInstruction* operand : instruction.operands()) {
    operands.push_back(Read(operand->shape(), inputs, &next));
  }
  for (const Literal& operand : operands) pointers.push_back(&operand);
  XC_ASSIGN_OR_RETURN(Literal result, frame.fallback->evaluate(instruction, pointers));
  next = 0;
  return Write(result, instruction.shape(), outputs, &next);
}

}  // namespace
}  // namespace xc::cpu

extern "C" int32_t xc_cpu_fallback(const xc::cpu::Frame* frame, int64_t site, const void* const* inputs,
                                   void* const* outputs) {
  const absl::Status status =
      xc::CatchExceptions([&]() -> absl::Status { return xc::cpu::Run(*frame, site, inputs, outputs); });
  return static_cast<xc::RunContext*>(frame->context)->Record(status);
}

extern "C" int32_t xc_cpu_custom_call(const xc::cpu::Frame* frame, int64_t site, void* const* inputs,
                                      void* const* outputs) {
  auto* run = static_cast<xc::RunContext*>(frame->context);
  const absl::Status status =
      xc::CatchExceptions([&]() -> absl::Status { return frame->fallback->calls[site].Run(run, inputs, outputs); });
  return run->Record(status);
}
