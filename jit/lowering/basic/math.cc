// Lowerings of element-wise unary math: roots, exponentials, trigonometry, rounding, error functions, complex parts.
#include <cmath>
#include <limits>

#include "hlo/builder/special_functions.h"
#include "jit/lowering/lowering.h"

namespace xc {
namespace {

template <auto kFn>
absl::Status Unary(OpContext& c) {
  c.set(0, kFn(c.b, c.in(0)));
  return absl::OkStatus();
}

template <HloOpcode kOpcode>
Val OpOf(Emitter& b, Val x) {
  return b.Unary(kOpcode, x);
}

// Half-width types are widened around functions that are evaluated by polynomials.
template <Op (*kFn)(HloBuilder&, Op)>
Val Wide(Emitter& b, Val x) {
  const ElementType type = x->type();
  const bool narrow = type == ElementType::kF16 || type == ElementType::kBF16;
  const Val wide = narrow ? b.Convert(x, ElementType::kF32) : x;
  return b.Convert(b.Built([&](HloBuilder& h) { return kFn(h, wide); }), type);
}

// The quantile function of the normal distribution.
Op Ndtri(HloBuilder& h, Op p) {
  const Op x = h.Sub(h.Mul(p, h.FullLike(p, 2)), h.FullLike(p, 1));
  return h.Mul(ErfInv(h, x), h.FullLike(p, 1.41421356237309504880));
}

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
  r.Add({"Abs"}, kFloatTypes | kSignedTypes, Unary<OpOf<HloOpcode::kAbs>>);
  r.Add({"ComplexAbs"}, kComplexTypes, Unary<OpOf<HloOpcode::kAbs>>);
  r.Add({"Neg"}, kNumericTypes, Unary<OpOf<HloOpcode::kNegate>>);
  r.Add({"Ceil"}, kReal, Unary<OpOf<HloOpcode::kCeil>>);
  r.Add({"Floor"}, kReal, Unary<OpOf<HloOpcode::kFloor>>);
  r.Add({"Round", "Rint"}, kNumericTypes, Unary<RoundEven>);
  r.Add({"Sign"}, kNumericTypes, Unary<Sign>);
  r.Add({"Exp"}, kFloatOrComplex, Unary<OpOf<HloOpcode::kExponential>>);
  r.Add({"Expm1"}, kFloatOrComplex, Unary<OpOf<HloOpcode::kExponentialMinusOne>>);
  r.Add({"Log"}, kFloatOrComplex, Unary<OpOf<HloOpcode::kLog>>);
  r.Add({"Log1p"}, kFloatOrComplex, Unary<OpOf<HloOpcode::kLogPlusOne>>);
  r.Add({"Sqrt"}, kFloatOrComplex, Unary<OpOf<HloOpcode::kSqrt>>);
  r.Add({"Rsqrt"}, kFloatOrComplex, Unary<OpOf<HloOpcode::kRsqrt>>);
  r.Add({"Square"}, kNumericTypes, Unary<Square>);
  r.Add({"Reciprocal", "Inv"}, kFloatOrComplex | kSignedTypes, Unary<Reciprocal>);
  r.Add({"Sin"}, kFloatOrComplex, Unary<OpOf<HloOpcode::kSine>>);
  r.Add({"Cos"}, kFloatOrComplex, Unary<OpOf<HloOpcode::kCosine>>);
  r.Add({"Tan"}, kFloatOrComplex, Unary<OpOf<HloOpcode::kTan>>);
  r.Add({"Tanh"}, kFloatOrComplex, Unary<OpOf<HloOpcode::kTanh>>);
  r.Add({"Sigmoid"}, kFloatOrComplex, Unary<Either<OpOf<HloOpcode::kLogistic>, ComplexSigmoid>>);
  r.Add({"Acos"}, kFloatOrComplex, Unary<Either<OpOf<HloOpcode::kAcos>, ComplexAcos>>);
  r.Add({"Acosh"}, kFloatOrComplex, Unary<Either<OpOf<HloOpcode::kAcosh>, ComplexAcosh>>);
  r.Add({"Asin"}, kFloatOrComplex, Unary<Either<OpOf<HloOpcode::kAsin>, ComplexAsin>>);
  r.Add({"Asinh"}, kFloatOrComplex, Unary<Either<OpOf<HloOpcode::kAsinh>, ComplexAsinh>>);
  r.Add({"Atanh"}, kFloatOrComplex, Unary<Either<OpOf<HloOpcode::kAtanh>, ComplexAtanh>>);
  r.Add({"Cosh"}, kFloatOrComplex, Unary<Either<OpOf<HloOpcode::kCosh>, ComplexCosh>>);
  r.Add({"Sinh"}, kFloatOrComplex, Unary<Either<OpOf<HloOpcode::kSinh>, ComplexSinh>>);
  r.Add({"Atan"}, kFloatOrComplex, Unary<Either<RealAtan, ComplexAtan>>);
  r.Add({"Erf"}, kReal, Unary<OpOf<HloOpcode::kErf>>);
  r.Add({"Erfc"}, kReal, Unary<Wide<Erfc>>);
  r.Add({"Erfinv"}, kReal, Unary<Wide<ErfInv>>);
  r.Add({"Ndtri"}, kReal, Unary<Wide<Ndtri>>);
  r.Add({"Lgamma"}, kReal, Unary<Wide<Lgamma>>);
  r.Add({"Digamma"}, kReal, Unary<Wide<Digamma>>);
  r.Add({"IsNan"}, kReal, Unary<[](Emitter& b, Val x) { return b.IsNan(x); }>);
  r.Add({"IsInf"}, kReal, Unary<IsInf>);
  r.Add({"IsFinite"}, kReal, Unary<OpOf<HloOpcode::kIsFinite>>);
  r.Add({"Real"}, kComplexTypes, Unary<[](Emitter& b, Val x) { return b.Real(x); }>);
  r.Add({"Imag"}, kComplexTypes, Unary<[](Emitter& b, Val x) { return b.Imag(x); }>);
  r.Add({"Conj"}, kComplexTypes, Unary<[](Emitter& b, Val x) { return b.Conj(x); }>);
  r.Add({"Angle"}, kComplexTypes,
        Unary<[](Emitter& b, Val x) { return b.Binary(HloOpcode::kAtan2, b.Imag(x), b.Real(x)); }>);
  r.Add({"PopulationCount"}, kIntTypes,
        Unary<[](Emitter& b, Val x) { return b.Convert(b.Unary(HloOpcode::kPopcnt, x), ElementType::kU8); }>);
  r.Add({"SqrtGrad"}, kFloatOrComplex,
        Grad<[](Emitter& b, Val y, Val dy) { return b.Div(b.Mul(dy, b.Like(y, 0.5)), b.Conj(y)); }>);
  r.Add({"RsqrtGrad"}, kFloatOrComplex, Grad<[](Emitter& b, Val y, Val dy) {
          y = b.Conj(y);
          return b.Mul(b.Mul(b.Mul(y, y), y), b.Mul(dy, b.Like(y, -0.5)));
        }>);
  r.Add({"ReciprocalGrad", "InvGrad"}, kFloatOrComplex, Grad<[](Emitter& b, Val y, Val dy) {
          y = b.Conj(y);
          return b.Neg(b.Mul(dy, b.Mul(y, y)));
        }>);
  r.Add({"SigmoidGrad"}, kFloatOrComplex,
        Grad<[](Emitter& b, Val y, Val dy) { return b.Mul(b.Mul(dy, y), b.Sub(b.Like(y, 1), y)); }>);
  r.Add({"TanhGrad"}, kFloatOrComplex,
        Grad<[](Emitter& b, Val y, Val dy) { return b.Mul(dy, b.Sub(b.Like(y, 1), b.Mul(y, y))); }>);
}

}  // namespace xc
