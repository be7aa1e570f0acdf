// Elementwise ops of real floats (f32 and f64 registers), and comparisons of all types.
#include "backends/codegen/elementwise_internal.h"
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
    // Beside a number that is known and not zero, what is equal is the same.
    const auto* known = llvm::dyn_cast<llvm::ConstantFP>(y);
    if (known != nullptr && !known->isZero() && !known->isNaN()) return extreme;
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
