// Shorthand for writing arithmetic on scalars or vectors of one floating-point type; used by the math emitters only.
#ifndef XC_BACKENDS_CODEGEN_MATH_BUILDER_H_
#define XC_BACKENDS_CODEGEN_MATH_BUILDER_H_

#include <initializer_list>

#include "backends/codegen/math.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"

namespace xc::codegen {

class MathBuilder {
 public:
  using V = llvm::Value*;
  // `type`: float, double or a vector of them. `estimates`: whether the machine has those of AVX-512.
  MathBuilder(llvm::IRBuilderBase& b, llvm::Type* type, bool fma, bool estimates = false)
      : b(b), type(type), fma(fma), estimates(estimates) {
    int_type = llvm::Type::getIntNTy(b.getContext(), type->getScalarSizeInBits());
    if (auto* v = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
      lanes = v->getNumElements();
      int_type = llvm::FixedVectorType::get(int_type, lanes);
    }
  }
  bool is_double() const { return type->getScalarType()->isDoubleTy(); }
  // The same for doubles of as many lanes.
  MathBuilder Double() const {
    llvm::Type* t = b.getDoubleTy();
    return MathBuilder(b, lanes == 0 ? t : llvm::FixedVectorType::get(t, lanes), fma, estimates);
  }

  V F(double value) { return llvm::ConstantFP::get(type, value); }
  V I(int64_t value) { return llvm::ConstantInt::get(int_type, value, true); }
  V Add(V x, V y) { return b.CreateFAdd(x, y); }
  V Sub(V x, V y) { return b.CreateFSub(x, y); }
  V Mul(V x, V y) { return b.CreateFMul(x, y); }
  V Div(V x, V y) { return b.CreateFDiv(x, y); }
  V Neg(V x) { return b.CreateFNeg(x); }
  // x * y + z
  V Fma(V x, V y, V z) {
    if (!fma) return Add(Mul(x, y), z);
    return b.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {x, y, z});
  }
  V Unary(llvm::Intrinsic::ID id, V x) { return b.CreateUnaryIntrinsic(id, x); }
  V Abs(V x) { return Unary(llvm::Intrinsic::fabs, x); }
  V Sqrt(V x) { return Unary(llvm::Intrinsic::sqrt, x); }
  V Trunc(V x) { return Unary(llvm::Intrinsic::trunc, x); }
  V CopySign(V x, V sign) { return b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, x, sign); }
  V Select(V c, V x, V y) { return b.CreateSelect(c, x, y); }
  V Lt(V x, V y) { return b.CreateFCmpOLT(x, y); }
  V Gt(V x, V y) { return b.CreateFCmpOGT(x, y); }
  V Eq(V x, V y) { return b.CreateFCmpOEQ(x, y); }
  V IsNan(V x) { return b.CreateFCmpUNO(x, x); }
  // NaN stays NaN.
  V ClampMax(V x, double hi) { return Select(Gt(x, F(hi)), F(hi), x); }
  V ClampMin(V x, double lo) { return Select(Lt(x, F(lo)), F(lo), x); }
  V Bits(V x) { return b.CreateBitCast(x, int_type); }
  V Float(V bits) { return b.CreateBitCast(bits, type); }
  V SignBit(V x) { return b.CreateICmpSLT(Bits(x), I(0)); }
  // c[0] + c[1] x + c[2] x^2 ...
  V Poly(V x, std::initializer_list<double> c) {
    const double* p = c.end() - 1;
    V y = F(*p);
    while (p != c.begin()) y = Fma(y, x, F(*--p));
    return y;
  }
  V Extend(V x) { return b.CreateFPExt(x, Double().type); }  // float to double
  V Round(V x) { return b.CreateFPTrunc(x, type); }          // double to this type
  // The nearest integer of |x| < 2^21 (float) or 2^50 (double), as a float and as a number in the low bits of *integer.
  V Nearest(V x, V* integer) { return FromShifted(Add(x, F(magic())), integer); }
  // Nearest of x * factor, whose product is not rounded first (one fused multiply-add).
  V NearestMultiple(V x, double factor, V* integer) { return FromShifted(Fma(x, F(factor), F(magic())), integer); }
  V FromShifted(V shifted, V* integer) {
    *integer = b.CreateSub(Bits(shifted), b.CreateBitCast(F(magic()), int_type));
    return Sub(shifted, F(magic()));
  }
  // x * 2^n with one rounding, for |n| up to twice the exponent's bias.
  V Scale(V x, V n) {
    const int mantissa = is_double() ? 52 : 23, bias = is_double() ? 1023 : 127;
    V half = b.CreateAShr(n, I(1));
    V rest = b.CreateSub(n, half);
    auto power = [&](V k) { return Float(b.CreateShl(b.CreateAdd(k, I(bias)), I(mantissa))); };
    return Mul(Mul(x, power(half)), power(rest));
  }
  // Added to a number, it leaves the nearest integer in the low bits.
  double magic() const { return is_double() ? 6755399441055744.0 : 12582912.0; }
  double inf() const { return __builtin_inf(); }
  double nan() const { return __builtin_nan(""); }

  llvm::IRBuilderBase& b;
  llvm::Type* type;
  llvm::Type* int_type;
  unsigned lanes = 0;  // 0: scalar
  bool fma, estimates;
};

