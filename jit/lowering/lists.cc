// Lowerings of TensorLists whose length is known while lowering: the list is one array [length, element...].
#include "absl/strings/str_cat.h"
#include "jit/lowering/lowering.h"

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

// The index as the starts of a slice of one item; out of range is the host's error.
std::vector<Val> Starts(OpContext& c, const ListValue& list, int operand) {
  Emitter& b = c.b;
  Val i = b.Convert(b.Reshape(c.in(operand), {}), ElementType::kS32);
  c.FailIf(b.Or(b.Lt(i, b.S32(0)), b.Ge(i, b.S32(list.length))));
  std::vector<Val> starts(list.items->shape().rank(), b.S32(0));
  starts[0] = i;
  return starts;
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
  Dims sizes = list->items->shape().dims();
  sizes[0] = 1;
  c.set(0, b.Reshape(b.DynamicSlice(list->items, Starts(c, *list, 1), sizes), ElementDims(*list)));
  return absl::OkStatus();
}

absl::Status SetItem(OpContext& c) {
  XC_ASSIGN_OR_RETURN(auto old, List(c, 0));
  auto list = std::make_shared<ListValue>(*old);
  Emitter& b = c.b;
  if (list->items == nullptr) Initialize(c, *list, c.dims(2));
  if (ElementDims(*list) != c.dims(2)) {
    return c.Unimplemented(
        absl::StrCat("an item of shape ", DimsToString(c.dims(2)), " in a list of ", DimsToString(ElementDims(*list))));
  }
  if (list->length == 0) return c.Error("a write to an empty list");
  Dims one = c.dims(2);
  one.insert(one.begin(), 1);
  list->items = b.DynamicUpdateSlice(list->items, b.Reshape(c.in(2), one), Starts(c, *list, 1));
  SetList(c, 0, list);
  return absl::OkStatus();
}

absl::Status Stack(OpContext& c) {
  XC_ASSIGN_OR_RETURN(auto list, List(c, 0));
  XC_ASSIGN_OR_RETURN(int64_t n, c.node.Int("num_elements"));
  if (n >= 0 && n != list->length) return c.Error(absl::StrCat("expected ", n, " items, has ", list->length));
  if (list->items == nullptr) {
    XC_ASSIGN_OR_RETURN(PartialShape shape, ElementShape(c, 1));
    if (!shape.IsFullyKnown()) return c.Unimplemented("a stack of a list whose element shape is not known");
    Initialize(c, *list, shape.dims);
  }
  c.set(0, list->items);
  return absl::OkStatus();
}

absl::Status Length(OpContext& c) {
  XC_ASSIGN_OR_RETURN(auto list, List(c, 0));
  c.set_constant(0, Tensor::Scalar<int32_t>(DT_INT32, static_cast<int32_t>(list->length)));
  return absl::OkStatus();
}

absl::Status ElementShapeOf(OpContext& c) {
  XC_ASSIGN_OR_RETURN(auto list, List(c, 0));
  bool wide = c.out_type(0) == DT_INT64;
  if (list->items != nullptr) {
    c.set_constant(0, wide ? Tensor::Int64s(ElementDims(*list)) : Tensor::Int32s(ElementDims(*list)));
  } else if (list->element_shape.known_rank) {
    c.set_constant(0, wide ? Tensor::Int64s(list->element_shape.dims) : Tensor::Int32s(list->element_shape.dims));
  } else {
    c.set_constant(0, wide ? Tensor::Scalar<int64_t>(DT_INT64, -1) : Tensor::Scalar<int32_t>(DT_INT32, -1));
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
  c.FailIf(b.Or(b.Lt(i, b.Like(i, 0)), b.Ge(i, b.Like(i, static_cast<double>(list->length)))));
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

void RegisterLists(LoweringRegistry& r) {
  constexpr TypeSet kAny = ~TypeSet{0};
  r.Add({"TensorListReserve"}, kAny, Reserve, {"element_shape", "num_elements"}, kUsesLists);
  r.Add({"TensorListFromTensor"}, kAny, FromTensor, {}, kUsesLists);
  r.Add({"TensorListGetItem"}, kAny, GetItem, {}, kUsesLists);
  r.Add({"TensorListSetItem"}, kAny, SetItem, {}, kUsesLists);
  r.Add({"TensorListStack"}, kAny, Stack, {}, kUsesLists);
  r.Add({"TensorListGather"}, kAny, GatherItems, {}, kUsesLists);
  r.Add({"TensorListLength"}, kAny, Length, {}, kUsesLists | kShapeOnly);
  r.Add({"TensorListElementShape"}, kAny, ElementShapeOf, {}, kUsesLists | kShapeOnly);
}

}  // namespace xc
