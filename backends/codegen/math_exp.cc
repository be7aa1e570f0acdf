// Exponential, logarithm and what is made of them. Rare f32 functions are computed in double and rounded once.
#include "backends/codegen/math_builder.h"
#include "llvm/IR/Intrinsics.h"

namespace xc::codegen {
namespace {

using V = llvm::Value*;

// e^x = y 2^n with y near 1.
V ExpPartsOfFloat(MathBuilder& m, V x, V* n) {
  V k = m.NearestMultiple(x, 1.44269504, n);
  V r = m.Fma(k, m.F(-0.693359375), x);  // 9 bits: k times it is exact
  r = m.Fma(k, m.F(2.12194440e-4), r);
  V p = m.Poly(r, {0.5000000027, 0.1666657628, 0.0416663729, 0.008363295188, 0.001394132342});
  return m.Add(m.Fma(m.Mul(r, r), p, r), m.F(1));
}

// y 2^n for y from 0.7 to 1.5, where x is the logarithm of the result: infinity beyond `most`, the largest with a
// finite one, and NaN for NaN. Denormal results are computed as the whole numbers that their bits are, since what
// multiplies into them takes some processors a hundred cycles.
V ScaleExponential(MathBuilder& m, V y, V n, V x, double most) {
  auto& b = m.b;
  const bool d = m.is_double();
  const int mantissa = d ? 52 : 23, bias = d ? 1023 : 127;
  V exponent = b.CreateShl(n, m.I(mantissa));
  V bits = b.CreateAdd(m.Bits(y), exponent);
  // In units of the smallest denormal number, 2^(1 - bias - mantissa), rounded by adding 2^mantissa.
  V units = m.Float(b.CreateAdd(exponent, m.I(static_cast<int64_t>(bias + mantissa - 1 + bias) << mantissa)));
  V rounded = m.Bits(m.Fma(y, units, m.F(d ? 0x1p52 : 0x1p23)));
  V denormal = b.CreateSub(rounded, m.I(static_cast<int64_t>(bias + mantissa) << mantissa));
  V is_denormal = b.CreateICmpSLT(bits, m.I(int64_t{1} << mantissa));
  V finite = m.Float(b.CreateSelect(is_denormal, denormal, bits));
  return m.Select(b.CreateFCmpOLE(x, m.F(most)), finite, m.Mul(x, m.F(d ? 0x1p1023 : 0x1p127)));
}

V ExpFloat(MathBuilder& m, V x) {
  V n;
  V y = ExpPartsOfFloat(m, m.ClampMin(x, -104.0), &n);
  return ScaleExponential(m, y, n, x, 0x1.62e42ep6);
}

// The same for |x| < 80: nothing overflows or is denormal.
V ExpOfSmallFloat(MathBuilder& m, V x) {
  V n;
  V y = ExpPartsOfFloat(m, x, &n);
  return m.Float(m.b.CreateAdd(m.Bits(y), m.b.CreateShl(n, m.I(23))));
}

V ExpDouble(MathBuilder& m, V x) {
  V low = m.ClampMin(x, -746.0);
  V n;
  V k = m.NearestMultiple(low, 1.4426950408889634, &n);
  V r = m.Fma(k, m.F(-6.93147180369123816490e-01), low);  // 32 bits
  r = m.Fma(k, m.F(-1.90821492927058770002e-10), r);
  V p = m.Poly(r, {0.5, 0.1666666666666667468, 0.04166666666662346789, 0.0083333333333220369961,
                   0.0013888888917542008314, 0.00019841269887110347591, 0.000024801520787628277192,
                   2.7557241750305072834e-6, 2.7620329482639780554e-7, 2.5110270500686869897e-8});
  V y = m.Add(m.Fma(m.Mul(r, r), p, r), m.F(1));
  return ScaleExponential(m, y, n, x, 0x1.62e42fefa39efp9);
}

// Puts in the logarithms of what is not a positive finite number.
V LogSpecial(MathBuilder& m, V x, V y) {
  y = m.Select(m.Lt(x, m.F(m.inf())), y, x);  // infinity and NaN give themselves
  y = m.Select(m.Eq(x, m.F(0)), m.F(-m.inf()), y);
  return m.Select(m.Lt(x, m.F(0)), m.F(m.nan()), y);
}

V LogFloat(MathBuilder& m, V x) {
  V e;
  V f = m.Sub(EmitSplit(m, x, &e), m.F(1));
  V z = m.Mul(f, f);
  V p = m.Poly(f, {0.3333333126, -0.2499998119, 0.2000068806, -0.1666915106, 0.1425115599, -0.1239669877, 0.1163465908,
                   -0.116599424, 0.07332553778});
  V y = m.Mul(m.Mul(f, z), p);
  y = m.Fma(e, m.F(-2.12194440e-4), y);
  y = m.Fma(z, m.F(-0.5), y);
  y = m.Fma(e, m.F(0.693359375), m.Add(f, y));
  return LogSpecial(m, x, y);
}

V LogDouble(MathBuilder& m, V x) {
  V e;
  V f = m.Sub(EmitSplit(m, x, &e), m.F(1));
  V s = m.Div(f, m.Add(f, m.F(2)));
  V z = m.Mul(s, s);
  V r = m.Mul(z,
              m.Poly(z, {0.66666666666666697267, 0.39999999999898510164, 0.28571428626370189276, 0.22222211077515430566,
                         0.18182892881223728193, 0.15331608113624686592, 0.1461773535874418209}));
  // log(1 + f) = f - (f^2/2 - s (f^2/2 + r))
  V half = m.Mul(m.Mul(f, f), m.F(0.5));
  V low = m.Fma(e, m.F(1.90821492927058770002e-10), m.Mul(s, m.Add(half, r)));
  V y = m.Sub(f, m.Sub(half, low));
  return LogSpecial(m, x, m.Fma(e, m.F(6.93147180369123816490e-01), y));
}

// Of either type.
V Log1p(MathBuilder& m, V x) {
  V u = m.Add(x, m.F(1));
  V lost = m.Div(m.Sub(x, m.Sub(u, m.F(1))), u);
  V usable = m.b.CreateAnd(m.Gt(u, m.F(0)), m.Lt(x, m.F(1e10)));
  return m.Add(EmitLog(m, u), m.Select(usable, lost, m.F(0)));
}

V TanhFloat(MathBuilder& m, V x) {
  V a = m.Abs(x);
  V z = m.Mul(x, x);
  V p = m.Poly(z, {-0.3333332925, 0.1333279455, -0.05385407046, 0.02101008382, -0.006113194151});
  V small = m.Fma(m.Mul(p, z), a, a);
  V most = m.ClampMax(a, 20);
  V e = ExpOfSmallFloat(m, m.Add(most, most));
  V large = m.Sub(m.F(1), m.Div(m.F(2), m.Add(e, m.F(1))));
  // NaN is not large: the exponential of small numbers loses it.
  return m.CopySign(m.Select(m.Gt(a, m.F(0.625)), large, small), x);
}

// e^r - 1 of doubles to its last place, where x = k ln 2 + r.
V Expm1OfRest(MathBuilder& m, V x, V* k) {
  V n = m.NearestMultiple(x, 1.4426950408889634, k);
  V high = m.Fma(n, m.F(-6.93147180369123816490e-01), x);
  V low = m.F(-1.90821492927058770002e-10);
  V r = m.Fma(n, low, high);
  V lost = m.Fma(n, low, m.Sub(high, r));
  // Near the Taylor series, for |r| < 0.347.
  V q = m.Poly(r, {0.5, 0.16666666666666671, 0.041666666666666678, 0.0083333333333261393, 0.001388888888887908,
                   0.00019841269874805898, 2.4801587336426553e-05, 2.7557255419156705e-06, 2.7557263296038744e-07,
                   2.5105209030726063e-08, 2.09181314184218e-09});
  return m.Add(r, m.Fma(m.Mul(r, r), q, lost));
}

// e^x - 1 of doubles to their last place: x = k ln 2 + r, and 2^k (e^r - 1 + 1 - 2^-k).
V Expm1Accurate(MathBuilder& m, V x) {
  auto& b = m.b;
  V k;
  V p = Expm1OfRest(m, m.ClampMin(m.ClampMax(x, 710), -40), &k);
  V small = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, k, m.I(60));
  V inverse = m.Float(b.CreateShl(b.CreateSub(m.I(1023), small), m.I(52)));  // 2^-k
  V z = m.Scale(m.Add(p, m.Sub(m.F(1), inverse)), k);
  return m.Select(m.Lt(m.Abs(x), m.F(0x1p-54)), x, z);
}

// The same of floats, to their last place but one.
V Expm1Float(MathBuilder& m, V x) {
  auto& b = m.b;
  V y = m.ClampMin(m.ClampMax(x, 89), -18);
  V k;
  V n = m.NearestMultiple(y, 1.44269504, &k);
  V high = m.Fma(n, m.F(-0.693359375), y);  // 9 bits: n times it is exact
  V low = m.Mul(n, m.F(-2.12194440e-4));
  V r = m.Sub(high, low);
  V lost = m.Sub(m.Sub(high, r), low);
  // The Taylor series: |r| < 0.347.
  V q = m.Poly(r, {1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320});
  V p = m.Add(r, m.Fma(m.Mul(r, r), q, lost));
  V small = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, k, m.I(60));
  V inverse = m.Float(b.CreateShl(b.CreateSub(m.I(127), small), m.I(23)));  // 2^-k
  V z = m.Scale(m.Add(p, m.Sub(m.F(1), inverse)), k);
  return m.Select(m.Lt(m.Abs(x), m.F(0x1p-25)), x, z);
}

