// Host kernels for TensorLists that live outside clusters.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"

namespace xc {
namespace {

constexpr int64_t kMaxListLength = int64_t{1} << 26;

absl::StatusOr<PartialShape> ElementShape(const Tensor& t) {
  PartialShape shape;
  XC_ASSIGN_OR_RETURN(shape.dims, t.AsInt64s());
  shape.known_rank = t.rank() == 1;  // a scalar -1 means any shape
  return shape;
}

absl::StatusOr<std::shared_ptr<TensorList>> List(const KernelContext& c, int i) {
  if (c.in(i).list() == nullptr) return c.Error(absl::StrCat("operand ", i, " is not a TensorList"));
  return c.in(i).list();
}

// The shape an uninitialized item reads as.
absl::StatusOr<Dims> ZeroShape(const KernelContext& c, const TensorList& list, int shape_operand) {
  if (list.element_shape.IsFullyKnown()) return list.element_shape.dims;
  if (shape_operand < c.num_inputs()) {
    XC_ASSIGN_OR_RETURN(PartialShape asked, ElementShape(c.in(shape_operand)));
    if (asked.IsFullyKnown()) return asked.dims;
  }
  for (const Tensor& item : list.items) {
    if (item.initialized()) return item.dims();
  }
  return c.Error("reads an item that was never written, and the element shape is not known");
}

absl::Status ListReserve(KernelContext& c) {
  auto list = std::make_shared<TensorList>();
  XC_ASSIGN_OR_RETURN(list->element_type, c.node.Type("element_dtype"));
  XC_ASSIGN_OR_RETURN(list->element_shape, ElementShape(c.in(0)));
  XC_ASSIGN_OR_RETURN(int64_t n, c.Int(1));
  if (n < 0 || n > kMaxListLength) return c.Error(absl::StrCat("bad number of elements ", n));
  list->items.resize(n);
  c.outputs[0] = Tensor::FromList(std::move(list));
  return absl::OkStatus();
}

absl::Status Empty(KernelContext& c) {
  auto list = std::make_shared<TensorList>();
  XC_ASSIGN_OR_RETURN(list->element_type, c.node.Type("element_dtype"));
  XC_ASSIGN_OR_RETURN(list->element_shape, ElementShape(c.in(0)));
  c.outputs[0] = Tensor::FromList(std::move(list));
  return absl::OkStatus();
}

absl::Status FromTensor(KernelContext& c) {
  auto list = std::make_shared<TensorList>();
  const Tensor& t = c.in(0);
  if (t.rank() < 1) return c.Error("the tensor must have rank 1 or more");
  list->element_type = t.dtype();
  XC_ASSIGN_OR_RETURN(list->element_shape, ElementShape(c.in(1)));
  for (int64_t i = 0; i < t.dims()[0]; ++i) list->items.push_back(t.Row(i));
  c.outputs[0] = Tensor::FromList(std::move(list));
  return absl::OkStatus();
}

// Stretches of rows, whose lengths an operand gives.
absl::Status SplitRows(KernelContext& c) {
  auto list = std::make_shared<TensorList>();
  const Tensor& t = c.in(0);
  XC_ASSIGN_OR_RETURN(auto lengths, c.Ints(2));
  list->element_type = t.dtype();
  XC_ASSIGN_OR_RETURN(list->element_shape, ElementShape(c.in(1)));
  if (t.rank() < 1 || c.in(2).rank() != 1) return c.Error("needs a tensor of rank 1 or more, and a vector of lengths");
  const int64_t rows = t.dims()[0];
  int64_t at = 0;
  for (int64_t length : lengths) {
    if (length < 0 || length > rows - at) return c.Error(absl::StrCat("the lengths do not sum to ", rows, " rows"));
    list->items.push_back(t.Rows(at, length));
    at += length;
  }
  if (at != rows) return c.Error(absl::StrCat("the lengths do not sum to ", rows, " rows"));
  c.outputs[0] = Tensor::FromList(std::move(list));
  return absl::OkStatus();
}

absl::Status GetItem(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto list, List(c, 0));
  XC_ASSIGN_OR_RETURN(int64_t i, c.Int(1));
  if (i < 0 || i >= static_cast<int64_t>(list->items.size())) {
    return c.Error(absl::StrCat("trying to access element ", i, " in a list with ", list->items.size(), " elements"));
  }
  if (list->items[i].initialized()) {
    c.outputs[0] = list->items[i];
    return absl::OkStatus();
  }
  XC_ASSIGN_OR_RETURN(Dims dims, ZeroShape(c, *list, 2));
  XC_ASSIGN_OR_RETURN(c.outputs[0], c.Alloc(0, dims));
  return absl::OkStatus();
}

absl::Status SetItem(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto list, List(c, 0));
  XC_ASSIGN_OR_RETURN(int64_t i, c.Int(1));
  auto copy = std::make_shared<TensorList>(*list);
  if (i < 0) return c.Error(absl::StrCat("bad index ", i));
  if (i >= static_cast<int64_t>(copy->items.size())) {
    bool grow =
        c.node.HasAttr("resize_if_index_out_of_bounds") && c.node.Bool("resize_if_index_out_of_bounds").value_or(false);
    if (!grow || i >= kMaxListLength) {
      return c.Error(absl::StrCat("trying to modify element ", i, " in a list with ", copy->items.size(), " elements"));
    }
    copy->items.resize(i + 1);
  }
  if (!copy->element_shape.Accepts(c.in(2).dims())) {
    return c.Error(absl::StrCat("item shape ", DimsToString(c.in(2).dims()), " does not fit element shape ",
                                copy->element_shape.ToString()));
  }
  copy->items[i] = c.in(2);
  c.outputs[0] = Tensor::FromList(std::move(copy));
  return absl::OkStatus();
}

