// Complex functions as vector code, for the arguments that most programs have.
#ifndef XC_BACKENDS_CODEGEN_COMPLEX_MATH_H_
#define XC_BACKENDS_CODEGEN_COMPLEX_MATH_H_

#include <optional>

#include "backends/codegen/element.h"
#include "backends/codegen/math_builder.h"
#include "hlo/opcode.h"

namespace xc::codegen {

struct ComplexResult {
  llvm::Value *re, *im;
  // Lanes in which the result may be anything: arguments at the ends of the range, infinities, NaN, poles.
  llvm::Value* rare;
};

// `op` of x (and y), pairs of doubles: of c128 numbers, or of c64 numbers (`narrow`), whose results are good for c64.
// Nothing: no such code.
std::optional<ComplexResult> EmitComplexMath(MathBuilder& m, HloOpcode op, bool narrow, Element x, Element y);

}  // namespace xc::codegen

#endif  // XC_BACKENDS_CODEGEN_COMPLEX_MATH_H_
