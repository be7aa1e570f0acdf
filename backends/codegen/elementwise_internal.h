// The parts of the elementwise emitter, one per kind of type. A null result means: not known here.
#ifndef XC_BACKENDS_CODEGEN_ELEMENTWISE_INTERNAL_H_
#define XC_BACKENDS_CODEGEN_ELEMENTWISE_INTERNAL_H_

#include "absl/functional/function_ref.h"
#include "backends/codegen/elementwise.h"

namespace xc::codegen {

// `x` holds the operands' real parts, all of the same lanes; `type` is the operands' type.
llvm::Value* EmitFloatOp(ElementEmitter& e, HloOpcode op, llvm::Value* const* x);
// Of scalars, for those ops of which the C library's function takes less time: CodegenTarget::calls_for_scalars. Null:
// not of this one.
llvm::Value* EmitScalarCall(ElementEmitter& e, HloOpcode op, llvm::Value* const* x);
llvm::Value* EmitIntegerOp(ElementEmitter& e, HloOpcode op, ElementType type, llvm::Value* const* x);
llvm::Value* EmitCompare(ElementEmitter& e, const HloInstruction& instruction, absl::Span<const Element> x);
// An op whose operands (those of a select) and result are f16, or that compares them, in the machine's own f16. Nothing
// where the machine has none, or no operand is at hand as one.
Element EmitHalfOp(ElementEmitter& e, const HloInstruction& instruction, absl::Span<const Element> operands);
Element EmitComplexOp(ElementEmitter& e, HloOpcode op, absl::Span<const Element> x);
// `code` of vectors of `lanes` lanes, for each such part of vectors of a multiple of them.
llvm::Value* EmitInParts(llvm::IRBuilderBase& b, int lanes, absl::Span<llvm::Value* const> vectors,
                         absl::FunctionRef<llvm::Value*(llvm::Value* const* parts)> code);
llvm::Value* EmitReducePrecision(ElementEmitter& e, ElementType type, int exponent_bits, int mantissa_bits,
                                 llvm::Value* x);

}  // namespace xc::codegen

#endif  // XC_BACKENDS_CODEGEN_ELEMENTWISE_INTERNAL_H_
