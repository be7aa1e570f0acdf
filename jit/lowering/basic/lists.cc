// Lowerings of TensorLists: the list is one array [length, element...], in loops that grow it one of the final length
// with a count of the elements.
#include "jit/lowering/basic/lists.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace xc {
namespace {

constexpr int64_t kMaxLength = int64_t{1} << 26;

absl::StatusOr<PartialShape> ElementShape(OpContext& c, int i) {
  XC_ASSIGN_OR_RETURN(Tensor t, c.Const(i));
  PartialShape shape;
  XC_ASSIGN_OR_RETURN(shape.dims, t.AsInt64s());
  shape.known_rank = t.rank() == 1;
  return shape;
}

absl::StatusOr<std::shared_ptr<ListValue>> List(OpContext& c, int i) {
  if (c.value(i).list == nullptr) return c.Unimplemented(absl::StrCat("operand ", i, " is not a TensorList"));
  return c.value(i).list;
}

void SetList(OpContext& c, int i, std::shared_ptr<ListValue> list) {
  LoweredValue v;
  v.type = DT_VARIANT;
  v.list = std::move(list);
  c.set_value(i, std::move(v));
}

// Gives a list of unknown element shape zeros of `dims` for items.
void Initialize(OpContext& c, ListValue& list, const Dims& dims) {
  Dims all = dims;
  all.insert(all.begin(), list.length);
  list.items = c.b.Full(ToElementType(list.element_type), all, 0);
}

Dims ElementDims(const ListValue& list) {
  const Dims& all = list.items->shape().dims();
  return Dims(all.begin() + 1, all.end());
}

absl::Status Reserve(OpContext& c) {
  auto list = std::make_shared<ListValue>();
  XC_ASSIGN_OR_RETURN(list->element_type, c.node.Type("element_dtype"));
  XC_ASSIGN_OR_RETURN(list->element_shape, ElementShape(c, 0));
  XC_ASSIGN_OR_RETURN(list->length, c.Int(1));
  if (list->length < 0 || list->length > kMaxLength) return c.Error(absl::StrCat("bad length ", list->length));
  if (ToElementType(list->element_type) == ElementType::kInvalid) {
    return c.Unimplemented("elements of type " + DataTypeName(list->element_type));
  }
  if (list->element_shape.IsFullyKnown()) {
    XC_RETURN_IF_ERROR(CheckedNumElements(list->element_shape.dims).status());
    Initialize(c, *list, list->element_shape.dims);
  }
  SetList(c, 0, list);
  return absl::OkStatus();
}

absl::Status FromTensor(OpContext& c) {
  if (c.rank(0) < 1) return c.Error("the tensor must have rank 1 or more");
  auto list = std::make_shared<ListValue>();
  list->element_type = c.type(0);
  list->length = c.dims(0)[0];
  list->element_shape.known_rank = true;
  list->element_shape.dims.assign(c.dims(0).begin() + 1, c.dims(0).end());
  list->items = c.in(0);
  SetList(c, 0, list);
  return absl::OkStatus();
}

// The number of elements as an s32 scalar.
Val Size(OpContext& c, const ListValue& list) { return list.size != nullptr ? list.size : c.b.S32(list.length); }

// The index as the starts of a slice of one item; out of range is the host's error.
std::vector<Val> Starts(OpContext& c, const ListValue& list, Val index, Val limit) {
  Emitter& b = c.b;
  Val i = b.Convert(b.Reshape(index, {}), ElementType::kS32);
  c.FailIf(b.Or(b.Lt(i, b.S32(0)), b.Ge(i, limit)));
  std::vector<Val> starts(list.items->shape().rank(), b.S32(0));
  starts[0] = i;
  return starts;
}

// One item as a slice of the list's array.
Val AsSlice(OpContext& c, Val item) {
  Dims one = item->shape().dims();
  one.insert(one.begin(), 1);
  return c.b.Reshape(item, one);
}

Val ItemAt(OpContext& c, const ListValue& list, const std::vector<Val>& starts) {
  Dims sizes = list.items->shape().dims();
  sizes[0] = 1;
  return c.b.Reshape(c.b.DynamicSlice(list.items, starts, sizes), ElementDims(list));
}

// Cuts or extends (by zeros) a list of known length.
void SetLength(OpContext& c, ListValue& list, int64_t length) {
  if (list.items != nullptr && length < list.length) list.items = c.b.SliceDim(list.items, 0, 0, length);
  if (list.items != nullptr && length > list.length) {
    Dims more = list.items->shape().dims();
    more[0] = length - list.length;
    Val zeros = c.b.Full(ToElementType(list.element_type), more, 0);
    list.items = list.length == 0 ? zeros : c.b.Concat({list.items, zeros}, 0);
  }
  list.length = length;
}

// A copy that takes an item of the operand's shape.
absl::StatusOr<std::shared_ptr<ListValue>> ForItem(OpContext& c, const ListValue& old, int operand) {
  auto list = std::make_shared<ListValue>(old);
  if (list->items == nullptr) {
    if (!list->element_shape.Accepts(c.dims(operand))) {
      return c.Error(absl::StrCat("an item of shape ", DimsToString(c.dims(operand)), " in a list of ",
                                  list->element_shape.ToString()));
    }
    Initialize(c, *list, c.dims(operand));
  }
  if (ElementDims(*list) != c.dims(operand)) {
    return c.Unimplemented(absl::StrCat("an item of shape ", DimsToString(c.dims(operand)), " in a list of ",
                                        DimsToString(ElementDims(*list))));
  }
  return list;
}

absl::Status Empty(OpContext& c) {
  auto list = std::make_shared<ListValue>();
  XC_ASSIGN_OR_RETURN(list->element_type, c.node.Type("element_dtype"));
  XC_ASSIGN_OR_RETURN(list->element_shape, ElementShape(c, 0));
  if (ToElementType(list->element_type) == ElementType::kInvalid) {
    return c.Unimplemented("elements of type " + DataTypeName(list->element_type));
  }
  if (list->element_shape.IsFullyKnown()) Initialize(c, *list, list->element_shape.dims);
  SetList(c, 0, list);
  return absl::OkStatus();
}

absl::Status GetItem(OpContext& c) {
  XC_ASSIGN_OR_RETURN(auto list, List(c, 0));
  Emitter& b = c.b;
  if (list->items == nullptr) {
    XC_ASSIGN_OR_RETURN(PartialShape shape, ElementShape(c, 2));
    if (!shape.IsFullyKnown()) return c.Unimplemented("a read of a list whose element shape is not known");
    c.set(0, b.Full(c.out_etype(0), shape.dims, 0));
    return absl::OkStatus();
  }
  if (list->length == 0) return c.Error("a read of an empty list");
  c.set(0, ItemAt(c, *list, Starts(c, *list, c.in(1), Size(c, *list))));
  return absl::OkStatus();
}

absl::Status SetItem(OpContext& c) {
  XC_ASSIGN_OR_RETURN(auto old, List(c, 0));
  XC_ASSIGN_OR_RETURN(auto list, ForItem(c, *old, 2));
  Emitter& b = c.b;
  bool grow = c.node.Bool("resize_if_index_out_of_bounds").value_or(false);
  if (grow && list->size == nullptr && c.IsConstant(1)) {
    XC_ASSIGN_OR_RETURN(int64_t index, c.Int(1));
    if (index >= kMaxLength) return c.Error(absl::StrCat("bad index ", index));
    SetLength(c, *list, std::max(list->length, index + 1));
  }
  if (list->length == 0) return c.Unimplemented("a write beyond the end of a list whose length is not known");
  // In a growing loop the array has the final length.
  bool growing = grow && list->size != nullptr;
  std::vector<Val> starts = Starts(c, *list, c.in(1), growing ? b.S32(list->length) : Size(c, *list));
  list->items = b.DynamicUpdateSlice(list->items, AsSlice(c, c.in(2)), starts);
  if (growing) list->size = b.Max(list->size, b.Add(starts[0], b.S32(1)));
  SetList(c, 0, list);
  return absl::OkStatus();
}

absl::Status PushBack(OpContext& c) {
  XC_ASSIGN_OR_RETURN(auto old, List(c, 0));
  XC_ASSIGN_OR_RETURN(auto list, ForItem(c, *old, 1));
  Val item = AsSlice(c, c.in(1));
  if (list->size == nullptr) {
    list->items = list->length == 0 ? item : c.b.Concat({list->items, item}, 0);
    ++list->length;
  } else {
    if (list->length == 0) return c.Unimplemented("a list that grows beyond what was found while compiling");
    std::vector<Val> starts = Starts(c, *list, list->size, c.b.S32(list->length));
    list->items = c.b.DynamicUpdateSlice(list->items, item, starts);
    list->size = c.b.Add(list->size, c.b.S32(1));
  }
  SetList(c, 0, list);
  return absl::OkStatus();
}

absl::Status PopBack(OpContext& c) {
  XC_ASSIGN_OR_RETURN(auto old, List(c, 0));
  auto list = std::make_shared<ListValue>(*old);
  if (list->length == 0) return c.Error("a pop from an empty list");
  if (list->items == nullptr) {
    XC_ASSIGN_OR_RETURN(PartialShape shape, ElementShape(c, 1));
    if (!shape.IsFullyKnown()) return c.Unimplemented("a pop from a list whose element shape is not known");
    Initialize(c, *list, shape.dims);
  }
  Emitter& b = c.b;
  Val last = b.Sub(Size(c, *list), b.S32(1));
  c.set(1, ItemAt(c, *list, Starts(c, *list, last, b.S32(list->length))));
  if (list->size == nullptr) {
    SetLength(c, *list, list->length - 1);
  } else {
    list->size = last;
  }
  SetList(c, 0, list);
  return absl::OkStatus();
}

absl::Status ListResize(OpContext& c) {
  XC_ASSIGN_OR_RETURN(auto old, List(c, 0));
  if (old->size != nullptr) return c.Unimplemented("a list resized in a loop");
  XC_ASSIGN_OR_RETURN(int64_t n, c.Int(1));
  if (n < 0 || n > kMaxLength) return c.Error(absl::StrCat("bad length ", n));
  auto list = std::make_shared<ListValue>(*old);
  SetLength(c, *list, n);
  SetList(c, 0, list);
  return absl::OkStatus();
}

// The array of a list whose length is fixed, made of zeros if nothing was written.
absl::StatusOr<Val> Items(OpContext& c, int i, int shape_operand) {
  XC_ASSIGN_OR_RETURN(auto list, List(c, i));
  if (list->size != nullptr) return c.Unimplemented("the whole of a list inside the loop that grows it");
  if (list->items != nullptr) return list->items;
  PartialShape shape = list->element_shape;
  if (!shape.IsFullyKnown() && shape_operand >= 0) {
    XC_ASSIGN_OR_RETURN(shape, ElementShape(c, shape_operand));
  }
  if (!shape.IsFullyKnown()) return c.Unimplemented("a stack of a list whose element shape is not known");
  ListValue copy = *list;
  Initialize(c, copy, shape.dims);
  return copy.items;
}

absl::Status Stack(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Val items, Items(c, 0, 1));
  XC_ASSIGN_OR_RETURN(int64_t n, c.node.Int("num_elements"));
  int64_t length = items->shape().dims()[0];
  if (n >= 0 && n != length) return c.Error(absl::StrCat("expected ", n, " items, has ", length));
  c.set(0, items);
  return absl::OkStatus();
}

