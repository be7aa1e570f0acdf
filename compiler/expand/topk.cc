// Approximate top-k as a sort, and sorts of which only the first elements are used as top-k.
#include <algorithm>
#include <limits>
#include <utility>

#include "compiler/expand/expand.h"
#include "compiler/make.h"
#include "hlo/base/status.h"
#include "hlo/ops/known_calls.h"

namespace xc {
namespace {

enum class Order { kOther, kTotal, kPlain };

// Whether the comparator orders by its first pair of arguments alone, descending: p0 > p1 on numbers whose order is
// total (integers), by total order on floats, or by the plain one, in which zeros are equal.
Order DescendingOrder(const HloComputation* comparator) {
  const HloInstruction* root = comparator->root();
  if (root->opcode() != HloOpcode::kCompare || root->operand(0) != comparator->parameter(0) ||
      root->operand(1) != comparator->parameter(1) || root->direction() != CompareDirection::kGt) {
    return Order::kOther;
  }
  if (IsIntegral(root->operand(0)->type())) return Order::kTotal;
  const CompareType* type = root->FindAttr<AttrKind::kCompareType>();
  if (type != nullptr && *type == CompareType::kTotalOrder) return Order::kTotal;
  return IsFloating(root->operand(0)->type()) ? Order::kPlain : Order::kOther;
}

// Floats whose total order is the plain order of `values`, with all NaN as the largest number, as sorts have it.
HloInstruction* PlainlyOrdered(HloInstruction* values) {
  HloComputation* computation = values->parent();
  const auto full = [&](double x) { return make::Full(computation, values->type(), values->shape().dims(), x); };
  HloInstruction* is_zero = make::Compare(CompareDirection::kEq, values, full(0));
  HloInstruction* is_nan = make::Compare(CompareDirection::kNe, values, values);
  return make::Select(is_nan, full(std::numeric_limits<double>::quiet_NaN()), make::Select(is_zero, full(0), values));
}

// Of each row of `values` (or of all, where there are no rows) the elements at `numbers`.
HloInstruction* TakeAlongRows(HloInstruction* values, HloInstruction* numbers) {
  const int64_t rank = values->shape().rank();
  GatherDims dims;
  dims.collapsed_slice_dims = dims.start_index_map = {rank - 1};
  if (rank == 2) dims.operand_batching_dims = dims.start_indices_batching_dims = {0};
  dims.index_vector_dim = rank;
  HloInstruction* gather =
      values->parent()->Add(HloOpcode::kGather, Shape(values->type(), numbers->shape().dims()), {values, numbers});
  gather->set_attr<AttrKind::kGatherDims>(std::move(dims));
  gather->set_attr<AttrKind::kSliceSizes>(Int64List(rank, 1));
  return gather;
}

// The number of leading elements along `dimension` that all users of `value` keep, or -1.
int64_t LeadingSlice(const HloInstruction* value, int64_t dimension) {
  int64_t k = -1;
  for (const HloInstruction* user : value->users()) {
    if (user->opcode() != HloOpcode::kSlice) return -1;
    const SliceAttr& s = user->slice();
    for (int64_t d = 0; d < value->shape().rank(); ++d) {
      if (s.starts[d] != 0 || s.strides[d] != 1) return -1;
      if (d != dimension && s.limits[d] != value->shape().dim(d)) return -1;
    }
    if (k >= 0 && k != s.limits[dimension]) return -1;
    k = s.limits[dimension];
  }
  return value->IsRoot() ? -1 : k;
}

// The first elements of the sorted arrays; initial values where there are not as many.
HloInstruction* Sorted(HloInstruction* call, const ApproxTopKForm& form) {
  HloComputation* computation = call->parent();
  std::vector<HloInstruction*> arrays(call->operands().begin(), call->operands().begin() + form.arrays);
  std::vector<Shape> shapes;
  for (const HloInstruction* array : arrays) shapes.push_back(WithoutLayout(array->shape()));
  HloInstruction* sort =
      computation->Add(HloOpcode::kSort, form.arrays == 1 ? shapes[0] : Shape::Tuple(shapes), arrays);
  sort->set_attr<AttrKind::kDimensions>({form.dimension});
  sort->AddCalledComputation(call->called(0));
  const int64_t rank = shapes[0].rank(), size = shapes[0].dim(form.dimension);
  Int64List limits = shapes[0].dims(), missing = limits;
  limits[form.dimension] = std::min(form.kept, size);
  missing[form.dimension] = std::max<int64_t>(form.kept - size, 0);
  std::vector<HloInstruction*> results;
  for (int64_t i = 0; i < form.arrays; ++i) {
    HloInstruction* array = form.arrays == 1 ? sort : make::GetTupleElement(sort, i);
    HloInstruction* first = make::Slice(array, Int64List(rank, 0), limits, Int64List(rank, 1));
    if (form.kept > size) {
      HloInstruction* rest = make::Broadcast(call->operand(form.arrays + i), missing, {});
      const Shape all(array->type(), call->shape().tuple_shape(i).dims());
      first = computation->Add(HloOpcode::kConcatenate, all, {first, rest});
      first->set_attr<AttrKind::kDimensions>({form.dimension});
    }
    results.push_back(first);
  }
  return make::Tuple(computation, results);
}

}  // namespace

absl::StatusOr<bool> ExpandApproxTopK(HloModule* module, PassContext& context) {
  bool changed = false;
  for (HloComputation* computation : module->ComputationPostOrder()) {
    for (HloInstruction* call : computation->PostOrder()) {
      if (!IsApproxTopK(*call)) continue;
      XC_ASSIGN_OR_RETURN(const ApproxTopKForm form, ApproxTopKOf(*call));
      if (std::any_of(call->operands().begin(), call->operands().end(),
                      [](const HloInstruction* i) { return i->shape().is_dynamic(); })) {
        continue;
      }
      computation->Replace(call, Sorted(call, form));
      context.Count("approx_topk.expanded");
      changed = true;
    }
  }
  return changed;
}

absl::StatusOr<bool> RecognizeTopK(HloModule* module, PassContext& context) {
  bool changed = false;
  for (HloComputation* computation : module->ComputationPostOrder()) {
    for (HloInstruction* sort : computation->PostOrder()) {
      if (sort->opcode() != HloOpcode::kSort || sort->operand_count() != 2 || sort->IsRoot()) continue;
      HloInstruction *values = sort->operand(0), *numbers = sort->operand(1);
      const Shape& shape = values->shape();
      const int64_t last = shape.rank() - 1, d = sort->dimensions()[0];
      // topk is stable like every sort here, so equal values keep the order of their numbers.
      while (numbers->opcode() == HloOpcode::kBroadcast && numbers->operand(0)->opcode() == HloOpcode::kIota &&
             numbers->dimensions() == Int64List{last}) {
        numbers = numbers->operand(0);
      }
      const bool counts = numbers->opcode() == HloOpcode::kIota && numbers->type() == ElementType::kS32 &&
                          (numbers == sort->operand(1) ? numbers->attr<AttrKind::kIotaDimension>() == last
                                                       : numbers->shape().rank() == 1);
      const Order order = DescendingOrder(sort->to_apply());
      if (d != last || shape.rank() < 1 || shape.rank() > 2 || !counts || shape.is_dynamic() ||
          order == Order::kOther || !sort->control_predecessors().empty() || !sort->control_successors().empty()) {
        continue;
      }
      int64_t k = -1;
      bool fits = true;
      for (const HloInstruction* user : sort->users()) {
        const int64_t kept = user->opcode() == HloOpcode::kGetTupleElement ? LeadingSlice(user, d) : -1;
        fits &= kept >= 0 && (k < 0 || kept == k);
        k = kept;
      }
      if (!fits || k < 1 || k * 8 > shape.dim(d)) continue;
      Int64List dims = shape.dims();
      dims[d] = k;
      HloInstruction* topk = computation->Add(
          HloOpcode::kTopk, Shape::Tuple({Shape(values->type(), dims), Shape(ElementType::kS32, dims)}),
          {order == Order::kPlain ? PlainlyOrdered(values) : values});
      topk->set_attr<AttrKind::kK>(k);
      topk->set_attr<AttrKind::kLargest>(true);
      for (HloInstruction* element : std::vector<HloInstruction*>(sort->users())) {
        HloInstruction* part = make::GetTupleElement(topk, element->tuple_index());
        // With the zeros and NaN that the rows have.
        if (order == Order::kPlain && element->tuple_index() == 0) {
          part = TakeAlongRows(values, make::GetTupleElement(topk, 1));
        }
        for (HloInstruction* slice : std::vector<HloInstruction*>(element->users())) slice->ReplaceAllUsesWith(part);
      }
      context.Count("topk.recognized");
      changed = true;
    }
    if (changed) computation->RemoveDead();
  }
  return changed;
}

}  // namespace xc