// tanh a = t / (t + 2) with t = e^2a - 1 = 2^k (e^r - 1) + 2^k - 1, where 2 a = k ln 2 + r.
V TanhDouble(MathBuilder& m, V x) {
  auto& b = m.b;
  V a = m.ClampMax(m.Abs(x), 22);
  V k;
  V p = Expm1OfRest(m, m.Add(a, a), &k);
  V power = m.Float(b.CreateShl(b.CreateAdd(k, m.I(1023)), m.I(52)));
  V t = m.Fma(p, power, m.Sub(power, m.F(1)));
  V sum = m.Add(t, m.F(2));
  // What the sum lost by rounding: sum - 2 is exact as long as 2 is a multiple of the sum's last place.
  V lost = m.Select(m.Lt(t, m.F(0x1p52)), m.Sub(t, m.Sub(sum, m.F(2))), m.F(0));
  V y = m.Div(t, sum);
  // (1 - y) / 2 is the sum's inverse.
  y = m.Fma(m.Neg(m.Mul(y, lost)), m.Fma(y, m.F(-0.5), m.F(0.5)), y);
  return m.CopySign(y, x);
}

V Logistic(MathBuilder& m, V x) {
  V t = EmitExp(m, m.Neg(m.Abs(x)));
  V negative = m.Lt(x, m.F(0));
  V sum = m.Add(t, m.F(1));
  V y = m.Div(m.Select(negative, t, m.F(1)), sum);
  // What the sum lost by rounding, divided by the sum: y or 1 - y is its inverse.
  V lost = m.Sub(t, m.Sub(sum, m.F(1)));
  V inverse = m.Select(negative, m.Sub(m.F(1), y), y);
  return m.Fma(m.Neg(m.Mul(y, lost)), inverse, y);
}

