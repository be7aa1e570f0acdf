// Dispatch of elementwise ops by the kind of their operands' type; ops that keep or select bits of any type are here.
#include "backends/codegen/elementwise.h"

#include "absl/strings/str_cat.h"
#include "backends/codegen/elementwise_internal.h"
#include "backends/codegen/quotients.h"
#include "backends/codegen/rare.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"

namespace xc::codegen {
namespace {

using V = llvm::Value*;

// Types that hold whatever ops of the trait kExact give: both zeros, NaN, and the integer that follows each fraction.
bool HoldsExactResults(ElementType type) {
  switch (type) {
    case ElementType::kF64:
    case ElementType::kF32:
    case ElementType::kBF16:
    case ElementType::kF16:
    case ElementType::kF8E5M2:
    case ElementType::kF8E4M3:
    case ElementType::kF8E4M3FN:
      return true;
    default:
      return false;
  }
}

// Whether the second operand of an op of integers is better one number for all lanes of the first, where it is one:
// powers, and shifts of bytes. Machines that shift wider lanes by as much as each lane says do so in less time.
bool TakesOneForAll(HloOpcode op, ElementType type) {
  switch (op) {
    case HloOpcode::kPower:
      return true;
    case HloOpcode::kShiftLeft:
    case HloOpcode::kShiftRightArithmetic:
    case HloOpcode::kShiftRightLogical:
      return StorageBytes(type) == 1;
    default:
      return false;
  }
}

// Ops that the machine has, for all registers of floats.
bool IsMachineOp(HloOpcode op) {
  switch (op) {
    case HloOpcode::kAdd:
    case HloOpcode::kSubtract:
    case HloOpcode::kMultiply:
    case HloOpcode::kDivide:
    case HloOpcode::kSqrt:
      return true;
    default:
      return false;
  }
}

// x / d for bf16 values in vectors x and a divisor d that all lanes share, before rounding to bf16. The product with
// the divisor's f32 reciprocal, where that is normal, rounds to the same bf16 number. It is off by 2^-22 at most, and
// quotients of two numbers of 8 digits keep a relative distance of 2^-17 from what lies half-way between two others. A
// denormal quotient keeps at least 2^-142 from such a place, with errors of 2^-149, or is one: then the reciprocal's
// error is less than half of an f32's last place there, and the product rounds to the quotient. (All pairs were tried.)
V DivideByUniform(ElementEmitter& e, V x, V d) {
  auto& b = e.builder();
  const int lanes = ElementEmitter::Lanes(x);
  auto F = [&](V like, double v) { return llvm::ConstantFP::get(like->getType(), v); };
  V reciprocal = b.CreateFDiv(F(d, 1), d);
  V size = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, d);
  V safe = b.CreateAnd(b.CreateFCmpOGE(size, F(d, 0x1p-126)), b.CreateFCmpOLE(size, F(d, 0x1p126)));
  V product = b.CreateFMul(x, e.Splat(reciprocal, lanes));
  return EmitUnlessRare(b, b.CreateNot(safe), product, [&] { return b.CreateFDiv(x, e.Splat(d, lanes)); });
}

}  // namespace

absl::StatusOr<Element> EmitElementwise(ElementEmitter& e, const HloInstruction& instruction,
                                        absl::Span<const Element> operands, bool round) {
  auto& b = e.builder();
  std::vector<Element> x(operands.begin(), operands.end());
  e.Broadcast(absl::MakeSpan(x));
  const HloOpcode op = instruction.opcode();
  const ElementType to = instruction.type();
  const ElementType type = instruction.operand_count() > 0 ? instruction.operand(0)->type() : to;
  if (op == HloOpcode::kDivide && round && ElementEmitter::Lanes(operands[0].re) > 1 &&
      ElementEmitter::Lanes(operands[1].re) == 1) {
    V dividend = operands[0].re, divisor = operands[1].re;
    if (type == ElementType::kBF16) return Element{e.NormalizeMachineResult(to, DivideByUniform(e, dividend, divisor))};
    if (type == ElementType::kF64 && e.target().fma) {
      Reciprocals reciprocals = EmitReciprocals(e, type, divisor);
      reciprocals.values = e.Splat(reciprocals.values, ElementEmitter::Lanes(dividend));
      return Element{EmitQuotient(e, type, dividend, x[1].re, reciprocals)};
    }
  }
  if (round && (op == HloOpcode::kSelect ? to : type) == ElementType::kF16) {
    if (Element y = EmitHalfOp(e, instruction, x)) return y;
  }
  std::vector<V> re;
  for (const Element& element : x) re.push_back(element.re);
  // One exponent of integers decides for all lanes how often to multiply, one amount how to shift.
  if (!IsFloating(type) && !IsComplex(type) && TakesOneForAll(op, type)) re[1] = operands[1].re;
  const bool exact = (OpcodeTraits(op) & kExact) && HoldsExactResults(to);
  auto finish = [&](V value) -> Element {
    if (!round || exact) return {value};
    return {IsMachineOp(op) ? e.NormalizeMachineResult(to, value) : e.Normalize(to, value)};
  };
  switch (op) {
    case HloOpcode::kConvert:
      return e.Convert(type, to, x[0]);
    case HloOpcode::kBitcastConvert:
      return e.BitcastConvert(type, to, x[0]);
    case HloOpcode::kCompare:
      return Element{EmitCompare(e, instruction, x)};
    case HloOpcode::kSelect: {
      Element y{b.CreateSelect(x[0].re, x[1].re, x[2].re)};
      if (x[1].im != nullptr) y.im = b.CreateSelect(x[0].re, x[1].im, x[2].im);
      return y;
    }
    case HloOpcode::kReal:
      return Element{x[0].re};
    case HloOpcode::kImag:
      return Element{x[0].im != nullptr ? x[0].im : e.ZeroOf(to).re};
    case HloOpcode::kComplex:
      return Element{x[0].re, x[1].re};
    case HloOpcode::kReducePrecision:
      return finish(EmitReducePrecision(e, type, instruction.attr<AttrKind::kExponentBits>(),
                                        instruction.attr<AttrKind::kMantissaBits>(), x[0].re));
    default:
      break;
  }
  Element y;
  if (IsComplex(type)) {
    y = EmitComplexOp(e, op, x);
  } else if (IsFloating(type)) {
    if (instruction.shape().IsScalar()) y.re = EmitScalarCall(e, op, re.data());
    if (y.re == nullptr) y.re = EmitFloatOp(e, op, re.data());
    if (y.re != nullptr && op != HloOpcode::kIsFinite) y = finish(y.re);
  } else {
    y.re = EmitIntegerOp(e, op, type, re.data());
    if (y.re != nullptr) y.re = e.Normalize(to, y.re);
  }
  if (!y) {
    return absl::UnimplementedError(
        absl::StrCat("no code for ", OpcodeName(op), " of ", ElementTypeName(type), " in ", instruction.name()));
  }
  return y;
}

}  // namespace xc::codegen