absl::Status PushBack(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto list, List(c, 0));
  if (!list->element_shape.Accepts(c.in(1).dims())) return c.Error("item does not fit the element shape");
  auto copy = std::make_shared<TensorList>(*list);
  copy->items.push_back(c.in(1));
  c.outputs[0] = Tensor::FromList(std::move(copy));
  return absl::OkStatus();
}

// Row i of the tensor goes to the end of list i.
absl::Status PushBackBatch(KernelContext& c) {
  const Tensor &lists = c.in(0), &t = c.in(1);
  if (lists.rank() != 1 || t.rank() < 1 || t.dims()[0] != lists.dims()[0]) return c.Error("needs one row per list");
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, lists.dims()));
  for (int64_t i = 0; i < lists.dims()[0]; ++i) {
    if (lists.variants()[i].list() == nullptr) return c.Error(absl::StrCat("element ", i, " is not a TensorList"));
    auto copy = std::make_shared<TensorList>(*lists.variants()[i].list());
    copy->items.push_back(t.Row(i));
    out.variants()[i] = Tensor::FromList(std::move(copy));
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status PopBack(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto list, List(c, 0));
  if (list->items.empty()) return c.Error("trying to pop from an empty list");
  auto copy = std::make_shared<TensorList>(*list);
  Tensor item = copy->items.back();
  copy->items.pop_back();
  if (!item.initialized()) {
    XC_ASSIGN_OR_RETURN(Dims dims, ZeroShape(c, *list, 1));
    XC_ASSIGN_OR_RETURN(item, c.Alloc(1, dims));
  }
  c.outputs[0] = Tensor::FromList(std::move(copy));
  c.outputs[1] = std::move(item);
  return absl::OkStatus();
}

absl::Status Length(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto list, List(c, 0));
  c.outputs[0] = Tensor::Scalar<int32_t>(DT_INT32, static_cast<int32_t>(list->items.size()));
  return absl::OkStatus();
}

absl::Status Resize(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto list, List(c, 0));
  XC_ASSIGN_OR_RETURN(int64_t n, c.Int(1));
  if (n < 0 || n > kMaxListLength) return c.Error("bad size");
  auto copy = std::make_shared<TensorList>(*list);
  copy->items.resize(n);
  c.outputs[0] = Tensor::FromList(std::move(copy));
  return absl::OkStatus();
}

