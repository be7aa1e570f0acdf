// Rewrite rows of reshape, transpose, broadcast and other ops that only rearrange.
#include <algorithm>

#include "compiler/make.h"
#include "compiler/simplify/simplify.h"
#include "hlo/analysis/pattern.h"

namespace xc {
namespace {

using I = HloInstruction;

Int64List NonUnit(const Int64List& dims) {
  Int64List out;
  for (int64_t d : dims) {
    if (d != 1) out.push_back(d);
  }
  return out;
}

// reshape to the shape that it is -> x
I* ReshapeSame(I* i, PassContext&) { return SameShape(i->shape(), i->operand(0)->shape()) ? i->operand(0) : nullptr; }

// reshape(reshape x) -> reshape x
I* ReshapeReshape(I* i, PassContext&) {
  I* x = i->operand(0);
  if (x->opcode() != HloOpcode::kReshape) return nullptr;
  return make::Reshape(x->operand(0), i->shape().dims());
}

// reshape(broadcast scalar) -> broadcast scalar; reshape(broadcast x) that only adds or removes dimensions of size 1 ->
// broadcast(reshape x)
I* ReshapeBroadcast(I* i, PassContext&) {
  I* b = i->operand(0);
  if (b->opcode() != HloOpcode::kBroadcast) return nullptr;
  I* x = b->operand(0);
  if (x->shape().rank() == 0) return make::Broadcast(x, i->shape().dims(), {});
  const Shape &from = b->shape(), &to = i->shape();
  if (NonUnit(from.dims()) != NonUnit(to.dims())) return nullptr;
  // Each dimension that is not 1 keeps its rank among those that are not 1; dimensions of size 1 need no source.
  Int64List place(from.rank(), -1);
  int64_t at = 0;
  for (int64_t d = 0; d < from.rank(); ++d) {
    if (from.dim(d) == 1) continue;
    while (to.dim(at) == 1) ++at;
    place[d] = at++;
  }
  Int64List dims, dimensions;
  for (int64_t d = 0; d < x->shape().rank(); ++d) {
    const int64_t target = place[b->dimensions()[d]];
    if (target < 0) continue;
    dims.push_back(x->shape().dim(d));
    dimensions.push_back(target);
  }
  if (!std::is_sorted(dimensions.begin(), dimensions.end())) return nullptr;
  return make::Broadcast(make::Reshape(x, dims), to.dims(), dimensions);
}

// reshape(iota) where the result is an iota again
I* ReshapeIota(I* i, PassContext&) {
  const I* iota = i->operand(0);
  if (iota->opcode() != HloOpcode::kIota) return nullptr;
  if (NonUnit(iota->shape().dims()) != NonUnit(i->shape().dims())) return nullptr;
  const int64_t d = iota->attr<AttrKind::kIotaDimension>();
  if (iota->shape().dim(d) == 1) return make::Full(i->parent(), i->type(), i->shape().dims(), 0);
  int64_t rank_among = 0;
  for (int64_t k = 0; k < d; ++k) rank_among += iota->shape().dim(k) != 1;
  int64_t target = 0;
  for (;; ++target) {
    if (i->shape().dim(target) == 1) continue;
    if (rank_among-- == 0) break;
  }
  I* result = i->parent()->Add(HloOpcode::kIota, WithoutLayout(i->shape()), {});
  result->set_attr<AttrKind::kIotaDimension>(target);
  return result;
}

// reshape(constant) -> constant, if the constant is small or nobody else needs it
I* ReshapeConstant(I* i, PassContext& context) {
  I* c = i->operand(0);
  if (!c->IsConstant() || c->literal().elided()) return nullptr;
  if (c->literal().byte_size() > context.options.fold_max_bytes) return nullptr;
  Literal literal(WithoutLayout(i->shape()));
  std::copy(c->literal().bytes(), c->literal().bytes() + literal.byte_size(), literal.mutable_bytes());
  return i->parent()->Add(HloInstruction::CreateConstant(std::move(literal)));
}

// reshape(transpose x) that takes dimensions of size 1 away -> transpose(reshape x), which products read as it lies
I* ReshapeTranspose(I* i, PassContext&) {
  I* t = i->operand(0);
  if (t->opcode() != HloOpcode::kTranspose || t->user_count() != 1 || i->shape().is_dynamic()) return nullptr;
  const Shape& from = t->shape();
  if (from.rank() <= i->shape().rank()) return nullptr;
  std::vector<bool> kept(from.rank(), false);  // dimensions of the transpose's operand
  Int64List sources;                           // of each dimension of the result
  int64_t next = 0;
  for (int64_t d = 0; d < from.rank(); ++d) {
    if (next < i->shape().rank() && from.dim(d) == i->shape().dim(next)) {
      sources.push_back(t->dimensions()[d]);
      kept[t->dimensions()[d]] = true;
      ++next;
    } else if (from.dim(d) != 1) {
      return nullptr;
    }
  }
  if (next < i->shape().rank()) return nullptr;
  Int64List sizes, place(from.rank(), 0), permutation;
  for (int64_t d = 0; d < from.rank(); ++d) {
    place[d] = static_cast<int64_t>(sizes.size());
    if (kept[d]) sizes.push_back(t->operand(0)->shape().dim(d));
  }
  for (int64_t source : sources) permutation.push_back(place[source]);
  return make::Transpose(make::Reshape(t->operand(0), sizes), permutation);
}

// transpose that changes nothing -> x
I* TransposeIdentity(I* i, PassContext&) { return make::IsIdentity(i->dimensions()) ? i->operand(0) : nullptr; }

// transpose(transpose x) -> transpose x
I* TransposeTranspose(I* i, PassContext&) {
  I* x = i->operand(0);
  if (x->opcode() != HloOpcode::kTranspose) return nullptr;
  Int64List permutation;
  for (int64_t d : i->dimensions()) permutation.push_back(x->dimensions()[d]);
  return make::Transpose(x->operand(0), permutation);
}

// transpose that moves only dimensions of size 1 -> reshape
I* TransposeUnitDims(I* i, PassContext&) {
  int64_t last = -1;
  for (int64_t d : i->dimensions()) {
    if (i->operand(0)->shape().dim(d) == 1) continue;
    if (d < last) return nullptr;
    last = d;
  }
  return make::Reshape(i->operand(0), i->shape().dims());
}

// transpose of arrays of one row each that are stacked -> arrays of one column each that stand beside each other
I* TransposeStack(I* i, PassContext&) {
  constexpr int64_t kMost = 16;
  I* c = i->operand(0);
  if (c->opcode() != HloOpcode::kConcatenate || c->user_count() != 1) return nullptr;
  if (c->shape().rank() != 2 || c->dimensions()[0] != 0 || c->operand_count() > kMost) return nullptr;
  if (c->shape().dim(0) != c->operand_count()) return nullptr;
  std::vector<I*> columns;
  for (I* row : c->operands()) {
    if (row->shape().dim(0) != 1) return nullptr;
    columns.push_back(make::Reshape(row, {row->shape().dim(1), 1}));
  }
  I* beside = i->parent()->Add(HloOpcode::kConcatenate, Shape(i->type(), i->shape().dims()), columns);
  beside->set_attr<AttrKind::kDimensions>({1});
  return beside;
}

// transpose(broadcast x) -> broadcast x, or broadcast(transpose x), which moves less
I* TransposeBroadcast(I* i, PassContext&) {
  I* b = i->operand(0);
  if (b->opcode() != HloOpcode::kBroadcast) return nullptr;
  I* x = b->operand(0);
  const Int64List inverse = make::InversePermutation(i->dimensions());
  Int64List targets;
  for (int64_t d : b->dimensions()) targets.push_back(inverse[d]);
  Int64List order = make::Iota(targets.size());
  std::sort(order.begin(), order.end(), [&](int64_t p, int64_t q) { return targets[p] < targets[q]; });
  if (x->shape().ElementCount() >= b->shape().ElementCount() && !make::IsIdentity(order)) return nullptr;
  Int64List sorted;
  for (int64_t d : order) sorted.push_back(targets[d]);
  return make::Broadcast(make::Transpose(x, order), i->shape().dims(), sorted);
}

// transpose(iota) -> iota
I* TransposeIota(I* i, PassContext&) {
  const I* iota = i->operand(0);
  if (iota->opcode() != HloOpcode::kIota) return nullptr;
  I* result = i->parent()->Add(HloOpcode::kIota, WithoutLayout(i->shape()), {});
  result->set_attr<AttrKind::kIotaDimension>(
      make::InversePermutation(i->dimensions())[iota->attr<AttrKind::kIotaDimension>()]);
  return result;
}

// broadcast that adds nothing -> x; that adds dimensions of size 1 only -> reshape
I* BroadcastNothing(I* i, PassContext&) {
  I* x = i->operand(0);
  if (x->shape().ElementCount() != i->shape().ElementCount()) return nullptr;
  if (!std::is_sorted(i->dimensions().begin(), i->dimensions().end())) return nullptr;
  if (i->shape().IsZeroSized()) return nullptr;
  return make::Reshape(x, i->shape().dims());
}

// broadcast(broadcast x) -> broadcast x
I* BroadcastBroadcast(I* i, PassContext&) {
  I* x = i->operand(0);
  if (x->opcode() != HloOpcode::kBroadcast) return nullptr;
  Int64List dimensions;
  for (int64_t d : x->dimensions()) dimensions.push_back(i->dimensions()[d]);
  return make::Broadcast(x->operand(0), i->shape().dims(), dimensions);
}

// broadcast(reshape x) that undoes added dimensions of size 1 -> broadcast x
I* BroadcastReshape(I* i, PassContext&) {
  I* r = i->operand(0);
  if (r->opcode() != HloOpcode::kReshape) return nullptr;
  I* x = r->operand(0);
  // Only if `x` is what remains of the reshape without its dimensions of size 1.
  if (x->shape().dims() != NonUnit(r->shape().dims())) return nullptr;
  Int64List dimensions;
  for (int64_t d = 0; d < r->shape().rank(); ++d) {
    if (r->shape().dim(d) != 1) dimensions.push_back(i->dimensions()[d]);
  }
  return make::Broadcast(x, i->shape().dims(), dimensions);
}

// constant of equal elements -> broadcast(scalar)
I* ConstantBroadcast(I* i, PassContext&) {
  if (!i->shape().IsArray() || i->shape().ElementCount() <= 1 || i->literal().elided()) return nullptr;
  if (!i->literal().IsBroadcastScalar()) return nullptr;
  Literal scalar(Shape::Scalar(i->type()));
  std::copy(i->literal().bytes(), i->literal().bytes() + scalar.byte_size(), scalar.mutable_bytes());
  return make::Broadcast(i->parent()->Add(HloInstruction::CreateConstant(std::move(scalar))), i->shape().dims(), {});
}

// iota along a dimension of size 1 -> 0
I* IotaUnit(I* i, PassContext&) {
  if (i->shape().dim(i->attr<AttrKind::kIotaDimension>()) != 1) return nullptr;
  return make::Full(i->parent(), i->type(), i->shape().dims(), 0);
}

// copy -> x: layouts are assigned before, and copies that buffers need come after
I* Copy(I* i, PassContext&) { return SameShape(i->shape(), i->operand(0)->shape()) ? i->operand(0) : nullptr; }

// reverse of dimensions of size 1, or of a broadcast scalar -> x; reverse(reverse x) -> x
I* Reverse(I* i, PassContext&) {
  I* x = i->operand(0);
  if (AsBroadcastScalar(x) && x->opcode() == HloOpcode::kBroadcast) return x;
  if (x->opcode() == HloOpcode::kReverse && x->dimensions() == i->dimensions()) return x->operand(0);
  for (int64_t d : i->dimensions()) {
    if (x->shape().dim(d) > 1) return nullptr;
  }
  return x;
}

// op(transpose(x), transpose(y)) -> transpose(op(x, y)): one transpose in place of two
I* ElementwiseOfTransposes(I* i, PassContext&) {
  I *a = i->operand(0), *b = i->operand(1);
  if (a->opcode() != HloOpcode::kTranspose || b->opcode() != HloOpcode::kTranspose ||
      a->dimensions() != b->dimensions() || a->user_count() != 1 || b->user_count() != 1 || a == b) {
    return nullptr;
  }
  I* moved =
      i->parent()->Add(i->CloneWith(Shape(i->type(), a->operand(0)->shape().dims()), {a->operand(0), b->operand(0)}));
  return make::Transpose(moved, a->dimensions());
}

// op(reshape x, scalar) where the reshape adds dimensions of size 1 -> reshape(op(x, scalar)): what is computed with
// and without those dimensions becomes one
I* ElementwiseOfReshapes(I* i, PassContext&) {
  const I* reshape = nullptr;
  auto is_broadcast_scalar = [](const I* x) {
    return x->opcode() == HloOpcode::kBroadcast && x->operand(0)->shape().IsScalar();
  };
  for (const I* operand : i->operands()) {
    if (is_broadcast_scalar(operand)) continue;
    if (operand->opcode() != HloOpcode::kReshape) return nullptr;
    if (reshape != nullptr && !SameDims(reshape->operand(0)->shape(), operand->operand(0)->shape())) return nullptr;
    reshape = operand;
  }
  if (reshape == nullptr) return nullptr;
  const Int64List dims = reshape->operand(0)->shape().dims();
  if (dims.empty() || dims != NonUnit(i->shape().dims())) return nullptr;
  std::vector<I*> operands;
  for (I* operand : i->operands()) {
    operands.push_back(is_broadcast_scalar(operand) ? make::Broadcast(operand->operand(0), dims, {})
                                                    : operand->operand(0));
  }
  return make::Reshape(i->parent()->Add(i->CloneWith(Shape(i->type(), dims), operands)), i->shape().dims());
}

// transpose(op(transpose(x), y)) that undoes the inner one -> op(x, transpose(y)), if there are fewer transposes then
I* TransposeElementwise(I* i, PassContext&) {
  I* op = i->operand(0);
  if (!op->IsElementwise() || op->operand_count() == 0 || op->user_count() != 1 || !op->shape().IsArray()) {
    return nullptr;
  }
  const Int64List inverse = make::InversePermutation(i->dimensions());
  int64_t before = 1, after = 0;
  bool undone = false;
  for (const I* operand : op->operands()) {
    if (!SameDims(operand->shape(), op->shape()) || operand->shape().rank() < 2) return nullptr;
    if (AsBroadcastScalar(operand)) continue;
    if (operand->opcode() == HloOpcode::kTranspose && operand->dimensions() == inverse) {
      undone = true;
      before += operand->user_count() == 1;
    } else {
      ++after;
    }
  }
  if (!undone || after >= before) return nullptr;
  std::vector<I*> operands;
  for (I* operand : op->operands()) {
    if (operand->opcode() == HloOpcode::kTranspose && operand->dimensions() == inverse) {
      operands.push_back(operand->operand(0));
    } else {
      operands.push_back(make::Transpose(operand, i->dimensions()));
    }
  }
  return i->parent()->Add(op->CloneWith(Shape(op->type(), i->shape().dims()), operands));
}

// get-dimension-size of a static dimension -> constant
I* DimensionSize(I* i, PassContext&) {
  const Shape& shape = i->operand(0)->shape();
  const int64_t d = i->dimensions()[0];
  if (shape.is_dynamic_dim(d) || shape.dim(d) < 0) return nullptr;
  return make::ScalarInt(i->parent(), i->type(), shape.dim(d));
}

}  // namespace

absl::Span<const RewriteRow> ShapeRows() {
  static constexpr RewriteRow kRows[] = {
      {"reshape_same", HloOpcode::kReshape, ReshapeSame},
      {"reshape_reshape", HloOpcode::kReshape, ReshapeReshape},
      {"reshape_broadcast", HloOpcode::kReshape, ReshapeBroadcast},
      {"reshape_iota", HloOpcode::kReshape, ReshapeIota},
      {"reshape_constant", HloOpcode::kReshape, ReshapeConstant},
      {"reshape_transpose", HloOpcode::kReshape, ReshapeTranspose},
      {"transpose_identity", HloOpcode::kTranspose, TransposeIdentity},
      {"transpose_transpose", HloOpcode::kTranspose, TransposeTranspose},
      {"transpose_unit_dims", HloOpcode::kTranspose, TransposeUnitDims},
      {"transpose_stack", HloOpcode::kTranspose, TransposeStack},
      {"transpose_broadcast", HloOpcode::kTranspose, TransposeBroadcast},
      {"transpose_iota", HloOpcode::kTranspose, TransposeIota},
      {"transpose_elementwise", HloOpcode::kTranspose, TransposeElementwise},
      {"broadcast_nothing", HloOpcode::kBroadcast, BroadcastNothing},
      {"broadcast_broadcast", HloOpcode::kBroadcast, BroadcastBroadcast},
      {"broadcast_reshape", HloOpcode::kBroadcast, BroadcastReshape},
      {"constant_broadcast_scalar", HloOpcode::kConstant, ConstantBroadcast},
      {"iota_unit", HloOpcode::kIota, IotaUnit},
      {"copy", HloOpcode::kCopy, Copy},
      {"reverse", HloOpcode::kReverse, Reverse},
      {"add_of_transposes", HloOpcode::kAdd, ElementwiseOfTransposes},
      {"subtract_of_transposes", HloOpcode::kSubtract, ElementwiseOfTransposes},
      {"multiply_of_transposes", HloOpcode::kMultiply, ElementwiseOfTransposes},
      {"add_of_reshapes", HloOpcode::kAdd, ElementwiseOfReshapes},
      {"subtract_of_reshapes", HloOpcode::kSubtract, ElementwiseOfReshapes},
      {"multiply_of_reshapes", HloOpcode::kMultiply, ElementwiseOfReshapes},
      {"divide_of_reshapes", HloOpcode::kDivide, ElementwiseOfReshapes},
      {"get_dimension_size", HloOpcode::kGetDimensionSize, DimensionSize},
  };
  return kRows;
}

}  // namespace xc
