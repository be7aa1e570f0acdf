// Sums of doubles with what they lose by rounding.
#ifndef XC_BACKENDS_CODEGEN_MATH_SUMS_H_
#define XC_BACKENDS_CODEGEN_MATH_SUMS_H_

#include "backends/codegen/math_builder.h"

namespace xc::codegen {

// high + low, of which high is the sum rounded.
struct Sum {
  llvm::Value *high, *low;
};

// a + b without error (Knuth 1969).
inline Sum TwoSum(MathBuilder& m, llvm::Value* a, llvm::Value* b) {
  llvm::Value* s = m.Add(a, b);
  llvm::Value* from_b = m.Sub(s, a);
  return {s, m.Add(m.Sub(a, m.Sub(s, from_b)), m.Sub(b, from_b))};
}

}  // namespace xc::codegen

#endif  // XC_BACKENDS_CODEGEN_MATH_SUMS_H_
