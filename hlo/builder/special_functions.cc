#include "hlo/builder/special_functions.h"

#include <cmath>
#include <limits>
#include <vector>

#include "absl/types/span.h"

namespace xc {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kPi = 3.14159265358979323846;

Op AddC(HloBuilder& b, Op x, double c) { return b.Add(x, b.FullLike(x, c)); }
Op MulC(HloBuilder& b, Op x, double c) { return b.Mul(x, b.FullLike(x, c)); }
Op Where(HloBuilder& b, Op pred, double constant, Op other) {
  return b.Select(pred, b.FullLike(other, constant), other);
}

// c[0] x^n + ... + c[n], by Horner's rule.
Op Polynomial(HloBuilder& b, Op x, absl::Span<const double> coefficients) {
  Op p = b.FullLike(x, coefficients[0]);
  for (size_t i = 1; i < coefficients.size(); ++i) p = AddC(b, b.Mul(p, x), coefficients[i]);
  return p;
}

// Lanczos' approximation with g = 7 and 9 terms, whose sum of fractions c / (z + i) is a fraction of polynomials here,
// with the powers of z from the highest one on. All coefficients are positive: nothing cancels.
constexpr double kLanczosAbove[] = {0.9999999999998099, 60.458333333341905, 1599.0425347220414,
                                    24165.510665029473, 228235.21549971408, 1379496.265878669,
                                    5210869.017760827,  11246929.484659921, 10619610.099075992};
constexpr double kLanczosBelow[] = {1, 36, 546, 4536, 22449, 67284, 118124, 109584, 40320};
constexpr double kLanczosShift = 7.5;

// log(z + 7.5) as log(7.5) + log1p(z / 7.5), which keeps precision for small z.
Op LogShifted(HloBuilder& b, Op z) { return AddC(b, b.Log1p(MulC(b, z, 1 / kLanczosShift)), std::log(kLanczosShift)); }

// z, or where its eighth power might overflow a number from which on the sum is near enough to 1.
Op Limited(HloBuilder& b, Op z) { return b.Min(z, b.FullLike(z, z.type() == ElementType::kF64 ? 1e30 : 1e4)); }

// The coefficients of the derivative.
std::vector<double> Derivative(absl::Span<const double> coefficients) {
  std::vector<double> slopes;
  const size_t degree = coefficients.size() - 1;
  for (size_t i = 0; i < degree; ++i) slopes.push_back(coefficients[i] * static_cast<double>(degree - i));
  return slopes;
}

// The derivative of the logarithm of a polynomial.
Op LogSlope(HloBuilder& b, Op z, absl::Span<const double> coefficients) {
  return b.Div(Polynomial(b, z, Derivative(coefficients)), Polynomial(b, z, coefficients));
}

}  // namespace

// By reflection below 0.5.
Op Lgamma(HloBuilder& b, Op x) {
  const Op half = b.FullLike(x, 0.5), one = b.FullLike(x, 1), reflect = b.Lt(x, half);
  const Op z = b.Select(reflect, b.Neg(x), b.Sub(x, one));
  const Op limited = Limited(b, z);
  const Op sum = b.Div(Polynomial(b, limited, kLanczosAbove), Polynomial(b, limited, kLanczosBelow));
  const Op t = AddC(b, z, kLanczosShift), log_t = LogShifted(b, z);
  const Op power = b.Mul(b.Sub(b.Add(z, half), b.Div(t, log_t)), log_t);
  const Op log_y = b.Add(AddC(b, power, 0.91893853320467274178), b.Log(sum));
  const Op ax = b.Abs(x);
  Op fraction = b.Sub(ax, b.Floor(ax));
  fraction = b.Select(b.Gt(fraction, half), b.Sub(one, fraction), fraction);
  const Op sine = b.Log(b.Sin(MulC(b, fraction, kPi)));
  Op reflected = b.Sub(b.Sub(b.FullLike(x, 1.14472988584940017414), sine), log_y);
  reflected = b.Select(b.IsFinite(sine), reflected, b.Neg(sine));
  return Where(b, b.Eq(ax, b.FullLike(x, kInf)), kInf, b.Select(reflect, reflected, log_y));
}

