#include "backends/codegen/quotients.h"

#include "backends/codegen/rare.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"

namespace xc::codegen {
namespace {

using V = llvm::Value*;

Reciprocals ReciprocalsOfDoubles(ElementEmitter& e, V divisors) {
  constexpr double kLeast = 0x1p-500, kMost = 0x1p500;
  auto& b = e.builder();
  const auto F = [&](double v) { return llvm::ConstantFP::get(divisors->getType(), v); };
  V size = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, divisors);
  V safe = b.CreateAnd(b.CreateFCmpOGE(size, F(kLeast)), b.CreateFCmpOLE(size, F(kMost)));
  return {b.CreateFDiv(F(1), divisors), nullptr, safe};
}

// The product of x with the divisor's rounded reciprocal r is put right once by what it leaves of x. Let a double have
// p digits and d lie in [1, 2).
// - The product is off by less than 1.5 units u of its last place. Its rest is exact, or the product is off by more
//   than a unit.
// - The sum of the product and r times its rest is off by less than 2.5 u 2^-p before it is rounded. So it is rounded
//   as the quotient is, unless that lies as near to the middle of two numbers.
// - The quotient's distance from there is a multiple of u 2^-p / d or more. Where the middle is u / 2 from the product,
//   the sum is off by (u / 2) |d r - 1| <= d u 2^-(p + 2), which is less, as d^2 < 4.
// - Where it is 1.5 u from the product, x is near 2 and less than d: the product would have to be off by more than it
//   can be, unless x and d are the largest numbers but one and the largest; these are divided right as well.
// (For numbers of up to 13 digits all pairs were tried.) What is exact leaves no rest, and so keeps a zero's sign;
// infinities and NaN leave a NaN. Where something may overflow or be denormal, all are divided.
V QuotientOfDoubles(ElementEmitter& e, V x, V d, const Reciprocals& reciprocals) {
  constexpr int64_t kLeast = int64_t{1023 - 460} << 52, kMost = int64_t{2047} << 52;  // bits of quotients
  auto& b = e.builder();
  llvm::Type *type = x->getType(), *bits_type = e.RegisterType(ElementType::kS64, ElementEmitter::Lanes(x));
  const auto I = [&](int64_t v) { return llvm::ConstantInt::get(bits_type, v); };
  V zero = llvm::Constant::getNullValue(type);
  V product = b.CreateFMul(x, reciprocals.values);
  V quotient = EmitCorrectedProduct(b, product, x, d, reciprocals.values);
  V bits = b.CreateAnd(b.CreateBitCast(product, bits_type), I(INT64_MAX));
  V far = b.CreateICmpUGE(b.CreateSub(bits, I(kLeast)), I(kMost - kLeast));
  V is_far = b.CreateOrReduce(b.CreateAnd(far, b.CreateFCmpONE(x, zero)));
  return EmitUnlessRare(b, b.CreateOr(b.CreateNot(reciprocals.safe), is_far), quotient,
                        [&] { return b.CreateFDiv(x, d); });
}

// Of f16 numbers in f32: 1 / d cut to f32, and what that lacks. The cut part of 1 / d has no more than 24 digits, so
// that its product with d lacks of 1 what f32 holds. Where it lacks nothing there is a little left all the same: less
// than any quotient's last place counts, but with it no infinite dividend meets a zero. Divisors without a reciprocal
// have the same in both parts.
Reciprocals ReciprocalsOfHalves(ElementEmitter& e, V divisors) {
  constexpr double kLittle = 0x1p-100;
  auto& b = e.builder();
  llvm::Type *type = divisors->getType(),
             *bits_type = e.RegisterType(ElementType::kS32, ElementEmitter::Lanes(divisors));
  const auto F = [&](double v) { return llvm::ConstantFP::get(type, v); };
  const auto lacks = [&](V reciprocal) {
    return b.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {b.CreateFNeg(reciprocal), divisors, F(1)});
  };
  V rounded = b.CreateFDiv(F(1), divisors);
  V less =
      b.CreateBitCast(b.CreateSub(b.CreateBitCast(rounded, bits_type), llvm::ConstantInt::get(bits_type, 1)), type);
  V cut = b.CreateSelect(b.CreateFCmpOLT(lacks(rounded), F(0)), less, rounded);
  V left = lacks(cut), little = b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, F(kLittle), divisors);
  V rest = b.CreateSelect(b.CreateFCmpOEQ(left, F(0)), little, b.CreateFDiv(left, divisors));
  return {cut, b.CreateSelect(b.CreateFCmpUNO(left, left), cut, rest)};
}

// Before it is rounded to f16: the sum of x's products with both parts is rounded once, as the division in f32 is. (All
// pairs were tried.)
V QuotientOfHalves(ElementEmitter& e, V x, const Reciprocals& reciprocals) {
  auto& b = e.builder();
  V rest = b.CreateFMul(x, reciprocals.rests);
  return b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, reciprocals.values, rest});
}

}  // namespace

V EmitCorrectedProduct(llvm::IRBuilderBase& b, V product, V x, V d, V reciprocal) {
  llvm::Type* type = x->getType();
  const auto fma = [&](V f, V g, V h) { return b.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {f, g, h}); };
  V rest = fma(b.CreateFNeg(product), d, x);
  V is_off = b.CreateFCmpONE(rest, llvm::Constant::getNullValue(type));
  return b.CreateSelect(is_off, fma(rest, reciprocal, product), product);
}

Reciprocals EmitReciprocals(ElementEmitter& e, ElementType type, V divisors) {
  return type == ElementType::kF16 ? ReciprocalsOfHalves(e, divisors) : ReciprocalsOfDoubles(e, divisors);
}

V EmitQuotient(ElementEmitter& e, ElementType type, V x, V d, const Reciprocals& reciprocals) {
  if (type == ElementType::kF16) return e.Normalize(type, QuotientOfHalves(e, x, reciprocals));
  return QuotientOfDoubles(e, x, d, reciprocals);
}

}  // namespace xc::codegen
