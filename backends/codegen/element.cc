// Register and memory forms of the element types, and conversion between all of them.
#include "backends/codegen/element.h"

#include <cmath>

#include "backends/codegen/rare.h"
#include "hlo/base/check.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"

namespace xc::codegen {
namespace {

using V = llvm::Value*;

}  // namespace

int ElementEmitter::Lanes(V value) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector == nullptr ? 1 : vector->getNumElements();
}

llvm::Type* ElementEmitter::RegisterType(ElementType type, int lanes) {
  llvm::Type* scalar;
  type = ComplexComponent(type);
  if (type == ElementType::kPred) {
    scalar = b_.getInt1Ty();
  } else if (type == ElementType::kF64) {
    scalar = b_.getDoubleTy();
  } else if (IsFloating(type)) {
    scalar = b_.getFloatTy();
  } else {
    scalar = b_.getIntNTy(8 * StorageBytes(type));
  }
  return lanes <= 1 ? scalar : llvm::FixedVectorType::get(scalar, lanes);
}

llvm::Type* ElementEmitter::MemoryType(ElementType type, int lanes) {
  type = ComplexComponent(type);
  if (type == ElementType::kF32 || type == ElementType::kF64) return RegisterType(type, lanes);
  llvm::Type* scalar = b_.getIntNTy(8 * StorageBytes(type));
  return lanes <= 1 ? scalar : llvm::FixedVectorType::get(scalar, lanes);
}

V ElementEmitter::FromMemory(ElementType type, V raw) {
  type = ComplexComponent(type);
  if (type == ElementType::kPred) return b_.CreateICmpNE(raw, llvm::Constant::getNullValue(raw->getType()));
  if (!IsNarrowFloat(type)) return raw;
  V bits = b_.CreateZExt(raw, RegisterType(ElementType::kS32, Lanes(raw)));
  return Keep(type, Widen(type, bits), bits);
}

V ElementEmitter::Keep(ElementType type, V value, V bits) {
  if (!llvm::isa<llvm::Constant>(value)) narrow_bits_[{type, value}] = bits;
  return value;
}

V ElementEmitter::ToMemory(ElementType type, V value) {
  type = ComplexComponent(type);
  if (type == ElementType::kPred) return b_.CreateZExt(value, MemoryType(type, Lanes(value)));
  if (!IsNarrowFloat(type)) return value;
  auto known = narrow_bits_.find({type, value});
  V bits = known != narrow_bits_.end() ? known->second : Narrow(type, value);
  return b_.CreateTrunc(bits, MemoryType(type, Lanes(value)));
}

V ElementEmitter::SignExtendFrom(V x, int bits) {
  const int width = x->getType()->getScalarSizeInBits();
  V shift = llvm::ConstantInt::get(x->getType(), width - bits);
  return b_.CreateAShr(b_.CreateShl(x, shift), shift);
}

V ElementEmitter::Normalize(ElementType type, V value) {
  type = ComplexComponent(type);
  if (IsNarrowFloat(type)) {
    if (type == ElementType::kBF16) {
      // The general path keeps the low half out of the register only after a shift pair; masking is the same.
      llvm::Type* i32 = RegisterType(ElementType::kS32, Lanes(value));
      V bits = Narrow(type, value);
      return Keep(type, b_.CreateBitCast(b_.CreateShl(bits, llvm::ConstantInt::get(i32, 16)), value->getType()), bits);
    }
    V bits = Narrow(type, value);
    return Keep(type, Widen(type, bits), bits);
  }
  if (IsIntegral(type) && ElementBits(type) < 8) {
    if (IsSignedInt(type)) return SignExtendFrom(value, ElementBits(type));
    return b_.CreateAnd(value, llvm::ConstantInt::get(value->getType(), (1 << ElementBits(type)) - 1));
  }
  return value;
}

V ElementEmitter::NormalizeMachineResult(ElementType type, V value) {
  if (type != ElementType::kBF16 || target_.bf16) return Normalize(type, value);
  // Less than half a unit is added to a NaN, so that it stays as it is: nothing has to tell it from numbers.
  llvm::Type* i32 = RegisterType(ElementType::kS32, Lanes(value));
  auto I = [&](int64_t v) { return llvm::ConstantInt::get(i32, v); };
  V sum = RoundBF16(b_.CreateBitCast(value, i32));
  V rounded = b_.CreateBitCast(b_.CreateAnd(sum, I(0xffff0000)), value->getType());
  return Keep(type, rounded, b_.CreateLShr(sum, I(16)));
}

