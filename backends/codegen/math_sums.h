// Arithmetic on unevaluated sums of two doubles ("double-double"): the rounded result and its rounding error.
#ifndef XC_BACKENDS_CODEGEN_MATH_SUMS_H_
#define XC_BACKENDS_CODEGEN_MATH_SUMS_H_

#include "backends/codegen/math_builder.h"

namespace xc::codegen {

// The number high + low, where high is that number rounded to double.
struct Sum {
  llvm::Value *high, *low;
};

// a + b exactly (Knuth 1969).
inline Sum TwoSum(MathBuilder& m, llvm::Value* a, llvm::Value* b) {
  llvm::Value* s = m.Add(a, b);
  llvm::Value* from_b = m.Sub(s, a);
  return {s, m.Add(m.Sub(a, m.Sub(s, from_b)), m.Sub(b, from_b))};
}

// a + b exactly if |a| >= |b| or a = 0.
inline Sum FastTwoSum(MathBuilder& m, llvm::Value* a, llvm::Value* b) {
  llvm::Value* s = m.Add(a, b);
  return {s, m.Sub(b, m.Sub(s, a))};
}

// a * b exactly on processors with fused multiply-add; on others `low` is 0.
inline Sum TwoProduct(MathBuilder& m, llvm::Value* a, llvm::Value* b) {
  llvm::Value* product = m.Mul(a, b);
  return {product, m.fma ? m.Fma(a, b, m.Neg(product)) : m.F(0)};
}

// The functions below are for processors with fused multiply-add.

// The natural logarithm of x.high + x.low, where x.high is positive and finite and x.low may be null (zero). The
// relative error is near 2^-65.
Sum EmitLogOfSum(MathBuilder& m, const Sum& x);
// e^(x.high + x.low), rounded once.
llvm::Value* EmitExpOfSum(MathBuilder& m, const Sum& x);
// atan2(y, x), where neither is near overflow or underflow. The relative error is near 2^-61.
Sum EmitAtan2WithRest(MathBuilder& m, llvm::Value* y, llvm::Value* x);

}  // namespace xc::codegen

#endif  // XC_BACKENDS_CODEGEN_MATH_SUMS_H_
