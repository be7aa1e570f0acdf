// Emits elementary functions of f32 and f64 values, scalars or vectors, as LLVM code without calls of the C library in
// the common case. Errors are at most 2 ulp over the whole domain (math_test measures each); denormal numbers,
// zeros, infinities and NaN are handled as C's <math.h> does. Results do not depend on the vector width.
#ifndef XC_BACKENDS_CODEGEN_MATH_H_
#define XC_BACKENDS_CODEGEN_MATH_H_

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace xc::codegen {

enum class MathOp {
  kExp,
  kExpm1,
  kLog,
  kLog1p,
  kTanh,
  kLogistic,
  kErf,
  kSin,
  kCos,
  kTan,
  kSqrt,
  kRsqrt,
  kCbrt,
  kSinh,
  kCosh,
  kAsinh,
  kAcosh,
  kAtanh,
  kAsin,
  kAcos,
  kAtan,
  kPow,    // two operands from here on
  kAtan2,  // atan2(x, y) with x the sine-like operand, as C's atan2
  kFmod,
};

inline bool IsBinary(MathOp op) { return op >= MathOp::kPow; }

// The value of `op` at `x` (and `y`), of the same type. `fma` says whether the target has fused multiply-add. The
// function is emitted once per module and type, and called (small ones are inlined by the pass list).
llvm::Value* EmitMath(llvm::IRBuilderBase& builder, MathOp op, bool fma, llvm::Value* x, llvm::Value* y = nullptr);
// The same by the C library's function of doubles, which the runtime has for each op; `x` and `y` are scalars.
llvm::Value* EmitMathCall(llvm::IRBuilderBase& builder, MathOp op, llvm::Value* x, llvm::Value* y = nullptr);

// For rare arguments and rare functions, emitted code calls functions of backends/runtime/math_functions.h by name.

}  // namespace xc::codegen

#endif  // XC_BACKENDS_CODEGEN_MATH_H_
