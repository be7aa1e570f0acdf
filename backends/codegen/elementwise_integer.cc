// Elementwise ops of integers and pred.
#include "backends/codegen/elementwise_internal.h"
#include "backends/codegen/rare.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"

namespace xc::codegen {
namespace {

using V = llvm::Value*;
namespace in = llvm::Intrinsic;

// Quotients of 64 bits: as in QuotientOfLanes where all numbers have at most 51, which doubles hold beside 3 2^51.
V QuotientOfWideLanes(llvm::IRBuilderBase& b, bool fma, bool is_signed, V x, V y) {
  llvm::Type *t = x->getType(), *doubles = t->getWithNewType(b.getDoubleTy());
  const auto I = [&](int64_t value) { return llvm::ConstantInt::get(t, value); };
  V magic = llvm::ConstantFP::get(doubles, 0x1.8p52), magic_bits = b.CreateBitCast(magic, t);
  const auto shifted = [&](V v) { return is_signed ? b.CreateAdd(v, I(int64_t{1} << 51)) : v; };
  V bits = b.CreateOrReduce(b.CreateOr(shifted(x), shifted(y)));
  V is_wide = b.CreateICmpUGE(bits, b.getInt64(int64_t{1} << (is_signed ? 52 : 51)));
  const auto number = [&](V v) { return b.CreateFSub(b.CreateBitCast(b.CreateAdd(v, magic_bits), doubles), magic); };
  V quotient;
  if (fma && llvm::isa<llvm::Constant>(y)) {
    // By the rounded reciprocal, put right once: as a division gives it (EmitQuotient).
    const auto add_product = [&](V f, V g, V h) {
      return b.CreateIntrinsic(llvm::Intrinsic::fma, {doubles}, {f, g, h});
    };
    V dividend = number(x), divisor = number(y), inverse = b.CreateFDiv(llvm::ConstantFP::get(doubles, 1), divisor);
    V product = b.CreateFMul(dividend, inverse);
    quotient = add_product(add_product(b.CreateFNeg(product), divisor, dividend), inverse, product);
  } else {
    quotient = b.CreateFDiv(number(x), number(y));
  }
  V cut = b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, quotient);
  V q = b.CreateSub(b.CreateBitCast(b.CreateFAdd(cut, magic), t), magic_bits);
  return EmitUnlessRare(b, is_wide, q, [&] { return is_signed ? b.CreateSDiv(x, y) : b.CreateUDiv(x, y); });
}

// The quotient of vectors of integers, which have no instruction of their own, as one of floats with twice their
// digits: it lies further from a whole number than it can be rounded, and is cut. Null: what is no vector, and
// constants of up to 32 bits, by whose reciprocals LLVM multiplies.
V QuotientOfLanes(llvm::IRBuilderBase& b, bool fma, bool is_signed, V x, V y) {
  llvm::Type* t = x->getType();
  const unsigned width = t->getScalarSizeInBits();
  if (!t->isVectorTy() || width > 64) return nullptr;
  if (width > 32) return QuotientOfWideLanes(b, fma, is_signed, x, y);
  if (llvm::isa<llvm::Constant>(y)) return nullptr;
  llvm::Type* floats = t->getWithNewType(width <= 16 ? b.getFloatTy() : b.getDoubleTy());
  const auto converted = [&](V v) { return is_signed ? b.CreateSIToFP(v, floats) : b.CreateUIToFP(v, floats); };
  V q = b.CreateFDiv(converted(x), converted(y));
  return is_signed ? b.CreateFPToSI(q, t) : b.CreateFPToUI(q, t);
}

// Quotient and remainder with HLO's answers for division by zero and for MIN / -1. Signed division by 1 stands in for
// the operands that the machine would trap on.
V Divide(ElementEmitter& e, bool is_signed, bool remainder, V x, V y) {
  auto& b = e.builder();
  llvm::Type* t = x->getType();
  V zero = llvm::ConstantInt::get(t, 0), one = llvm::ConstantInt::get(t, 1),
    minus = llvm::ConstantInt::getSigned(t, -1);
  V by_zero = b.CreateICmpEQ(y, zero);
  V bad = by_zero;
  V negated = b.CreateICmpEQ(y, minus);
  const auto* known = llvm::dyn_cast<llvm::Constant>(negated);
  // A constant stays one: the builder does not see that what is and-ed with false is false.
  if (is_signed && (known == nullptr || !known->isNullValue())) {
    V min = llvm::ConstantInt::get(t, llvm::APInt::getSignedMinValue(t->getScalarSizeInBits()));
    bad = b.CreateOr(by_zero, b.CreateAnd(b.CreateICmpEQ(x, min), negated));
  }
  V safe = b.CreateSelect(bad, one, y);
  V q = QuotientOfLanes(b, e.target().fma, is_signed, x, safe);
  if (!remainder) {
    if (q == nullptr) q = is_signed ? b.CreateSDiv(x, safe) : b.CreateUDiv(x, safe);  // overflow: MIN / 1 is MIN
    return b.CreateSelect(by_zero, minus, q);
  }
  V r = q != nullptr ? b.CreateSub(x, b.CreateMul(q, safe))
        : is_signed  ? b.CreateSRem(x, safe)
                     : b.CreateURem(x, safe);  // overflow: MIN % 1 is 0
  return b.CreateSelect(by_zero, x, r);
}

// `y` may be one amount for all lanes of x: shifts of bytes by one amount take a few operations, by many a dozen.
V Shift(ElementEmitter& e, HloOpcode op, int bits, V x, V y) {
  auto& b = e.builder();
  llvm::Type *t = x->getType(), *amounts = y->getType();
  const int lanes = ElementEmitter::Lanes(x);
  if (e.target().masked_memory && op == HloOpcode::kShiftRightArithmetic && bits == 8 && lanes > 16 &&
      ElementEmitter::Lanes(y) > 1) {
    // In 16 bits, which such machines shift by as much as each lane says: by 8 nothing of a byte is left but its sign.
    llvm::Type* wide = t->getExtendedType();
    V amount = b.CreateZExt(b.CreateBinaryIntrinsic(in::umin, y, llvm::ConstantInt::get(t, 8)), wide);
    return b.CreateTrunc(b.CreateAShr(b.CreateSExt(x, wide), amount), t);
  }
  const auto I = [&](int64_t v) { return llvm::ConstantInt::get(amounts, v); };
  V inside = b.CreateICmpULT(y, I(bits));
  const auto by = [&](int64_t beyond) { return e.Splat(b.CreateSelect(inside, y, I(beyond)), lanes); };
  if (op == HloOpcode::kShiftRightArithmetic) return b.CreateAShr(x, by(bits - 1));
  V shifted = op == HloOpcode::kShiftLeft ? b.CreateShl(x, by(0)) : b.CreateLShr(x, by(0));
  return b.CreateSelect(e.Splat(inside, lanes), shifted, llvm::ConstantInt::get(t, 0));
}

// Square and multiply over the bits that the largest exponent of all lanes has; negative exponents of s types give 1/x
// truncated, and 0 for x = 0. `y` may be one exponent for all lanes of x.
V PowInteger(ElementEmitter& e, ElementType type, V x, V y) {
  auto& b = e.builder();
  llvm::Type *t = x->getType(), *exponents = y->getType();
  const int width = ElementBits(type);
  auto I = [](llvm::Type* of, int64_t v) { return llvm::ConstantInt::getSigned(of, v); };
  V zero = I(exponents, 0);
  V exponent = y;
  if (IsSignedInt(type)) {
    exponent = b.CreateSelect(b.CreateICmpSLT(y, zero), zero, y);
  } else if (width < static_cast<int>(t->getScalarSizeInBits())) {
    exponent = b.CreateAnd(y, llvm::ConstantInt::get(exponents, (uint64_t{1} << width) - 1));
  }
  auto lowest = [&](V power) { return b.CreateICmpNE(b.CreateAnd(power, I(exponents, 1)), zero); };
  auto any = [&](V power) {
    V more = b.CreateICmpNE(power, zero);
    return exponents->isVectorTy() ? b.CreateOrReduce(more) : more;
  };
  V first = b.CreateSelect(lowest(exponent), x, I(t, 1)), left = b.CreateLShr(exponent, 1);
  llvm::Function* function = b.GetInsertBlock()->getParent();
  auto* before = b.GetInsertBlock();
  auto* loop = llvm::BasicBlock::Create(b.getContext(), "power", function);
  auto* done = llvm::BasicBlock::Create(b.getContext(), "power.done", function);
  b.CreateCondBr(any(left), loop, done);
  b.SetInsertPoint(loop);
  llvm::PHINode *product = b.CreatePHI(t, 2), *base = b.CreatePHI(t, 2), *power = b.CreatePHI(exponents, 2);
  product->addIncoming(first, before);
  base->addIncoming(x, before);
  power->addIncoming(left, before);
  V square = b.CreateMul(base, base);
  V next = b.CreateSelect(lowest(power), b.CreateMul(product, square), product);
  V rest = b.CreateLShr(power, 1);
  product->addIncoming(next, loop);
  base->addIncoming(square, loop);
  power->addIncoming(rest, loop);
  b.CreateCondBr(any(rest), loop, done);
  b.SetInsertPoint(done);
  llvm::PHINode* result = b.CreatePHI(t, 2);
  result->addIncoming(first, before);
  result->addIncoming(next, loop);
  if (!IsSignedInt(type)) return result;
  V one = I(t, 1), minus = I(t, -1);
  V inverse = b.CreateSelect(b.CreateICmpEQ(x, one), one,
                             b.CreateSelect(b.CreateICmpEQ(x, minus), b.CreateSelect(lowest(y), minus, one), I(t, 0)));
  return b.CreateSelect(b.CreateICmpSLT(y, zero), inverse, result);
}

// Of vectors of bytes, which are counted one by one or widened otherwise: all ones from the first on, and their number.
V LeadingZeros(llvm::IRBuilderBase& b, V x) {
  llvm::Type* t = x->getType();
  if (!t->isVectorTy() || t->getScalarSizeInBits() != 8) return b.CreateBinaryIntrinsic(in::ctlz, x, b.getFalse());
  for (int by : {1, 2, 4}) x = b.CreateOr(x, b.CreateLShr(x, llvm::ConstantInt::get(t, by)));
  return b.CreateUnaryIntrinsic(in::ctpop, b.CreateNot(x));
}

// The upper half of the product of two `bits`-wide numbers.
V MulHigh(llvm::IRBuilderBase& b, bool is_signed, int bits, V x, V y) {
  llvm::Type* wide = x->getType()->getExtendedType();
  V u = is_signed ? b.CreateSExt(x, wide) : b.CreateZExt(x, wide);
  V v = is_signed ? b.CreateSExt(y, wide) : b.CreateZExt(y, wide);
  return b.CreateTrunc(b.CreateLShr(b.CreateMul(u, v), llvm::ConstantInt::get(wide, bits)), x->getType());
}

}  // namespace