Op Digamma(HloBuilder& b, Op x) {
  const Op half = b.FullLike(x, 0.5), one = b.FullLike(x, 1), reflect = b.Lt(x, half);
  const Op z = b.Select(reflect, b.Neg(x), b.Sub(x, one));
  const Op t = AddC(b, z, kLanczosShift), limited = Limited(b, z);
  const Op sum = b.Sub(LogSlope(b, limited, kLanczosAbove), LogSlope(b, limited, kLanczosBelow));
  const Op y = b.Sub(b.Add(LogShifted(b, z), sum), b.Div(b.FullLike(x, 7), t));
  // The cotangent has period 1 in x / pi.
  const Op reduced = MulC(b, b.Add(x, b.Abs(b.Floor(b.Add(x, half)))), kPi);
  const Op reflected = b.Sub(y, MulC(b, b.Div(b.Cos(reduced), b.Sin(reduced)), kPi));
  const Op pole = b.And(b.Le(x, b.FullLike(x, 0)), b.Eq(x, b.Floor(x)));
  return Where(b, pole, kNan, b.Select(reflect, reflected, y));
}

// After Cephes: 1 - erf(x) near zero, exp(-x^2) times a polynomial or rational function of |x| elsewhere.
Op Erfc(HloBuilder& b, Op x) {
  const Op ax = b.Abs(x), square = b.Mul(x, x), z = b.Exp(b.Neg(square));
  Op tail, near;
  if (x.type() == ElementType::kF64) {
    const Op p = b.Div(Polynomial(b, ax,
                                  {2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687e0,
                                   4.86371970985681366614e1, 1.96520832956077098242e2, 5.26445194995477358631e2,
                                   9.34528527171957607540e2, 1.02755188689515710272e3, 5.57535335369399327526e2}),
                       Polynomial(b, ax,
                                  {1.0, 1.32281951154744992508e1, 8.67072140885989742329e1, 3.54937778887819891062e2,
                                   9.75708501743205489753e2, 1.82390916687909736289e3, 2.24633760818710981792e3,
                                   1.65666309194161350182e3, 5.57535340817727675546e2}));
    const Op r = b.Div(Polynomial(b, ax,
                                  {5.64189583547755073984e-1, 1.27536670759978104416e0, 5.01905042251180477414e0,
                                   6.16021097993053585195e0, 7.40974269950448939160e0, 2.97886665372100240670e0}),
                       Polynomial(b, ax,
                                  {1.0, 2.26052863220117276590e0, 9.39603524938001434673e0, 1.20489539808096656605e1,
                                   1.70814450747565897222e1, 9.60896809063285878198e0, 3.36907645100081516050e0}));
    tail = b.Mul(z, b.Select(b.Lt(ax, b.FullLike(ax, 8)), p, r));
    // Where it counts: the operation would compute tails of its own.
    near = b.Mul(x, b.Div(Polynomial(b, square,
                                     {9.60497373987051638749, 9.00260197203842689217e1, 2.23200534594684319226e3,
                                      7.00332514112805075473e3, 5.55923013010394962768e4}),
                          Polynomial(b, square,
                                     {1.0, 3.35617141647503099647e1, 5.21357949780152679795e2, 4.59432382970980127987e3,
                                      2.26290000613890934246e4, 4.92673942608635921086e4})));
  } else {
    const Op q = b.Div(b.FullLike(ax, 1), ax), y = b.Mul(q, q);
    const Op p = Polynomial(
        b, y,
        {2.326819970068386e-2, -1.387039388740657e-1, 3.687424674597105e-1, -5.824733027278666e-1, 6.210004621745983e-1,
         -4.944515323274145e-1, 3.404879937665872e-1, -2.741127028184656e-1, 5.638259427386472e-1});
    const Op r = Polynomial(b, y,
                            {-1.047766399936249e+1, 1.297719955372516e+1, -7.495518717768503e+0, 2.921019019210786e+0,
                             -1.015265279202700e+0, 4.218463358204948e-1, -2.820767439740514e-1, 5.641895067754075e-1});
    tail = b.Mul(b.Mul(z, q), b.Select(b.Lt(ax, b.FullLike(ax, 2)), p, r));
    near = b.Erf(x);
  }
  // Beyond the range of exp the tail is zero, not a product of zero and infinity.
  tail = Where(b, b.Eq(z, b.FullLike(z, 0)), 0, tail);
  const Op far = b.Select(b.Lt(x, b.FullLike(x, 0)), b.Sub(b.FullLike(x, 2), tail), tail);
  return b.Select(b.Gt(ax, b.FullLike(ax, 1)), far, b.Sub(b.FullLike(x, 1), near));
}

