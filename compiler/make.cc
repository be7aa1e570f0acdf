// Makers of single instructions.
#include "compiler/make.h"

#include <algorithm>
#include <numeric>

namespace xc::make {

HloInstruction* Unary(HloOpcode opcode, HloInstruction* x) {
  return x->parent()->Add(opcode, WithoutLayout(x->shape()), {x});
}

HloInstruction* Binary(HloOpcode opcode, HloInstruction* a, HloInstruction* b) {
  return a->parent()->Add(opcode, WithoutLayout(a->shape()), {a, b});
}

HloInstruction* Compare(CompareDirection direction, HloInstruction* a, HloInstruction* b) {
  HloInstruction* c = a->parent()->Add(HloOpcode::kCompare, Shape(ElementType::kPred, a->shape().dims()), {a, b});
  c->set_attr<AttrKind::kDirection>(direction);
  return c;
}

HloInstruction* Select(HloInstruction* p, HloInstruction* on_true, HloInstruction* on_false) {
  return p->parent()->Add(HloOpcode::kSelect, WithoutLayout(on_true->shape()), {p, on_true, on_false});
}

HloInstruction* Convert(HloInstruction* x, ElementType type) {
  if (x->type() == type) return x;
  return x->parent()->Add(HloOpcode::kConvert, WithType(WithoutLayout(x->shape()), type), {x});
}

HloInstruction* Broadcast(HloInstruction* x, Int64List dims, Int64List dimensions) {
  HloInstruction* b = x->parent()->Add(HloOpcode::kBroadcast, Shape(x->type(), std::move(dims)), {x});
  b->set_attr<AttrKind::kDimensions>(std::move(dimensions));
  return b;
}

HloInstruction* Reshape(HloInstruction* x, Int64List dims) {
  if (x->shape().dims() == dims) return x;
  return x->parent()->Add(HloOpcode::kReshape, Shape(x->type(), std::move(dims)), {x});
}

HloInstruction* Transpose(HloInstruction* x, Int64List permutation) {
  if (IsIdentity(permutation)) return x;
  Int64List dims;
  for (int64_t d : permutation) dims.push_back(x->shape().dim(d));
  HloInstruction* t = x->parent()->Add(HloOpcode::kTranspose, Shape(x->type(), std::move(dims)), {x});
  t->set_attr<AttrKind::kDimensions>(std::move(permutation));
  return t;
}

HloInstruction* Slice(HloInstruction* x, Int64List starts, Int64List limits, Int64List strides) {
  Int64List dims;
  for (size_t i = 0; i < starts.size(); ++i) {
    dims.push_back(std::max<int64_t>(0, (limits[i] - starts[i] + strides[i] - 1) / strides[i]));
  }
  HloInstruction* s = x->parent()->Add(HloOpcode::kSlice, Shape(x->type(), std::move(dims)), {x});
  s->set_attr<AttrKind::kSlice>({std::move(starts), std::move(limits), std::move(strides)});
  return s;
}

HloInstruction* Element(HloInstruction* tuple, int64_t index) {
  HloInstruction* g = tuple->parent()->Add(HloOpcode::kGetTupleElement, tuple->shape().tuple_shape(index), {tuple});
  g->set_attr<AttrKind::kIndex>(index);
  return g;
}

HloInstruction* Tuple(HloComputation* computation, absl::Span<HloInstruction* const> elements) {
  std::vector<Shape> shapes;
  for (const HloInstruction* element : elements) shapes.push_back(element->shape());
  return computation->Add(HloOpcode::kTuple, Shape::Tuple(std::move(shapes)), elements);
}

HloInstruction* Scalar(HloComputation* computation, ElementType type, double value) {
  Literal literal(Shape::Scalar(type));
  literal.SetDouble(0, value);
  return computation->Add(HloInstruction::CreateConstant(std::move(literal)));
}

HloInstruction* ScalarInt(HloComputation* computation, ElementType type, int64_t value) {
  Literal literal(Shape::Scalar(type));
  literal.SetInt(0, value);
  return computation->Add(HloInstruction::CreateConstant(std::move(literal)));
}

HloInstruction* Splat(HloComputation* computation, ElementType type, const Int64List& dims, double value) {
  HloInstruction* scalar = Scalar(computation, type, value);
  return dims.empty() ? scalar : Broadcast(scalar, dims, {});
}

HloInstruction* Reduce(HloInstruction* x, HloInstruction* init, Int64List dimensions, HloComputation* combiner) {
  Int64List dims;
  for (int64_t d = 0; d < x->shape().rank(); ++d) {
    if (std::find(dimensions.begin(), dimensions.end(), d) == dimensions.end()) dims.push_back(x->shape().dim(d));
  }
  HloInstruction* r = x->parent()->Add(HloOpcode::kReduce, Shape(x->type(), std::move(dims)), {x, init});
  r->set_attr<AttrKind::kDimensions>(std::move(dimensions));
  r->AddCalledComputation(combiner);
  return r;
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

}  // namespace xc
