// sort and top-k: known comparators become keys of the runtime's sort, others a function that it calls.
#include "backends/runtime/sort.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/plan/planner_impl.h"
#include "compiler/fuse/emittable.h"

namespace xc::plan {
namespace {

struct KeyOrder {
  SortKey key = SortKey::kComparator;
  int64_t array = 0;
  bool descending = false;
};

bool IsParameter(const HloInstruction* i, int64_t number) {
  return i->opcode() == HloOpcode::kParameter && i->parameter_number() == number;
}

bool IsComparison(const HloInstruction* i, CompareDirection direction) {
  return i->opcode() == HloOpcode::kCompare && i->direction() == direction &&
         i->attr_or<AttrKind::kCompareType>(CompareType::kFloat) != CompareType::kTotalOrder;
}

bool IsZero(const HloInstruction* i) {
  return i->IsConstant() && i->shape().IsScalar() && IsFloating(i->type()) && i->literal().GetDouble(0) == 0;
}

bool IsNan(const HloInstruction* i) {
  return i->IsConstant() && i->shape().IsScalar() && IsFloating(i->type()) &&
         i->literal().GetDouble(0) != i->literal().GetDouble(0);
}

// select(x != x, nan, select(x == 0, 0, x)) of a parameter x: all NaN alike, no negative zero.
const HloInstruction* CanonicalFloat(const HloInstruction* i) {
  if (i->opcode() != HloOpcode::kSelect || !IsComparison(i->operand(0), CompareDirection::kNe) ||
      !IsNan(i->operand(1))) {
    return nullptr;
  }
  const HloInstruction* x = i->operand(0)->operand(0);
  if (x != i->operand(0)->operand(1) || x->opcode() != HloOpcode::kParameter) return nullptr;
  const HloInstruction* inner = i->operand(2);
  if (inner->opcode() != HloOpcode::kSelect || inner->operand(2) != x || !IsZero(inner->operand(1))) return nullptr;
  const HloInstruction* zero = inner->operand(0);
  if (!IsComparison(zero, CompareDirection::kEq)) return nullptr;
  const bool matches =
      (zero->operand(0) == x && IsZero(zero->operand(1))) || (zero->operand(1) == x && IsZero(zero->operand(0)));
  return matches ? x : nullptr;
}

// Whether the runtime knows the order of the type.
bool IsSortable(ElementType type) {
  return IsKernelFloat(type) || type == ElementType::kPred || (IsIntegral(type) && !IsSubByte(type));
}

// Whether the operands are the two elements of one array, in either order, and which of them is first.
bool AreElements(const HloInstruction* x, const HloInstruction* y, int64_t* array, bool* swapped) {
  if (x->opcode() != HloOpcode::kParameter) return false;
  *array = x->parameter_number() / 2;
  *swapped = x->parameter_number() % 2 == 1;
  return IsParameter(y, 2 * *array + (*swapped ? 0 : 1));
}

// The order by which the comparison tells the elements of one array apart, whichever its direction.
KeyOrder OrderOfComparison(const HloInstruction* compare) {
  const HloInstruction *x = compare->operand(0), *y = compare->operand(1);
  const ElementType type = x->type();
  if (!IsSortable(type)) return {};
  const bool total = compare->attr_or<AttrKind::kCompareType>(CompareType::kFloat) == CompareType::kTotalOrder;
  KeyOrder order;
  order.key = SortKey::kLess;
  if (IsFloating(type) && total) {
    order.key = SortKey::kTotalOrder;
    const HloInstruction *cx = CanonicalFloat(x), *cy = CanonicalFloat(y);
    if (cx != nullptr && cy != nullptr) {
      x = cx;
      y = cy;
      order.key = SortKey::kNanLast;
    }
  }
  bool swapped = false;
  if (x->type() != type || !AreElements(x, y, &order.array, &swapped)) return {};
  order.descending = (compare->direction() == CompareDirection::kGt) != swapped;
  return order;
}

// The order that the test defines, if it is one of one array's elements: x < y or x > y; or x == x and not x >= y,
// which is x < y with NaN last.
KeyOrder OrderOf(const HloInstruction* test) {
  if (test->opcode() == HloOpcode::kCompare) {
    const bool order = test->direction() == CompareDirection::kLt || test->direction() == CompareDirection::kGt;
    return order ? OrderOfComparison(test) : KeyOrder{};
  }
  if (test->opcode() != HloOpcode::kAnd) return {};
  for (int64_t i : {0, 1}) {
    const HloInstruction *number = test->operand(i), *before = test->operand(1 - i);
    if (before->opcode() != HloOpcode::kNot || !IsComparison(number, CompareDirection::kEq) ||
        !IsComparison(before->operand(0), CompareDirection::kGe)) {
      continue;
    }
    const HloInstruction *x = before->operand(0)->operand(0), *y = before->operand(0)->operand(1);
    KeyOrder order;
    if (number->operand(0) != x || number->operand(1) != x || !IsFloating(x->type()) || !IsSortable(x->type()) ||
        !AreElements(x, y, &order.array, &order.descending)) {
      continue;
    }
    order.key = SortKey::kNanLast;
    return order;
  }
  return {};
}

// Whether the test says that the elements are equal by the order.
bool IsEquality(const HloInstruction* test, const KeyOrder& order) {
  if (test->opcode() != HloOpcode::kCompare || test->direction() != CompareDirection::kEq) return false;
  const KeyOrder own = OrderOfComparison(test);
  return own.key == order.key && own.array == order.array;
}

// The orders that the comparator asks one after the other, each where those before it say equal: x0 < y0 or (x0 == y0
// and (x1 < y1 or …)), or the same with a select. Empty: it is something else.
std::vector<KeyOrder> OrdersOf(const HloComputation& less) {
  std::vector<KeyOrder> orders;
  const HloInstruction* test = less.root();
  while (orders.size() < kMaxSortArrays) {
    if (const KeyOrder last = OrderOf(test); last.key != SortKey::kComparator) {
      orders.push_back(last);
      return orders;
    }
    const HloInstruction* next = nullptr;
    const auto match = [&](const HloInstruction* before, const HloInstruction* equal, const HloInstruction* rest) {
      const KeyOrder order = OrderOf(before);
      if (next != nullptr || order.key == SortKey::kComparator || !IsEquality(equal, order)) return;
      orders.push_back(order);
      next = rest;
    };
    if (test->opcode() == HloOpcode::kOr) {
      for (int64_t i : {0, 1}) {
        const HloInstruction* both = test->operand(1 - i);
        if (both->opcode() != HloOpcode::kAnd) continue;
        for (int64_t j : {0, 1}) match(test->operand(i), both->operand(j), both->operand(1 - j));
      }
    } else if (test->opcode() == HloOpcode::kSelect) {
      match(test->operand(2), test->operand(0), test->operand(1));
    }
    if (next == nullptr) return {};
    test = next;
  }
  return {};
}

// The runtime's number for elements that are only moved.
RtType MovedType(ElementType type) {
  if (SizeOf(static_cast<RtType>(type)) > 0) return static_cast<RtType>(type);
  switch (StorageBytes(type)) {
    case 1:
      return RtType::kU8;
    case 2:
      return RtType::kU16;
    case 4:
      return RtType::kU32;
    case 8:
      return RtType::kU64;
    case 16:
      return RtType::kC128;
    default:
      return RtType::kInvalid;
  }
}

}  // namespace

Decision PlanSort(Planner& planner, const HloInstruction* sort) {
  const int64_t count = sort->operand_count();
  const HloComputation* less = sort->to_apply();
  if (count > kMaxSortArrays) {
    return Decision::No(absl::StrCat("it sorts ", count, " arrays; ", kMaxSortArrays, " are known"));
  }
  if (less->parameter_count() != 2 * count || less->root()->type() != ElementType::kPred) {
    return Decision::No(absl::StrCat(less->name(), " is no comparator of its arrays"));
  }
  const Shape& shape = sort->operand(0)->shape();
  if (shape.IsZeroSized()) {
    planner.Add(sort, Alias{});
    return Decision::Yes();
  }
  SortDesc desc;
  desc.num_arrays = count;
  const int64_t dim = sort->dimensions().empty() ? 0 : sort->dimensions()[0];
  desc.n = shape.rank() == 0 ? 1 : shape.dim(dim);
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (d < dim) desc.outer *= shape.dim(d);
    if (d > dim) desc.inner *= shape.dim(d);
  }
  std::vector<BufferSlice> in, out;
  for (int64_t i = 0; i < count; ++i) {
    const ElementType element = sort->operand(i)->type();
    const RtType type = MovedType(element);
    if (type == RtType::kInvalid) return Decision::No(absl::StrCat("it moves ", ElementTypeName(element)));
    desc.types[i] = static_cast<int32_t>(type);
    in.push_back(planner.Slice(sort->operand(i)));
    out.push_back(planner.Slice(sort, i));
  }
  std::vector<KeyOrder> orders = OrdersOf(*less);
  // By the last key first: sorts are stable. Each costs less than a comparator that is called, where calls are cheap.
  if (orders.size() > 1 && !planner.target().inlines_kernels) orders.clear();
  CallArgument function = Nothing{};
  if (orders.empty()) {
    if (Decision can = CanApply(*less); !can) return can;
    function = less;
    orders.emplace_back();
  }
  for (size_t k = orders.size(); k-- > 0;) {
    desc.key = static_cast<int32_t>(orders[k].key);
    desc.key_array = orders[k].array;
    desc.descending = orders[k].descending;
    planner.AddCall(sort, "xc_rt_sort", {desc, k + 1 == orders.size() ? in : out, out, function, Nothing{}});
  }
  return Decision::Yes();
}