// Items joined along their first dimension, and that dimension of each.
absl::Status Concat(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Val items, Items(c, 0, c.num_inputs() > 1 ? 1 : -1));
  Dims dims = items->shape().dims();
  if (dims.size() < 2) return c.Error("concatenates scalars");
  c.set_constant(1, Tensor::Int64s(std::vector<int64_t>(dims[0], dims[1])));
  dims[1] *= dims[0];
  dims.erase(dims.begin());
  c.set(0, c.b.Reshape(items, dims));
  return absl::OkStatus();
}

absl::Status ConcatLists(OpContext& c) {
  XC_ASSIGN_OR_RETURN(auto a, List(c, 0));
  XC_ASSIGN_OR_RETURN(auto other, List(c, 1));
  if (a->size != nullptr || other->size != nullptr) return c.Unimplemented("lists joined in a loop that grows them");
  if (a->length == 0 || other->length == 0) {
    SetList(c, 0, a->length == 0 ? other : a);
    return absl::OkStatus();
  }
  if (a->items == nullptr || other->items == nullptr || ElementDims(*a) != ElementDims(*other)) {
    return c.Unimplemented("lists of different or unknown element shapes");
  }
  auto list = std::make_shared<ListValue>(*a);
  list->items = c.b.Concat({a->items, other->items}, 0);
  list->length += other->length;
  SetList(c, 0, list);
  return absl::OkStatus();
}

