// Makers of single instructions, with the builder's rules.
#include "compiler/make.h"

#include <numeric>
#include <utility>

#include "hlo/base/choices.h"
#include "hlo/builder/make_instruction.h"

namespace xc::make {

namespace {

// The instruction with its inferred shape. Where operands break a rule of their op, an instruction of the first one's
// shape, and the module is to be verified.
HloInstruction* Add(HloOpcode opcode, absl::Span<HloInstruction* const> operands, Attributes attributes = {},
                    absl::Span<HloComputation* const> called = {}, const Shape* given = nullptr) {
  HloComputation* computation = operands[0]->parent();
  absl::StatusOr<HloInstruction*> made =
      MakeInstruction(computation, opcode, operands, std::move(attributes), called, given);
  if (made.ok()) return *made;
  computation->module()->set_suspect(true);
  HloInstruction* wrong = computation->Add(opcode, WithoutLayout(given ? *given : operands[0]->shape()), operands);
  *wrong->mutable_attributes() = std::move(attributes);
  for (HloComputation* c : called) wrong->AddCalledComputation(c);
  return wrong;
}

}  // namespace

HloInstruction* Unary(HloOpcode opcode, HloInstruction* x) { return Add(opcode, {x}); }

HloInstruction* Binary(HloOpcode opcode, HloInstruction* a, HloInstruction* b) { return Add(opcode, {a, b}); }

HloInstruction* Compare(CompareDirection direction, HloInstruction* a, HloInstruction* b) {
  Attributes attributes;
  attributes.Set<AttrKind::kDirection>(direction);
  return Add(HloOpcode::kCompare, {a, b}, std::move(attributes));
}

HloInstruction* Select(HloInstruction* p, HloInstruction* on_true, HloInstruction* on_false) {
  return Add(HloOpcode::kSelect, {p, on_true, on_false});
}

HloInstruction* Convert(HloInstruction* x, ElementType type) {
  if (x->type() == type) return x;
  const Shape shape = WithType(WithoutLayout(x->shape()), type);
  return Add(HloOpcode::kConvert, {x}, {}, {}, &shape);
}

HloInstruction* Broadcast(HloInstruction* x, Int64List dims, Int64List dimensions) {
  const Shape shape(x->type(), std::move(dims));
  Attributes attributes;
  attributes.Set<AttrKind::kDimensions>(std::move(dimensions));
  return Add(HloOpcode::kBroadcast, {x}, std::move(attributes), {}, &shape);
}

HloInstruction* Reshape(HloInstruction* x, Int64List dims) {
  if (ChooseSafe(x->shape().dims() == dims)) return x;
  const Shape shape(x->type(), std::move(dims));
  return Add(HloOpcode::kReshape, {x}, {}, {}, &shape);
}

HloInstruction* Transpose(HloInstruction* x, Int64List permutation) {
  if (IsIdentity(permutation)) return x;
  Attributes attributes;
  attributes.Set<AttrKind::kDimensions>(std::move(permutation));
  return Add(HloOpcode::kTranspose, {x}, std::move(attributes));
}

HloInstruction* Slice(HloInstruction* x, Int64List starts, Int64List limits, Int64List strides) {
  Attributes attributes;
  attributes.Set<AttrKind::kSlice>({std::move(starts), std::move(limits), std::move(strides)});
  return Add(HloOpcode::kSlice, {x}, std::move(attributes));
}

HloInstruction* GetTupleElement(HloInstruction* tuple, int64_t index) {
  Attributes attributes;
  attributes.Set<AttrKind::kIndex>(index);
  return Add(HloOpcode::kGetTupleElement, {tuple}, std::move(attributes));
}

HloInstruction* Tuple(HloComputation* computation, absl::Span<HloInstruction* const> elements) {
  return *MakeInstruction(computation, HloOpcode::kTuple, elements, {});
}

HloInstruction* Scalar(HloComputation* computation, ElementType type, double value) {
  return computation->Add(HloInstruction::CreateConstant(RoundedScalar(type, value)));
}

HloInstruction* ScalarInt(HloComputation* computation, ElementType type, int64_t value) {
  return computation->Add(HloInstruction::CreateConstant(ScalarOfInt(type, value)));
}

HloInstruction* Full(HloComputation* computation, ElementType type, const Int64List& dims, double value) {
  HloInstruction* scalar = Scalar(computation, type, value);
  return dims.empty() ? scalar : Broadcast(scalar, dims, {});
}

HloInstruction* Reduce(HloInstruction* x, HloInstruction* init, Int64List dimensions, HloComputation* combiner) {
  Attributes attributes;
  attributes.Set<AttrKind::kDimensions>(std::move(dimensions));
  return Add(HloOpcode::kReduce, {x, init}, std::move(attributes), {combiner});
}

HloInstruction* ReduceWindow(HloInstruction* x, HloInstruction* init, WindowAttr window, HloComputation* combiner) {
  Attributes attributes;
  attributes.Set<AttrKind::kWindow>(std::move(window));
  return Add(HloOpcode::kReduceWindow, {x, init}, std::move(attributes), {combiner});
}

HloComputation* Combiner(HloModule* module, HloOpcode opcode, ElementType type) {
  HloComputation* c =
      module->AddComputation(std::string(OpcodeName(opcode)) + "_" + std::string(ElementTypeName(type)));
  HloInstruction* x = c->Add(HloInstruction::CreateParameter(0, Shape::Scalar(type), "x"));
  HloInstruction* y = c->Add(HloInstruction::CreateParameter(1, Shape::Scalar(type), "y"));
  c->set_root(c->Add(opcode, Shape::Scalar(type), {x, y}));
  return c;
}

Int64List Iota(int64_t n) {
  Int64List list(n);
  std::iota(list.begin(), list.end(), 0);
  return list;
}

Int64List InversePermutation(const Int64List& permutation) {
  Int64List inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) inverse[permutation[i]] = i;
  return inverse;
}

bool IsIdentity(const Int64List& permutation) {
  for (size_t i = 0; i < permutation.size(); ++i) {
    if (permutation[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

}  // namespace xc::make

namespace xc {

bool IsCombiner(const HloComputation* computation, HloOpcode opcode) {
  const HloInstruction* root = computation->root();
  if (root->opcode() != opcode || root->operand_count() != 2 || computation->parameter_count() != 2) return false;
  const HloInstruction *p0 = computation->parameter(0), *p1 = computation->parameter(1);
  if (root->operand(0) == p0 && root->operand(1) == p1) return true;
  return IsCommutative(opcode) && root->operand(0) == p1 && root->operand(1) == p0;
}

std::optional<HloOpcode> CombinerOpcode(const HloComputation* combiner) {
  for (HloOpcode opcode : {HloOpcode::kAdd, HloOpcode::kMultiply, HloOpcode::kMaximum, HloOpcode::kMinimum,
                           HloOpcode::kAnd, HloOpcode::kOr, HloOpcode::kXor}) {
    if (IsCombiner(combiner, opcode)) return opcode;
  }
  return std::nullopt;
}

}  // namespace xc
