// scaled-dot as a product of scaled operands, and ragged-dot in the form that the runtime's kernel takes.
#include <algorithm>

#include "absl/algorithm/container.h"
#include "compiler/expand/expand.h"
#include "compiler/make.h"

namespace xc {
namespace {

using I = HloInstruction;

int64_t Product(const Shape& shape, const Int64List& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= shape.dim(d);
  return n;
}

// Each element of `scale` is that of a block of the operand.
I* Scaled(I* x, I* scale, ElementType type) {
  const Shape shape = x->shape();
  I* factors = make::Convert(scale, type);
  if (scale->shape().rank() == 0) {
    factors = shape.rank() == 0 ? factors : make::Broadcast(factors, shape.dims(), {});
  } else {
    Int64List blocks, kept;
    for (int64_t d = 0; d < shape.rank(); ++d) {
      const int64_t count = scale->shape().dim(d);
      kept.push_back(blocks.size());
      blocks.push_back(count);
      blocks.push_back(shape.dim(d) / count);
    }
    factors = make::Reshape(make::Broadcast(factors, blocks, kept), shape.dims());
  }
  return make::Binary(HloOpcode::kMultiply, make::Convert(x, type), factors);
}

I* ScaledDot(I* dot) {
  HloComputation* computation = dot->parent();
  ElementType type = ElementType::kF32;
  for (const I* operand : dot->operands()) {
    if (operand->shape().is_dynamic() || !IsFloating(operand->type())) return nullptr;
    if (operand->type() == ElementType::kF64) type = ElementType::kF64;
  }
  if (dot->type() == ElementType::kF64) type = ElementType::kF64;
  if (!IsFloating(dot->type())) return nullptr;
  if (dot->operand(0)->shape().IsZeroSized() || dot->operand(1)->shape().IsZeroSized()) {
    return make::Full(computation, dot->type(), dot->shape().dims(), 0);
  }
  I *lhs = Scaled(dot->operand(0), dot->operand(2), type), *rhs = Scaled(dot->operand(1), dot->operand(3), type);
  I* product = computation->Add(HloOpcode::kDot, Shape(type, dot->shape().dims()), {lhs, rhs});
  product->set_attr<AttrKind::kDotDims>(dot->dot_dims());
  return make::Convert(product, dot->type());
}

// Dimensions of `shape` in none of the lists.
Int64List Others(const Shape& shape, std::initializer_list<Int64List> lists) {
  Int64List others;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (std::none_of(lists.begin(), lists.end(),
                     [&](const Int64List& list) { return absl::c_linear_search(list, d); })) {
      others.push_back(d);
    }
  }
  return others;
}

// The operand's dimensions in the order of the groups, each group one dimension.
I* Grouped(I* x, const std::vector<Int64List>& groups) {
  Int64List order, dims;
  for (const Int64List& group : groups) {
    order.insert(order.end(), group.begin(), group.end());
    dims.push_back(Product(x->shape(), group));
  }
  return make::Reshape(make::Transpose(x, order), dims);
}

Int64List Without(Int64List list, int64_t value) {
  list.erase(std::remove(list.begin(), list.end(), value), list.end());
  return list;
}

// Rows in groups: lhs [batch, free, ragged, k], rhs [batch, group, k, n], sizes [batch or 1, group] ->
// [batch, free, ragged, n]. Contracted elements in groups: lhs [batch, m, ragged, k], rhs [batch, ragged, k, n] ->
// [group, batch, m, n].
I* RaggedDot(I* dot) {
  HloComputation* computation = dot->parent();
  I *lhs = dot->operand(0), *rhs = dot->operand(1), *sizes = dot->operand(2);
  if (lhs->shape().is_dynamic() || rhs->shape().is_dynamic() || sizes->shape().is_dynamic()) return nullptr;
  const DotDims& dims = dot->dot_dims();
  const RaggedDims& ragged = dot->attr<AttrKind::kRaggedDims>();
  const int64_t dim = ragged.lhs_ragged[0];
  if (absl::c_linear_search(dims.lhs_batch, dim)) {
    I* plain = computation->Add(HloOpcode::kDot, WithoutLayout(dot->shape()), {lhs, rhs});
    plain->set_attr<AttrKind::kDotDims>(dims);
    return plain;
  }
  const bool contracting = absl::c_linear_search(dims.lhs_contracting, dim);
  if (dot->shape().IsZeroSized() || lhs->shape().IsZeroSized() || rhs->shape().IsZeroSized()) {
    return make::Full(computation, dot->type(), dot->shape().dims(), 0);
  }
  const int64_t batches = Product(lhs->shape(), dims.lhs_batch);
  const int64_t groups = sizes->shape().dim(sizes->shape().rank() - 1);
  const int64_t size_rows = groups == 0 ? 1 : sizes->shape().ElementCount() / groups;
  if (groups == 0) return make::Full(computation, dot->type(), dot->shape().dims(), 0);
  if (size_rows != 1 && size_rows != batches) return nullptr;
  I* counts = make::Reshape(make::Convert(sizes, ElementType::kS64), {size_rows, groups});

  const Int64List lhs_free = Others(lhs->shape(), {dims.lhs_batch, dims.lhs_contracting});
  const int64_t place =
      std::find(dims.lhs_contracting.begin(), dims.lhs_contracting.end(), dim) - dims.lhs_contracting.begin();
  const Int64List batch_dims = {0};
  DotDims canonical_dims;
  RaggedDims canonical_ragged;
  I *a, *b;
  Int64List out, back;
  if (contracting) {
    const int64_t rhs_dim = dims.rhs_contracting[place];
    a = Grouped(lhs, {dims.lhs_batch, lhs_free, {dim}, Without(dims.lhs_contracting, dim)});
    b = Grouped(rhs, {dims.rhs_batch,
                      {rhs_dim},
                      Without(dims.rhs_contracting, rhs_dim),
                      Others(rhs->shape(), {dims.rhs_batch, dims.rhs_contracting})});
    canonical_dims = {{0}, {0}, {2, 3}, {1, 2}};
    canonical_ragged = {{2}, {}};
    out = {groups, batches, a->shape().dim(1), b->shape().dim(3)};
  } else {
    const int64_t group = ragged.rhs_group[0];
    const Int64List free = Without(lhs_free, dim);
    a = Grouped(lhs, {dims.lhs_batch, free, {dim}, dims.lhs_contracting});
    b = Grouped(rhs, {dims.rhs_batch,
                      {group},
                      dims.rhs_contracting,
                      Others(rhs->shape(), {dims.rhs_batch, {group}, dims.rhs_contracting})});
    if (b->shape().dim(1) != groups) return nullptr;
    canonical_dims = {{0}, {0}, {3}, {2}};
    canonical_ragged = {{2}, {1}};
    out = {batches, a->shape().dim(1), a->shape().dim(2), b->shape().dim(3)};
    // Where the ragged dimension stands among the free ones of the result: `back` undoes its move to the end.
    Int64List moved;
    for (size_t i = 0; i < dims.lhs_batch.size(); ++i) moved.push_back(i);
    for (size_t i = 0; i < lhs_free.size(); ++i) {
      if (lhs_free[i] != dim) moved.push_back(dims.lhs_batch.size() + i);
    }
    moved.push_back(dims.lhs_batch.size() + (std::find(lhs_free.begin(), lhs_free.end(), dim) - lhs_free.begin()));
    for (int64_t d = moved.size(); d < dot->shape().rank(); ++d) moved.push_back(d);
    back = moved;
  }
  I* product = computation->Add(HloOpcode::kRaggedDot, Shape(dot->type(), out), {a, b, counts});
  product->set_attr<AttrKind::kDotDims>(canonical_dims);
  product->set_attr<AttrKind::kRaggedDims>(canonical_ragged);
  if (back.empty()) return make::Reshape(product, dot->shape().dims());
  Int64List moved_dims;
  for (int64_t d : back) moved_dims.push_back(dot->shape().dim(d));
  return make::Transpose(make::Reshape(product, moved_dims), make::InversePermutation(back));
}

bool IsCanonical(const I* dot) {
  return dot->operand(0)->shape().rank() == 4 && dot->operand(1)->shape().rank() == 4 &&
         dot->operand(2)->shape().rank() == 2 && dot->operand(2)->type() == ElementType::kS64 &&
         dot->dot_dims().lhs_batch == Int64List{0} && dot->dot_dims().rhs_batch == Int64List{0} &&
         dot->attr<AttrKind::kRaggedDims>().lhs_ragged == Int64List{2};
}

}  // namespace

absl::StatusOr<bool> ExpandScaledDots(HloModule* module, PassContext& context) {
  bool changed = false;
  for (HloComputation* computation : module->ComputationPostOrder()) {
    for (I* dot : computation->PostOrder()) {
      I* value = nullptr;
      if (dot->opcode() == HloOpcode::kScaledDot) value = ScaledDot(dot);
      if (dot->opcode() == HloOpcode::kRaggedDot && !IsCanonical(dot)) value = RaggedDot(dot);
      if (value == nullptr) continue;
      context.Count("scaled_dots.expanded");
      computation->Replace(dot, value);
      changed = true;
    }
  }
  return changed;
}

}  // namespace xc
