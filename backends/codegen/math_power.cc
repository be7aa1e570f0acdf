// Power, roots and remainders.
#include "backends/codegen/math_builder.h"
#include "backends/codegen/math_sums.h"

namespace xc::codegen {
namespace {

using V = llvm::Value*;

// x^y from |x|^y.
V WithSignOfPower(MathBuilder& m, V x, V y, V magnitude) {
  llvm::IRBuilderBase& b = m.b;
  magnitude = m.Select(m.Eq(m.Abs(x), m.F(1)), m.F(1), magnitude);
  V huge = b.CreateFCmpOGE(m.Abs(y), m.F(m.is_double() ? 0x1p53 : 0x1p24));  // even integers, and infinity
  V integer = b.CreateOr(huge, m.Eq(m.Trunc(y), y));
  V half = m.Mul(y, m.F(0.5));
  V odd = b.CreateAnd(b.CreateAnd(integer, b.CreateNot(huge)), b.CreateFCmpUNE(m.Trunc(half), half));
  V z = m.Select(b.CreateAnd(odd, m.SignBit(x)), m.Neg(magnitude), magnitude);
  V negative = b.CreateAnd(m.Lt(x, m.F(0)), m.Gt(x, m.F(-m.inf())));
  z = m.Select(b.CreateAnd(negative, b.CreateNot(integer)), m.F(m.nan()), z);
  z = m.Select(b.CreateFCmpUNO(x, y), m.F(m.nan()), z);
  V one = b.CreateOr(m.Eq(y, m.F(0)), m.Eq(x, m.F(1)));
  return m.Select(one, m.F(1), z);
}

// pow of floats, through the double exponential and logarithm.
V PowFloat(MathBuilder& m, V x, V y) {
  MathBuilder d = m.Double();
  V log = EmitLog(d, m.Extend(m.Abs(x)));
  return WithSignOfPower(m, x, y, m.Round(EmitExp(d, d.Mul(m.Extend(y), log))));
}

// pow of doubles. With fused multiply-add.
V PowDouble(MathBuilder& m, V x, V y) {
  V ax = m.Abs(x);
  Sum log = EmitLogOfSum(m, {ax, nullptr});
  log.high = m.Select(m.Eq(ax, m.F(0)), m.F(-m.inf()), m.Select(m.Eq(ax, m.F(m.inf())), ax, log.high));
  Sum product = TwoProduct(m, y, log.high);
  product.low = m.Fma(y, log.low, product.low);
  return WithSignOfPower(m, x, y, EmitExpOfSum(m, product));
}

// The cube root of a positive normal double with a relative error of 2^-24: an estimate t that divides the exponent by
// 3, and a polynomial near r^(-1/3) for r = t^3 / a, which lies between 0.9097 and 1.0993.
V EstimateCbrt(MathBuilder& m, V a) {
  llvm::IRBuilderBase& b = m.b;
  // floor(h / 3) for the upper half h < 2^31, by multiplication
  V third = b.CreateLShr(b.CreateMul(b.CreateLShr(m.Bits(a), m.I(32)), m.I(0xAAAAAAAB)), m.I(33));
  V t = m.Float(b.CreateShl(b.CreateAdd(third, m.I(715094163)), m.I(32)));
  V r = m.Mul(m.Mul(t, t), m.Div(t, a));  // nothing overflows
  return m.Mul(t, m.Poly(r, {1.8725848795884228, -1.871658778245713, 1.601693088347091, -0.7454191325908885,
                             0.14279993214915046}));
}

// Cube root of floats, in double: the estimate and one of Halley's iterations.
V CbrtFloat(MathBuilder& m, V x) {
  MathBuilder d = m.Double();
  V zero = m.Eq(x, m.F(0));  // whose estimates would have denormal cubes, which are slow
  V a = m.Extend(m.Select(zero, m.F(1), m.Abs(x)));
  V t = EstimateCbrt(d, a);
  V cube = d.Mul(d.Mul(t, t), t);
  t = d.Mul(t, d.Div(d.Add(cube, d.Add(a, a)), d.Add(d.Add(cube, cube), a)));
  V y = m.CopySign(m.Round(t), x);
  V self = m.b.CreateOr(zero, m.b.CreateNot(m.Lt(m.Abs(x), m.F(m.inf()))));
  return m.Select(self, x, y);
}

// Cube root of doubles: one of Halley's iterations from the estimate, rounded to 23 bits, so that its square is exact.
V CbrtDouble(MathBuilder& m, V x) {
  llvm::IRBuilderBase& b = m.b;
  V a = m.Abs(x);
  V tiny = m.Lt(a, m.F(0x1p-1022));
  a = m.Select(tiny, m.Mul(a, m.F(0x1p54)), a);
  V t = EstimateCbrt(m, a);
  t = m.Float(b.CreateAnd(b.CreateAdd(m.Bits(t), m.I(int64_t{1} << 29)), m.I(-(int64_t{1} << 30))));
  V r = m.Div(a, m.Mul(t, t));
  V y = m.Fma(t, m.Div(m.Sub(r, t), m.Add(m.Add(t, t), r)), t);
  y = m.CopySign(m.Select(tiny, m.Mul(y, m.F(0x1p-18)), y), x);
  V self = b.CreateOr(m.Eq(x, m.F(0)), b.CreateNot(m.Lt(m.Abs(x), m.F(m.inf()))));
  return m.Select(self, x, y);
}

// x - trunc(x / y) y of doubles, with the sign of x. The quotient of doubles, cut, is right or one too large, since a
// rounded quotient is not below a whole number that the true one reaches; so the rest is exact, as long as the product
// is: quotients below 2^bits.
V RemainderOfDouble(MathBuilder& m, V x, V y, int bits, V* rare) {
  V a = m.Abs(x), b = m.Abs(y);
  *rare = m.b.CreateNot(m.Lt(a, m.Mul(b, m.F(bits == 29 ? 0x1p29 : 0x1p53))));  // zero, NaN and infinities, too
  V rest = m.Fma(m.Neg(m.Trunc(m.Div(a, b))), b, a);
  rest = m.Select(m.Lt(rest, m.F(0)), m.Add(rest, b), rest);
  return m.CopySign(m.Select(m.Lt(a, b), a, rest), x);
}

V Remainder(MathBuilder& m, MathOp op, V x, V y) {
  V rare;
  if (m.is_double()) {
    V common = RemainderOfDouble(m, x, y, 53, &rare);
    return EmitRareCalls(m, op, x, y, rare, common);
  }
  MathBuilder d = m.Double();
  V common = m.Round(RemainderOfDouble(d, m.Extend(x), m.Extend(y), 29, &rare));
  return EmitRareCalls(m, op, x, y, rare, common);
}

}  // namespace

V EmitPower(MathBuilder& m, MathOp op, V x, V y) {
  switch (op) {
    case MathOp::kSqrt:
      return m.Sqrt(x);
    case MathOp::kRsqrt:
      return m.Div(m.F(1), m.Sqrt(x));
    case MathOp::kPow:
      if (!m.is_double()) return PowFloat(m, x, y);
      return m.fma ? PowDouble(m, x, y) : nullptr;
    case MathOp::kFmod:
      return m.is_double() && !m.fma ? nullptr : Remainder(m, op, x, y);
    case MathOp::kCbrt:
      return m.is_double() ? CbrtDouble(m, x) : CbrtFloat(m, x);
    default:
      return nullptr;
  }
}

}  // namespace xc::codegen