// Rows of operand 1 at the places given by operand 2 of the list's array.
absl::StatusOr<Val> ScatterRows(OpContext& c, Val items, int tensor, int indices) {
  XC_RETURN_IF_ERROR(c.RequireRank(indices, 1));
  if (c.rank(tensor) < 1 || c.dims(tensor)[0] != c.dims(indices)[0]) return c.Error("needs one index per row");
  Emitter& b = c.b;
  int64_t n = c.dims(indices)[0];
  if (n == 0) return items;
  Val index = c.in(indices);
  c.FailIf(
      b.Or(b.Lt(index, b.Like(index, 0)), b.Ge(index, b.Like(index, static_cast<double>(items->shape().dims()[0])))));
  ScatterDims d;
  for (int64_t i = 1; i < items->shape().rank(); ++i) d.update_window_dims.push_back(i);
  d.inserted_window_dims = {0};
  d.scatter_dims_to_operand_dims = {0};
  d.index_vector_dim = 1;
  Shape scalar = Shape::Scalar(items->type());
  HloComputation* second =
      b.Computation("second", {scalar, scalar}, [](Emitter&, const std::vector<Val>& p) { return p[1]; });
  return b.Scatter(items, index, c.in(tensor), d, second);
}

absl::Status Scatter(OpContext& c) {
  auto list = std::make_shared<ListValue>();
  XC_ASSIGN_OR_RETURN(list->element_type, c.node.Type("element_dtype"));
  list->length = -1;
  if (c.num_inputs() > 3) {
    XC_ASSIGN_OR_RETURN(list->length, c.Int(3));
  }
  if (list->length < 0) {
    XC_ASSIGN_OR_RETURN(auto indices, c.Ints(1));
    for (int64_t i : indices) list->length = std::max(list->length, i + 1);
    list->length = std::max<int64_t>(list->length, 0);
  }
  if (list->length > kMaxLength) return c.Error(absl::StrCat("bad length ", list->length));
  if (c.rank(0) < 1) return c.Error("the tensor must have rank 1 or more");
  list->element_shape.known_rank = true;
  list->element_shape.dims.assign(c.dims(0).begin() + 1, c.dims(0).end());
  Initialize(c, *list, list->element_shape.dims);
  XC_ASSIGN_OR_RETURN(list->items, ScatterRows(c, list->items, 0, 1));
  SetList(c, 0, list);
  return absl::OkStatus();
}