bool HasOrder(ElementType type) { return IsKernelFloat(type) || (IsIntegral(type) && !IsSubByte(type)); }

Decision PlanTopK(Planner& planner, const HloInstruction* topk) {
  const HloInstruction* in = topk->operand(0);
  if (topk->operand_count() != 1 || !topk->shape().IsTuple() || topk->shape().tuple_size() != 2) {
    return Decision::No("it is not one array's");
  }
  const Shape &shape = in->shape(), &values = topk->shape().tuple_shape(0), &indices = topk->shape().tuple_shape(1);
  const ElementType type = shape.type();
  if (!HasOrder(type)) return Decision::No(absl::StrCat("the order of ", ElementTypeName(type), " is not known"));
  if (indices.type() != ElementType::kS32 || shape.rank() == 0 || values.rank() != shape.rank()) {
    return Decision::No("its results are not those of a last dimension, with indices of s32");
  }
  TopKDesc desc;
  desc.type = static_cast<int32_t>(type);
  desc.largest = topk->attr_or<AttrKind::kLargest>(true);
  desc.n = shape.dim(shape.rank() - 1);
  for (int64_t d = 0; d + 1 < shape.rank(); ++d) desc.rows *= shape.dim(d);
  desc.k = values.dim(values.rank() - 1);
  if (desc.k > desc.n || values.ElementCount() != desc.rows * desc.k || indices.ElementCount() != desc.rows * desc.k) {
    return Decision::No("its results have other sizes than the rows that it takes them from");
  }
  if (values.IsZeroSized()) {
    planner.Add(topk, Alias{});
  } else {
    planner.AddCall(topk, "xc_rt_top_k", {desc, planner.Slice(in), planner.Slice(topk, 0), planner.Slice(topk, 1)});
  }
  return Decision::Yes();
}

}  // namespace xc::plan
