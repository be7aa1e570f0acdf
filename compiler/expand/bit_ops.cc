// Ops on the bits of elements: bitcast-convert between widths below a byte, and stochastic-convert.
#include <cmath>
#include <limits>

#include "compiler/expand/expand.h"
#include "compiler/make.h"

namespace xc {
namespace {

using I = HloInstruction;

// The unsigned type of so many bits; kInvalid if there is none.
ElementType UnsignedOf(int bits) {
  switch (bits) {
    case 1:
      return ElementType::kU1;
    case 2:
      return ElementType::kU2;
    case 4:
      return ElementType::kU4;
    case 8:
      return ElementType::kU8;
    case 16:
      return ElementType::kU16;
    case 32:
      return ElementType::kU32;
    case 64:
      return ElementType::kU64;
    default:
      return ElementType::kInvalid;
  }
}

// The same bits as another type of equal width and kind.
I* Retype(I* x, ElementType type) {
  if (x->type() == type) return x;
  return x->parent()->Add(HloOpcode::kBitcastConvert, WithType(WithoutLayout(x->shape()), type), {x});
}

Int64List WithLast(Int64List dims, int64_t last) {
  dims.push_back(last);
  return dims;
}

// 0, bits, 2 bits, … along the last of `dims`.
I* Shifts(HloComputation* computation, ElementType type, const Int64List& dims, int bits) {
  Literal shifts(Shape(type, {dims.back()}));
  for (int64_t i = 0; i < dims.back(); ++i) shifts.SetInt(i, i * bits);
  I* row = computation->Add(I::CreateConstant(std::move(shifts)));
  return make::Broadcast(row, dims, {static_cast<int64_t>(dims.size()) - 1});
}

// Real elements, low parts first.
I* Split(I* x, ElementType to) {
  const int wide_bits = ElementBits(x->type()), bits = ElementBits(to);
  const ElementType wide = UnsignedOf(wide_bits), narrow = UnsignedOf(bits);
  if (wide == ElementType::kInvalid || narrow == ElementType::kInvalid) return nullptr;
  const Int64List dims = WithLast(x->shape().dims(), wide_bits / bits);
  I* spread = make::Broadcast(Retype(x, wide), dims, make::Iota(x->shape().rank()));
  I* low = make::Binary(HloOpcode::kShiftRightLogical, spread, Shifts(x->parent(), wide, dims, bits));
  return Retype(make::Convert(low, narrow), to);
}

I* Join(I* x, ElementType to, HloModule* module) {
  const int bits = ElementBits(x->type());
  const ElementType wide = UnsignedOf(ElementBits(to)), narrow = UnsignedOf(bits);
  if (wide == ElementType::kInvalid || narrow == ElementType::kInvalid || x->shape().IsZeroSized()) return nullptr;
  const Int64List& dims = x->shape().dims();
  I* parts = make::Binary(HloOpcode::kShiftLeft, make::Convert(Retype(x, narrow), wide),
                          Shifts(x->parent(), wide, dims, bits));
  I* joined = make::Reduce(parts, make::ScalarInt(x->parent(), wide, 0), {x->shape().rank() - 1},
                           make::Combiner(module, HloOpcode::kOr, wide));
  return Retype(joined, to);
}

I* BitcastWidths(I* op, HloModule* module) {
  I* x = op->operand(0);
  const ElementType from = x->type(), to = op->type();
  if (ElementBits(from) == ElementBits(to) || op->shape().is_dynamic() || x->shape().is_dynamic()) return nullptr;
  // Whole bytes are the same memory seen as another type.
  if (!IsSubByte(from) && !IsSubByte(to) && to != ElementType::kPred) return nullptr;
  if (op->shape().IsZeroSized()) return make::Full(op->parent(), to, op->shape().dims(), 0);
  return ElementBits(from) > ElementBits(to) ? Split(x, to) : Join(x, to, module);
}

// x rounded towards zero or away from it; the random bits, as a fraction of their range, decide: away with the
// probability that makes the mean x. The arithmetic is that of f64 in every type.
struct Stochastic {
  HloComputation* computation;
  Int64List dims;
  ElementType to;
  I *x, *fraction;

  explicit Stochastic(I* op) : computation(op->parent()), dims(op->shape().dims()), to(op->type()) {
    x = make::Convert(op->operand(0), ElementType::kF64);
    I* random = make::Convert(op->operand(1), ElementType::kF64);
    double scale = 1;
    for (int i = 0; i < ElementBits(op->operand(1)->type()); ++i) scale /= 2;
    fraction = make::Binary(HloOpcode::kMultiply, random, Number(scale));
  }
  I* Number(double value) { return make::Full(computation, ElementType::kF64, dims, value); }
  I* Abs(I* v) { return make::Unary(HloOpcode::kAbs, v); }
  I* Sub(I* a, I* b) { return make::Binary(HloOpcode::kSubtract, a, b); }
  I* Below(I* a, I* b) { return make::Compare(CompareDirection::kLt, a, b); }
  I* Value(I* bits) { return make::Convert(Retype(bits, to), ElementType::kF64); }

