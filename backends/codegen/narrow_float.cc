// Conversions between f32 and the narrow floating-point types, by integer arithmetic where the machine has none.
#include <cmath>

#include "backends/codegen/element.h"
#include "hlo/float_types.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"

namespace xc::codegen {
namespace {

struct NarrowFormat {
  int exponent_bits, mantissa_bits, bias;
  FloatKind kind;
};

template <typename F>
constexpr NarrowFormat NarrowFormatOf() {
  return {F::kExponentBits, F::kMantissaBits, F::kExponentBias, F::kFloatKind};
}

NarrowFormat FormatOfType(ElementType type) {
  switch (type) {
    case ElementType::kF16:
      return NarrowFormatOf<F16::Base>();
    case ElementType::kF8E5M2:
      return NarrowFormatOf<F8E5M2>();
    case ElementType::kF8E4M3:
      return NarrowFormatOf<F8E4M3>();
    case ElementType::kF8E3M4:
      return NarrowFormatOf<F8E3M4>();
    case ElementType::kF8E4M3FN:
      return NarrowFormatOf<F8E4M3FN>();
    case ElementType::kF8E4M3B11FNUZ:
      return NarrowFormatOf<F8E4M3B11FNUZ>();
    case ElementType::kF8E5M2FNUZ:
      return NarrowFormatOf<F8E5M2FNUZ>();
    case ElementType::kF8E4M3FNUZ:
      return NarrowFormatOf<F8E4M3FNUZ>();
    case ElementType::kF4E2M1FN:
      return NarrowFormatOf<F4E2M1FN>();
    case ElementType::kF6E2M3FN:
      return NarrowFormatOf<F6E2M3FN>();
    default:
      return NarrowFormatOf<F6E3M2FN>();
  }
}

using V = llvm::Value*;

}  // namespace

// The first 13 digits, of which the last is odd where more follow: two more than any narrow type has, so that rounding
// once more goes the same way. f32 holds them exactly, but for numbers that are zero in all these types.
V ElementEmitter::RoundToFloat(V wide) {
  constexpr int64_t kCut = (int64_t{1} << (52 - 12)) - 1;
  const int lanes = Lanes(wide);
  V odd = OddWhereCut(b_.CreateBitCast(wide, RegisterType(ElementType::kU64, lanes)), kCut);
  return b_.CreateFPTrunc(b_.CreateBitCast(odd, wide->getType()), RegisterType(ElementType::kF32, lanes));
}

V ElementEmitter::OddWhereCut(V x, int64_t low) {
  const auto I = [&](int64_t v) { return llvm::ConstantInt::get(x->getType(), v, /*isSigned=*/true); };
  V carry = b_.CreateAdd(b_.CreateAnd(x, I(low)), I(low));
  return b_.CreateAnd(b_.CreateOr(x, carry), I(~low));
}

llvm::Type* ElementEmitter::HalfType(int lanes) {
  return lanes == 1 ? b_.getHalfTy() : llvm::FixedVectorType::get(b_.getHalfTy(), lanes);
}

V ElementEmitter::Half(V value) {
  if (llvm::isa<llvm::Constant>(value)) {
    V half = ExactHalf(value);
    return b_.CreateFPExt(half, value->getType()) == value ? half : nullptr;
  }
  auto known = narrow_bits_.find({ElementType::kF16, value});
  if (known == narrow_bits_.end()) return nullptr;
  const int lanes = Lanes(value);
  return b_.CreateBitCast(b_.CreateTrunc(known->second, RegisterType(ElementType::kU16, lanes)), HalfType(lanes));
}

V ElementEmitter::ExactHalf(V value) { return b_.CreateFPTrunc(value, HalfType(Lanes(value))); }

V ElementEmitter::SelectHalves(V condition, V yes, V no) {
  const bool constants = llvm::isa<llvm::Constant>(yes) && llvm::isa<llvm::Constant>(no);
  if (!target_.halves || constants || !yes->getType()->getScalarType()->isFloatTy()) return nullptr;
  V on_true = Half(yes), on_false = on_true == nullptr ? nullptr : Half(no);
  return on_false == nullptr ? nullptr : FromHalf(b_.CreateSelect(condition, on_true, on_false));
}

V ElementEmitter::FromHalf(V half) {
  const int lanes = Lanes(half);
  V bits = b_.CreateZExt(b_.CreateBitCast(half, RegisterType(ElementType::kU16, lanes)),
                         RegisterType(ElementType::kS32, lanes));
  return Keep(ElementType::kF16, ExtendHalf(half), bits);
}

// LLVM moves operations in front of an extension that it sees, and has wrong or no code for some of them on halves
// (minimum of -0 and NaN, maximum of scalars): the fence keeps them in f32.
V ElementEmitter::ExtendHalf(V half) {
  llvm::Type* f32 = RegisterType(ElementType::kF32, Lanes(half));
  return b_.CreateArithmeticFence(b_.CreateFPExt(half, f32), f32);
}

V ElementEmitter::RoundBF16(V bits) {
  auto I = [&](int64_t v) { return llvm::ConstantInt::get(bits->getType(), v); };
  if (target_.masked_memory && Lanes(bits) > 1) {
    // A sum under a mask takes the place of a shift and a sum.
    V odd = b_.CreateICmpNE(b_.CreateAnd(bits, I(0x10000)), I(0));
    return b_.CreateSelect(odd, b_.CreateAdd(bits, I(0x8000)), b_.CreateAdd(bits, I(0x7fff)));
  }
  V lsb = b_.CreateAnd(b_.CreateLShr(bits, I(16)), I(1));
  return b_.CreateAdd(b_.CreateAdd(bits, I(0x7fff)), lsb);
}

V ElementEmitter::Narrow(ElementType type, V x) {
  const int lanes = Lanes(x);
  llvm::Type* i32 = RegisterType(ElementType::kS32, lanes);
  llvm::Type* f32 = RegisterType(ElementType::kF32, lanes);
  auto I = [&](int64_t v) { return llvm::ConstantInt::get(i32, v); };
  auto F = [&](double v) { return llvm::ConstantFP::get(f32, v); };
  V raw = b_.CreateBitCast(x, i32);
  V nan = b_.CreateFCmpUNO(x, x);
  if (type == ElementType::kBF16) {
    if (target_.bf16) {
      llvm::Type* half = lanes == 1 ? b_.getBFloatTy() : llvm::FixedVectorType::get(b_.getBFloatTy(), lanes);
      return b_.CreateZExt(b_.CreateBitCast(b_.CreateFPTrunc(x, half), RegisterType(ElementType::kU16, lanes)), i32);
    }
    V rounded = b_.CreateLShr(RoundBF16(raw), I(16));
    return b_.CreateSelect(nan, b_.CreateOr(b_.CreateLShr(raw, I(16)), I(0x40)), rounded);
  }
  if (type == ElementType::kF16 && target_.f16c) {
    return b_.CreateZExt(b_.CreateBitCast(ExactHalf(x), RegisterType(ElementType::kU16, lanes)), i32);
  }
  if (type == ElementType::kF8E8M0FNU) {
    // Nearest power of two, ties to the larger one; denormal numbers included.
    V rounded = b_.CreateLShr(b_.CreateAdd(b_.CreateAnd(raw, I(0x7fffffff)), I(0x400000)), I(23));
    // Below 2^-127 everything is the smallest power; between 2^-127 and 2^-126 the field is 0 and rounds by value.
    V small = b_.CreateFCmpOLT(x, F(0x1p-126));
    V small_bits = b_.CreateZExt(b_.CreateFCmpOGE(x, F(0x1.8p-127)), i32);
    rounded = b_.CreateSelect(small, small_bits, rounded);
    V bad = b_.CreateOr(nan, b_.CreateOr(b_.CreateFCmpOLE(x, F(0)), b_.CreateICmpUGT(rounded, I(254))));
    return b_.CreateSelect(bad, I(0xff), rounded);
  }
  const NarrowFormat f = FormatOfType(type);
  const int drop = 23 - f.mantissa_bits;
  const int64_t sign_bit = int64_t{1} << (f.exponent_bits + f.mantissa_bits);
  int64_t max = sign_bit - 1;
  if (f.kind == FloatKind::kIeee) max = (((int64_t{1} << f.exponent_bits) - 1) << f.mantissa_bits) - 1;
  if (f.kind == FloatKind::kFn) max = sign_bit - 2;
  V sign = b_.CreateLShr(b_.CreateAnd(raw, I(0x80000000ll)), I(31 - f.exponent_bits - f.mantissa_bits));
  V magnitude = b_.CreateAnd(raw, I(0x7fffffff));
  V lsb = b_.CreateAnd(b_.CreateLShr(magnitude, I(drop)), I(1));
  V normal = b_.CreateLShr(b_.CreateAdd(b_.CreateAdd(magnitude, I((int64_t{1} << (drop - 1)) - 1)), lsb), I(drop));
  normal = b_.CreateSub(normal, I(int64_t{127 - f.bias} << f.mantissa_bits));
  // Adding a power whose last place is the type's smallest number rounds denormal results.
  const double magic = std::ldexp(1.0, 1 - f.bias - f.mantissa_bits + 23);
  V shifted = b_.CreateFAdd(b_.CreateBitCast(magnitude, f32), F(magic));
  V denormal = b_.CreateSub(b_.CreateBitCast(shifted, i32), b_.CreateBitCast(F(magic), i32));
  V tiny = b_.CreateICmpULT(magnitude, I(int64_t{128 - f.bias} << 23));
  V bits = b_.CreateSelect(tiny, denormal, normal);
  V overflow = b_.CreateICmpSGT(bits, I(max));
  int64_t nan_bits = sign_bit, over_bits = max;
  if (f.kind == FloatKind::kIeee) {
    over_bits = max + 1;
    nan_bits = over_bits | (int64_t{1} << (f.mantissa_bits - 1));
  } else if (f.kind == FloatKind::kFn) {
    over_bits = nan_bits = max + 1;
  } else if (f.kind == FloatKind::kFnuz) {
    over_bits = sign_bit;
  }
  bits = b_.CreateSelect(overflow, I(over_bits), bits);
  const bool signless_nan = f.kind == FloatKind::kFnuz || f.kind == FloatKind::kFinite;
  V with_sign = b_.CreateOr(bits, sign);
  if (f.kind == FloatKind::kFnuz) {
    V plain = b_.CreateOr(b_.CreateICmpEQ(bits, I(0)), b_.CreateICmpEQ(bits, I(sign_bit)));
    with_sign = b_.CreateSelect(plain, bits, with_sign);
  }
  V nan_value = signless_nan ? I(nan_bits) : b_.CreateOr(I(nan_bits), sign);
  return b_.CreateSelect(nan, nan_value, with_sign);
}

V ElementEmitter::Widen(ElementType type, V bits) {
  const int lanes = Lanes(bits);
  llvm::Type* i32 = RegisterType(ElementType::kS32, lanes);
  llvm::Type* f32 = RegisterType(ElementType::kF32, lanes);
  auto I = [&](int64_t v) { return llvm::ConstantInt::get(i32, v); };
  if (type == ElementType::kBF16) return b_.CreateBitCast(b_.CreateShl(bits, I(16)), f32);
  if (type == ElementType::kF16 && target_.f16c) {
    V h = b_.CreateBitCast(b_.CreateTrunc(bits, RegisterType(ElementType::kU16, lanes)), HalfType(lanes));
    return ExtendHalf(h);
  }
  const int64_t quiet_nan = 0x7fc00000;
  if (type == ElementType::kF8E8M0FNU) {
    V value = b_.CreateSelect(b_.CreateICmpEQ(bits, I(0)), I(0x400000), b_.CreateShl(bits, I(23)));
    return b_.CreateBitCast(b_.CreateSelect(b_.CreateICmpEQ(bits, I(0xff)), I(quiet_nan), value), f32);
  }
  const NarrowFormat f = FormatOfType(type);
  const int64_t sign_bit = int64_t{1} << (f.exponent_bits + f.mantissa_bits);
  V sign = b_.CreateShl(b_.CreateAnd(bits, I(sign_bit)), I(31 - f.exponent_bits - f.mantissa_bits));
  V magnitude = b_.CreateAnd(bits, I(sign_bit - 1));
  V normal = b_.CreateAdd(b_.CreateShl(magnitude, I(23 - f.mantissa_bits)), I(int64_t{127 - f.bias} << 23));
  V denormal =
      b_.CreateBitCast(b_.CreateFMul(b_.CreateSIToFP(magnitude, f32),
                                     llvm::ConstantFP::get(f32, std::ldexp(1.0, 1 - f.bias - f.mantissa_bits))),
                       i32);
  V value = b_.CreateSelect(b_.CreateICmpULT(magnitude, I(int64_t{1} << f.mantissa_bits)), denormal, normal);
  if (f.kind == FloatKind::kIeee) {
    const int64_t inf = ((int64_t{1} << f.exponent_bits) - 1) << f.mantissa_bits;
    value = b_.CreateSelect(b_.CreateICmpEQ(magnitude, I(inf)), I(0x7f800000), value);
    value = b_.CreateSelect(b_.CreateICmpUGT(magnitude, I(inf)), I(quiet_nan), value);
  } else if (f.kind == FloatKind::kFn) {
    value = b_.CreateSelect(b_.CreateICmpEQ(magnitude, I(sign_bit - 1)), I(quiet_nan), value);
  }
  value = b_.CreateOr(value, sign);
  if (f.kind == FloatKind::kFnuz) {
    value = b_.CreateSelect(b_.CreateICmpEQ(b_.CreateAnd(bits, I(2 * sign_bit - 1)), I(sign_bit)), I(quiet_nan), value);
  }
  return b_.CreateBitCast(value, f32);
}

}  // namespace xc::codegen