absl::Status ScatterIntoExisting(OpContext& c) {
  XC_ASSIGN_OR_RETURN(auto old, List(c, 0));
  if (old->size != nullptr) return c.Unimplemented("a scatter into a list in the loop that grows it");
  auto list = std::make_shared<ListValue>(*old);
  if (c.rank(1) < 1) return c.Error("the tensor must have rank 1 or more");
  Dims element(c.dims(1).begin() + 1, c.dims(1).end());
  if (list->items == nullptr) Initialize(c, *list, element);
  if (ElementDims(*list) != element) return c.Unimplemented("items of another shape than the list's");
  XC_ASSIGN_OR_RETURN(list->items, ScatterRows(c, list->items, 1, 2));
  SetList(c, 0, list);
  return absl::OkStatus();
}

// Equal parts of the first dimension.
absl::Status Split(OpContext& c) {
  XC_ASSIGN_OR_RETURN(auto lengths, c.Ints(2));
  if (c.rank(0) < 1) return c.Error("the tensor must have rank 1 or more");
  Dims dims = c.dims(0);
  int64_t sum = 0;
  for (int64_t n : lengths) {
    if (n != lengths[0]) return c.Unimplemented("parts of different sizes");
    sum += n;
  }
  if (sum != dims[0]) return c.Error(absl::StrCat("lengths of sum ", sum, " for ", dims[0], " rows"));
  if (lengths.empty()) return c.Unimplemented("no parts");
  dims[0] = lengths[0];
  dims.insert(dims.begin(), static_cast<int64_t>(lengths.size()));
  auto list = std::make_shared<ListValue>();
  list->element_type = c.type(0);
  list->length = dims[0];
  list->items = c.b.Reshape(c.in(0), dims);
  SetList(c, 0, list);
  return absl::OkStatus();
}

absl::Status Length(OpContext& c) {
  XC_ASSIGN_OR_RETURN(auto list, List(c, 0));
  if (list->size != nullptr) {
    c.set(0, list->size);
  } else {
    c.set_constant(0, Tensor::Scalar<int32_t>(DT_INT32, static_cast<int32_t>(list->length)));
  }
  return absl::OkStatus();
}

absl::Status ElementShapeOf(OpContext& c) {
  XC_ASSIGN_OR_RETURN(auto list, List(c, 0));
  const DataType type = c.out_type(0);
  if (list->items != nullptr) {
    c.set_constant(0, Tensor::Integers(type, ElementDims(*list)));
  } else if (list->element_shape.known_rank) {
    c.set_constant(0, Tensor::Integers(type, list->element_shape.dims));
  } else {
    c.set_constant(0, Tensor::Integer(type, -1));
  }
  return absl::OkStatus();
}