V ElementEmitter::IntToFloat(ElementType from, ElementType to, V x) {
  const int lanes = Lanes(x);
  // One masked move, where a conversion takes four instructions on vectors.
  if (from == ElementType::kPred) {
    llvm::Type* t = RegisterType(to, lanes);
    return Normalize(to, b_.CreateSelect(x, llvm::ConstantFP::get(t, 1), llvm::ConstantFP::get(t, 0)));
  }
  const bool is_signed = IsSignedInt(from);
  auto cast = [&](V v, ElementType type) {
    llvm::Type* t = RegisterType(type, lanes);
    return is_signed ? b_.CreateSIToFP(v, t) : b_.CreateUIToFP(v, t);
  };
  if (to == ElementType::kF32 || to == ElementType::kF64) return Normalize(to, cast(x, to));
  const int bits = ElementBits(from);
  if (bits <= 16) return Normalize(to, cast(x, ElementType::kF32));
  // Numbers of more digits than the wider type has lose their low bits to one that decides ties, so that the conversion
  // to that type is harmless.
  const auto large = [&](int digits) {
    auto I = [&](int64_t v) { return llvm::ConstantInt::get(x->getType(), v); };
    if (!is_signed) return b_.CreateICmpUGE(x, I(int64_t{1} << digits));
    return b_.CreateICmpUGE(b_.CreateAdd(x, I(int64_t{1} << digits)), I(int64_t{2} << digits));
  };
  if (bits == 32) {
    V cut = b_.CreateSelect(large(24), OddWhereCut(x, (1 << 8) - 1), x);
    return NormalizeMachineResult(to, cast(cut, ElementType::kF32));
  }
  V is_large = large(52);
  const auto cut = [&] { return cast(b_.CreateSelect(is_large, OddWhereCut(x, (1 << 11) - 1), x), ElementType::kF64); };
  V wide = lanes == 1 ? cut() : EmitUnlessRare(b_, b_.CreateOrReduce(is_large), cast(x, ElementType::kF64), cut);
  return NormalizeMachineResult(to, RoundToFloat(wide));
}

V ElementEmitter::FloatToInt(ElementType from, ElementType to, V x) {
  // What does not fit becomes the nearest number that does, NaN becomes 0. LLVM's saturating conversions say the same;
  // of vectors it makes scalars.
  const int lanes = Lanes(x), bits = ElementBits(to);
  const bool is_signed = IsSignedInt(to);
  const double low = is_signed ? -std::ldexp(1.0, bits - 1) : 0, above = std::ldexp(1.0, is_signed ? bits - 1 : bits);
  auto F = [&](double v) { return llvm::ConstantFP::get(x->getType(), v); };
  auto less = [&](V a, V b) { return b_.CreateFCmpOLT(a, b); };
  V y = b_.CreateSelect(less(F(low), x), x, F(low));
  // Whether the largest number is one of x's type.
  const bool exact = bits - (is_signed ? 1 : 0) <= (x->getType()->getScalarType()->isDoubleTy() ? 53 : 24);
  V fits = less(y, F(exact ? above - 1 : above));
  y = b_.CreateSelect(fits, y, F(exact ? above - 1 : low));
  llvm::Type* wide = RegisterType(bits > 32 ? ElementType::kS64 : ElementType::kS32, lanes);
  V n = is_signed || bits < 32 ? b_.CreateFPToSI(y, wide) : b_.CreateFPToUI(y, wide);
  if (!exact) {
    const uint64_t most = ~uint64_t{0} >> (64 - bits + (is_signed ? 1 : 0));
    n = b_.CreateSelect(fits, n, llvm::ConstantInt::get(wide, most));
  }
  n = b_.CreateSelect(b_.CreateFCmpORD(x, x), n, llvm::Constant::getNullValue(wide));
  return b_.CreateTrunc(n, RegisterType(to, lanes));
}