V EmitIntegerOp(ElementEmitter& e, HloOpcode op, ElementType type, V const* x) {
  auto& b = e.builder();
  const bool is_pred = type == ElementType::kPred;
  const bool is_signed = IsSignedInt(type);
  const int bits = is_pred ? 1 : ElementBits(type);
  llvm::Type* t = x[0]->getType();
  auto I = [&](int64_t v) { return llvm::ConstantInt::get(t, v, true); };
  auto max = [&](V u, V v) { return b.CreateBinaryIntrinsic(is_signed ? in::smax : in::umax, u, v); };
  auto min = [&](V u, V v) { return b.CreateBinaryIntrinsic(is_signed ? in::smin : in::umin, u, v); };
  // For sub-byte types: the value's own bits, zero-extended.
  auto own_bits = [&](V v) {
    return bits < 8 && !is_pred ? b.CreateAnd(v, llvm::ConstantInt::get(v->getType(), (1 << bits) - 1)) : v;
  };
  switch (op) {
    case HloOpcode::kAdd:
      return is_pred ? b.CreateOr(x[0], x[1]) : b.CreateAdd(x[0], x[1]);
    case HloOpcode::kSubtract:
      return is_pred ? b.CreateXor(x[0], x[1]) : b.CreateSub(x[0], x[1]);
    case HloOpcode::kMultiply:
      return is_pred ? b.CreateAnd(x[0], x[1]) : b.CreateMul(x[0], x[1]);
    case HloOpcode::kDivide:
    case HloOpcode::kRemainder:
      return is_pred ? nullptr : Divide(e, is_signed, op == HloOpcode::kRemainder, x[0], x[1]);
    case HloOpcode::kMaximum:
      return is_pred ? b.CreateOr(x[0], x[1]) : max(x[0], x[1]);
    case HloOpcode::kMinimum:
      return is_pred ? b.CreateAnd(x[0], x[1]) : min(x[0], x[1]);
    case HloOpcode::kAnd:
      return b.CreateAnd(x[0], x[1]);
    case HloOpcode::kOr:
      return b.CreateOr(x[0], x[1]);
    case HloOpcode::kXor:
      return b.CreateXor(x[0], x[1]);
    case HloOpcode::kNot:
      return b.CreateNot(x[0]);
    case HloOpcode::kNegate:
      return b.CreateNeg(x[0]);
    case HloOpcode::kAbs:
      return is_signed ? b.CreateSelect(b.CreateICmpSLT(x[0], I(0)), b.CreateNeg(x[0]), x[0]) : x[0];
    case HloOpcode::kSign:
      if (!is_signed) return b.CreateZExt(b.CreateICmpNE(x[0], I(0)), t);
      return max(min(x[0], I(1)), I(-1));
    case HloOpcode::kClamp:
      return is_pred ? b.CreateAnd(b.CreateOr(x[1], x[0]), x[2]) : min(max(x[1], x[0]), x[2]);
    case HloOpcode::kShiftLeft:
    case HloOpcode::kShiftRightArithmetic:
      return is_pred ? nullptr
                     : Shift(e, op, bits,
                             op == HloOpcode::kShiftRightArithmetic && !is_signed && bits < 8
                                 ? b.CreateAShr(b.CreateShl(x[0], I(8 - bits)), I(8 - bits))
                                 : x[0],
                             own_bits(x[1]));
    case HloOpcode::kShiftRightLogical:
      return is_pred ? nullptr : Shift(e, op, bits, own_bits(x[0]), own_bits(x[1]));
    case HloOpcode::kPopcnt:
      return b.CreateUnaryIntrinsic(in::ctpop, own_bits(x[0]));
    case HloOpcode::kCountLeadingZeros: {
      V count = LeadingZeros(b, own_bits(x[0]));
      return bits < 8 && !is_pred ? b.CreateSub(count, I(8 - bits)) : count;
    }
    case HloOpcode::kMulhi:
      return is_pred ? nullptr : MulHigh(b, is_signed, bits, x[0], x[1]);
    case HloOpcode::kPower:
      return is_pred ? nullptr : PowInteger(e, type, x[0], x[1]);
    default:
      return nullptr;
  }
}

}  // namespace xc::codegen
