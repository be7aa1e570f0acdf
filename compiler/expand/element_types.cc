// Element types that the runtime's kernels do not take, or only slowly, are converted around them: products of 8-bit
// floats run in f32, those of 4-bit integers in s32, convolutions and most products of f16 in f32.
#include <algorithm>

#include "compiler/expand/expand.h"
#include "compiler/make.h"
#include "hlo/base/choices.h"

namespace xc {
namespace {

using I = HloInstruction;

// The type to multiply in; integers wrap, so only the result's bits matter.
ElementType ProductType(ElementType a, ElementType b, ElementType c) {
  const ElementType types[] = {a, b, c};
  const auto any = [&](auto holds) { return std::any_of(std::begin(types), std::end(types), holds); };
  const bool wide = any([](ElementType t) { return ComplexComponent(t) == ElementType::kF64; });
  if (any([](ElementType t) { return IsComplex(t); })) return wide ? ElementType::kC128 : ElementType::kC64;
  if (any([](ElementType t) { return IsFloating(t); })) return wide ? ElementType::kF64 : ElementType::kF32;
  return ElementBits(c) >= 32 && IsIntegral(c) ? c : ElementType::kS32;
}

// Whether a product of f16 is best made of its operands as they are: of a few rows and one matrix, which is read once,
// or of large arrays, for which copies would take memory.
bool StaysF16(const I* dot) {
  constexpr int64_t kFew = 4, kLarge = int64_t{1} << 20;
  if (dot->operand(0)->shape().ElementCount() + dot->operand(1)->shape().ElementCount() > kLarge) return true;
  const DotDims& dims = dot->dot_dims();
  for (int64_t d : dims.lhs_batch) {
    if (dot->operand(0)->shape().dim(d) != 1) return false;
  }
  int64_t rows = 1;
  const int64_t batch = dims.lhs_batch.size();
  const int64_t end = dot->operand(0)->shape().rank() - static_cast<int64_t>(dims.lhs_contracting.size());
  for (int64_t d = batch; d < end; ++d) rows *= dot->shape().dim(d);
  const int64_t columns = dot->shape().ElementCount() / std::max<int64_t>(1, rows);
  return std::min(rows, columns) <= kFew;
}

I* Product(I* op) {
  I *lhs = op->operand(0), *rhs = op->operand(1);
  if (op->shape().is_dynamic() || lhs->shape().is_dynamic() || rhs->shape().is_dynamic()) return nullptr;
  if (op->opcode() == HloOpcode::kConvolution && !op->shape().IsZeroSized() &&
      (lhs->shape().IsZeroSized() || rhs->shape().IsZeroSized())) {
    return make::Full(op->parent(), op->type(), op->shape().dims(), 0);
  }
  // oneDNN's kernels, and those for few channels, take f32: twice to a hundred times as fast as patches of f16, and up
  // to four times as fast as other products.
  const bool dot = op->opcode() == HloOpcode::kDot;
  const bool slow = lhs->type() == ElementType::kF16 &&
                    (op->opcode() == HloOpcode::kConvolution || (dot && !ChooseAny(StaysF16(op))));
  if (!slow && IsProductOfKernels(lhs->type(), rhs->type(), op->type())) return nullptr;
  const ElementType type = ProductType(lhs->type(), rhs->type(), op->type());
  // A complex product does not become a real one by a conversion.
  if (IsComplex(type) != IsComplex(op->type())) return nullptr;
  std::vector<I*> operands = op->operands();
  operands[0] = make::Convert(lhs, type);
  operands[1] = make::Convert(rhs, type);
  I* product = op->parent()->Add(op->CloneWith(WithType(WithoutLayout(op->shape()), type), operands));
  return make::Convert(product, op->type());
}

// Orders the elements as the type itself does, exactly.
I* TopK(I* op) {
  I* x = op->operand(0);
  const ElementType type = x->type();
  ElementType wide = ElementType::kInvalid;
  if (type == ElementType::kPred) wide = ElementType::kU8;
  if (IsIntegral(type) && ElementBits(type) < 8) wide = IsSignedInt(type) ? ElementType::kS8 : ElementType::kU8;
  if (IsFloating(type) && ElementBits(type) < 16) wide = ElementType::kF32;
  if (wide == ElementType::kInvalid || !op->shape().IsTuple() || op->shape().tuple_size() != 2) return nullptr;
  if (op->shape().is_dynamic() || x->shape().is_dynamic()) return nullptr;
  const Shape &values = op->shape().tuple_shape(0), &numbers = op->shape().tuple_shape(1);
  I* topk = op->parent()->Add(op->CloneWith(
      Shape::Tuple({WithType(WithoutLayout(values), wide), WithoutLayout(numbers)}), {make::Convert(x, wide)}));
  return make::Tuple(op->parent(),
                     {make::Convert(make::GetTupleElement(topk, 0), type), make::GetTupleElement(topk, 1)});
}

I* Solve(I* op) {
  if (!IsFloating(op->type()) || ElementBits(op->type()) >= 32 || op->shape().is_dynamic()) return nullptr;
  std::vector<I*> operands;
  for (I* operand : op->operands()) operands.push_back(make::Convert(operand, ElementType::kF32));
  I* wide = op->parent()->Add(op->CloneWith(WithType(WithoutLayout(op->shape()), ElementType::kF32), operands));
  return make::Convert(wide, op->type());
}

// Random bits come in whole bytes, of which the low bits are kept.
I* RandomBits(I* op) {
  if (!op->shape().IsTuple() || op->shape().tuple_size() != 2) return nullptr;
  const Shape& bits = op->shape().tuple_shape(1);
  if (!bits.IsArray() || !IsIntegral(bits.type()) || ElementBits(bits.type()) >= 8) return nullptr;
  I* bytes = op->parent()->Add(op->CloneWith(
      Shape::Tuple({WithoutLayout(op->shape().tuple_shape(0)), WithType(WithoutLayout(bits), ElementType::kU8)}),
      op->operands()));
  return make::Tuple(op->parent(),
                     {make::GetTupleElement(bytes, 0), make::Convert(make::GetTupleElement(bytes, 1), bits.type())});
}

// Random numbers are made in f32 or whole bytes; what the conversion rounds up to the end of a uniform range becomes
// its beginning.
I* RandomNumbers(I* op) {
  const ElementType type = op->type();
  ElementType wide = ElementType::kInvalid;
  if (IsFloating(type) && ElementBits(type) < 16) wide = ElementType::kF32;
  if (IsIntegral(type) && ElementBits(type) < 8) wide = IsSignedInt(type) ? ElementType::kS8 : ElementType::kU8;
  if (wide == ElementType::kInvalid || op->operand_count() != 2 || op->shape().is_dynamic()) return nullptr;
  const bool normal = op->attr<AttrKind::kDistribution>() == RandomDistribution::kNormal;
  I *low = op->operand(0), *high = make::Convert(op->operand(1), wide);
  I* numbers =
      op->parent()->Add(op->CloneWith(WithType(WithoutLayout(op->shape()), wide), {make::Convert(low, wide), high}));
  I* narrow = make::Convert(numbers, type);
  if (normal || !IsFloating(type)) return narrow;
  const Int64List& dims = op->shape().dims();
  I* inside = make::Compare(CompareDirection::kLt, make::Convert(narrow, wide), make::Broadcast(high, dims, {}));
  return make::Select(inside, narrow, make::Broadcast(low, dims, {}));
}

I* InWiderType(I* op) {
  switch (op->opcode()) {
    case HloOpcode::kRng:
      return RandomNumbers(op);
    case HloOpcode::kDot:
      return op->FindAttr<AttrKind::kSparsity>() == nullptr ? Product(op) : nullptr;
    case HloOpcode::kConvolution:
    case HloOpcode::kRaggedDot:
      return Product(op);
    case HloOpcode::kTopk:
      return TopK(op);
    case HloOpcode::kCustomCall:
      return op->custom_call_target() == "TopK" && op->operand_count() == 1 ? TopK(op) : nullptr;
    case HloOpcode::kCholesky:
    case HloOpcode::kTriangularSolve:
      return Solve(op);
    case HloOpcode::kRngBitGenerator:
      return RandomBits(op);
    default:
      return nullptr;
  }
}

}  // namespace

bool IsProductOfKernels(ElementType a, ElementType b, ElementType c) {
  const auto plain = [](ElementType t) { return IsKernelFloat(t) || IsComplex(t) || (IsIntegral(t) && !IsSubByte(t)); };
  const auto byte = [](ElementType t) { return t == ElementType::kS8 || t == ElementType::kU8; };
  if (a == b && b == c) return plain(a);
  if (a == b && c == ElementType::kF32 && (a == ElementType::kF16 || a == ElementType::kBF16)) return true;
  return byte(a) && byte(b) && c == ElementType::kS32;
}

absl::StatusOr<bool> WidenElementTypes(HloModule* module, PassContext& context) {
  bool changed = false;
  for (HloComputation* computation : module->ComputationPostOrder()) {
    for (I* op : computation->PostOrder()) {
      I* value = InWiderType(op);
      if (value == nullptr) continue;
      context.Count("element_types.widened");
      computation->Replace(op, value);
      changed = true;
    }
  }
  return changed;
}

}  // namespace xc
