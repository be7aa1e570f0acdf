// Elementwise operators on runs of elements: the one place that says what each computes, used for whole arrays and,
// lane by lane, inside reductions, scatters, maps and sorts.
#ifndef XC_BACKENDS_INTERPRETER_ELEMENTWISE_H_
#define XC_BACKENDS_INTERPRETER_ELEMENTWISE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "hlo/attributes.h"
#include "hlo/element_type.h"
#include "hlo/instruction.h"
#include "hlo/opcode.h"

namespace xc::interp {

struct ElementwiseOp;
// Computes n elements. `out` may be one of the operands.
using ElementwiseFn = void (*)(const ElementwiseOp& op, const uint8_t* const* in, uint8_t* out, int64_t n);

// One operator with its types.
struct ElementwiseOp {
  HloOpcode opcode;
  int operands = 0;
  ElementType in[3] = {};
  ElementType out = ElementType::kInvalid;
  CompareDirection direction = CompareDirection::kEq;
  bool total_order = false;
  int exponent_bits = 0, mantissa_bits = 0;
  ElementwiseFn fn = nullptr;
  // Bytes per element of each operand and of the result.
  int in_bytes[3] = {};
  int out_bytes = 0;
};

// The operator of an instruction that IsElementwise and changes no element's width by bitcast-convert; Unimplemented
// when the types do not go with the opcode.
absl::StatusOr<ElementwiseOp> BindElementwise(const HloInstruction& instruction);
// Fills in fn and the byte counts of `op`, whose other fields are set.
absl::Status BindElementwise(ElementwiseOp* op);

// By family; null when the family has no such operator for these types.
ElementwiseFn FindUnary(const ElementwiseOp& op);
ElementwiseFn FindComplexUnary(const ElementwiseOp& op);
ElementwiseFn FindBinary(const ElementwiseOp& op);
ElementwiseFn FindBits(const ElementwiseOp& op);
ElementwiseFn FindConvert(const ElementwiseOp& op);
ElementwiseFn FindTernary(const ElementwiseOp& op);

}  // namespace xc::interp

#endif  // XC_BACKENDS_INTERPRETER_ELEMENTWISE_H_
