#include "backends/codegen/extreme.h"

#include <algorithm>

#include "backends/codegen/rare.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"

namespace xc::codegen {
namespace {
using V = llvm::Value*;
}  // namespace

Extreme::Extreme(ElementEmitter& e, HloOpcode op, ElementType type)
    : e_(e),
      b_(e.builder()),
      type_(type),
      largest_(op == HloOpcode::kMaximum),
      mask_registers_(e.target().masked_memory),
      halves_(type == ElementType::kF16 && e.target().halves) {}

V Extreme::Take(V x) {
  if (!halves_) return x;
  V known = e_.Half(x);
  return known != nullptr ? known : e_.ExactHalf(x);
}

V Extreme::Give(V extreme) { return halves_ ? e_.FromHalf(extreme) : extreme; }

int Extreme::width() const { return halves_ ? 16 : std::max(32, 8 * StorageBytes(type_)); }

llvm::Type* Extreme::BitsType(V x) {
  return x->getType()->getWithNewType(llvm::Type::getIntNTy(b_.getContext(), x->getType()->getScalarSizeInBits()));
}

llvm::Type* Extreme::FlagType(V x) {
  return mask_registers_ ? x->getType()->getWithNewType(b_.getInt1Ty()) : BitsType(x);
}

V Extreme::Step(V total, V x) {
  V further = largest_ ? b_.CreateFCmpOGT(x, total) : b_.CreateFCmpOLT(x, total);
  return b_.CreateSelect(further, x, total);
}

V Extreme::Bits(V x) { return b_.CreateBitCast(x, BitsType(x)); }

// Of the largest numbers, 0 counts before -0: the sign is that which all elements have.
V Extreme::JoinBits(V bits, V x) { return largest_ ? b_.CreateAnd(bits, Bits(x)) : b_.CreateOr(bits, Bits(x)); }

V Extreme::NoNan(V like) { return llvm::Constant::getNullValue(FlagType(like)); }

V Extreme::JoinNan(V nan, V x, V y) {
  V found = b_.CreateFCmpUNO(x, y);
  return b_.CreateOr(nan, mask_registers_ ? found : b_.CreateSExt(found, FlagType(x)));
}

V Extreme::FinishRow(V total, V bits, V nan) {
  if (!mask_registers_) nan = b_.CreateICmpNE(nan, llvm::Constant::getNullValue(nan->getType()));
  V any_nan = b_.CreateOrReduce(nan);
  V is_zero = b_.CreateFCmpOEQ(total, llvm::ConstantFP::get(total->getType(), 0));
  return EmitUnlessRare(b_, b_.CreateOr(any_nan, is_zero), total, [&] {
    V all = largest_ ? b_.CreateAndReduce(bits) : b_.CreateOrReduce(bits);
    return FinishLanes(total, all, any_nan);
  });
}

V Extreme::FinishLanes(V total, V bits, V nan) {
  llvm::Type* type = total->getType();
  if (nan->getType() == bits->getType()) nan = b_.CreateICmpNE(nan, llvm::Constant::getNullValue(nan->getType()));
  V is_zero = b_.CreateFCmpOEQ(total, llvm::ConstantFP::get(type, 0));
  V zero =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, llvm::ConstantFP::get(type, 0), b_.CreateBitCast(bits, type));
  return b_.CreateSelect(nan, llvm::ConstantFP::getNaN(type), b_.CreateSelect(is_zero, zero, total));
}

}  // namespace xc::codegen