// Near zero a polynomial, else 1 less the tail as a power of two of a polynomial.
V ErfFloat(MathBuilder& m, V x) {
  V a = m.ClampMax(m.Abs(x), 4.0);
  V p = m.Poly(m.Mul(x, x),
               {0.1283791538, -0.3761252332, 0.1128214113, -0.02677891747, 0.005011972986, -0.0006090403948});
  V small = m.Fma(p, x, x);
  V n;
  V q = m.Poly(a, {-0.0002401243589, -1.627067526, -0.9189621714, -0.1502043469, 0.03219407654, -0.004422575239,
                   0.0002859713102});
  V r = m.Sub(q, m.Nearest(q, &n));
  V power = m.Poly(r, {1.000000072, 0.6931469671, 0.2402211971, 0.05550713279, 0.009675541953, 0.001327647184});
  V tail = m.Float(m.b.CreateAdd(m.Bits(power), m.b.CreateShl(n, m.I(23))));
  // NaN is not large: the tail loses it.
  return m.Select(m.Gt(a, m.F(0.9)), m.CopySign(m.Sub(m.F(1), tail), x), small);
}

// Near zero a ratio of polynomials, else 1 less the tail e^-x^2 P(x) / Q(x), both as in the Cephes library.
V ErfDouble(MathBuilder& m, V x) {
  V a = m.ClampMax(m.Abs(x), 6.0);
  V z = m.Mul(x, x);
  // P(x^2) / Q(x^2) less its value at zero, which is added last.
  V t = m.Poly(z, {6.33196364512407e-13, -18530.76710034648, -2952.1339503881677, -498.2634294111685,
                   -28.265365335648106, -1.1283791670955126});
  V u = m.Poly(z, {4.92673942608635921086e4, 2.26290000613890934246e4, 4.59432382970980127987e3,
                   5.21357949780152679795e2, 3.35617141647503099647e1, 1.0});
  V small = m.Fma(x, m.F(1.1283791670955126), m.Mul(x, m.Div(t, u)));
  V p = m.Poly(a, {5.57535335369399327526e2, 1.02755188689515710272e3, 9.34528527171957607540e2,
                   5.26445194995477358631e2, 1.96520832956077098242e2, 4.86371970985681366614e1, 7.46321056442269912687,
                   5.64189564831068821977e-1, 2.46196981473530512524e-10});
  V q = m.Poly(
      a, {5.57535340817727675546e2, 1.65666309194161350182e3, 2.24633760818710981792e3, 1.82390916687909736289e3,
          9.75708501743205489753e2, 3.54937778887819891062e2, 8.67072140885989742329e1, 1.32281951154744992508e1, 1.0});
  V tail = m.Mul(ExpDouble(m, m.Neg(m.Mul(a, a))), m.Div(p, q));
  V large = m.CopySign(m.Sub(m.F(1), tail), x);
  return m.Select(m.Lt(a, m.F(1)), small, large);
}

