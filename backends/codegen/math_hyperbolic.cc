// Hyperbolic functions of doubles and their inverses, to their last places: what sums and products lose by rounding is
// carried along.
#include "backends/codegen/math_builder.h"
#include "backends/codegen/math_sums.h"

namespace xc::codegen {
namespace {

using V = llvm::Value*;

// log(1 + u) for u > -1 whose rest is `u.low`.
V Log1pOf(MathBuilder& m, Sum u) {
  const Sum sum = TwoSum(m, m.F(1), u.high);
  return m.Add(EmitLog(m, sum.high), m.Div(m.Add(sum.low, u.low), sum.high));
}

// e^x for 0 <= x <= 700, with what it loses by rounding.
Sum ExpWithRest(MathBuilder& m, V x) {
  llvm::IRBuilderBase& b = m.b;
  V k;
  V n = m.NearestMultiple(x, 1.4426950408889634, &k);
  V high = m.Fma(n, m.F(-6.93147180369123816490e-01), x);  // 32 bits: n times it is exact
  V low = m.Mul(n, m.F(1.90821492927058770002e-10));
  V r = m.Sub(high, low);
  V lost = m.Sub(m.Sub(high, r), low);
  // The Taylor series: |r| < 0.347.
  V q = m.Poly(r, {1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880,
                   1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0, 1.0 / 87178291200.0});
  V begin = m.Add(m.F(1), r);
  V rest = m.Add(m.Sub(r, m.Sub(begin, m.F(1))), m.Fma(m.Mul(r, r), q, lost));
  V e = m.Add(begin, rest);
  V power = m.Float(b.CreateShl(b.CreateAdd(k, m.I(1023)), m.I(52)));
  return {m.Mul(e, power), m.Mul(m.Sub(rest, m.Sub(e, begin)), power)};
}

V Asinh(MathBuilder& m, V x) {
  V a = m.Abs(x);
  // Beyond, the square of a is all of 1 + a^2, and overflows.
  V large = m.Gt(a, m.F(0x1p28));
  V c = m.Select(large, m.F(1), a);
  const Sum square = TwoProduct(m, c, c);
  V root = m.Sqrt(m.Add(square.high, m.F(1)));
  const Sum u = TwoSum(m, c, m.Div(square.high, m.Add(root, m.F(1))));
  V y = Log1pOf(m, u);
  V far = m.Add(EmitLog(m, a), m.F(0.693147180559945309417));
  y = m.CopySign(m.Select(large, far, y), x);
  return m.Select(m.Lt(a, m.F(0x1p-28)), x, y);
}

V Acosh(MathBuilder& m, V x) {
  V large = m.Gt(x, m.F(0x1p28));
  V t = m.Sub(m.Select(large, m.F(2), x), m.F(1));
  // sqrt(t (t + 2)) and its rest.
  const Sum sum = TwoSum(m, t, m.F(2));
  const Sum square = TwoProduct(m, t, sum.high);
  V root = m.Sqrt(square.high);
  V lost = m.Add(m.Add(square.low, m.Mul(t, sum.low)), m.Fma(m.Neg(root), root, square.high));
  V rest = m.Select(m.Gt(root, m.F(0)), m.Div(m.Mul(lost, m.F(0.5)), root), m.F(0));
  Sum u = TwoSum(m, t, root);
  if (m.fma) u.low = m.Add(u.low, rest);
  V far = m.Add(EmitLog(m, x), m.F(0.693147180559945309417));
  V y = m.Select(large, far, Log1pOf(m, u));
  return m.Select(m.Lt(x, m.F(1)), m.F(m.nan()), y);
}

V Atanh(MathBuilder& m, V x) {
  V a = m.Abs(x);
  // log(1 + 2 a / (1 - a)) / 2
  const Sum less = TwoSum(m, m.F(1), m.Neg(a));
  V twice = m.Add(a, a);
  V u = m.Div(twice, less.high);
  V rest = m.Sub(m.Fma(m.Neg(u), less.high, twice), m.Mul(u, less.low));
  if (!m.fma) rest = m.Neg(m.Mul(u, less.low));
  V y = m.Mul(Log1pOf(m, {u, m.Div(rest, less.high)}), m.F(0.5));
  y = m.Select(m.Eq(a, m.F(1)), m.F(m.inf()), y);
  y = m.CopySign(m.Select(m.Gt(a, m.F(1)), m.F(m.nan()), y), x);
  return m.Select(m.Lt(a, m.F(0x1p-28)), x, y);
}

}  // namespace

SinCos EmitHyperbolicOfDouble(MathBuilder& m, V x, SinCos* rest) {
  const bool exact = rest != nullptr;
  V size = m.Abs(x);
  const Sum e = exact ? ExpWithRest(m, size) : Sum{EmitExp(m, size), m.F(0)};
  V half = m.Mul(e.high, m.F(0.5)), half_rest = m.Mul(e.low, m.F(0.5));
  V inverse = m.Div(m.F(0.25), half);  // e^-|x| / 2
  V cosh = m.Add(half, inverse), sinh = m.Sub(half, inverse);
  if (exact) {
    V lost = m.Sub(m.Fma(m.Neg(inverse), half, m.F(0.25)), m.Mul(inverse, half_rest));
    V inverse_rest = m.Mul(lost, m.Mul(inverse, m.F(4)));
    auto add = [&](V* sum, V small) {
      V whole = m.Add(*sum, small), left = m.Sub(small, m.Sub(whole, *sum));
      *sum = whole;
      return left;
    };
    rest->cos = add(&cosh, m.Add(m.Sub(inverse, m.Sub(cosh, half)), m.Add(half_rest, inverse_rest)));
    rest->sin = add(&sinh, m.Add(m.Sub(m.Sub(half, sinh), inverse), m.Sub(half_rest, inverse_rest)));
  }
  V z = m.Mul(x, x);
  V p = m.Poly(z, {1.0 / 6, 1.0 / 120, 1.0 / 5040, 1.0 / 362880, 1.0 / 39916800, 1.0 / 6227020800.0,
                   1.0 / 1307674368000.0, 1.0 / 355687428096000.0, 1.0 / 121645100408832000.0});
  V term = m.Mul(m.Mul(x, z), p), small = m.Add(term, x), near = m.Lt(size, m.F(1));
  if (exact) {
    V sign = m.CopySign(m.F(1), x);
    rest->sin = m.Select(near, m.Sub(term, m.Sub(small, x)), m.Mul(rest->sin, sign));
  }
  return {m.Select(near, small, m.CopySign(sinh, x)), cosh};
}

V EmitHyperbolic(MathBuilder& m, MathOp op, V x) {
  if (!m.is_double()) return nullptr;
  switch (op) {
    case MathOp::kSinh:
    case MathOp::kCosh: {
      SinCos rest;
      const SinCos both = EmitHyperbolicOfDouble(m, x, &rest);
      V rare = m.b.CreateNot(m.Lt(m.Abs(x), m.F(kMostHyperbolic)));
      return EmitRareCalls(m, op, x, nullptr, rare, op == MathOp::kSinh ? both.sin : both.cos);
    }
    case MathOp::kAsinh:
      return Asinh(m, x);
    case MathOp::kAcosh:
      return Acosh(m, x);
    case MathOp::kAtanh:
      return Atanh(m, x);
    default:
      return nullptr;
  }
}

}  // namespace xc::codegen