// After Giles (2012), with errors near 1e-6; in double precision then one of Halley's steps, which leave the third
// power of the error.
Op ErfInv(HloBuilder& b, Op x) {
  const bool wide = x.type() == ElementType::kF64;
  const Op one = b.FullLike(x, 1), w = b.Neg(b.Log1p(b.Neg(b.Mul(x, x))));
  const Op near = Polynomial(b, AddC(b, w, -2.5),
                             {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                              -0.00125372503, -0.00417768164, 0.246640727, 1.50140941});
  // Doubles reach further: up to w = 36.7, where floats end at 15.9.
  const Op far = wide ? Polynomial(b, AddC(b, b.Sqrt(w), -4),
                                   {1.84409574e-05, -7.94861059e-05, 8.6995671e-05, -2.5095142e-05, 0.000262212762,
                                    -0.000945365852, 0.00129008266, 1.00951196, 3.83978162})
                      : Polynomial(b, AddC(b, b.Sqrt(w), -3),
                                   {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                                    -0.0076224613, 0.00943887047, 1.00167406, 2.83297682});
  Op y = b.Mul(b.Select(b.Lt(w, b.FullLike(w, 5)), near, far), x);
  if (wide) {
    const Op slope = MulC(b, b.Exp(b.Neg(b.Mul(y, y))), 1.12837916709551257390);
    // erf(y) - x without cancellation: for |x| near 1 by erfc.
    const Op error = b.Select(b.Gt(b.Abs(x), b.FullLike(x, 0.5)),
                              b.Mul(b.Sign(x), b.Sub(b.Sub(one, b.Abs(x)), Erfc(b, b.Abs(y)))), b.Sub(b.Erf(y), x));
    const Op newton = b.Div(error, slope), step = b.Div(newton, AddC(b, b.Mul(newton, y), 1));
    y = b.Sub(y, Where(b, b.Not(b.IsFinite(step)), 0, step));
  }
  return b.Select(b.Eq(b.Abs(x), one), MulC(b, x, kInf), y);
}

// By Euler and Maclaurin's formula after ten terms.
Op Zeta(HloBuilder& b, Op x, Op q) {
  constexpr int kTerms = 10;
  // B(2j) / (2j)!
  constexpr double kBernoulli[] = {1.0 / 12,
                                   -1.0 / 720,
                                   1.0 / 30240,
                                   -1.0 / 1209600,
                                   1.0 / 47900160,
                                   -691.0 / 1307674368000.0,
                                   1.0 / 74724249600.0,
                                   -3617.0 / 10670622842880000.0};
  const Op one = b.FullLike(x, 1), zero = b.FullLike(x, 0), minus = b.Neg(x);
  Op sum = zero;
  for (int k = 0; k < kTerms; ++k) sum = b.Add(sum, b.Pow(k == 0 ? q : AddC(b, q, k), minus));
  const Op a = AddC(b, q, kTerms), power = b.Pow(a, minus), square = b.Mul(a, a);
  Op tail = AddC(b, b.Div(a, b.Sub(x, one)), 0.5), factor = b.Div(x, a);
  for (int j = 0; j < 8; ++j) {
    tail = b.Add(tail, MulC(b, factor, kBernoulli[j]));
    factor = b.Div(b.Mul(factor, b.Mul(AddC(b, x, 2 * j + 1), AddC(b, x, 2 * j + 2))), square);
  }
  sum = b.Add(sum, b.Select(b.Eq(power, zero), zero, b.Mul(power, tail)));
  const Op pole = b.And(b.Le(q, zero), b.Eq(q, b.Floor(q)));
  const Op even = b.Eq(MulC(b, b.Floor(MulC(b, x, 0.5)), 2), x);
  sum = b.Select(pole, b.Select(even, b.FullLike(x, kInf), b.FullLike(x, kNan)), sum);
  sum = Where(b, b.And(b.Lt(q, zero), b.Ne(x, b.Floor(x))), kNan, sum);
  return Where(b, b.Lt(x, one), kNan, Where(b, b.Eq(x, one), kInf, sum));
}

// (-1)^(n + 1) n! zeta(n + 1, x), and digamma for n = 0.
Op Polygamma(HloBuilder& b, Op n, Op x) {
  const Op zero = b.FullLike(n, 0), n1 = AddC(b, n, 1);
  const Op even = b.Eq(MulC(b, b.Floor(MulC(b, n, 0.5)), 2), n);
  const Op sign = b.Select(even, b.FullLike(n, -1), b.FullLike(n, 1));
  Op y = b.Mul(b.Mul(sign, b.Exp(Lgamma(b, n1))), Zeta(b, n1, x));
  y = b.Select(b.Eq(n, zero), Digamma(b, x), y);
  return Where(b, b.Or(b.Lt(n, zero), b.Ne(n, b.Floor(n))), kNan, y);
}

