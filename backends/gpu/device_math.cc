// Functions of doubles that emitted code calls for rare arguments and rare functions, where the CPU has the C library.
// Written without its speed in mind, with errors of a few units in the last place; from the building blocks that the
// common functions are made of, so that GPU code needs no library of its own.
#include <functional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "backends/codegen/fused_emitter.h"
#include "backends/codegen/math_builder.h"
#include "backends/codegen/math_sums.h"
#include "backends/gpu/emitter_impl.h"

namespace xc::gpu {
namespace {

using codegen::Loop;
using codegen::MathBuilder;
using codegen::Sum;
using codegen::TwoSum;
using V = llvm::Value*;

constexpr double kLog2 = 0.69314718055994530942;

codegen::SinCos SinCosOf(MathBuilder& m, V x) {
  const codegen::SinCos small = codegen::EmitSinCosOfDouble(m, x);
  const codegen::SinCos large = codegen::EmitSinCosOfLargeDouble(m, x, kGlobalMemory);
  V is_small = m.Lt(m.Abs(x), m.F(codegen::kMostReduced));
  return {m.Select(is_small, small.sin, large.sin), m.Select(is_small, small.cos, large.cos)};
}

V Sinh(MathBuilder& m, V x) {
  V a = m.Abs(x);
  V t = codegen::EmitExpm1OfDouble(m, m.ClampMax(a, 700));
  V small = m.Mul(m.Add(t, m.Div(t, m.Add(t, m.F(1)))), m.F(0.5));
  V half = codegen::EmitExp(m, m.Mul(a, m.F(0.5)));
  V large = m.Mul(m.Mul(half, m.F(0.5)), half);
  return m.CopySign(m.Select(m.Lt(a, m.F(22)), small, large), x);
}

V Cosh(MathBuilder& m, V x) {
  V a = m.Abs(x);
  V half = codegen::EmitExp(m, m.Mul(a, m.F(0.5)));
  V e = codegen::EmitExp(m, a);
  V small = m.Mul(m.Add(e, m.Div(m.F(1), e)), m.F(0.5));
  return m.Select(m.Lt(a, m.F(22)), small, m.Mul(m.Mul(half, m.F(0.5)), half));
}

V Asinh(MathBuilder& m, V x) {
  V a = m.Abs(x);
  V z = m.Mul(a, a);
  V y = codegen::EmitLog1pOfDouble(m, m.Add(a, m.Div(z, m.Add(m.Sqrt(m.Add(z, m.F(1))), m.F(1)))));
  V large = m.Add(codegen::EmitLog(m, a), m.F(kLog2));
  y = m.Select(m.Lt(a, m.F(0x1p28)), y, large);
  return m.Select(m.Eq(x, m.F(0)), x, m.CopySign(y, x));
}

V Acosh(MathBuilder& m, V x) {
  V d = m.Sub(x, m.F(1));
  V y = codegen::EmitLog1pOfDouble(m, m.Add(d, m.Sqrt(m.Add(m.Add(d, d), m.Mul(d, d)))));
  y = m.Select(m.Lt(x, m.F(0x1p28)), y, m.Add(codegen::EmitLog(m, x), m.F(kLog2)));
  return m.Select(m.Lt(x, m.F(1)), m.F(m.nan()), y);
}

V Atanh(MathBuilder& m, V x) {
  V a = m.Abs(x);
  V y = m.Mul(codegen::EmitLog1pOfDouble(m, m.Div(m.Add(a, a), m.Sub(m.F(1), a))), m.F(0.5));
  y = m.Select(m.Lt(a, m.F(0x1p-28)), a, y);
  y = m.Select(m.Eq(a, m.F(1)), m.F(m.inf()), y);
  y = m.Select(m.Gt(a, m.F(1)), m.F(m.nan()), y);
  return m.CopySign(y, x);
}

// The side of a triangle with x along the other and 1 as its longest; NaN for |x| > 1.
V OtherSide(MathBuilder& m, V x) { return m.Sqrt(m.Mul(m.Sub(m.F(1), x), m.Add(m.F(1), x))); }

// 2/sqrt(pi) e^-x^2 (x + 2 x^3 / 3 + 4 x^5 / 15 + …): all terms are positive.
V Erf(MathBuilder& m, V x) {
  auto& b = m.b;
  V a = m.ClampMax(m.Abs(x), 6.5);
  V z = m.Mul(a, a);
  V lost = m.Fma(a, a, m.Neg(z));
  Loop loop(b, b.getInt32(1), b.getInt32(160), 1, "erf");
  V term = loop.Carry(a), sum = loop.Carry(a);
  V odd = b.CreateSIToFP(b.CreateAdd(b.CreateShl(loop.index(), b.getInt32(1)), b.getInt32(1)), m.type);
  V next = m.Div(m.Mul(term, m.Add(z, z)), odd);
  loop.SetNext(0, next);
  loop.SetNext(1, m.Add(sum, next));
  loop.End();
  V e = codegen::EmitExp(m, m.Neg(z));
  e = m.Fma(m.Neg(lost), e, e);
  V y = m.Mul(m.Mul(loop.Result(1), e), m.F(1.12837916709551257390));
  return m.CopySign(m.ClampMax(y, 1), x);
}

// Exact: long division of the mantissas.
V Fmod(MathBuilder& m, V x, V y) {
  auto& b = m.b;
  const auto split = [&](V value, V* exponent) {
    V bits = m.Bits(m.Abs(value));
    V field = b.CreateLShr(bits, m.I(52)), fraction = b.CreateAnd(bits, m.I((int64_t{1} << 52) - 1));
    V normal = b.CreateICmpNE(field, m.I(0));
    *exponent = b.CreateSelect(normal, field, m.I(1));
    return b.CreateSelect(normal, b.CreateOr(fraction, m.I(int64_t{1} << 52)), fraction);
  };
  V ex, ey;
  V kx = split(x, &ex), ky = split(y, &ey);
  V steps = b.CreateSub(ex, ey);
  V first = b.CreateURem(kx, b.CreateSelect(b.CreateICmpEQ(ky, m.I(0)), m.I(1), ky));
  // One bit of the quotient in each step, from the highest.
  Loop loop(b, m.I(0), steps, 1, "fmod");
  V rest = loop.Carry(first);
  V twice = b.CreateShl(rest, m.I(1));
  V less = b.CreateICmpULT(twice, ky);
  loop.SetNext(0, b.CreateSelect(less, twice, b.CreateSub(twice, ky)));
  loop.End();
  V left = loop.Result(0);
  V z = m.Scale(b.CreateUIToFP(left, m.type), b.CreateSub(ey, m.I(1075)));
  z = m.CopySign(z, x);
  V ax = m.Abs(x), ay = m.Abs(y);
  z = m.Select(m.Lt(ax, ay), x, z);
  V bad = b.CreateOr(b.CreateFCmpUNO(x, y), b.CreateOr(m.Eq(ax, m.F(m.inf())), m.Eq(y, m.F(0))));
  return m.Select(bad, m.F(m.nan()), z);
}

// The logarithm of a positive number to about 65 bits: 2 atanh(s) for s = (k - 1) / (k + 1), x = 2^e k.
Sum LogOf(MathBuilder& m, V x) {
  auto& b = m.b;
  V tiny = m.Lt(x, m.F(0x1p-1022));
  x = m.Select(tiny, m.Mul(x, m.F(0x1p54)), x);
  V bits = m.Bits(x);
  // k lies between the roots of 1/2 and 2.
  V shifted = b.CreateSub(bits, m.I(0x3fe6a09e667f3bcd));
  V e = b.CreateAShr(shifted, m.I(52));
  V k = m.Float(b.CreateSub(bits, b.CreateShl(e, m.I(52))));
  e = b.CreateSub(e, b.CreateSelect(tiny, m.I(54), m.I(0)));
  V num = m.Sub(k, m.F(1));
  const Sum den = TwoSum(m, k, m.F(1));
  V s = m.Div(num, den.high);
  V s_low = m.Div(m.Sub(m.Fma(m.Neg(s), den.high, num), m.Mul(s, den.low)), den.high);
  V z = m.Mul(s, s);
  V z_low = m.Fma(m.Add(s, s), s_low, m.Fma(s, s, m.Neg(z)));
  V p = m.Poly(z, {1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23});
  const double third = 1.0 / 3, third_low = 0x1.5555555555555p-56;
  V u = m.Mul(z, m.F(third));
  V u_low = m.Add(m.Fma(z, m.F(third), m.Neg(u)), m.Fma(z, m.F(third_low), m.Mul(z_low, m.F(third))));
  const Sum tail = TwoSum(m, u, m.Mul(m.Mul(z, z), p));
  u_low = m.Add(u_low, tail.low);
  V product = m.Mul(s, tail.high);
  V product_low = m.Add(m.Fma(s, tail.high, m.Neg(product)), m.Fma(s, u_low, m.Mul(s_low, tail.high)));
  Sum log = TwoSum(m, s, product);
  log.low = m.Add(log.low, m.Add(product_low, s_low));
  V exponent = b.CreateSIToFP(e, m.type);
  const Sum whole = TwoSum(m, m.Mul(exponent, m.F(0x1.62e42fefa3800p-1)), m.Add(log.high, log.high));
  return {whole.high, m.Add(whole.low, m.Fma(exponent, m.F(0x1.ef35793c76730p-45), m.Add(log.low, log.low)))};
}

V Pow(MathBuilder& m, V x, V y) {
  auto& b = m.b;
  V ax = m.Abs(x), ay = m.Abs(y);
  const Sum log = LogOf(m, ax);
  V high = m.Mul(y, log.high);
  V low = m.Fma(y, log.low, m.Fma(y, log.high, m.Neg(high)));
  V e = codegen::EmitExp(m, high);
  V magnitude = m.Fma(e, low, e);
  // Where there is nothing to correct: 0, infinity, and their powers.
  V ordinary = b.CreateAnd(m.Lt(e, m.F(m.inf())), m.Gt(e, m.F(0)));
  magnitude = m.Select(ordinary, magnitude, e);
  V up = m.Gt(y, m.F(0));
  magnitude = m.Select(m.Eq(ax, m.F(0)), m.Select(up, m.F(0), m.F(m.inf())), magnitude);
  magnitude = m.Select(m.Eq(ax, m.F(m.inf())), m.Select(up, m.F(m.inf()), m.F(0)), magnitude);
  V grows = b.CreateICmpEQ(m.Gt(ax, m.F(1)), up);
  magnitude = m.Select(m.Eq(ay, m.F(m.inf())), m.Select(grows, m.F(m.inf()), m.F(0)), magnitude);
  magnitude = m.Select(m.Eq(ax, m.F(1)), m.F(1), magnitude);
  V huge = b.CreateFCmpOGE(ay, m.F(0x1p53));  // even integers, and infinity
  V integer = b.CreateOr(huge, m.Eq(m.Trunc(y), y));
  V half = m.Mul(y, m.F(0.5));
  V odd = b.CreateAnd(b.CreateAnd(integer, b.CreateNot(huge)), b.CreateFCmpUNE(m.Trunc(half), half));
  V z = m.Select(b.CreateAnd(odd, m.SignBit(x)), m.Neg(magnitude), magnitude);
  V negative = b.CreateAnd(m.Lt(x, m.F(0)), m.Gt(x, m.F(-m.inf())));
  z = m.Select(b.CreateAnd(negative, b.CreateNot(integer)), m.F(m.nan()), z);
  z = m.Select(b.CreateFCmpUNO(x, y), m.F(m.nan()), z);
  return m.Select(b.CreateOr(m.Eq(y, m.F(0)), m.Eq(x, m.F(1))), m.F(1), z);
}

using Body = std::function<V(MathBuilder&, V, V)>;

const absl::flat_hash_map<std::string, Body>& Bodies() {
  static const auto* const kBodies = new absl::flat_hash_map<std::string, Body>{
      {"xc_math_sin", [](MathBuilder& m, V x, V) { return SinCosOf(m, x).sin; }},
      {"xc_math_cos", [](MathBuilder& m, V x, V) { return SinCosOf(m, x).cos; }},
      {"xc_math_tan",
       [](MathBuilder& m, V x, V) {
         const codegen::SinCos both = SinCosOf(m, x);
         return m.Select(m.Eq(x, m.F(0)), x, m.Div(both.sin, both.cos));
       }},
      {"xc_math_sinh", [](MathBuilder& m, V x, V) { return Sinh(m, x); }},
      {"xc_math_cosh", [](MathBuilder& m, V x, V) { return Cosh(m, x); }},
      {"xc_math_asinh", [](MathBuilder& m, V x, V) { return Asinh(m, x); }},
      {"xc_math_acosh", [](MathBuilder& m, V x, V) { return Acosh(m, x); }},
      {"xc_math_atanh", [](MathBuilder& m, V x, V) { return Atanh(m, x); }},
      {"xc_math_asin", [](MathBuilder& m, V x, V) { return codegen::EmitAtan2OfDouble(m, x, OtherSide(m, x)); }},
      {"xc_math_acos", [](MathBuilder& m, V x, V) { return codegen::EmitAtan2OfDouble(m, OtherSide(m, x), x); }},
      {"xc_math_erf", [](MathBuilder& m, V x, V) { return Erf(m, x); }},
      {"xc_math_fmod", [](MathBuilder& m, V x, V y) { return Fmod(m, x, y); }},
      {"xc_math_pow", [](MathBuilder& m, V x, V y) { return Pow(m, x, y); }},
  };
  return *kBodies;
}

}  // namespace

void DefineDeviceMath(llvm::Module& module) {
  std::vector<llvm::Function*> declared;
  for (llvm::Function& function : module) {
    if (function.isDeclaration() && Bodies().contains(function.getName().str())) declared.push_back(&function);
  }
  for (llvm::Function* function : declared) {
    function->setLinkage(llvm::GlobalValue::InternalLinkage);
    function->addFnAttr(llvm::Attribute::NoInline);
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(module.getContext(), "", function));
    MathBuilder m(b, b.getDoubleTy(), /*fma=*/true);
    V y = function->arg_size() > 1 ? function->getArg(1) : nullptr;
    b.CreateRet(Bodies().at(function->getName().str())(m, function->getArg(0), y));
  }
}

}  // namespace xc::gpu
