// Lowerings of element-wise unary math: roots, exponentials, trigonometry, rounding, error functions, complex parts.
#include <cmath>
#include <limits>

#include "jit/lowering/lowering.h"
#include "jit/lowering/special.h"

namespace xc {
namespace {

template <auto kFn>
absl::Status Unary(OpContext& c) {
  c.set(0, kFn(c.b, c.in(0)));
  return absl::OkStatus();
}

template <HloOpcode kOpcode>
Val Direct(Emitter& b, Val x) {
  return b.Unary(kOpcode, x);
}

// Half-width types are widened around functions that are evaluated by polynomials.
template <auto kFn>
Val Wide(Emitter& b, Val x) {
  ElementType type = x->type();
  bool narrow = type == ElementType::kF16 || type == ElementType::kBF16;
  Val y = kFn(b, narrow ? b.Convert(x, ElementType::kF32) : x);
  return b.Convert(y, type);
}

// c[0] x^n + ... + c[n], by Horner's rule.
Val Polynomial(Emitter& b, Val x, const std::vector<double>& coefficients) {
  Val p = b.Like(x, coefficients[0]);
  for (size_t i = 1; i < coefficients.size(); ++i) p = b.Add(b.Mul(p, x), b.Like(x, coefficients[i]));
  return p;
}

// The complementary error function after Cephes: 1 - erf(x) near zero, exp(-x^2) times a polynomial or rational
// function of |x| elsewhere.
Val Erfc(Emitter& b, Val x) {
  Val ax = b.Abs(x);
  Val z = b.Exp(b.Neg(b.Mul(x, x)));
  Val tail;
  if (x->type() == ElementType::kF64) {
    Val p = b.Div(Polynomial(b, ax,
                             {2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687e0,
                              4.86371970985681366614e1, 1.96520832956077098242e2, 5.26445194995477358631e2,
                              9.34528527171957607540e2, 1.02755188689515710272e3, 5.57535335369399327526e2}),
                  Polynomial(b, ax,
                             {1.0, 1.32281951154744992508e1, 8.67072140885989742329e1, 3.54937778887819891062e2,
                              9.75708501743205489753e2, 1.82390916687909736289e3, 2.24633760818710981792e3,
                              1.65666309194161350182e3, 5.57535340817727675546e2}));
    Val r = b.Div(Polynomial(b, ax,
                             {5.64189583547755073984e-1, 1.27536670759978104416e0, 5.01905042251180477414e0,
                              6.16021097993053585195e0, 7.40974269950448939160e0, 2.97886665372100240670e0}),
                  Polynomial(b, ax,
                             {1.0, 2.26052863220117276590e0, 9.39603524938001434673e0, 1.20489539808096656605e1,
                              1.70814450747565897222e1, 9.60896809063285878198e0, 3.36907645100081516050e0}));
    tail = b.Mul(z, b.Select(b.Lt(ax, b.Like(ax, 8)), p, r));
  } else {
    Val q = b.Div(b.Like(ax, 1), ax);
    Val y = b.Mul(q, q);
    Val p = Polynomial(
        b, y,
        {2.326819970068386e-2, -1.387039388740657e-1, 3.687424674597105e-1, -5.824733027278666e-1, 6.210004621745983e-1,
         -4.944515323274145e-1, 3.404879937665872e-1, -2.741127028184656e-1, 5.638259427386472e-1});
    Val r = Polynomial(b, y,
                       {-1.047766399936249e+1, 1.297719955372516e+1, -7.495518717768503e+0, 2.921019019210786e+0,
                        -1.015265279202700e+0, 4.218463358204948e-1, -2.820767439740514e-1, 5.641895067754075e-1});
    tail = b.Mul(b.Mul(z, q), b.Select(b.Lt(ax, b.Like(ax, 2)), p, r));
  }
  // Beyond the range of exp the tail is zero, not a product of zero and infinity.
  tail = b.Select(b.Eq(z, b.Like(z, 0)), b.Like(z, 0), tail);
  Val far = b.Select(b.Lt(x, b.Like(x, 0)), b.Sub(b.Like(x, 2), tail), tail);
  Val near = b.Sub(b.Like(x, 1), b.Unary(HloOpcode::kErf, x));
  return b.Select(b.Gt(ax, b.Like(ax, 1)), far, near);
}

// Inverse error function after Giles (2012), with Newton steps in double precision.
Val Erfinv(Emitter& b, Val x) {
  Val one = b.Like(x, 1);
  Val w = b.Neg(b.Unary(HloOpcode::kLogPlusOne, b.Neg(b.Mul(x, x))));
  Val near = Polynomial(b, b.Sub(w, b.Like(w, 2.5)),
                        {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
                         -0.00417768164, 0.246640727, 1.50140941});
  Val far = Polynomial(b, b.Sub(b.Sqrt(w), b.Like(w, 3)),
                       {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
                        0.00943887047, 1.00167406, 2.83297682});
  Val y = b.Mul(b.Select(b.Lt(w, b.Like(w, 5)), near, far), x);
  if (x->type() == ElementType::kF64) {
    for (int i = 0; i < 2; ++i) {
      Val slope = b.MulC(b.Exp(b.Neg(b.Mul(y, y))), 1.12837916709551257390);
      // erf(y) - x without cancellation: for |x| near 1 by erfc.
      Val error = b.Select(b.Gt(b.Abs(x), b.Like(x, 0.5)),
                           b.Mul(b.Unary(HloOpcode::kSign, x), b.Sub(b.Sub(one, b.Abs(x)), Erfc(b, b.Abs(y)))),
                           b.Sub(b.Unary(HloOpcode::kErf, y), x));
      Val step = b.Div(error, slope);
      y = b.Sub(y, b.Select(b.Unary(HloOpcode::kIsFinite, step), step, b.Like(step, 0)));
    }
  }
  Val infinity = b.Mul(x, b.Like(x, std::numeric_limits<double>::infinity()));
  return b.Select(b.Eq(b.Abs(x), one), infinity, y);
}

Val Ndtri(Emitter& b, Val p) { return b.MulC(Erfinv(b, b.Sub(b.MulC(p, 2), b.Like(p, 1))), 1.41421356237309504880); }

// Lanczos' approximation with g = 7 and 9 terms; reflection for x < 0.5.
constexpr double kLanczos[] = {676.520368121885098567009190444019, -1259.13921672240287047156078755283,
                               771.3234287776530788486528258894,   -176.61502916214059906584551354,
                               12.507343278686904814458936853,     -0.13857109526572011689554707,
                               9.984369578019570859563e-6,         1.50563273514931155834e-7};

}  // namespace

Val Lgamma(Emitter& b, Val x) {
  Val half = b.Like(x, 0.5), one = b.Like(x, 1);
  Val reflect = b.Lt(x, half);
  Val z = b.Select(reflect, b.Neg(x), b.Sub(x, one));
  Val sum = b.Like(x, 0.99999999999980993227684700473478);
  for (int i = 0; i < 8; ++i) sum = b.Add(sum, b.Div(b.Like(x, kLanczos[i]), b.AddC(z, i + 1)));
  // log(t) written as log(7.5) + log1p(z / 7.5) keeps precision for small z.
  Val t = b.AddC(z, 7.5);
  Val log_t = b.Add(b.Like(x, std::log(7.5)), b.Unary(HloOpcode::kLogPlusOne, b.MulC(z, 1 / 7.5)));
  Val log_y =
      b.Add(b.Add(b.Like(x, 0.91893853320467274178), b.Mul(b.Sub(b.Add(z, half), b.Div(t, log_t)), log_t)), b.Log(sum));
  Val ax = b.Abs(x);
  Val fraction = b.Sub(ax, b.Floor(ax));
  fraction = b.Select(b.Gt(fraction, half), b.Sub(one, fraction), fraction);
  Val sine = b.Log(b.Unary(HloOpcode::kSine, b.MulC(fraction, 3.14159265358979323846)));
  Val reflected = b.Sub(b.Sub(b.Like(x, 1.14472988584940017414), sine), log_y);
  reflected = b.Select(b.Unary(HloOpcode::kIsFinite, sine), reflected, b.Neg(sine));
  Val result = b.Select(reflect, reflected, log_y);
  Val infinite = b.Eq(ax, b.Like(x, std::numeric_limits<double>::infinity()));
  return b.Select(infinite, b.Like(x, std::numeric_limits<double>::infinity()), result);
}

Val Digamma(Emitter& b, Val x) {
  Val half = b.Like(x, 0.5), one = b.Like(x, 1);
  Val reflect = b.Lt(x, half);
  Val z = b.Select(reflect, b.Neg(x), b.Sub(x, one));
  Val num = b.Like(x, 0), denom = b.Like(x, 0.99999999999980993227684700473478);
  for (int i = 0; i < 8; ++i) {
    Val d = b.AddC(z, i + 1);
    num = b.Sub(num, b.Div(b.Like(x, kLanczos[i]), b.Mul(d, d)));
    denom = b.Add(denom, b.Div(b.Like(x, kLanczos[i]), d));
  }
  Val t = b.AddC(z, 7.5);
  Val log_t = b.Add(b.Like(x, std::log(7.5)), b.Unary(HloOpcode::kLogPlusOne, b.MulC(z, 1 / 7.5)));
  Val y = b.Sub(b.Add(log_t, b.Div(num, denom)), b.Div(b.Like(x, 7.0), t));
  // Reduced argument: cot has period 1 in x.
  Val reduced = b.MulC(b.Add(x, b.Abs(b.Floor(b.AddC(x, 0.5)))), 3.14159265358979323846);
  Val cot = b.Div(b.Unary(HloOpcode::kCosine, reduced), b.Unary(HloOpcode::kSine, reduced));
  Val reflected = b.Sub(y, b.MulC(cot, 3.14159265358979323846));
  Val pole = b.And(b.Le(x, b.Like(x, 0)), b.Eq(x, b.Floor(x)));
  return b.Select(pole, b.Like(x, std::numeric_limits<double>::quiet_NaN()), b.Select(reflect, reflected, y));
}

namespace {

Val Conj(Emitter& b, Val x) { return IsComplex(x->type()) ? b.Complex(b.Real(x), b.Neg(b.Imag(x))) : x; }

// i x and -i x.
Val TimesI(Emitter& b, Val x) { return b.Complex(b.Neg(b.Imag(x)), b.Real(x)); }
Val TimesMinusI(Emitter& b, Val x) { return b.Complex(b.Imag(x), b.Neg(b.Real(x))); }

// Hyperbolic functions of complex arguments by those of the parts; their inverses by logarithms, on the side of the
// plane where nothing cancels.
Val ComplexSinh(Emitter& b, Val x) {
  Val re = b.Real(x), im = b.Imag(x);
  return b.Complex(b.Mul(b.Unary(HloOpcode::kSinh, re), b.Unary(HloOpcode::kCosine, im)),
                   b.Mul(b.Unary(HloOpcode::kCosh, re), b.Unary(HloOpcode::kSine, im)));
}
Val ComplexCosh(Emitter& b, Val x) {
  Val re = b.Real(x), im = b.Imag(x);
  return b.Complex(b.Mul(b.Unary(HloOpcode::kCosh, re), b.Unary(HloOpcode::kCosine, im)),
                   b.Mul(b.Unary(HloOpcode::kSinh, re), b.Unary(HloOpcode::kSine, im)));
}
Val ComplexAsinh(Emitter& b, Val x) {
  Val left = b.Lt(b.Real(x), b.Like(b.Real(x), 0));
  Val z = b.Select(left, b.Neg(x), x);
  Val y = b.Log(b.Add(z, b.Sqrt(b.AddC(b.Mul(z, z), 1))));
  return b.Select(left, b.Neg(y), y);
}
Val ComplexAtanh(Emitter& b, Val x) {
  return b.MulC(b.Sub(b.Unary(HloOpcode::kLogPlusOne, x), b.Unary(HloOpcode::kLogPlusOne, b.Neg(x))), 0.5);
}
Val ComplexAsin(Emitter& b, Val x) { return TimesMinusI(b, ComplexAsinh(b, TimesI(b, x))); }
Val ComplexAcos(Emitter& b, Val x) { return b.Sub(b.Like(x, 1.57079632679489661923), ComplexAsin(b, x)); }
Val ComplexAtan(Emitter& b, Val x) { return TimesMinusI(b, ComplexAtanh(b, TimesI(b, x))); }
Val ComplexAcosh(Emitter& b, Val x) { return b.Log(b.Add(x, b.Mul(b.Sqrt(b.AddC(x, 1)), b.Sqrt(b.AddC(x, -1))))); }
Val RealAtan(Emitter& b, Val x) { return b.Binary(HloOpcode::kAtan2, x, b.Like(x, 1)); }
Val ComplexSigmoid(Emitter& b, Val x) { return b.Div(b.Like(x, 1), b.AddC(b.Exp(b.Neg(x)), 1)); }

// One function for real types, another for complex ones.
template <auto kReal, auto kComplex>
Val Either(Emitter& b, Val x) {
  return IsComplex(x->type()) ? kComplex(b, x) : kReal(b, x);
}

Val Reciprocal(Emitter& b, Val x) { return b.Div(b.Like(x, 1), x); }

Val Square(Emitter& b, Val x) { return b.Mul(x, x); }

Val IsInf(Emitter& b, Val x) {
  Val infinity = b.Like(x, std::numeric_limits<double>::infinity());
  return b.Eq(b.Abs(x), infinity);
}

Val Sign(Emitter& b, Val x) {
  if (IsUnsignedInt(x->type())) return b.Select(b.Ne(x, b.Like(x, 0)), b.Like(x, 1), b.Like(x, 0));
  return b.Unary(HloOpcode::kSign, x);
}

Val RoundEven(Emitter& b, Val x) {
  if (IsComplex(x->type())) return b.Complex(RoundEven(b, b.Real(x)), RoundEven(b, b.Imag(x)));
  return IsIntegral(x->type()) ? x : b.Unary(HloOpcode::kRoundNearestEven, x);
}

// The gradient in x, from dy, of a function that is written in terms of its result y; for complex types as the host has
// it: some ops conjugate y themselves, for the others the caller does.
template <auto kFn>
absl::Status Grad(OpContext& c) {
  XC_RETURN_IF_ERROR(c.RequireSameDims(0, 1));
  c.set(0, kFn(c.b, c.in(0), c.in(1)));
  return absl::OkStatus();
}

}  // namespace

void RegisterMath(LoweringRegistry& r) {
  constexpr TypeSet kReal = kFloatTypes;
  constexpr TypeSet kFloatOrComplex = kFloatTypes | kComplexTypes;
  r.Add({"Abs"}, kFloatTypes | kSignedTypes, Unary<Direct<HloOpcode::kAbs>>);
  r.Add({"ComplexAbs"}, kComplexTypes, Unary<Direct<HloOpcode::kAbs>>);
  r.Add({"Neg"}, kNumericTypes, Unary<Direct<HloOpcode::kNegate>>);
  r.Add({"Ceil"}, kReal, Unary<Direct<HloOpcode::kCeil>>);
  r.Add({"Floor"}, kReal, Unary<Direct<HloOpcode::kFloor>>);
  r.Add({"Round", "Rint"}, kNumericTypes, Unary<RoundEven>);
  r.Add({"Sign"}, kNumericTypes, Unary<Sign>);
  r.Add({"Exp"}, kFloatOrComplex, Unary<Direct<HloOpcode::kExponential>>);
  r.Add({"Expm1"}, kFloatOrComplex, Unary<Direct<HloOpcode::kExponentialMinusOne>>);
  r.Add({"Log"}, kFloatOrComplex, Unary<Direct<HloOpcode::kLog>>);
  r.Add({"Log1p"}, kFloatOrComplex, Unary<Direct<HloOpcode::kLogPlusOne>>);
  r.Add({"Sqrt"}, kFloatOrComplex, Unary<Direct<HloOpcode::kSqrt>>);
  r.Add({"Rsqrt"}, kFloatOrComplex, Unary<Direct<HloOpcode::kRsqrt>>);
  r.Add({"Square"}, kNumericTypes, Unary<Square>);
  r.Add({"Reciprocal", "Inv"}, kFloatOrComplex | kSignedTypes, Unary<Reciprocal>);
  r.Add({"Sin"}, kFloatOrComplex, Unary<Direct<HloOpcode::kSine>>);
  r.Add({"Cos"}, kFloatOrComplex, Unary<Direct<HloOpcode::kCosine>>);
  r.Add({"Tan"}, kFloatOrComplex, Unary<Direct<HloOpcode::kTan>>);
  r.Add({"Tanh"}, kFloatOrComplex, Unary<Direct<HloOpcode::kTanh>>);
  r.Add({"Sigmoid"}, kFloatOrComplex, Unary<Either<Direct<HloOpcode::kLogistic>, ComplexSigmoid>>);
  r.Add({"Acos"}, kFloatOrComplex, Unary<Either<Direct<HloOpcode::kAcos>, ComplexAcos>>);
  r.Add({"Acosh"}, kFloatOrComplex, Unary<Either<Direct<HloOpcode::kAcosh>, ComplexAcosh>>);
  r.Add({"Asin"}, kFloatOrComplex, Unary<Either<Direct<HloOpcode::kAsin>, ComplexAsin>>);
  r.Add({"Asinh"}, kFloatOrComplex, Unary<Either<Direct<HloOpcode::kAsinh>, ComplexAsinh>>);
  r.Add({"Atanh"}, kFloatOrComplex, Unary<Either<Direct<HloOpcode::kAtanh>, ComplexAtanh>>);
  r.Add({"Cosh"}, kFloatOrComplex, Unary<Either<Direct<HloOpcode::kCosh>, ComplexCosh>>);
  r.Add({"Sinh"}, kFloatOrComplex, Unary<Either<Direct<HloOpcode::kSinh>, ComplexSinh>>);
  r.Add({"Atan"}, kFloatOrComplex, Unary<Either<RealAtan, ComplexAtan>>);
  r.Add({"Erf"}, kReal, Unary<Direct<HloOpcode::kErf>>);
  r.Add({"Erfc"}, kReal, Unary<Wide<Erfc>>);
  r.Add({"Erfinv"}, kReal, Unary<Wide<Erfinv>>);
  r.Add({"Ndtri"}, kReal, Unary<Wide<Ndtri>>);
  r.Add({"Lgamma"}, kReal, Unary<Wide<Lgamma>>);
  r.Add({"Digamma"}, kReal, Unary<Wide<Digamma>>);
  r.Add({"IsNan"}, kReal, Unary<[](Emitter& b, Val x) { return b.IsNan(x); }>);
  r.Add({"IsInf"}, kReal, Unary<IsInf>);
  r.Add({"IsFinite"}, kReal, Unary<Direct<HloOpcode::kIsFinite>>);
  r.Add({"Real"}, kComplexTypes, Unary<[](Emitter& b, Val x) { return b.Real(x); }>);
  r.Add({"Imag"}, kComplexTypes, Unary<[](Emitter& b, Val x) { return b.Imag(x); }>);
  r.Add({"Conj"}, kComplexTypes, Unary<Conj>);
  r.Add({"Angle"}, kComplexTypes,
        Unary<[](Emitter& b, Val x) { return b.Binary(HloOpcode::kAtan2, b.Imag(x), b.Real(x)); }>);
  r.Add({"PopulationCount"}, kIntTypes,
        Unary<[](Emitter& b, Val x) { return b.Convert(b.Unary(HloOpcode::kPopcnt, x), ElementType::kU8); }>);
  r.Add({"SqrtGrad"}, kFloatOrComplex,
        Grad<[](Emitter& b, Val y, Val dy) { return b.Div(b.Mul(dy, b.Like(y, 0.5)), Conj(b, y)); }>);
  r.Add({"RsqrtGrad"}, kFloatOrComplex, Grad<[](Emitter& b, Val y, Val dy) {
          y = Conj(b, y);
          return b.Mul(b.Mul(b.Mul(y, y), y), b.Mul(dy, b.Like(y, -0.5)));
        }>);
  r.Add({"ReciprocalGrad", "InvGrad"}, kFloatOrComplex, Grad<[](Emitter& b, Val y, Val dy) {
          y = Conj(b, y);
          return b.Neg(b.Mul(dy, b.Mul(y, y)));
        }>);
  r.Add({"SigmoidGrad"}, kFloatOrComplex,
        Grad<[](Emitter& b, Val y, Val dy) { return b.Mul(b.Mul(dy, y), b.Sub(b.Like(y, 1), y)); }>);
  r.Add({"TanhGrad"}, kFloatOrComplex,
        Grad<[](Emitter& b, Val y, Val dy) { return b.Mul(dy, b.Sub(b.Like(y, 1), b.Mul(y, y))); }>);
}

}  // namespace xc