// Calls a C library function of doubles for every lane.
llvm::Value* EmitLibraryCalls(MathBuilder& m, MathOp op, llvm::Value* x, llvm::Value* y);

// Code of the families of functions, one file each. Null: the family has no code for this op and type.
llvm::Value* EmitExponential(MathBuilder& m, MathOp op, llvm::Value* x);
llvm::Value* EmitTrigonometric(MathBuilder& m, MathOp op, llvm::Value* x, llvm::Value* y);
llvm::Value* EmitHyperbolic(MathBuilder& m, MathOp op, llvm::Value* x);
llvm::Value* EmitPower(MathBuilder& m, MathOp op, llvm::Value* x, llvm::Value* y);

// Selects, lane by lane, `common`, or the C library's function where `rare` is true. The library is called in a branch
// that is taken only if a lane needs it.
llvm::Value* EmitRareCalls(MathBuilder& m, MathOp op, llvm::Value* x, llvm::Value* y, llvm::Value* rare,
                           llvm::Value* common);

// Building blocks shared by the families. Doubles: e^x, the natural logarithm, log(1 + x) and e^x - 1, with errors near
// 1 ulp.
llvm::Value* EmitExp(MathBuilder& m, llvm::Value* x);
llvm::Value* EmitLog(MathBuilder& m, llvm::Value* x);
llvm::Value* EmitLog1pOfDouble(MathBuilder& m, llvm::Value* x);
llvm::Value* EmitExpm1OfDouble(MathBuilder& m, llvm::Value* x);
// Splits positive x into a number in [sqrt(1/2), sqrt(2)) and an exponent.
llvm::Value* EmitSplit(MathBuilder& m, llvm::Value* x, llvm::Value** exponent);

struct SinCos {
  llvm::Value *sin, *cos;
};
// Sine and cosine of doubles (scalars or vectors) for |x| < kMostReduced, with errors below 1 ulp; `rest` gets what
// they lose by the last rounding.
constexpr double kMostReduced = 0x1p20;
SinCos EmitSinCosOfDouble(MathBuilder& m, llvm::Value* x, SinCos* rest = nullptr);
// The same for one double (no vector) with |x| >= kMostReduced; NaN if it is not finite. Adds a table to the module, in
// this address space.
SinCos EmitSinCosOfLargeDouble(MathBuilder& m, llvm::Value* x, unsigned address_space);
llvm::Value* EmitAtan2OfDouble(MathBuilder& m, llvm::Value* y, llvm::Value* x);
// sinh and cosh of doubles, for |x| <= kMostHyperbolic; to their last place, with what they lose by rounding, if that
// is asked for.
constexpr double kMostHyperbolic = 700;
SinCos EmitHyperbolicOfDouble(MathBuilder& m, llvm::Value* x, SinCos* rest);
// Doubles as good as f32 results need them: errors near 1e-10, |x| < kMostReducedFloat.
constexpr double kMostReducedFloat = 0x1p27;
SinCos EmitSinCosForFloat(MathBuilder& d, llvm::Value* x);
llvm::Value* EmitAtan2ForFloat(MathBuilder& d, llvm::Value* y, llvm::Value* x);

}  // namespace xc::codegen

#endif  // XC_BACKENDS_CODEGEN_MATH_BUILDER_H_
