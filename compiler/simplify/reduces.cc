// Rewrite rows of reduce, map, sort and other ops with a called computation.
#include <algorithm>
#include <cstring>
#include <limits>

#include "compiler/make.h"
#include "compiler/simplify/simplify.h"
#include "hlo/analysis/pattern.h"

namespace xc {
namespace {

using I = HloInstruction;

// The computation applied to arrays in place of scalars, if all of it is elementwise; `inputs` are its parameters.
I* ApplyElementwise(const HloComputation* scalar, const std::vector<I*>& inputs, const Int64List& dims) {
  HloComputation* into = inputs[0]->parent();
  absl::flat_hash_map<const I*, I*> map;
  for (const I* instruction : scalar->PostOrder()) {
    if (instruction->opcode() == HloOpcode::kParameter) {
      map[instruction] = inputs[instruction->parameter_number()];
      continue;
    }
    if (instruction->shape().rank() != 0 || !instruction->shape().IsArray()) return nullptr;
    if (!instruction->IsConstant() && !instruction->IsElementwise()) return nullptr;
    if (instruction->HasSideEffect()) return nullptr;
    std::vector<I*> operands;
    for (const I* operand : instruction->operands()) operands.push_back(map.at(operand));
    if (instruction->IsConstant()) {
      I* c = into->Add(HloInstruction::CreateConstant(instruction->shared_literal()));
      map[instruction] = dims.empty() ? c : make::Broadcast(c, dims, {});
    } else {
      map[instruction] = into->Add(instruction->CloneWith(Shape(instruction->type(), dims), operands));
    }
  }
  return map.at(scalar->root());
}

// map with an elementwise computation -> that computation on arrays
I* MapInline(I* i, PassContext&) {
  const HloComputation* f = i->to_apply();
  for (const auto& instruction : f->instructions()) {
    const bool simple =
        instruction->opcode() == HloOpcode::kParameter || instruction->IsConstant() || instruction->IsElementwise();
    if (!simple || instruction->shape().rank() != 0) return nullptr;
  }
  if (i->operand_count() == 0) return nullptr;
  return ApplyElementwise(f, i->operands(), i->shape().dims());
}

// reduce over dimensions of size 1 -> the combiner once, on init and the reshaped input
I* ReduceUnitDims(I* i, PassContext&) {
  if (i->operand_count() != 2 || !i->shape().IsArray()) return nullptr;
  I *x = i->operand(0), *init = i->operand(1);
  for (int64_t d : i->dimensions()) {
    if (x->shape().dim(d) != 1) return nullptr;
  }
  const HloComputation* f = i->to_apply();
  if (f->instruction_count() != 3) return nullptr;
  const I* root = f->root();
  if (!root->IsElementwise() || root->operand_count() != 2 || root->type() != i->type() || x->type() != i->type() ||
      root->operand(0) != f->parameter(0) || root->operand(1) != f->parameter(1)) {
    return nullptr;
  }
  I* reshaped = make::Reshape(x, i->shape().dims());
  I* first = i->shape().rank() == 0 ? init : make::Broadcast(init, i->shape().dims(), {});
  return i->parent()->Add(root->CloneWith(WithoutLayout(i->shape()), {first, reshaped}));
}

// reduce of nothing -> init
I* ReduceEmpty(I* i, PassContext&) {
  if (i->operand_count() != 2 || !i->shape().IsArray() || !i->operand(0)->shape().IsZeroSized()) return nullptr;
  I* init = i->operand(1);
  return i->shape().rank() == 0 ? init : make::Broadcast(init, i->shape().dims(), {});
}

// reduce(transpose x) -> reduce x, with the transpose behind it if that moves much less
I* ReduceTranspose(I* i, PassContext&) {
  constexpr int64_t kLess = 4;
  if (i->operand_count() != 2 || !i->shape().IsArray()) return nullptr;
  I* t = i->operand(0);
  if (t->opcode() != HloOpcode::kTranspose) return nullptr;
  Int64List reduced, kept;
  for (int64_t d = 0; d < t->shape().rank(); ++d) {
    const bool over = std::find(i->dimensions().begin(), i->dimensions().end(), d) != i->dimensions().end();
    (over ? reduced : kept).push_back(t->dimensions()[d]);
  }
  std::sort(reduced.begin(), reduced.end());
  if (std::is_sorted(kept.begin(), kept.end())) {
    return make::Reduce(t->operand(0), i->operand(1), reduced, i->to_apply());
  }
  if (t->shape().ElementCount() / kLess < i->shape().ElementCount()) return nullptr;
  Int64List sorted = kept, order;
  std::sort(sorted.begin(), sorted.end());
  for (int64_t d : kept) order.push_back(std::lower_bound(sorted.begin(), sorted.end(), d) - sorted.begin());
  return make::Transpose(make::Reduce(t->operand(0), i->operand(1), reduced, i->to_apply()), order);
}

// Whether combining with `init` first changes nothing and the combiner may be applied in any order.
bool IsFreeReduction(const I* i) {
  const HloComputation* f = i->to_apply();
  const ElementType type = i->type();
  const I* init = i->operand(1);
  if (IsCombiner(f, HloOpcode::kMaximum) || IsCombiner(f, HloOpcode::kMinimum))
    return AsBroadcastScalar(init).has_value();
  if (IsCombiner(f, HloOpcode::kAnd)) return type == ElementType::kPred && IsAll(init, 1.0);
  if (IsCombiner(f, HloOpcode::kOr)) return IsAll(init, 0.0);
  return IsIntegral(type) && IsCombiner(f, HloOpcode::kAdd) && IsAll(init, 0.0);
}

// reduce(reduce x) with one combiner, exact in any order -> one reduce
I* ReduceReduce(I* i, PassContext&) {
  if (i->operand_count() != 2 || !i->shape().IsArray()) return nullptr;
  I* inner = i->operand(0);
  if (inner->opcode() != HloOpcode::kReduce || inner->operand_count() != 2 || inner->user_count() != 1) return nullptr;
  if (!IsFreeReduction(i) || !IsFreeReduction(inner)) return nullptr;
  const HloOpcode op = i->to_apply()->root()->opcode();
  if (inner->to_apply()->root()->opcode() != op) return nullptr;
  const auto a = AsBroadcastScalar(i->operand(1)), b = AsBroadcastScalar(inner->operand(1));
  if (!a || !b || std::memcmp(a->literal->bytes(), b->literal->bytes(), StorageBytes(i->type())) != 0) return nullptr;
  I* x = inner->operand(0);
  Int64List kept;
  for (int64_t d = 0; d < x->shape().rank(); ++d) {
    if (std::find(inner->dimensions().begin(), inner->dimensions().end(), d) == inner->dimensions().end()) {
      kept.push_back(d);
    }
  }
  Int64List reduced = inner->dimensions();
  for (int64_t d : i->dimensions()) reduced.push_back(kept[d]);
  std::sort(reduced.begin(), reduced.end());
  return make::Reduce(x, i->operand(1), reduced, i->to_apply());
}

// sort along a dimension of at most one element -> the operands
I* SortUnit(I* i, PassContext&) {
  if (i->operand(0)->shape().dim(i->dimensions()[0]) > 1) return nullptr;
  if (i->operand_count() == 1 && !i->shape().IsTuple()) return i->operand(0);
  return make::Tuple(i->parent(), i->operands());
}

// scatter of one window -> dynamic-update-slice of what the combiner makes of the old window, or of the old window
// itself if the window is not wholly inside
I* ScatterOne(I* i, PassContext&) {
  if (i->operand_count() != 3 || !i->shape().IsArray()) return nullptr;
  I *x = i->operand(0), *indices = i->operand(1), *updates = i->operand(2);
  const ScatterDims& s = i->scatter_dims();
  const int64_t count = s.scatter_dims_to_operand_dims.size(), rank = x->shape().rank();
  if (!s.input_batching_dims.empty() || count == 0 || indices->shape().ElementCount() != count ||
      !IsIntegral(indices->type()) || x->shape().IsZeroSized() || updates->type() != x->type()) {
    return nullptr;
  }
  const HloComputation* f = i->to_apply();
  for (const auto& step : f->instructions()) {
    const bool simple = step->opcode() == HloOpcode::kParameter || step->IsConstant() || step->IsElementwise();
    if (!simple || step->shape().rank() != 0 || step->HasSideEffect()) return nullptr;
  }
  Int64List sizes;
  size_t window = 0;
  for (int64_t d = 0; d < rank; ++d) {
    const bool inserted =
        std::find(s.inserted_window_dims.begin(), s.inserted_window_dims.end(), d) != s.inserted_window_dims.end();
    sizes.push_back(inserted ? 1 : updates->shape().dim(s.update_window_dims[window++]));
    if (sizes[d] > x->shape().dim(d) || sizes[d] == 0) return nullptr;
  }
  HloComputation* c = i->parent();
  I* flat = make::Reshape(indices, {count});
  std::vector<I*> starts(rank);
  I* inside = nullptr;
  const auto require = [&](I* condition) {
    inside = inside == nullptr ? condition : make::Binary(HloOpcode::kAnd, inside, condition);
  };
  for (int64_t k = 0; k < count; ++k) {
    const int64_t d = s.scatter_dims_to_operand_dims[k];
    I* start = make::Reshape(count == 1 ? flat : make::Slice(flat, {k}, {k + 1}, {1}), {});
    starts[d] = start;
    const int64_t last = x->shape().dim(d) - sizes[d];
    const int bits = ElementBits(indices->type()) - (IsSignedInt(indices->type()) ? 1 : 0);
    if (IsSignedInt(indices->type())) {
      require(make::Compare(CompareDirection::kGe, start, make::ScalarInt(c, indices->type(), 0)));
    }
    if (bits >= 63 || last < (int64_t{1} << bits)) {
      require(make::Compare(CompareDirection::kLe, start, make::ScalarInt(c, indices->type(), last)));
    }
  }
  if (inside == nullptr) return nullptr;
  for (int64_t d = 0; d < rank; ++d) {
    if (starts[d] == nullptr) starts[d] = make::ScalarInt(c, indices->type(), 0);
  }
  std::vector<I*> operands = {x};
  operands.insert(operands.end(), starts.begin(), starts.end());
  I* old = c->Add(HloOpcode::kDynamicSlice, Shape(x->type(), sizes), operands);
  old->set_attr<AttrKind::kDynamicSliceSizes>(sizes);
  I* combined = ApplyElementwise(f, {old, make::Reshape(updates, sizes)}, sizes);
  if (combined == nullptr || combined->type() != x->type()) return nullptr;
  I* chosen = make::Select(rank == 0 ? inside : make::Broadcast(inside, sizes, {}), combined, old);
  operands = {x, chosen};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return c->Add(HloOpcode::kDynamicUpdateSlice, WithoutLayout(i->shape()), operands);
}

}  // namespace

absl::Span<const RewriteRow> ReduceRows() {
  static constexpr RewriteRow kRows[] = {
      {"map_inline", HloOpcode::kMap, MapInline},
      {"reduce_empty", HloOpcode::kReduce, ReduceEmpty},
      {"reduce_unit_dims", HloOpcode::kReduce, ReduceUnitDims},
      {"reduce_transpose", HloOpcode::kReduce, ReduceTranspose},
      {"reduce_reduce", HloOpcode::kReduce, ReduceReduce},
      {"scatter_one", HloOpcode::kScatter, ScatterOne},
      {"sort_unit", HloOpcode::kSort, SortUnit},
  };
  return kRows;
}

}  // namespace xc