  I* ToInteger() {
    I* down = make::Select(Below(x, Number(0)), make::Unary(HloOpcode::kCeil, x), make::Unary(HloOpcode::kFloor, x));
    I* away = make::Binary(HloOpcode::kAdd, down, make::Unary(HloOpcode::kSign, x));
    return make::Convert(make::Select(Below(fraction, Abs(Sub(x, down))), away, down), to);
  }
  // Types that have no integers of their width, nor infinities: multiples of a power of two that follows from the
  // exponent, at least 2^min_exponent / 2^mantissa_bits. What is beyond the largest number becomes that.
  I* ToSteps(int mantissa_bits, int min_exponent, double largest) {
    I* exponent_mask = make::Broadcast(make::ScalarInt(computation, ElementType::kU64, int64_t{0x7ff} << 52), dims, {});
    I* size = Abs(x);
    I* power = Retype(make::Binary(HloOpcode::kAnd, Retype(size, ElementType::kU64), exponent_mask), ElementType::kF64);
    I* lowest =
        make::Select(Below(power, Number(std::ldexp(1, min_exponent))), Number(std::ldexp(1, min_exponent)), power);
    I* step = make::Binary(HloOpcode::kMultiply, lowest, Number(std::ldexp(1, -mantissa_bits)));
    I* steps = make::Binary(HloOpcode::kDivide, size, step);
    I* whole = make::Unary(HloOpcode::kFloor, steps);
    I* up = make::Binary(HloOpcode::kAdd, whole, Number(1));
    I* chosen = make::Select(Below(fraction, Sub(steps, whole)), up, whole);
    I* rounded = make::Binary(HloOpcode::kMultiply, chosen, step);
    rounded = make::Select(Below(size, Number(largest)), rounded, Number(largest));
    rounded = make::Select(Below(x, Number(0)), make::Unary(HloOpcode::kNegate, rounded), rounded);
    I* inexact = make::Binary(HloOpcode::kAnd, Finite(x), make::Compare(CompareDirection::kNe, whole, steps));
    inexact = make::Binary(HloOpcode::kOr, inexact, Below(Number(largest), size));
    return make::Convert(make::Select(inexact, rounded, x), to);
  }
  I* Finite(I* v) { return computation->Add(HloOpcode::kIsFinite, Shape(ElementType::kPred, dims), {v}); }
  // The neighbour towards zero and the one beyond it are adjacent bit patterns.
  I* ToFloat() {
    const ElementType bits_type = UnsignedOf(ElementBits(to));
    if (to == ElementType::kF6E2M3FN) return ToSteps(3, 0, 7.5);
    if (to == ElementType::kF6E3M2FN) return ToSteps(2, -2, 28);
    if (bits_type == ElementType::kInvalid) return nullptr;
    I* one = make::Broadcast(make::ScalarInt(computation, bits_type, 1), dims, {});
    I* nearest = make::Convert(x, to);
    I* bits = Retype(nearest, bits_type);
    I* too_far = Below(Abs(x), Abs(make::Convert(nearest, ElementType::kF64)));
    bits = make::Select(too_far, Sub(bits, one), bits);
    I *down = Value(bits), *up = Value(make::Binary(HloOpcode::kAdd, bits, one));
    I* finite = Finite(up);
    // Beyond the largest number: the step is as wide as the one below it.
    I* step = make::Select(finite, Sub(up, down), Sub(down, Value(Sub(bits, one))));
    const double infinity = std::numeric_limits<double>::infinity();
    I* infinite = make::Select(Below(x, Number(0)), Number(-infinity), Number(infinity));
    I* away = make::Select(finite, up, infinite);
    I* share = make::Binary(HloOpcode::kDivide, Sub(x, down), step);
    I* rounded = make::Select(Below(fraction, share), away, down);
    I* inexact = make::Binary(HloOpcode::kAnd, Finite(x), make::Compare(CompareDirection::kNe, down, x));
    return make::Convert(make::Select(inexact, rounded, x), to);
  }
};

I* StochasticConvert(I* op) {
  if (op->shape().is_dynamic() || op->operand(0)->shape().is_dynamic() || IsComplex(op->type())) return nullptr;
  Stochastic s(op);
  return IsFloating(op->type()) ? s.ToFloat() : s.ToInteger();
}

}  // namespace

absl::StatusOr<bool> ExpandBitOps(HloModule* module, PassContext& context) {
  bool changed = false;
  for (HloComputation* computation : module->ComputationPostOrder()) {
    for (I* op : computation->PostOrder()) {
      I* value = nullptr;
      if (op->opcode() == HloOpcode::kBitcastConvert) value = BitcastWidths(op, module);
      if (op->opcode() == HloOpcode::kStochasticConvert) value = StochasticConvert(op);
      if (value == nullptr) continue;
      context.Count("bit_ops.expanded");
      computation->Replace(op, value);
      changed = true;
    }
    if (computation->RemoveDead()) changed = true;
  }
  return changed;
}

}  // namespace xc
