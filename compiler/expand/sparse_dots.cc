// dot with structured sparsity as the dot of the whole arrays.
#include "compiler/expand/expand.h"
#include "compiler/make.h"
#include "hlo/base/status.h"
#include "hlo/ops/dot_sparsity.h"

namespace xc {
namespace {

using I = HloInstruction;

// The dimensions of `shape` with those of `parts` in the place of dimension d.
Int64List Split(const Shape& shape, int64_t d, std::initializer_list<int64_t> parts) {
  Int64List dims(shape.dims().begin(), shape.dims().begin() + d);
  dims.insert(dims.end(), parts);
  dims.insert(dims.end(), shape.dims().begin() + d + 1, shape.dims().end());
  return dims;
}

// All dimensions of `rank` ones but d.
Int64List AllBut(int64_t rank, int64_t d) {
  Int64List dims;
  for (int64_t i = 0; i < rank; ++i) {
    if (i != d) dims.push_back(i);
  }
  return dims;
}

// Element `at` of dimension d.
I* Pick(I* x, int64_t d, int64_t at) {
  Int64List starts(x->shape().rank(), 0), limits = x->shape().dims();
  starts[d] = at;
  limits[d] = at + 1;
  return make::Slice(x, starts, limits, Int64List(x->shape().rank(), 1));
}

I* IotaAlong(HloComputation* computation, ElementType type, const Int64List& dims, int64_t d) {
  I* iota = computation->Add(HloOpcode::kIota, Shape(type, dims), {});
  iota->set_attr<AttrKind::kIotaDimension>(d);
  return iota;
}

// The indices within blocks of all held elements: metadata's words, each repeated, shifted and cut.
I* Indices(I* metadata, const OperandSparsity& s, int64_t held) {
  HloComputation* computation = metadata->parent();
  const int64_t d = s.dimension, rank = metadata->shape().rank();
  I* words = make::Convert(metadata, ElementType::kU32);
  const Int64List spread = Split(words->shape(), d, {words->shape().dim(d), s.indices_per_word()});
  words = make::Broadcast(words, spread, AllBut(rank + 1, d + 1));
  I* shifts = make::Binary(HloOpcode::kMultiply, IotaAlong(computation, ElementType::kU32, spread, d + 1),
                           make::Full(computation, ElementType::kU32, spread, s.index_bits()));
  I* indices = make::Binary(HloOpcode::kAnd, make::Binary(HloOpcode::kShiftRightLogical, words, shifts),
                            make::Full(computation, ElementType::kU32, spread, (1 << s.index_bits()) - 1));
  Int64List joined = metadata->shape().dims();
  joined[d] *= s.indices_per_word();
  indices = make::Reshape(indices, joined);
  Int64List limits = joined;
  limits[d] = held;
  return make::Slice(indices, Int64List(rank, 0), limits, Int64List(rank, 1));
}

// In each block, element p is the first held one whose index is p, or zero.
I* Whole(I* x, I* metadata, const OperandSparsity& s) {
  HloComputation* computation = x->parent();
  const int64_t d = s.dimension, rank = x->shape().rank(), held = x->shape().dim(d);
  const int64_t blocks = held / s.num_non_zero;
  const Int64List parts = Split(x->shape(), d, {blocks, s.num_non_zero});
  const Int64List wide = Split(x->shape(), d, {blocks, s.block_size});
  const Int64List line = Split(x->shape(), d, {blocks});
  I* values = make::Reshape(x, parts);
  I* indices = make::Reshape(Indices(metadata, s, held), parts);
  I* places = IotaAlong(computation, ElementType::kU32, wide, d + 1);
  I* whole = make::Full(computation, x->type(), wide, 0);
  const Int64List around = AllBut(rank + 1, d + 1);
  for (int64_t i = s.num_non_zero; i-- > 0;) {
    I* value = make::Broadcast(make::Reshape(Pick(values, d + 1, i), line), wide, around);
    I* index = make::Broadcast(make::Reshape(Pick(indices, d + 1, i), line), wide, around);
    whole = make::Select(make::Compare(CompareDirection::kEq, index, places), value, whole);
  }
  return make::Reshape(whole, Split(x->shape(), d, {s.WholeSize(held)}));
}

// Blocks of more elements are left to the evaluator: the code above grows with them.
constexpr int64_t kMaxHeldOfBlock = 16;

absl::StatusOr<I*> Expand(I* dot) {
  XC_ASSIGN_OR_RETURN(const DotSparsity sparsity, ParseDotSparsity(dot->attr<AttrKind::kSparsity>()));
  I* sides[] = {dot->operand(0), dot->operand(1)};
  int64_t next = 2;
  for (int i = 0; i < 2; ++i) {
    const std::optional<OperandSparsity>& s = i == 0 ? sparsity.lhs : sparsity.rhs;
    if (sides[i]->shape().is_dynamic()) return nullptr;
    if (!s) continue;
    if (s->num_non_zero > kMaxHeldOfBlock) return nullptr;
    sides[i] = Whole(sides[i], dot->operand(next++), *s);
  }
  I* whole = dot->parent()->Add(HloOpcode::kDot, WithoutLayout(dot->shape()), {sides[0], sides[1]});
  *whole->mutable_attributes() = dot->attributes();
  whole->mutable_attributes()->Erase(AttrKind::kSparsity);
  return whole;
}

}  // namespace

absl::StatusOr<bool> ExpandSparseDots(HloModule* module, PassContext& context) {
  bool changed = false;
  for (HloComputation* computation : module->ComputationPostOrder()) {
    for (I* dot : computation->PostOrder()) {
      if (dot->opcode() != HloOpcode::kDot || dot->FindAttr<AttrKind::kSparsity>() == nullptr) continue;
      XC_ASSIGN_OR_RETURN(I * whole, Expand(dot));
      if (whole == nullptr) continue;
      context.Count("sparse_dots.expanded");
      computation->Replace(dot, whole);
      changed = true;
    }
    if (computation->RemoveDead()) changed = true;
  }
  return changed;
}

}  // namespace xc