absl::Status StackItems(KernelContext& c, const TensorList& list, const std::vector<int64_t>& order,
                        int shape_operand) {
  Dims element;
  bool known = false;
  for (int64_t i : order) {
    const Tensor& item = list.items[i];
    if (!item.initialized()) continue;
    if (known && item.dims() != element) return c.Error("items of a list differ in shape");
    element = item.dims();
    known = true;
  }
  if (!known) {
    XC_ASSIGN_OR_RETURN(element, ZeroShape(c, list, shape_operand));
  }
  Dims dims = element;
  dims.insert(dims.begin(), static_cast<int64_t>(order.size()));
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, dims));
  int64_t at = 0;
  for (int64_t i : order) {
    const Tensor& item = list.items[i];
    int64_t n = order.empty() ? 0 : out.num_elements() / static_cast<int64_t>(order.size());
    for (int64_t k = 0; k < n && item.initialized(); ++k) CopyElement(item, k, out, at + k);
    at += n;
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status Stack(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto list, List(c, 0));
  XC_ASSIGN_OR_RETURN(int64_t n, c.node.Int("num_elements"));
  if (n >= 0 && n != static_cast<int64_t>(list->items.size())) {
    return c.Error(absl::StrCat("expected ", n, " elements, the list has ", list->items.size()));
  }
  std::vector<int64_t> order;
  for (size_t i = 0; i < list->items.size(); ++i) order.push_back(i);
  return StackItems(c, *list, order, 1);
}

absl::Status GatherItems(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto list, List(c, 0));
  XC_ASSIGN_OR_RETURN(auto order, c.Ints(1));
  for (int64_t i : order) {
    if (i < 0 || i >= static_cast<int64_t>(list->items.size())) return c.Error(absl::StrCat("bad index ", i));
  }
  return StackItems(c, *list, order, 2);
}

// Items joined along their first dimension, and that dimension of each.
absl::Status ListConcat(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto list, List(c, 0));
  std::vector<int64_t> lengths;
  Dims dims;
  for (const Tensor& item : list->items) {
    if (!item.initialized()) return c.Error("concatenates an item that was never written");
    if (item.rank() < 1) return c.Error("concatenates scalars");
    Dims rest(item.dims().begin() + 1, item.dims().end());
    if (dims.empty()) {
      dims = item.dims();
      dims[0] = 0;
    }
    if (rest != Dims(dims.begin() + 1, dims.end())) return c.Error("items of a list differ in shape");
    lengths.push_back(item.dims()[0]);
    dims[0] += item.dims()[0];
  }
  if (dims.empty()) {
    PartialShape shape = list->element_shape;
    if (!shape.IsFullyKnown() && c.num_inputs() > 1) {
      XC_ASSIGN_OR_RETURN(shape, ElementShape(c.in(1)));
    }
    if (!shape.known_rank || shape.dims.empty()) return c.Error("concatenates an empty list of unknown element shape");
    dims = shape.dims;
    dims[0] = 0;
    for (int64_t d : dims) {
      if (d < 0) return c.Error("concatenates an empty list of unknown element shape");
    }
  }
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, dims));
  int64_t at = 0;
  for (const Tensor& item : list->items) {
    for (int64_t k = 0; k < item.num_elements(); ++k) CopyElement(item, k, out, at++);
  }
  c.outputs[0] = std::move(out);
  c.outputs[1] = Tensor::Int64s(lengths);
  return absl::OkStatus();
}

absl::Status ConcatLists(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto a, List(c, 0));
  XC_ASSIGN_OR_RETURN(auto b, List(c, 1));
  auto copy = std::make_shared<TensorList>(*a);
  copy->items.insert(copy->items.end(), b->items.begin(), b->items.end());
  c.outputs[0] = Tensor::FromList(std::move(copy));
  return absl::OkStatus();
}

// Rows of a tensor at the places that `indices` says.
absl::Status ScatterRows(KernelContext& c, TensorList& list, int tensor, int indices) {
  XC_ASSIGN_OR_RETURN(auto order, c.Ints(indices));
  const Tensor& t = c.in(tensor);
  if (t.rank() < 1 || t.dims()[0] != static_cast<int64_t>(order.size())) return c.Error("needs one index per row");
  for (size_t k = 0; k < order.size(); ++k) {
    if (order[k] < 0 || order[k] >= kMaxListLength) return c.Error(absl::StrCat("bad index ", order[k]));
    if (order[k] >= static_cast<int64_t>(list.items.size())) list.items.resize(order[k] + 1);
    list.items[order[k]] = t.Row(static_cast<int64_t>(k));
  }
  return absl::OkStatus();
}

