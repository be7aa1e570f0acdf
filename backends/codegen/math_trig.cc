// Trigonometric functions and their inverses. f32 arguments are reduced and evaluated in double.
#include "backends/codegen/math_builder.h"

namespace xc::codegen {
namespace {

using V = llvm::Value*;

constexpr double kPi = 3.14159265358979323846;

// x - n pi/2 for |x| < 2^27 that was a float; *n gets the quadrant in its low bits.
V Reduce(MathBuilder& d, V x, V* n) {
  V k = d.NearestMultiple(x, 0.63661977236758134308, n);
  V r = d.Fma(k, d.F(-1.57079631090164184570e+00), x);  // 25 bits: k times it is exact
  return d.Fma(k, d.F(-1.58932547735281966916e-08), r);
}

V SinPoly(MathBuilder& d, V r, V z) {
  V p = d.Poly(
      z, {-0.16666666663838377595, 0.0083333318675934097388, -0.00019840082717593097631, 2.7249390068140693842e-6});
  return d.Fma(d.Mul(r, z), p, r);
}

V CosPoly(MathBuilder& d, V z) {
  V p = d.Poly(
      z, {0.041666666664306419319, -0.0013888887665882001276, 0.000024800596939618829308, -2.730050297480119118e-7});
  return d.Fma(d.Mul(z, z), p, d.Fma(z, d.F(-0.5), d.F(1)));
}

// Signs of sine and cosine are the second bits of their quadrants.
V WithSign(MathBuilder& d, V value, V quadrant) {
  V sign = d.b.CreateShl(d.b.CreateAnd(quadrant, d.I(2)), d.I(62));
  return d.Float(d.b.CreateXor(d.Bits(value), sign));
}

V SinCosTan(MathBuilder& m, MathOp op, V x) {
  MathBuilder d = m.Double();
  const SinCos both = EmitSinCosForFloat(d, m.Extend(x));
  V common = m.Round(op == MathOp::kTan ? d.Div(both.sin, both.cos) : op == MathOp::kSin ? both.sin : both.cos);
  V rare = m.b.CreateFCmpUGE(m.Abs(x), m.F(kMostReducedFloat));
  return EmitRareCalls(m, op, x, nullptr, rare, common);
}

// atan2 of doubles, with an error near 1e-10, NaN and signed zeros as C says.
V Atan2(MathBuilder& d, V y, V x) {
  V ax = d.Abs(x), ay = d.Abs(y);
  V swap = d.Gt(ay, ax);
  V high = d.Select(swap, ay, ax), low = d.Select(swap, ax, ay);
  V t = d.Div(low, high);
  t = d.Select(d.Eq(high, d.F(0)), d.F(0), t);
  t = d.Select(d.Eq(low, d.F(d.inf())), d.F(1), t);
  V z = d.Mul(t, t);
  V p = d.Poly(z, {-0.33333333303560023148, 0.19999992287990466365, -0.142853833740614976, 0.11105534116948271914,
                   -0.090420678687757427575, 0.074372182758668447823, -0.058052303808277678296, 0.038949900734589359979,
                   -0.019787467744550390305, 0.0064538576219590782142, -0.0009854250480883574056});
  V a = d.Fma(d.Mul(t, z), p, t);
  a = d.Select(swap, d.Sub(d.F(kPi / 2), a), a);
  a = d.Select(d.SignBit(x), d.Sub(d.F(kPi), a), a);
  V nan = d.b.CreateFCmpUNO(x, y);
  return d.Select(nan, d.F(d.nan()), d.CopySign(a, y));
}

// What doubles have code for; the rest is the C library's.
V OfDouble(MathBuilder& m, MathOp op, V x, V y) {
  switch (op) {
    case MathOp::kSin:
    case MathOp::kCos: {
      const SinCos both = EmitSinCosOfDouble(m, x);
      V rare = m.b.CreateFCmpUGE(m.Abs(x), m.F(kMostReduced));
      return EmitRareCalls(m, op, x, nullptr, rare, op == MathOp::kSin ? both.sin : both.cos);
    }
    case MathOp::kAtan:
      return EmitAtan2OfDouble(m, x, m.F(1));
    case MathOp::kAtan2:
      return EmitAtan2OfDouble(m, x, y);
    default:
      return nullptr;
  }
}

}  // namespace

SinCos EmitSinCosForFloat(MathBuilder& d, V x) {
  V n;
  V r = Reduce(d, x, &n);
  V z = d.Mul(r, r);
  V sin = SinPoly(d, r, z), cos = CosPoly(d, z);
  V odd = d.b.CreateICmpNE(d.b.CreateAnd(n, d.I(1)), d.I(0));
  return {d.Select(d.Eq(x, d.F(0)), x, WithSign(d, d.Select(odd, cos, sin), n)),  // keeps the sign of zero
          WithSign(d, d.Select(odd, sin, cos), d.b.CreateAdd(n, d.I(1)))};
}

V EmitAtan2ForFloat(MathBuilder& d, V y, V x) { return Atan2(d, y, x); }

V EmitTrigonometric(MathBuilder& m, MathOp op, V x, V y) {
  if (m.is_double()) return OfDouble(m, op, x, y);
  MathBuilder d = m.Double();
  switch (op) {
    case MathOp::kSin:
    case MathOp::kCos:
    case MathOp::kTan:
      return SinCosTan(m, op, x);
    case MathOp::kAtan:
      return m.Round(Atan2(d, m.Extend(x), d.F(1)));
    case MathOp::kAtan2:
      return m.Round(Atan2(d, m.Extend(x), m.Extend(y)));
    case MathOp::kAsin:
    case MathOp::kAcos: {
      V w = m.Extend(x);
      V other = d.Sqrt(d.Mul(d.Sub(d.F(1), w), d.Add(d.F(1), w)));  // NaN for |x| > 1
      return m.Round(op == MathOp::kAsin ? Atan2(d, w, other) : Atan2(d, other, w));
    }
    default:
      return nullptr;
  }
}

}  // namespace xc::codegen
