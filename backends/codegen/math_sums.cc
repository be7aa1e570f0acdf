// Functions of doubles and of sums of two doubles whose results have more digits than a double.
#include "backends/codegen/math_sums.h"

namespace xc::codegen {
namespace {

using V = llvm::Value*;

Sum Product(MathBuilder& m, const Sum& a, const Sum& b) {
  Sum product = TwoProduct(m, a.high, b.high);
  product.low = m.Fma(a.high, b.low, m.Fma(a.low, b.high, product.low));
  return product;
}

// c + b, for a constant c of more digits than a double and |c| >= |b|.
Sum AddToConstant(MathBuilder& m, double c, double c_low, const Sum& b) {
  const Sum sum = FastTwoSum(m, m.F(c), b.high);
  return {sum.high, m.Add(sum.low, m.Add(b.low, m.F(c_low)))};
}

// a / b, of which `inverse` is that of b.high.
Sum Quotient(MathBuilder& m, const Sum& a, const Sum& b, V inverse) {
  V q = m.Mul(a.high, inverse), less = m.Neg(q);
  V rest = m.Add(m.Fma(less, b.high, a.high), m.Fma(less, b.low, a.low));
  return {q, m.Mul(rest, inverse)};
}

Sum Square(MathBuilder& m, const Sum& a) {
  Sum square = TwoProduct(m, a.high, a.high);
  square.low = m.Fma(m.Add(a.high, a.high), a.low, square.low);
  return square;
}

}  // namespace

// e ln 2 + 2 s + 2/3 s^3 + 2/5 s^5 + …, where s = (f - 1) / (f + 1) and x = f 2^e.
Sum EmitLogOfSum(MathBuilder& m, const Sum& x) {
  V e;
  V f = EmitSplit(m, x.high, &e);
  const Sum below{m.Sub(f, m.F(1)), m.F(0)};
  Sum above{m.Add(f, m.F(1)), nullptr};
  above.low = m.Sub(f, m.Sub(above.high, m.F(1)));
  const Sum s = Quotient(m, below, above, m.Div(m.F(1), above.high));
  const Sum z = Square(m, s), cube = Product(m, s, z);
  const Sum third = Product(m, cube, {m.F(0x1.5555555555555p-1), m.F(0x1.5555555555555p-55)});
  V p =
      m.Poly(z.high, {2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23});
  V rest = m.Fma(m.Mul(cube.high, z.high), p, m.Fma(s.low, m.F(2), third.low));
  if (x.low != nullptr) rest = m.Add(rest, m.Div(x.low, x.high));
  // e times the first 32 bits of ln 2 is exact.
  const Sum first = FastTwoSum(m, m.Mul(e, m.F(6.93147180369123816490e-01)), m.Add(s.high, s.high));
  const Sum second = FastTwoSum(m, first.high, third.high);
  V low = m.Fma(e, m.F(1.90821492927058770002e-10), m.Add(first.low, second.low));
  return FastTwoSum(m, second.high, m.Add(low, rest));
}

V EmitExpOfSum(MathBuilder& m, const Sum& x) {
  V far = m.b.CreateNot(m.Lt(m.Abs(x.high), m.F(800)));
  V high = m.ClampMin(m.ClampMax(x.high, 710), -746), low = m.Select(far, m.F(0), x.low);
  V k;
  V n = m.NearestMultiple(high, 1.4426950408889634, &k);
  high = m.Fma(n, m.F(-6.93147180369123816490e-01), high);
  V part = m.F(-1.90821492927058770002e-10);
  V r = m.Fma(n, part, high);
  low = m.Add(low, m.Fma(n, part, m.Sub(high, r)));
  // The Taylor series: |r| < 0.347.
  V q = m.Poly(r, {1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880,
                   1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0});
  const Sum begin = FastTwoSum(m, m.F(1), r);
  V beyond = m.Mul(m.Mul(r, r), q);  // e^r - 1 - r
  V rest = m.Add(begin.low, m.Add(beyond, m.Fma(low, m.Add(r, beyond), low)));
  return m.Scale(m.Add(begin.high, rest), k);
}

Sum EmitAtan2WithRest(MathBuilder& m, V y, V x) {
  V ax = m.Abs(x), ay = m.Abs(y);
  V swap = m.Gt(ay, ax);
  V larger = m.Select(swap, ay, ax), smaller = m.Select(swap, ax, ay);
  // atan(t) = pi/4 + atan((t - 1) / (t + 1)) above tan(pi/8).
  V near_one = m.Gt(smaller, m.Mul(larger, m.F(0.41421356237309503)));
  const Sum difference = FastTwoSum(m, m.Neg(larger), smaller), sum = FastTwoSum(m, larger, smaller);
  const Sum num{m.Select(near_one, difference.high, smaller), m.Select(near_one, difference.low, m.F(0))};
  const Sum den{m.Select(near_one, sum.high, larger), m.Select(near_one, sum.low, m.F(0))};
  const Sum u = Quotient(m, num, den, m.Div(m.F(1), den.high)), z = Square(m, u);
  // atan(u) = u + u z (-1/3 + z (1/5 + z p)); Chebyshev's interpolation for z <= tan(pi/8)^2.
  V p = m.Poly(z.high, {-0.14285714285714285, 0.11111111111110943, -0.09090909090862, 0.0769230768715793,
                        -0.066666663749212, 0.05882343155350735, -0.05262948817828855, 0.04758943544580168,
                        -0.043195350613018345, 0.03817983640123805, -0.02932139236342653, 0.013907686784774246});
  const Sum inner = AddToConstant(m, 0x1.999999999999ap-3, -0x1.999999999999ap-57, Product(m, z, {p, m.F(0)}));
  const Sum outer = AddToConstant(m, -0x1.5555555555555p-2, -0x1.5555555555555p-56, Product(m, z, inner));
  const Sum term = Product(m, u, Product(m, z, outer)), near = FastTwoSum(m, u.high, term.high);
  Sum a{near.high, m.Add(near.low, m.Add(u.low, term.low))};
  // `to` where `condition` holds.
  const auto choose = [&](V condition, const Sum& to) {
    a = {m.Select(condition, to.high, a.high), m.Select(condition, to.low, a.low)};
  };
  const auto negative = [&] { return Sum{m.Neg(a.high), m.Neg(a.low)}; };
  choose(near_one, AddToConstant(m, 0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55, a));
  choose(swap, AddToConstant(m, 0x1.921fb54442d18p0, 0x1.1a62633145c07p-54, negative()));
  choose(m.SignBit(x), AddToConstant(m, 0x1.921fb54442d18p1, 0x1.1a62633145c07p-53, negative()));
  choose(m.SignBit(y), negative());
  return a;
}

}  // namespace xc::codegen