absl::Status Scatter(KernelContext& c) {
  auto list = std::make_shared<TensorList>();
  list->element_type = c.in(0).dtype();
  XC_ASSIGN_OR_RETURN(list->element_shape, ElementShape(c.in(2)));
  int64_t n = -1;
  if (c.num_inputs() > 3) {
    XC_ASSIGN_OR_RETURN(n, c.Int(3));
  }
  if (n > kMaxListLength) return c.Error(absl::StrCat("bad number of elements ", n));
  if (n > 0) list->items.resize(n);
  XC_RETURN_IF_ERROR(ScatterRows(c, *list, 0, 1));
  c.outputs[0] = Tensor::FromList(std::move(list));
  return absl::OkStatus();
}

absl::Status ScatterIntoExisting(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto list, List(c, 0));
  auto copy = std::make_shared<TensorList>(*list);
  XC_RETURN_IF_ERROR(ScatterRows(c, *copy, 1, 2));
  c.outputs[0] = Tensor::FromList(std::move(copy));
  return absl::OkStatus();
}

absl::Status ElementShapeKernel(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto list, List(c, 0));
  const DataType type = c.node.output_types[0];
  if (!list->element_shape.known_rank) {
    c.outputs[0] = Tensor::Integer(type, -1);
  } else {
    c.outputs[0] = Tensor::Integers(type, list->element_shape.dims);
  }
  return absl::OkStatus();
}

// Whether an item is part of what a ragged tensor in a variant has beside its values, which sums leave as it is.
bool IsRowSplits(const TensorList& list, const Tensor& item) {
  return item.dtype() != list.element_type && IsInteger(item.dtype());
}

}  // namespace

absl::StatusOr<Tensor> ZerosLikeList(const TensorList& list) {
  auto zeros = std::make_shared<TensorList>(list);
  for (Tensor& item : zeros->items) {
    if (!item.initialized() || IsRowSplits(list, item)) continue;
    if (item.list() != nullptr) {
      XC_ASSIGN_OR_RETURN(item, ZerosLikeList(*item.list()));
    } else {
      XC_ASSIGN_OR_RETURN(item, Tensor::Create(item.dtype(), item.dims()));
    }
  }
  return Tensor::FromList(std::move(zeros));
}

absl::StatusOr<Tensor> AddLists(const std::vector<Tensor>& lists) {
  if (lists.empty() || lists[0].list() == nullptr) return absl::InvalidArgumentError("a sum of no TensorList");
  auto sum = std::make_shared<TensorList>(*lists[0].list());
  for (size_t k = 1; k < lists.size(); ++k) {
    const TensorList* next = lists[k].list().get();
    if (next == nullptr || next->items.size() != sum->items.size()) {
      return absl::InvalidArgumentError("a sum of TensorLists of different lengths");
    }
    for (size_t i = 0; i < next->items.size(); ++i) {
      Tensor& item = sum->items[i];
      if (!next->items[i].initialized()) continue;
      if (!item.initialized()) {
        item = next->items[i];
      } else if (IsRowSplits(*sum, item)) {
        continue;
      } else if (item.list() != nullptr) {
        XC_ASSIGN_OR_RETURN(item, AddLists({item, next->items[i]}));
      } else {
        XC_ASSIGN_OR_RETURN(item, AddTensors(item, next->items[i]));
      }
    }
  }
  return Tensor::FromList(std::move(sum));
}

void RegisterListKernels(KernelRegistry& r) {
  r.Add({"TensorListReserve"}, ListReserve, false);
  r.Add({"EmptyTensorList"}, Empty, false);
  r.Add({"TensorListFromTensor"}, FromTensor, false);
  r.Add({"TensorListGetItem"}, GetItem, false);
  r.Add({"TensorListSetItem"}, SetItem, false);
  r.Add({"TensorListSplit"}, SplitRows, false);
  r.Add({"TensorListPushBack"}, PushBack, false);
  r.Add({"TensorListPushBackBatch"}, PushBackBatch, false);
  r.Add({"TensorListPopBack"}, PopBack, false);
  r.Add({"TensorListLength"}, Length, false);
  r.Add({"TensorListResize"}, Resize, false);
  r.Add({"TensorListStack"}, Stack, false);
  r.Add({"TensorListGather"}, GatherItems, false);
  r.Add({"TensorListConcat", "TensorListConcatV2"}, ListConcat, false);
  r.Add({"TensorListConcatLists"}, ConcatLists, false);
  r.Add({"TensorListScatter", "TensorListScatterV2"}, Scatter, false);
  r.Add({"TensorListScatterIntoExistingList"}, ScatterIntoExisting, false);
  r.Add({"TensorListElementShape"}, ElementShapeKernel, false);
}

}  // namespace xc
