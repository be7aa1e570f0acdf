// Sine, cosine and arc tangent of doubles to their last places.
#include "backends/codegen/math_builder.h"
#include "backends/codegen/math_sums.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Module.h"

namespace xc::codegen {
namespace {

using V = llvm::Value*;

// x - n pi/2 for |x| < 2^20; *n gets the quadrant in its low bits. The first three parts of pi/2 have 33 bits each, so
// that n times them is exact.
Sum ReduceByPi(MathBuilder& m, V x, V* n) {
  V k = m.NearestMultiple(x, 0.63661977236758134308, n);
  auto part = [&](double of_half_pi) { return m.Neg(m.Mul(k, m.F(of_half_pi))); };
  V a = m.Add(x, part(0x1.921fb544p+0));
  Sum b = TwoSum(m, a, part(0x1.0b4611a6p-34));
  Sum c = TwoSum(m, b.high, part(0x1.3198a2ep-69));
  V low = m.Add(c.low, m.Add(b.low, part(0x1.b839a252049c1p-104)));
  return FastTwoSum(m, c.high, low);
}

// For |r| <= pi/4, as those of cosine.
Sum SinOf(MathBuilder& m, const Sum& r, V z) {
  V p = m.Poly(z, {-0.16666666666666632, 0.00833333333332243, -0.00019841269829819487, 2.7557313695528e-06,
                   -2.5050758619121613e-08, 1.589682191302059e-10});
  V slope = m.Fma(z, m.F(-0.5), m.F(1));
  return FastTwoSum(m, r.high, m.Fma(m.Mul(r.high, z), p, m.Mul(r.low, slope)));
}

Sum CosOf(MathBuilder& m, const Sum& r, V z) {
  V p = m.Poly(z, {0.0416666666666666, -0.0013888888888874133, 2.4801587289487826e-05, -2.755731435390275e-07,
                   2.087572348352109e-09, -1.1359658692601816e-11});
  V half = m.Mul(z, m.F(0.5));
  V w = m.Sub(m.F(1), half);
  V lost = m.Sub(m.Sub(m.F(1), w), half);
  return FastTwoSum(m, w, m.Add(lost, m.Fma(m.Mul(z, z), p, m.Neg(m.Mul(r.high, r.low)))));
}

// Of x = r + n pi/2.
SinCos SinCosOfReduced(MathBuilder& m, V x, const Sum& r, V n, SinCos* rest = nullptr) {
  auto& b = m.b;
  V z = m.Mul(r.high, r.high);
  const Sum sin = SinOf(m, r, z), cos = CosOf(m, r, z);
  V odd = b.CreateICmpNE(b.CreateAnd(n, m.I(1)), m.I(0));
  // The sign is the quadrant's second bit.
  auto with_sign = [&](V value, V quadrant) {
    V sign = b.CreateShl(b.CreateAnd(quadrant, m.I(2)), m.I(62));
    return m.Float(b.CreateXor(m.Bits(value), sign));
  };
  SinCos result;
  V next = b.CreateAdd(n, m.I(1));
  // Keeps the sign of zero.
  result.sin = m.Select(m.Eq(x, m.F(0)), x, with_sign(m.Select(odd, cos.high, sin.high), n));
  result.cos = with_sign(m.Select(odd, sin.high, cos.high), next);
  if (rest != nullptr) {
    *rest = {with_sign(m.Select(odd, cos.low, sin.low), n), with_sign(m.Select(odd, sin.low, cos.low), next)};
  }
  return result;
}

}  // namespace

SinCos EmitSinCosOfDouble(MathBuilder& m, V x, SinCos* rest) {
  V n;
  const Sum r = ReduceByPi(m, x, &n);
  return SinCosOfReduced(m, x, r, n, rest);
}

// x = k 2^e for a k of 53 bits, and x 2/pi = k W 2^-190, up to multiples of 4, where W are the 192 bits of 2/pi from
// bit e - 2 on. That 62 of its bits may cancel leaves enough of them.
SinCos EmitSinCosOfLargeDouble(MathBuilder& m, V x, unsigned address_space) {
  // 64 zeros, then the bits of 2/pi.
  static const uint64_t kTwoOverPi[] = {0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
                                        0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
                                        0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
                                        0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
                                        0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
                                        0xf0cfbc209af4361d, 0xa9e391615ee61b08};
  auto& b = m.b;
  llvm::Type *i64 = b.getInt64Ty(), *i128 = b.getInt128Ty();
  llvm::Module* module = b.GetInsertBlock()->getModule();
  const char* const name = "xc.two_over_pi";
  llvm::GlobalVariable* table = module->getGlobalVariable(name, /*AllowInternal=*/true);
  if (table == nullptr) {
    auto* content = llvm::ConstantDataArray::get(b.getContext(), llvm::ArrayRef<uint64_t>(kTwoOverPi));
    table =
        new llvm::GlobalVariable(*module, content->getType(), /*isConstant=*/true, llvm::GlobalValue::InternalLinkage,
                                 content, name, nullptr, llvm::GlobalValue::NotThreadLocal, address_space);
  }
  V bits = m.Bits(x);
  V field = b.CreateAnd(b.CreateLShr(bits, m.I(52)), m.I(0x7ff));
  V k = b.CreateOr(b.CreateAnd(bits, m.I((int64_t{1} << 52) - 1)), m.I(int64_t{1} << 52));
  V first = b.CreateAdd(field, m.I(-1075 + 62));
  // Infinities and NaN read what is there.
  first = b.CreateSelect(b.CreateICmpEQ(field, m.I(0x7ff)), m.I(0), first);
  first = b.CreateSelect(b.CreateICmpSLT(first, m.I(0)), m.I(0), first);
  V word = b.CreateLShr(first, m.I(6)), shift = b.CreateAnd(first, m.I(63));
  V parts[4];
  for (int i = 0; i < 4; ++i) {
    parts[i] = b.CreateLoad(i64, b.CreateGEP(i64, table, b.CreateAdd(word, m.I(i))));
  }
  auto window = [&](int i) { return b.CreateIntrinsic(llvm::Intrinsic::fshl, {i64}, {parts[i], parts[i + 1], shift}); };
  auto wide = [&](V v) { return b.CreateZExt(v, i128); };
  auto W = [&](uint64_t v) { return llvm::ConstantInt::get(i128, v); };
  V low = b.CreateMul(wide(k), wide(window(2)));
  V middle = b.CreateAdd(b.CreateMul(wide(k), wide(window(1))), b.CreateLShr(low, W(64)));
  V high = b.CreateAdd(b.CreateMul(wide(k), wide(window(0))), b.CreateLShr(middle, W(64)));
  V n = b.CreateTrunc(b.CreateLShr(high, W(62)), i64);
  // The part behind the point, as a number of 128 bits with sign.
  V below = b.CreateOr(b.CreateShl(wide(b.CreateTrunc(middle, i64)), W(2)),
                       b.CreateLShr(wide(b.CreateTrunc(low, i64)), W(62)));
  V part = b.CreateOr(b.CreateShl(high, W(66)), below);
  V negative = b.CreateICmpSLT(part, W(0));
  n = b.CreateAdd(n, b.CreateZExt(negative, i64));
  part = b.CreateSelect(negative, b.CreateNeg(part), part);
  V upper = b.CreateTrunc(b.CreateLShr(part, W(64)), i64), lower = b.CreateTrunc(part, i64);
  auto number = [&](V v, double scale) { return m.Mul(b.CreateUIToFP(v, m.type), m.F(scale)); };
  const Sum turns =
      TwoSum(m, number(b.CreateLShr(upper, m.I(32)), 0x1p-32), number(b.CreateAnd(upper, m.I(0xffffffff)), 0x1p-64));
  V turns_low = m.Add(turns.low, number(lower, 0x1p-128));
  const double half_pi = 0x1.921fb54442d18p0, half_pi_low = 0x1.1a62633145c07p-54;
  V r = m.Mul(turns.high, m.F(half_pi));
  V lost = m.Fma(turns.high, m.F(half_pi), m.Neg(r));
  lost = m.Add(lost, m.Fma(turns.high, m.F(half_pi_low), m.Mul(turns_low, m.F(half_pi))));
  Sum reduced = FastTwoSum(m, r, lost);
  reduced = {m.Select(negative, m.Neg(reduced.high), reduced.high),
             m.Select(negative, m.Neg(reduced.low), reduced.low)};
  SinCos result = SinCosOfReduced(m, m.Abs(x), reduced, n);
  V finite = m.Lt(m.Abs(x), m.F(m.inf()));
  result.sin = m.Select(m.SignBit(x), m.Neg(result.sin), result.sin);
  result.sin = m.Select(finite, result.sin, m.F(m.nan()));
  result.cos = m.Select(finite, result.cos, m.F(m.nan()));
  return result;
}

V EmitAtan2OfDouble(MathBuilder& m, V y, V x) {
  auto& b = m.b;
  V ax = m.Abs(x), ay = m.Abs(y);
  V swap = m.Gt(ay, ax);
  V high = m.Select(swap, ay, ax), low = m.Select(swap, ax, ay);
  // Far from the ends of the range, where sums and remainders are exact.
  V scale =
      m.Select(m.Gt(high, m.F(0x1p900)), m.F(0x1p-200), m.Select(m.Lt(high, m.F(0x1p-800)), m.F(0x1p200), m.F(1)));
  V whole_high = high, whole_low = low;
  high = m.Mul(high, scale);
  low = m.Mul(low, scale);
  // atan(t) = pi/4 + atan((t - 1) / (t + 1)) above tan(pi/8).
  V near_one = m.Gt(low, m.Mul(high, m.F(0.41421356237309503)));
  const Sum difference = FastTwoSum(m, m.Neg(high), low), sum = FastTwoSum(m, high, low);
  V num = m.Select(near_one, difference.high, low), den = m.Select(near_one, sum.high, high);
  V u = m.Div(num, den);
  V lost = m.F(0);
  if (m.fma) {
    // What the quotient and its operands lost by rounding.
    V of_sums = m.Fma(m.Neg(u), sum.low, difference.low);
    V rest = m.Add(m.Fma(m.Neg(u), den, num), m.Select(near_one, of_sums, m.F(0)));
    lost = m.Div(rest, den);
    lost = m.Select(m.Lt(m.Abs(lost), m.F(1)), lost, m.F(0));
  }
  V zero = m.Eq(whole_high, m.F(0)), both_infinite = m.Eq(whole_low, m.F(m.inf()));
  u = m.Select(b.CreateOr(zero, both_infinite), m.F(0), u);
  near_one = b.CreateOr(near_one, both_infinite);
  V z = m.Mul(u, u);
  V p = m.Poly(z, {-0.33333333333333326, 0.19999999999997695, -0.1428571428539104, 0.11111111088362312,
                   -0.09090908151069643, 0.07692282904735025, -0.06666228896391485, 0.058770426313450544,
                   -0.05218538070237736, 0.045040921495824476, -0.033487087127094056, 0.015207986910229478});
  V small = m.Fma(m.Mul(u, z), p, m.Mul(lost, m.Sub(m.F(1), z)));
  const Sum quarter = FastTwoSum(m, m.F(0x1.921fb54442d18p-1), u);
  Sum a{m.Select(near_one, quarter.high, u),
        m.Add(small, m.Select(near_one, m.Add(quarter.low, m.F(0x1.1a62633145c07p-55)), m.F(0)))};
  // c - a where `condition` holds.
  auto subtract_from = [&](V condition, double c, double c_low) {
    const Sum s = FastTwoSum(m, m.F(c), m.Neg(a.high));
    V low_part = m.Add(s.low, m.Sub(m.F(c_low), a.low));
    a = {m.Select(condition, s.high, a.high), m.Select(condition, low_part, a.low)};
  };
  subtract_from(swap, 0x1.921fb54442d18p0, 0x1.1a62633145c07p-54);
  subtract_from(m.SignBit(x), 0x1.921fb54442d18p1, 0x1.1a62633145c07p-53);
  V nan = b.CreateFCmpUNO(x, y);
  return m.Select(nan, m.F(m.nan()), m.CopySign(m.Add(a.high, a.low), y));
}

}  // namespace xc::codegen
