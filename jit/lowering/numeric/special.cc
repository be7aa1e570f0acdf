// Lowerings of the incomplete gamma and beta functions, the zeta function and its kin, and modified Bessel functions.
// All are evaluated in double precision: their series cancel too much for less.
#include <cmath>
#include <limits>

#include "hlo/builder/special_functions.h"
#include "jit/kernels/kernel.h"
#include "jit/lowering/lowering.h"

namespace xc {
namespace {

constexpr ElementType kF64 = ElementType::kF64;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr int64_t kMaxTerms = 2000;

using Vals = std::vector<Val>;

// Applies kFn(emitter, operands, epsilon) to the operands in double precision and of one shape; epsilon says where a
// series has converged for the result's type.
template <auto kFn>
absl::Status InDouble(OpContext& c) {
  Dims dims = c.dims(0);
  for (int i = 1; i < c.num_inputs(); ++i) {
    auto fit = BroadcastDims(dims, c.dims(i));
    if (!fit.ok()) return c.Error(std::string(fit.status().message()));
    dims = *fit;
  }
  Vals in;
  for (int i = 0; i < c.num_inputs(); ++i) in.push_back(c.b.BroadcastTo(c.b.Convert(c.in(i), kF64), dims));
  Val y = kFn(c.b, in, c.etype(0) == kF64 ? 1e-15 : 1e-9);
  c.set(0, c.b.Convert(y, c.out_etype(0)));
  return absl::OkStatus();
}

Val Lgamma(Emitter& b, Val x) {
  return b.Built([&](HloBuilder& h) { return Lgamma(h, x); });
}
Val Digamma(Emitter& b, Val x) {
  return b.Built([&](HloBuilder& h) { return Digamma(h, x); });
}
Val Log1p(Emitter& b, Val x) { return b.Unary(HloOpcode::kLogPlusOne, x); }
Val Where(Emitter& b, Val pred, double constant, Val other) { return b.Select(pred, b.Like(other, constant), other); }
Val Nonpositive(Emitter& b, Val x) { return b.Le(x, b.Like(x, 0)); }

// What of the lower incomplete gamma function P(a, x) is wanted: its value, its derivative in a, or the derivative in a
// of the x for which it has a given value.
enum class Part { kValue, kDerivative, kSample };

// By the power series in x, for x <= max(a, 1).
template <Part kPart>
Val GammaSeries(Emitter& b, Val a, Val x, Val wanted, double epsilon) {
  Val one = b.Like(a, 1), zero = b.Like(a, 0);
  // State: active, a + k, term, sum, the last two derived by a, x.
  Vals s = b.LoopWhileAny(kMaxTerms, {wanted, a, one, one, zero, zero, x}, [&](Emitter& e, Val, const Vals& s) -> Vals {
    Val active = s[0], r = e.AddC(s[1], 1), term = s[2], sum = s[3], dterm = s[4], dsum = s[5], x = s[6];
    Val ratio = e.Div(x, r);
    Val next_dterm = e.Sub(e.Mul(dterm, ratio), e.Div(e.Mul(term, x), e.Mul(r, r)));
    Val next_term = e.Mul(term, ratio);
    Val next_sum = e.Add(sum, next_term), next_dsum = e.Add(dsum, next_dterm);
    Val more = e.Gt(next_term, e.MulC(next_sum, epsilon));
    if (kPart != Part::kValue) more = e.Gt(e.Abs(next_dterm), e.MulC(e.Abs(next_dsum), epsilon));
    return {e.And(active, more),
            r,
            e.Select(active, next_term, term),
            e.Select(active, next_sum, sum),
            e.Select(active, next_dterm, dterm),
            e.Select(active, next_dsum, dsum),
            x};
  });
  Val sum = s[3], dsum = s[5];
  Val scale = b.Exp(b.Sub(b.Sub(b.Mul(a, b.Log(x)), x), Lgamma(b, b.AddC(a, 1))));
  if (kPart == Part::kValue) return b.Mul(sum, scale);
  Val dlog = b.Sub(b.Log(x), Digamma(b, b.AddC(a, 1)));
  Val change = b.Add(b.Mul(sum, dlog), dsum);
  return kPart == Part::kDerivative ? b.Mul(scale, change) : b.Div(b.Neg(b.Mul(change, x)), a);
}

// Q(a, x) = 1 - P(a, x) by the continued fraction, for x > max(a, 1); derivatives are those of P.
template <Part kPart>
Val GammaFraction(Emitter& b, Val a, Val x, Val wanted, double epsilon) {
  constexpr double kBig = 4503599627370496.0;
  Val one = b.Like(a, 1), zero = b.Like(a, 0);
  Val y = b.Sub(one, a), z = b.AddC(b.Add(x, y), 1);
  Val p1 = b.AddC(x, 1), q1 = b.Mul(z, x);
  Val value = b.Div(p1, q1);
  Val dq1 = b.Neg(x);
  Val dvalue = b.Div(b.Neg(b.Mul(value, dq1)), q1);
  // State: active, k, y, z, numerators and denominators of the last two convergents, those derived by a, the value and
  // its derivative.
  Vals init = {wanted, zero, y, z, one, x, p1, q1, zero, zero, zero, dq1, value, dvalue};
  Vals s = b.LoopWhileAny(kMaxTerms, init, [&](Emitter& e, Val, const Vals& s) -> Vals {
    Val active = s[0], k = e.AddC(s[1], 1), y = e.AddC(s[2], 1), z = e.AddC(s[3], 2), yk = e.Mul(y, k);
    auto step = [&](Val last, Val before) { return e.Sub(e.Mul(last, z), e.Mul(before, yk)); };
    auto dstep = [&](Val last, Val before, Val dlast, Val dbefore) {
      return e.Add(e.Sub(e.Sub(e.Mul(dlast, z), last), e.Mul(dbefore, yk)), e.Mul(before, k));
    };
    Val p = step(s[6], s[4]), q = step(s[7], s[5]);
    Val dp = dstep(s[6], s[4], s[10], s[8]), dq = dstep(s[7], s[5], s[11], s[9]);
    Val solid = e.Ne(q, e.Like(q, 0));
    Val value = e.Select(solid, e.Div(p, q), s[12]);
    Val dvalue = e.Select(solid, e.Div(e.Sub(dp, e.Mul(value, dq)), q), s[13]);
    Val more = e.Gt(e.Abs(e.Sub(value, s[12])), e.MulC(e.Abs(value), epsilon));
    if (kPart != Part::kValue) more = e.Gt(e.Abs(e.Sub(dvalue, s[13])), e.Like(dvalue, epsilon));
    Val shrink = e.Select(e.Gt(e.Abs(p), e.Like(p, kBig)), e.Like(p, 1 / kBig), e.Like(p, 1));
    Vals next = {e.And(active, e.Or(more, e.Not(solid))),
                 k,
                 y,
                 z,
                 e.Mul(s[6], shrink),
                 e.Mul(s[7], shrink),
                 e.Mul(p, shrink),
                 e.Mul(q, shrink),
                 e.Mul(s[10], shrink),
                 e.Mul(s[11], shrink),
                 e.Mul(dp, shrink),
                 e.Mul(dq, shrink),
                 value,
                 dvalue};
    for (size_t i = 1; i < next.size(); ++i) next[i] = e.Select(active, next[i], s[i]);
    return next;
  });
  value = s[12];
  dvalue = s[13];
  Val scale = b.Exp(b.Sub(b.Sub(b.Mul(a, b.Log(x)), x), Lgamma(b, a)));
  if (kPart == Part::kValue) return b.Mul(value, scale);
  Val dlog = b.Sub(b.Log(x), Digamma(b, a));
  Val change = b.Add(b.Mul(value, dlog), dvalue);
  return b.Neg(kPart == Part::kDerivative ? b.Mul(scale, change) : b.Neg(b.Mul(change, x)));
}

template <Part kPart>
Val IncompleteGamma(Emitter& b, Val a, Val x, double epsilon) {
  Val one = b.Like(a, 1), zero = b.Like(a, 0);
  Val above = b.And(b.Gt(x, one), b.Gt(x, a));
  Val bad = b.Or(b.Or(b.Lt(x, zero), Nonpositive(b, a)), b.Or(b.IsNan(a), b.IsNan(x)));
  Val finite = b.And(b.Unary(HloOpcode::kIsFinite, a), b.Unary(HloOpcode::kIsFinite, x));
  Val regular = b.And(b.And(b.Not(bad), finite), b.Ne(x, zero));
  // Elements that another branch serves get harmless operands.
  auto guarded = [&](Val use, double safe_a, double safe_x, auto fn) {
    return fn(b, b.Select(use, a, b.Like(a, safe_a)), b.Select(use, x, b.Like(x, safe_x)), use, epsilon);
  };
  Val upper = guarded(b.And(regular, above), 1, 2, GammaFraction<kPart>);
  Val lower = guarded(b.And(regular, b.Not(above)), 1, 0.5, GammaSeries<kPart>);
  Val y = b.Select(above, kPart == Part::kValue ? b.Sub(one, upper) : upper, lower);
  if (kPart == Part::kValue) {
    y = Where(b, b.Eq(x, b.Like(x, kInf)), 1, y);
    y = Where(b, b.Eq(a, b.Like(a, kInf)), 0, y);
  } else {
    y = Where(b, b.Not(finite), kNan, y);
  }
  // As the host's kernels have it, nothing is up to 0, whatever a is.
  return Where(b, b.Eq(x, zero), 0, Where(b, bad, kNan, y));
}

Val Igamma(Emitter& b, const Vals& in, double epsilon) {
  return IncompleteGamma<Part::kValue>(b, in[0], in[1], epsilon);
}

Val Igammac(Emitter& b, const Vals& in, double epsilon) {
  Val a = in[0], x = in[1], one = b.Like(a, 1);
  Val above = b.And(b.Gt(x, one), b.Gt(x, a));
  Val finite = b.And(b.Unary(HloOpcode::kIsFinite, a), b.Unary(HloOpcode::kIsFinite, x));
  Val regular = b.And(b.And(above, finite), b.Not(Nonpositive(b, a)));
  Val fraction =
      GammaFraction<Part::kValue>(b, b.Select(regular, a, one), b.Select(regular, x, b.Like(x, 2)), regular, epsilon);
  Val y = b.Select(regular, fraction, b.Sub(one, Igamma(b, in, epsilon)));
  y = Where(b, b.And(b.Eq(x, b.Like(x, kInf)), b.Gt(a, b.Like(a, 0))), 0, y);
  return Where(b, b.Or(Nonpositive(b, a), b.IsNan(a)), kNan, y);
}

// The regularized incomplete beta function by its continued fraction, on the side where that converges fast.
Val Betainc(Emitter& b, const Vals& in, double epsilon) {
  Val one = b.Like(in[0], 1), zero = b.Like(in[0], 0);
  Val bad = b.Or(b.Or(Nonpositive(b, in[0]), Nonpositive(b, in[1])), b.Not(b.And(b.Ge(in[2], zero), b.Le(in[2], one))));
  Val use = b.Not(b.Or(bad, b.Or(b.Eq(in[2], zero), b.Eq(in[2], one))));
  auto guarded = [&](int i) { return b.Select(use, in[i], b.Like(in[i], 0.5)); };
  Val pa = guarded(0), pb = guarded(1), px = guarded(2);
  Val swap = b.Gt(px, b.Div(b.AddC(pa, 1), b.AddC(b.Add(pa, pb), 2)));
  Val alpha = b.Select(swap, pb, pa), beta = b.Select(swap, pa, pb), x = b.Select(swap, b.Sub(one, px), px);
  // Lentz's method. State: active, c, d, value, alpha, beta, x.
  auto inverse = [](Emitter& e, Val v) {
    Val tiny = e.Like(v, 1e-300);
    return e.Div(e.Like(v, 1), e.Select(e.Lt(e.Abs(v), tiny), tiny, v));
  };
  Val d = inverse(b, b.Sub(one, b.Div(b.Mul(b.Add(alpha, beta), x), b.AddC(alpha, 1))));
  Vals s = b.LoopWhileAny(kMaxTerms, {use, one, d, d, alpha, beta, x}, [&](Emitter& e, Val i, const Vals& s) -> Vals {
    Val active = s[0], alpha = s[4], beta = s[5], x = s[6];
    Val m = e.BroadcastScalar(e.Convert(e.Add(i, e.S32(1)), kF64), alpha->shape().dims()), m2 = e.Add(m, m);
    Val even = e.Div(e.Mul(e.Mul(m, e.Sub(beta, m)), x), e.Mul(e.AddC(e.Add(alpha, m2), -1), e.Add(alpha, m2)));
    Val odd = e.Neg(e.Div(e.Mul(e.Mul(e.Add(alpha, m), e.Add(e.Add(alpha, beta), m)), x),
                          e.Mul(e.Add(alpha, m2), e.AddC(e.Add(alpha, m2), 1))));
    Val c = s[1], d = s[2], value = s[3], factor = nullptr;
    for (Val term : {even, odd}) {
      d = inverse(e, e.AddC(e.Mul(term, d), 1));
      c = e.AddC(e.Mul(term, inverse(e, c)), 1);
      factor = e.Mul(c, d);
      value = e.Mul(value, factor);
    }
    Val more = e.Gt(e.Abs(e.AddC(factor, -1)), e.Like(factor, epsilon));
    return {e.And(active, more), c, d, e.Select(active, value, s[3]), alpha, beta, x};
  });
  Val log_beta = b.Sub(b.Add(Lgamma(b, alpha), Lgamma(b, beta)), Lgamma(b, b.Add(alpha, beta)));
  Val front = b.Exp(b.Sub(b.Add(b.Mul(alpha, b.Log(x)), b.Mul(beta, Log1p(b, b.Neg(x)))), log_beta));
  Val y = b.Div(b.Mul(front, s[3]), alpha);
  y = b.Select(swap, b.Sub(one, y), y);
  return Where(b, bad, kNan, b.Select(use, y, in[2]));
}

// A special function of two arguments as InDouble calls it.
template <Op (*kFn)(HloBuilder&, Op, Op)>
Val OfTwo(Emitter& b, const Vals& in, double) {
  return b.Built([&](HloBuilder& h) { return kFn(h, in[0], in[1]); });
}

template <int kOrder, bool kScaled>
Val BesselI(Emitter& b, const Vals& in, double) {
  return b.Built([&](HloBuilder& h) { return BesselI(h, in[0], kOrder, kScaled); });
}

absl::Status NextAfter(OpContext& c) {
  auto fit = BroadcastDims(c.dims(0), c.dims(1));
  if (!fit.ok()) return c.Error(std::string(fit.status().message()));
  const Val x = c.b.BroadcastTo(c.in(0), *fit), y = c.b.BroadcastTo(c.in(1), *fit);
  c.set(0, c.b.Built([&](HloBuilder& h) { return NextAfter(h, x, y); }));
  return absl::OkStatus();
}

template <Part kPart>
Val GammaDerivative(Emitter& b, const Vals& in, double epsilon) {
  return IncompleteGamma<kPart>(b, in[0], in[1], epsilon);
}

}  // namespace

void RegisterSpecial(LoweringRegistry& r) {
  constexpr TypeSet kWide = TypeBit(DT_FLOAT) | TypeBit(DT_DOUBLE);
  r.Add({"Igamma"}, kFloatTypes, InDouble<Igamma>);
  r.Add({"Igammac"}, kFloatTypes, InDouble<Igammac>);
  r.Add({"IgammaGradA"}, kWide, InDouble<GammaDerivative<Part::kDerivative>>);
  r.Add({"RandomGammaGrad"}, kWide, InDouble<GammaDerivative<Part::kSample>>);
  r.Add({"Betainc"}, kWide, InDouble<Betainc>);
  r.Add({"Zeta"}, kWide, InDouble<OfTwo<Zeta>>);
  r.Add({"Polygamma"}, kWide, InDouble<OfTwo<Polygamma>>);
  r.Add({"BesselI0"}, kFloatTypes, InDouble<BesselI<0, false>>);
  r.Add({"BesselI0e"}, kFloatTypes, InDouble<BesselI<0, true>>);
  r.Add({"BesselI1"}, kFloatTypes, InDouble<BesselI<1, false>>);
  r.Add({"BesselI1e"}, kFloatTypes, InDouble<BesselI<1, true>>);
  r.Add({"NextAfter"}, kWide, NextAfter);
}

}  // namespace xc
