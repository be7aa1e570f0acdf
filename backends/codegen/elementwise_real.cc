// Elementwise ops of real floats (f32 and f64 registers) and of integers and pred.
#include "backends/codegen/elementwise_internal.h"
#include "backends/codegen/rare.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"

namespace xc::codegen {
namespace {

using V = llvm::Value*;
namespace in = llvm::Intrinsic;

// Ops that are one call of a math function.
struct MathRow {
  HloOpcode op;
  MathOp math;
};
constexpr MathRow kMathOps[] = {
    {HloOpcode::kExponential, MathOp::kExp}, {HloOpcode::kExponentialMinusOne, MathOp::kExpm1},
    {HloOpcode::kLog, MathOp::kLog},         {HloOpcode::kLogPlusOne, MathOp::kLog1p},
    {HloOpcode::kTanh, MathOp::kTanh},       {HloOpcode::kLogistic, MathOp::kLogistic},
    {HloOpcode::kErf, MathOp::kErf},         {HloOpcode::kSine, MathOp::kSin},
    {HloOpcode::kCosine, MathOp::kCos},      {HloOpcode::kTan, MathOp::kTan},
    {HloOpcode::kSqrt, MathOp::kSqrt},       {HloOpcode::kRsqrt, MathOp::kRsqrt},
    {HloOpcode::kCbrt, MathOp::kCbrt},       {HloOpcode::kSinh, MathOp::kSinh},
    {HloOpcode::kCosh, MathOp::kCosh},       {HloOpcode::kAsinh, MathOp::kAsinh},
    {HloOpcode::kAcosh, MathOp::kAcosh},     {HloOpcode::kAtanh, MathOp::kAtanh},
    {HloOpcode::kAsin, MathOp::kAsin},       {HloOpcode::kAcos, MathOp::kAcos},
    {HloOpcode::kPower, MathOp::kPow},       {HloOpcode::kAtan2, MathOp::kAtan2},
    {HloOpcode::kRemainder, MathOp::kFmod},
};

// Ops that are one instruction or intrinsic.
struct IntrinsicRow {
  HloOpcode op;
  llvm::Intrinsic::ID id;
};
constexpr IntrinsicRow kFloatIntrinsics[] = {
    {HloOpcode::kAbs, in::fabs},        {HloOpcode::kCeil, in::ceil},
    {HloOpcode::kFloor, in::floor},     {HloOpcode::kRoundNearestEven, in::rint},
    {HloOpcode::kMaximum, in::maximum}, {HloOpcode::kMinimum, in::minimum},
};

const IntrinsicRow* FindIntrinsic(HloOpcode op) {
  for (const IntrinsicRow& row : kFloatIntrinsics) {
    if (row.op == op) return &row;
  }
  return nullptr;
}

const MathRow* FindMath(HloOpcode op) {
  for (const MathRow& row : kMathOps) {
    if (row.op == op) return &row;
  }
  return nullptr;
}

// maximum or minimum by the machine's comparison, which gives x where one side is NaN or both are zeros. What that
// leaves wrong depends on y alone, so that a chain of extremes in which x is the result so far is short.
V EmitExtreme(llvm::IRBuilderBase& b, bool largest, V x, V y) {
  if (llvm::isa<llvm::Constant>(x)) std::swap(x, y);
  llvm::Type* type = x->getType();
  llvm::Type* bits_type = type->getWithNewType(b.getIntNTy(type->getScalarSizeInBits()));
  V further = largest ? b.CreateFCmpOGT(y, x) : b.CreateFCmpOLT(y, x);
  V extreme = b.CreateSelect(further, y, x), is_nan = b.CreateFCmpUNO(y, y);
  if (!type->isVectorTy()) {
    // Masks would cross over from the registers of integers. What is equal has equal bits, but for zeros.
    V x_bits = b.CreateBitCast(x, bits_type), y_bits = b.CreateBitCast(y, bits_type);
    V both = b.CreateBitCast(largest ? b.CreateAnd(x_bits, y_bits) : b.CreateOr(x_bits, y_bits), type);
    return b.CreateSelect(is_nan, y, b.CreateSelect(b.CreateFCmpOEQ(x, y), both, extreme));
  }
  V result = b.CreateBitCast(extreme, bits_type);
  const llvm::APInt sign = llvm::APInt::getSignMask(type->getScalarSizeInBits());
  const auto I = [&](const llvm::APInt& value) { return llvm::ConstantInt::get(bits_type, value); };
  V y_bits = b.CreateBitCast(y, bits_type), none = llvm::Constant::getNullValue(bits_type);
  V nan = b.CreateBitCast(llvm::ConstantFP::getNaN(type), bits_type);
  if (largest) {
    // With 0 the result has no sign.
    V kept = b.CreateSelect(b.CreateICmpEQ(y_bits, none), I(~sign), llvm::Constant::getAllOnesValue(bits_type));
    result = b.CreateOr(b.CreateAnd(result, kept), b.CreateSelect(is_nan, nan, none));
  } else {
    // With -0 it has one.
    V signs = b.CreateSelect(b.CreateICmpEQ(y_bits, I(sign)), I(sign), none);
    result = b.CreateOr(result, b.CreateSelect(is_nan, nan, signs));
  }
  return b.CreateBitCast(result, type);
}

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

V Shift(ElementEmitter& e, HloOpcode op, int bits, V x, V y) {
  auto& b = e.builder();
  llvm::Type* t = x->getType();
  if (e.target().masked_memory && op == HloOpcode::kShiftRightArithmetic && bits == 8 &&
      ElementEmitter::Lanes(x) > 16) {
    // In 16 bits, which such machines shift by as much as each lane says: by 8 nothing of a byte is left but its sign.
    llvm::Type* wide = t->getExtendedType();
    V amount = b.CreateZExt(b.CreateBinaryIntrinsic(in::umin, y, llvm::ConstantInt::get(t, 8)), wide);
    return b.CreateTrunc(b.CreateAShr(b.CreateSExt(x, wide), amount), t);
  }
  V width = llvm::ConstantInt::get(t, bits);
  V inside = b.CreateICmpULT(y, width);
  V amount = b.CreateSelect(inside, y, llvm::ConstantInt::get(t, 0));
  V zero = llvm::ConstantInt::get(t, 0);
  if (op == HloOpcode::kShiftLeft) return b.CreateSelect(inside, b.CreateShl(x, amount), zero);
  if (op == HloOpcode::kShiftRightLogical) return b.CreateSelect(inside, b.CreateLShr(x, amount), zero);
  return b.CreateAShr(x, b.CreateSelect(inside, y, llvm::ConstantInt::get(t, bits - 1)));
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

// The upper half of the product of two `bits`-wide numbers.
V MulHigh(llvm::IRBuilderBase& b, bool is_signed, int bits, V x, V y) {
  llvm::Type* wide = x->getType()->getExtendedType();
  V u = is_signed ? b.CreateSExt(x, wide) : b.CreateZExt(x, wide);
  V v = is_signed ? b.CreateSExt(y, wide) : b.CreateZExt(y, wide);
  return b.CreateTrunc(b.CreateLShr(b.CreateMul(u, v), llvm::ConstantInt::get(wide, bits)), x->getType());
}

}  // namespace

V EmitFloatOp(ElementEmitter& e, HloOpcode op, V const* x) {
  auto& b = e.builder();
  auto F = [&](double v) { return llvm::ConstantFP::get(x[0]->getType(), v); };
  switch (op) {
    case HloOpcode::kAdd:
      return b.CreateFAdd(x[0], x[1]);
    case HloOpcode::kSubtract:
      return b.CreateFSub(x[0], x[1]);
    case HloOpcode::kMultiply:
      return b.CreateFMul(x[0], x[1]);
    case HloOpcode::kDivide:
      return b.CreateFDiv(x[0], x[1]);
    case HloOpcode::kNegate:
      return b.CreateFNeg(x[0]);
    case HloOpcode::kSign: {
      V unit = b.CreateBinaryIntrinsic(in::copysign, F(1), x[0]);
      V ordinary = b.CreateFCmpONE(x[0], F(0));  // false for NaN and zeros, which stay
      return b.CreateSelect(ordinary, unit, x[0]);
    }
    case HloOpcode::kRoundNearestAfz:
      return b.CreateUnaryIntrinsic(in::round, x[0]);
    case HloOpcode::kIsFinite:
      return b.CreateFCmpOLT(b.CreateUnaryIntrinsic(in::fabs, x[0]), F(__builtin_inf()));
    case HloOpcode::kClamp:
      return b.CreateBinaryIntrinsic(in::minimum, b.CreateBinaryIntrinsic(in::maximum, x[1], x[0]), x[2]);
    default:
      break;
  }
  if ((op == HloOpcode::kMaximum || op == HloOpcode::kMinimum) && !e.target().extremes) {
    return EmitExtreme(b, op == HloOpcode::kMaximum, x[0], x[1]);
  }
  if (const IntrinsicRow* row = FindIntrinsic(op)) {
    return OpcodeArity(op) == 2 ? b.CreateBinaryIntrinsic(row->id, x[0], x[1]) : b.CreateUnaryIntrinsic(row->id, x[0]);
  }
  if (const MathRow* row = FindMath(op)) {
    return EmitMath(b, row->math, e.target().fma, x[0], IsBinary(row->math) ? x[1] : nullptr);
  }
  return nullptr;
}

V EmitScalarCall(ElementEmitter& e, HloOpcode op, V const* x) {
  const MathRow* row = FindMath(op);
  if (row == nullptr || !e.target().calls_for_scalars || x[0]->getType()->isVectorTy()) return nullptr;
  switch (row->math) {
    case MathOp::kExpm1:
    case MathOp::kLog:
    case MathOp::kLogistic:
    case MathOp::kErf:
    case MathOp::kPow:
    case MathOp::kFmod:
      break;
    case MathOp::kExp:
    case MathOp::kLog1p:
    case MathOp::kSin:
    case MathOp::kCos:
    case MathOp::kAtan2:
      if (!x[0]->getType()->isDoubleTy()) return nullptr;  // fewer terms serve floats
      break;
    default:
      return nullptr;
  }
  return EmitMathCall(e.builder(), row->math, x[0], IsBinary(row->math) ? x[1] : nullptr);
}

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
  auto own_bits = [&](V v) { return bits < 8 && !is_pred ? b.CreateAnd(v, I((1 << bits) - 1)) : v; };
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
      V count = b.CreateBinaryIntrinsic(in::ctlz, own_bits(x[0]), b.getFalse());
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

V EmitCompare(ElementEmitter& e, const HloInstruction& instruction, absl::Span<const Element> x) {
  auto& b = e.builder();
  const ElementType type = instruction.operand(0)->type();
  const CompareDirection d = instruction.direction();
  V u = x[0].re, v = x[1].re;
  if (IsComplex(type)) {
    V equal = b.CreateAnd(b.CreateFCmpOEQ(x[0].re, x[1].re), b.CreateFCmpOEQ(x[0].im, x[1].im));
    return d == CompareDirection::kEq ? equal : b.CreateNot(equal);
  }
  bool is_signed = IsSignedInt(type);
  if (IsFloating(type)) {
    const auto* kind = instruction.FindAttr<AttrKind::kCompareType>();
    if (kind == nullptr || *kind != CompareType::kTotalOrder) {
      switch (d) {
        case CompareDirection::kEq:
          return b.CreateFCmpOEQ(u, v);
        case CompareDirection::kNe:
          return b.CreateFCmpUNE(u, v);
        case CompareDirection::kLt:
          return b.CreateFCmpOLT(u, v);
        case CompareDirection::kLe:
          return b.CreateFCmpOLE(u, v);
        case CompareDirection::kGt:
          return b.CreateFCmpOGT(u, v);
        case CompareDirection::kGe:
          return b.CreateFCmpOGE(u, v);
      }
    }
    // Total order: the bits as integers, negative numbers mirrored.
    const int bits = u->getType()->getScalarSizeInBits();
    llvm::Type* t = e.RegisterType(bits == 64 ? ElementType::kS64 : ElementType::kS32, ElementEmitter::Lanes(u));
    auto key = [&](V value) {
      V raw = b.CreateBitCast(value, t);
      V mask = b.CreateLShr(b.CreateAShr(raw, llvm::ConstantInt::get(t, bits - 1)), llvm::ConstantInt::get(t, 1));
      return b.CreateXor(raw, mask);
    };
    u = key(u);
    v = key(v);
    is_signed = true;
  }
  switch (d) {
    case CompareDirection::kEq:
      return b.CreateICmpEQ(u, v);
    case CompareDirection::kNe:
      return b.CreateICmpNE(u, v);
    case CompareDirection::kLt:
      return is_signed ? b.CreateICmpSLT(u, v) : b.CreateICmpULT(u, v);
    case CompareDirection::kLe:
      return is_signed ? b.CreateICmpSLE(u, v) : b.CreateICmpULE(u, v);
    case CompareDirection::kGt:
      return is_signed ? b.CreateICmpSGT(u, v) : b.CreateICmpUGT(u, v);
    case CompareDirection::kGe:
      return is_signed ? b.CreateICmpSGE(u, v) : b.CreateICmpUGE(u, v);
  }
  return nullptr;
}

namespace {

// The encoding that reduce-precision works on, with integers of its width.
struct Format {
  ElementType type, bits;
  int exponent, mantissa;
};

// The type's own if it is like IEEE 754's; others are seen as f32.
Format FormatOf(ElementType type) {
  switch (type) {
    case ElementType::kF64:
      return {type, ElementType::kU64, 11, 52};
    case ElementType::kF16:
      return {type, ElementType::kU16, 5, 10};
    case ElementType::kBF16:
      return {type, ElementType::kU16, 8, 7};
    case ElementType::kF8E5M2:
      return {type, ElementType::kU8, 5, 2};
    case ElementType::kF8E4M3:
      return {type, ElementType::kU8, 4, 3};
    case ElementType::kF8E3M4:
      return {type, ElementType::kU8, 3, 4};
    default:
      return {ElementType::kF32, ElementType::kU32, 8, 23};
  }
}

}  // namespace

// Rounds to fewer mantissa bits, then maps what the smaller exponent range cannot hold to zero and infinity.
V EmitReducePrecision(ElementEmitter& e, ElementType type, int exponent_bits, int mantissa_bits, V x) {
  auto& b = e.builder();
  const Format format = FormatOf(type);
  const int own_mantissa = format.mantissa, own_exponent = format.exponent;
  V raw = e.BitcastConvert(format.type, format.bits, {x}).re;
  llvm::Type* t = raw->getType();
  auto I = [&](uint64_t v) { return llvm::ConstantInt::get(t, v); };
  if (mantissa_bits < own_mantissa) {
    const int drop = own_mantissa - mantissa_bits;
    V lsb = b.CreateAnd(b.CreateLShr(raw, I(drop)), I(1));
    raw = b.CreateAnd(b.CreateAdd(b.CreateAdd(raw, I((uint64_t{1} << (drop - 1)) - 1)), lsb),
                      I(~((uint64_t{1} << drop) - 1)));
  }
  if (exponent_bits < own_exponent) {
    const int64_t own_bias = (int64_t{1} << (own_exponent - 1)) - 1, bias = (int64_t{1} << (exponent_bits - 1)) - 1;
    const uint64_t exponent_mask = ((uint64_t{1} << own_exponent) - 1) << own_mantissa;
    V exponent = b.CreateAnd(raw, I(exponent_mask));
    V sign = b.CreateAnd(raw, I(uint64_t{1} << (own_mantissa + own_exponent)));
    V over = b.CreateICmpUGT(exponent, I(static_cast<uint64_t>(own_bias + bias) << own_mantissa));
    V under = b.CreateICmpULE(exponent, I(static_cast<uint64_t>(own_bias - bias) << own_mantissa));
    raw = b.CreateSelect(over, b.CreateOr(sign, I(exponent_mask)), raw);
    raw = b.CreateSelect(under, sign, raw);
  }
  V y = e.BitcastConvert(format.bits, format.type, {raw}).re;
  return b.CreateSelect(b.CreateFCmpUNO(x, x), x, y);
}

}  // namespace xc::codegen