absl::Status GatherItems(OpContext& c) {
  XC_ASSIGN_OR_RETURN(auto list, List(c, 0));
  if (list->items == nullptr) return c.Unimplemented("a gather from a list whose element shape is not known");
  XC_RETURN_IF_ERROR(c.RequireRank(1, 1));
  Emitter& b = c.b;
  Val i = c.in(1);
  Dims sizes = list->items->shape().dims(), out = sizes;
  out[0] = c.dims(1)[0];
  if (CheckedNumElements(out).value_or(0) == 0) {
    c.set(0, b.Full(c.out_etype(0), out, 0));
    return absl::OkStatus();
  }
  if (list->length == 0) return c.Error("a gather from an empty list");
  c.FailIf(b.Or(b.Lt(i, b.Like(i, 0)), b.Ge(i, b.BroadcastScalar(Size(c, *list), c.dims(1)))));
  sizes[0] = 1;
  GatherDims g;
  for (int64_t d = 1; d < list->items->shape().rank(); ++d) g.offset_dims.push_back(d);
  g.collapsed_slice_dims = {0};
  g.start_index_map = {0};
  g.index_vector_dim = 1;
  c.set(0, b.Gather(list->items, i, g, sizes));
  return absl::OkStatus();
}

}  // namespace

absl::Status ZerosLikeList(OpContext& c) {
  XC_ASSIGN_OR_RETURN(auto list, List(c, 0));
  auto zeros = std::make_shared<ListValue>(*list);
  if (zeros->items != nullptr) Initialize(c, *zeros, ElementDims(*list));
  SetList(c, 0, zeros);
  return absl::OkStatus();
}

absl::Status AddLists(OpContext& c) {
  XC_ASSIGN_OR_RETURN(auto first, List(c, 0));
  auto sum = std::make_shared<ListValue>(*first);
  for (int i = 1; i < c.num_inputs(); ++i) {
    XC_ASSIGN_OR_RETURN(auto next, List(c, i));
    if (sum->size != nullptr || next->size != nullptr) return c.Unimplemented("lists whose length changes in a loop");
    if (next->element_type != sum->element_type || next->length != sum->length) return c.Error("the lists differ");
    if (next->items == nullptr) continue;  // zeros
    if (sum->items == nullptr) {
      sum->items = next->items;
    } else if (next->items->shape().dims() != sum->items->shape().dims()) {
      return c.Error("the lists' elements differ in shape");
    } else {
      sum->items = c.b.Add(sum->items, next->items);
    }
  }
  SetList(c, 0, sum);
  return absl::OkStatus();
}

void RegisterLists(LoweringRegistry& r) {
  constexpr TypeSet kAny = ~TypeSet{0};
  r.Add({"TensorListReserve"}, kAny, Reserve, {"element_shape", "num_elements"}, kUsesLists);
  r.Add({"EmptyTensorList"}, kAny, Empty, {"element_shape"}, kUsesLists);
  r.Add({"TensorListFromTensor"}, kAny, FromTensor, {}, kUsesLists);
  r.Add({"TensorListGetItem"}, kAny, GetItem, {}, kUsesLists);
  r.Add({"TensorListSetItem"}, kAny, SetItem, {}, kUsesLists);
  r.Add({"TensorListPushBack"}, kAny, PushBack, {}, kUsesLists);
  r.Add({"TensorListPopBack"}, kAny, PopBack, {}, kUsesLists);
  r.Add({"TensorListResize"}, kAny, ListResize, {"size"}, kUsesLists);
  r.Add({"TensorListStack"}, kAny, Stack, {}, kUsesLists);
  r.Add({"TensorListConcat", "TensorListConcatV2"}, kAny, Concat, {}, kUsesLists);
  r.Add({"TensorListConcatLists"}, kAny, ConcatLists, {}, kUsesLists);
  r.Add({"TensorListSplit"}, kAny, Split, {"lengths"}, kUsesLists);
  r.Add({"TensorListScatter", "TensorListScatterV2"}, kAny, Scatter, {}, kUsesLists);
  r.Add({"TensorListScatterIntoExistingList"}, kAny, ScatterIntoExisting, {}, kUsesLists);
  r.Add({"TensorListGather"}, kAny, GatherItems, {}, kUsesLists);
  r.Add({"TensorListLength"}, kAny, Length, {}, kUsesLists | kShapeOnly);
  r.Add({"TensorListElementShape"}, kAny, ElementShapeOf, {}, kUsesLists | kShapeOnly);
}

}  // namespace xc