// f32 functions computed on doubles: `x` is a double that was a float.
V ThroughDouble(MathBuilder& m, MathOp op, V x) {
  V a = m.Abs(x);
  switch (op) {
    case MathOp::kSinh: {
      V e = EmitExp(m, a);
      V large = m.CopySign(m.Mul(m.Sub(e, m.Div(m.F(1), e)), m.F(0.5)), x);
      V z = m.Mul(x, x);
      V small = m.Fma(m.Mul(x, z), m.Poly(z, {1.0 / 6, 1.0 / 120, 1.0 / 5040}), x);
      return m.Select(m.Lt(a, m.F(0.0625)), small, large);
    }
    case MathOp::kCosh: {
      V e = EmitExp(m, a);
      return m.Mul(m.Add(e, m.Div(m.F(1), e)), m.F(0.5));
    }
    // Of floats that are not small, the logarithm's argument in doubles has digits enough.
    case MathOp::kAsinh: {
      V z = m.Mul(a, a);
      V large = EmitLog(m, m.Add(a, m.Sqrt(m.Add(z, m.F(1)))));
      V small = m.Fma(m.Mul(a, z), m.Poly(z, {-1.0 / 6, 3.0 / 40, -15.0 / 336}), a);
      return m.CopySign(m.Select(m.Lt(a, m.F(0.0625)), small, large), x);
    }
    case MathOp::kAcosh: {
      V y = EmitLog(m, m.Add(x, m.Sqrt(m.Mul(m.Sub(x, m.F(1)), m.Add(x, m.F(1))))));
      return m.Select(m.Lt(x, m.F(1)), m.F(m.nan()), y);
    }
    case MathOp::kAtanh: {
      V z = m.Mul(a, a);
      V large = m.Mul(EmitLog(m, m.Div(m.Add(m.F(1), a), m.Sub(m.F(1), a))), m.F(0.5));
      V small = m.Fma(m.Mul(a, z), m.Poly(z, {1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9}), a);
      return m.CopySign(m.Select(m.Lt(a, m.F(0.0625)), small, large), x);
    }
    default:
      return nullptr;
  }
}

}  // namespace

V EmitSplit(MathBuilder& m, V x, V* exponent) {
  const bool d = m.is_double();
  const double tiny = d ? 0x1p-1022 : 0x1p-126, up = d ? 0x1p52 : 0x1p23;
  const int mantissa = d ? 52 : 23;
  const int64_t half_root = d ? 0x3fe6a09e667f3bcd : 0x3f3504f3;
  V small = m.Lt(x, m.F(tiny));
  V bits = m.b.CreateSub(m.Bits(m.Select(small, m.Mul(x, m.F(up)), x)), m.I(half_root));
  V e = m.b.CreateSIToFP(m.b.CreateAShr(bits, m.I(mantissa)), m.type);
  *exponent = m.Sub(e, m.Select(small, m.F(mantissa), m.F(0)));
  return m.Float(m.b.CreateAdd(m.b.CreateAnd(bits, m.I((int64_t{1} << mantissa) - 1)), m.I(half_root)));
}

V EmitExp(MathBuilder& m, V x) { return m.is_double() ? ExpDouble(m, x) : ExpFloat(m, x); }
V EmitLog(MathBuilder& m, V x) { return m.is_double() ? LogDouble(m, x) : LogFloat(m, x); }

V EmitLog1pOfDouble(MathBuilder& m, V x) { return Log1p(m, x); }
V EmitExpm1OfDouble(MathBuilder& m, V x) { return Expm1Accurate(m, x); }

V EmitExponential(MathBuilder& m, MathOp op, V x) {
  switch (op) {
    case MathOp::kExp:
      return EmitExp(m, x);
    case MathOp::kLog:
      return EmitLog(m, x);
    case MathOp::kLogistic:
      return Logistic(m, x);
    default:
      break;
  }
  if (m.is_double()) {
    if (op == MathOp::kExpm1) return Expm1Accurate(m, x);
    if (op == MathOp::kLog1p) return m.Select(m.Eq(x, m.F(0)), x, Log1p(m, x));
    if (op == MathOp::kTanh) return TanhDouble(m, x);
    if (op == MathOp::kErf) return ErfDouble(m, x);
    return nullptr;
  }
  if (op == MathOp::kTanh) return TanhFloat(m, x);
  if (op == MathOp::kErf) return ErfFloat(m, x);
  if (op == MathOp::kExpm1) return Expm1Float(m, x);
  if (op == MathOp::kLog1p) return m.Select(m.Eq(x, m.F(0)), x, Log1p(m, x));
  MathBuilder d = m.Double();
  V wide = m.Extend(x);
  V y = ThroughDouble(d, op, wide);
  if (y == nullptr) return nullptr;
  return m.Round(y);
}

}  // namespace xc::codegen