namespace {

// e^-|x| I(x) of floats, with errors of up to 5 ulp: up to |x| = 8 a polynomial of x^2 / 4 with positive terms, in the
// place of the power series, beyond one of 1 / x over the square root of |x|. (Fitted with equal relative errors, of
// about 1e-8.)
Op ScaledBesselOfFloat(HloBuilder& b, Op x, int order) {
  const std::vector<double> near0 = {1.49843581e-11, 3.81133265e-10, 4.31585264e-08, 1.8937941e-06, 6.96370859e-05,
                                     0.00173550434,  0.0277788046,   0.249999188,    1.00000022,    0.999999991};
  const std::vector<double> near1 = {7.21012697e-13, 2.29674321e-11, 2.65064103e-09, 1.35916872e-07, 5.79799652e-06,
                                     0.00017357353,  0.0034722929,   0.0416666028,   0.250000021,    0.499999999};
  const std::vector<double> far0 = {1.18399272e-05, -3.38177552e-06, 6.59867631e-05,
                                    0.000435918726, 0.00623369825,   0.398942277};
  const std::vector<double> far1 = {-1.38054143e-05, 2.36767747e-06, -9.0148859e-05,
                                    -0.000727746469, -0.0187006809,  0.398942284};
  constexpr double kSplit = 8;
  const Op ax = b.Abs(x), split = b.FullLike(ax, kSplit);
  const Op near_x = b.Min(ax, split), far_x = b.Max(ax, split);
  Op near = Polynomial(b, MulC(b, b.Mul(near_x, near_x), 0.25), order == 0 ? near0 : near1);
  near = b.Mul(near, b.Exp(b.Neg(near_x)));
  if (order == 1) near = b.Mul(near, near_x);
  const Op far = b.Mul(Polynomial(b, b.Div(split, far_x), order == 0 ? far0 : far1), b.Rsqrt(far_x));
  Op y = b.Select(b.Le(ax, split), near, far);
  if (order == 1) y = b.Select(b.Lt(x, b.FullLike(x, 0)), b.Neg(y), y);
  return b.Select(b.Ne(x, x), x, y);
}

}  // namespace

// By the power series up to |x| = 20, which has positive terms only, and the asymptotic one beyond.
Op BesselI(HloBuilder& b, Op x, int order, bool scaled) {
  if (scaled && x.type() == ElementType::kF32) return ScaledBesselOfFloat(b, x, order);
  constexpr double kSplit = 20;
  constexpr int kTerms = 45, kFarTerms = 24;
  const Op ax = b.Abs(x), split = b.FullLike(ax, kSplit);
  const Op near_x = b.Min(ax, split), quarter = MulC(b, b.Mul(near_x, near_x), 0.25);
  Op near = b.FullLike(x, 1);
  for (int k = kTerms; k >= 1; --k) near = AddC(b, b.Mul(near, MulC(b, quarter, 1.0 / (k * (k + order)))), 1);
  if (order == 1) near = b.Mul(near, MulC(b, near_x, 0.5));
  const Op far_x = b.Max(ax, split), eighth = b.Div(b.FullLike(ax, 0.125), far_x);
  const double mu = 4.0 * order * order;
  Op far = b.FullLike(x, 1);
  for (int k = kFarTerms; k >= 1; --k) {
    const double odd = 2.0 * k - 1;
    far = AddC(b, b.Mul(far, MulC(b, eighth, -(mu - odd * odd) / k)), 1);
  }
  far = b.Mul(far, b.Rsqrt(MulC(b, far_x, 2 * kPi)));
  if (scaled) {
    near = b.Mul(near, b.Exp(b.Neg(near_x)));
  } else {
    far = b.Mul(far, b.Exp(far_x));
  }
  Op y = b.Select(b.Le(ax, split), near, far);
  if (order == 1) y = b.Select(b.Lt(x, b.FullLike(x, 0)), b.Neg(y), y);
  return b.Select(b.Ne(x, x), x, y);
}

// On the bits.
Op NextAfter(HloBuilder& b, Op x, Op y) {
  const ElementType type = x.type();
  const ElementType bits = ElementBits(type) == 64   ? ElementType::kS64
                           : ElementBits(type) == 32 ? ElementType::kS32
                                                     : ElementType::kS16;
  const Op zero = b.FullLike(x, 0), xi = b.BitcastConvert(x, bits), one = b.FullLike(xi, 1);
  const Op grow = b.Eq(b.Gt(y, x), b.Gt(x, zero));
  const Op moved = b.BitcastConvert(b.Select(grow, b.Add(xi, one), b.Sub(xi, one)), type);
  const Op smallest = b.BitcastConvert(one, type);
  const Op from_zero = b.Select(b.Gt(y, zero), smallest, b.Neg(smallest));
  const Op next = b.Select(b.Eq(x, y), y, b.Select(b.Eq(x, zero), from_zero, moved));
  return Where(b, b.Or(b.Ne(x, x), b.Ne(y, y)), kNan, next);
}

}  // namespace xc
