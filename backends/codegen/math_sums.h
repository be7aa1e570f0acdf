// Sums and products of doubles with what they lose by rounding.
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

// a + b without error for |a| >= |b|, or a = 0.
inline Sum FastTwoSum(MathBuilder& m, llvm::Value* a, llvm::Value* b) {
  llvm::Value* s = m.Add(a, b);
  return {s, m.Sub(b, m.Sub(s, a))};
}

// a * b, with what it loses. Without fused multiply-add, nothing is known of that.
inline Sum TwoProduct(MathBuilder& m, llvm::Value* a, llvm::Value* b) {
  llvm::Value* product = m.Mul(a, b);
  return {product, m.fma ? m.Fma(a, b, m.Neg(product)) : m.F(0)};
}

// With fused multiply-add:
// The logarithm of x.high + x.low, where x.high is positive and finite and x.low may be null, with errors near 2^-65 of
// it.
Sum EmitLogOfSum(MathBuilder& m, const Sum& x);
// e^(x.high + x.low), rounded once.
llvm::Value* EmitExpOfSum(MathBuilder& m, const Sum& x);
// The angle of (x, y), neither of which is at the ends of the range, with errors near 2^-61 of it.
Sum EmitAtan2WithRest(MathBuilder& m, llvm::Value* y, llvm::Value* x);

}  // namespace xc::codegen

#endif  // XC_BACKENDS_CODEGEN_MATH_SUMS_H_