Element ElementEmitter::Convert(ElementType from, ElementType to, Element x) {
  if (from == to) return x;
  if (IsComplex(to)) {
    const ElementType part = ComplexComponent(to);
    Element re = Convert(ComplexComponent(from), part, {x.re});
    if (IsComplex(from)) return {re.re, Convert(ComplexComponent(from), part, {x.im}).re};
    return {re.re, llvm::Constant::getNullValue(re.re->getType())};
  }
  if (IsComplex(from) && to == ElementType::kPred) {
    V zero = llvm::Constant::getNullValue(x.re->getType());
    return {b_.CreateOr(b_.CreateFCmpUNE(x.re, zero), b_.CreateFCmpUNE(x.im, zero))};
  }
  if (IsComplex(from)) return Convert(ComplexComponent(from), to, {x.re});
  V v = x.re;
  const int lanes = Lanes(v);
  if (to == ElementType::kPred) {
    V zero = llvm::Constant::getNullValue(v->getType());
    return {IsFloating(from) ? b_.CreateFCmpUNE(v, zero) : b_.CreateICmpNE(v, zero)};
  }
  if (IsFloating(to)) {
    if (!IsFloating(from)) return {IntToFloat(from, to, v)};
    if (to == ElementType::kF64) return {b_.CreateFPExt(v, RegisterType(to, lanes))};
    if (from != ElementType::kF64) return {Normalize(to, v)};
    if (to == ElementType::kF32) return {b_.CreateFPTrunc(v, RegisterType(to, lanes))};
    return {Normalize(to, RoundToFloat(v))};
  }
  if (IsFloating(from)) return {FloatToInt(from, to, v)};
  llvm::Type* t = RegisterType(to, lanes);
  V y = IsSignedInt(from) ? b_.CreateSExtOrTrunc(v, t) : b_.CreateZExtOrTrunc(v, t);
  return {Normalize(to, y)};
}

Element ElementEmitter::BitcastConvert(ElementType from, ElementType to, Element x) {
  if (from == to || (IsComplex(from) && IsComplex(to))) return x;
  V raw = ToMemory(from, x.re);
  V out = b_.CreateBitCast(raw, MemoryType(to, Lanes(raw)));
  if (to == ElementType::kPred) return {b_.CreateICmpNE(out, llvm::Constant::getNullValue(out->getType()))};
  return {Normalize(to, FromMemory(to, out))};
}

V ElementEmitter::Splat(V value, int lanes) {
  if (lanes <= 1 || value->getType()->isVectorTy()) return value;
  V all = b_.CreateVectorSplat(lanes, value);
  if (!target_.halves) return all;
  auto known = narrow_bits_.find({ElementType::kF16, value});
  return known == narrow_bits_.end() ? all : Keep(ElementType::kF16, all, b_.CreateVectorSplat(lanes, known->second));
}

Element ElementEmitter::Splat(Element value, int lanes) {
  value.re = Splat(value.re, lanes);
  if (value.im != nullptr) value.im = Splat(value.im, lanes);
  return value;
}

void ElementEmitter::Broadcast(absl::Span<Element> values) {
  int lanes = 1;
  for (const Element& e : values) lanes = std::max(lanes, Lanes(e.re));
  for (Element& e : values) e = Splat(e, lanes);
}

Element ElementEmitter::Select(V condition, Element yes, Element no) {
  Element all[] = {{condition}, yes, no};
  Broadcast(absl::MakeSpan(all));
  if (V chosen = SelectHalves(all[0].re, all[1].re, all[2].re); chosen != nullptr && yes.im == nullptr) return {chosen};
  Element chosen{b_.CreateSelect(all[0].re, all[1].re, all[2].re)};
  if (yes.im != nullptr) chosen.im = b_.CreateSelect(all[0].re, all[1].im, all[2].im);
  return chosen;
}

Element ElementEmitter::Constant(ElementType type, double value) {
  llvm::Type* t = RegisterType(type);
  Element e;
  if (type == ElementType::kPred) {
    e.re = b_.getInt1(value != 0);
  } else if (IsFloating(type) || IsComplex(type)) {
    e.re = llvm::ConstantFP::get(t, value);
    if (IsComplex(type)) e.im = llvm::ConstantFP::get(t, 0);
  } else {
    e.re = llvm::ConstantInt::get(t, static_cast<int64_t>(value), IsSignedInt(type));
  }
  return e;
}

}  // namespace xc::codegen
