// Rewrite rows of type conversions.
#include "compiler/make.h"
#include "compiler/simplify/simplify.h"
#include "hlo/analysis/pattern.h"

namespace xc {
namespace {

using I = HloInstruction;

struct FloatFormat {
  int mantissa = 0;  // explicit bits
  int min_exponent = 0, max_exponent = 0;
};

bool FormatOf(ElementType type, FloatFormat* format) {
  switch (type) {
    case ElementType::kF16:
      *format = {10, -14, 15};
      return true;
    case ElementType::kBF16:
      *format = {7, -126, 127};
      return true;
    case ElementType::kF32:
      *format = {23, -126, 127};
      return true;
    case ElementType::kF64:
      *format = {52, -1022, 1023};
      return true;
    default:
      return false;
  }
}

// Whether every value of `from` is a value of `to`.
bool IsLossless(ElementType from, ElementType to) {
  if (from == to) return true;
  if (to == ElementType::kF8E8M0FNU) return false;  // it has neither zero nor signs
  if (from == ElementType::kPred) return IsFloating(to) || (IsIntegral(to) && ElementBits(to) > 1);
  if (IsIntegral(from) && IsIntegral(to)) {
    if (IsUnsignedInt(from)) return ElementBits(to) > ElementBits(from) - (IsUnsignedInt(to) ? 1 : 0);
    return IsSignedInt(to) && ElementBits(to) >= ElementBits(from);
  }
  FloatFormat a, b;
  if (IsIntegral(from) && FormatOf(to, &b)) {
    return ElementBits(from) - (IsSignedInt(from) ? 1 : 0) <= b.mantissa + 1 && to != ElementType::kF16;
  }
  if (FormatOf(from, &a) && FormatOf(to, &b)) {
    return b.mantissa >= a.mantissa && b.max_exponent >= a.max_exponent && b.min_exponent <= a.min_exponent;
  }
  return false;
}

// convert to the type that it is -> x
I* ConvertSame(I* i, PassContext&) { return i->operand(0)->type() == i->type() ? i->operand(0) : nullptr; }

// convert(convert(x: A to B) to C) -> convert(x to C) if B holds every A
I* ConvertChain(I* i, PassContext&) {
  I *inner, *x;
  if (!m::Match(i, m::Convert(m::Convert(&inner, m::Any(&x))))) return nullptr;
  if (!IsLossless(x->type(), inner->type())) return nullptr;
  // Floats saturate on their way to integers, integers wrap.
  if (!IsFloating(x->type()) && IsFloating(inner->type()) && !IsFloating(i->type()) &&
      !IsLossless(x->type(), i->type())) {
    return nullptr;
  }
  // Integers to floats round once either way; wrapping to a narrower integer commutes with an exact widening.
  return make::Convert(x, i->type());
}

// bitcast-convert to the type that it is -> x; of a bitcast-convert -> one
I* BitcastConvertChain(I* i, PassContext&) {
  I* x = i->operand(0);
  if (x->type() == i->type()) return x;
  if (x->opcode() != HloOpcode::kBitcastConvert || !SameDims(x->shape(), x->operand(0)->shape()) ||
      !SameDims(x->shape(), i->shape())) {
    return nullptr;
  }
  if (x->operand(0)->type() == i->type()) return x->operand(0);
  return i->parent()->Add(HloOpcode::kBitcastConvert, WithoutLayout(i->shape()), {x->operand(0)});
}

// reduce-precision to at least the bits of the type -> x
I* ReducePrecisionWide(I* i, PassContext&) {
  FloatFormat format;
  if (!FormatOf(i->type(), &format)) return nullptr;
  const int64_t exponent_bits = ElementBits(i->type()) - 1 - format.mantissa;
  return i->attr<AttrKind::kExponentBits>() == exponent_bits && i->attr<AttrKind::kMantissaBits>() == format.mantissa
             ? i->operand(0)
             : nullptr;
}

}  // namespace

absl::Span<const RewriteRow> ConvertRows() {
  static constexpr RewriteRow kRows[] = {
      {"convert_same", HloOpcode::kConvert, ConvertSame},
      {"convert_chain", HloOpcode::kConvert, ConvertChain},
      {"bitcast_convert_chain", HloOpcode::kBitcastConvert, BitcastConvertChain},
      {"reduce_precision_wide", HloOpcode::kReducePrecision, ReducePrecisionWide},
  };
  return kRows;
}

}  // namespace xc
