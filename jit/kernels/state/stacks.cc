// Host kernels of v1 stacks and TensorArrays, which v1 loops and their gradients keep values in. Arrays that a graph
// uses regularly become TensorLists when it is read; these are for the others, arrays of gradients above all.
#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"

namespace xc {
namespace {

constexpr int64_t kMaxLength = int64_t{1} << 26;

struct Stack : HostResource {
  DataType type = DT_INVALID;
  int64_t max_size = -1;
  std::mutex mutex;
  std::vector<Tensor> items;
};

absl::StatusOr<std::shared_ptr<Stack>> StackOperand(const KernelContext& c) {
  auto stack = std::dynamic_pointer_cast<Stack>(c.in(0).resource());
  if (stack == nullptr) return c.Error("operand 0 is not a stack");
  return stack;
}

absl::Status NewStack(KernelContext& c) {
  auto stack = std::make_shared<Stack>();
  XC_ASSIGN_OR_RETURN(stack->type, c.node.Type("elem_type"));
  XC_ASSIGN_OR_RETURN(stack->max_size, c.Int(0));
  c.outputs[0] = Tensor::FromResource(std::move(stack));
  return absl::OkStatus();
}

absl::Status Push(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto stack, StackOperand(c));
  if (c.in(1).dtype() != stack->type) return c.Error("the value is not of the stack's type");
  std::lock_guard<std::mutex> lock(stack->mutex);
  int64_t size = static_cast<int64_t>(stack->items.size());
  if (size >= kMaxLength || (stack->max_size >= 0 && size >= stack->max_size)) {
    return c.Error(absl::StrCat("the stack overflowed its max_size (", stack->max_size, ")"));
  }
  stack->items.push_back(c.in(1));
  c.outputs[0] = c.in(1);
  return absl::OkStatus();
}

absl::Status Pop(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto stack, StackOperand(c));
  if (c.node.output_types[0] != stack->type) return c.Error("the result is not of the stack's type");
  std::lock_guard<std::mutex> lock(stack->mutex);
  if (stack->items.empty()) return c.Error("the stack is empty");
  c.outputs[0] = std::move(stack->items.back());
  stack->items.pop_back();
  return absl::OkStatus();
}

// Memory goes with the last handle.
absl::Status Close(KernelContext& c) {
  if (c.in(0).resource() == nullptr) return c.Error("operand 0 is not a stack or TensorArray");
  return absl::OkStatus();
}

struct TensorArray : HostResource {
  struct Item {
    Tensor value;
    bool written = false, cleared = false;
    Dims dims;  // of the value, also when it is cleared, or in an array of gradients not there yet
    bool has_dims = false;
  };
  DataType type = DT_INVALID;
  PartialShape element_shape;
  bool dynamic = false, clear_after_read = false, sums = false;
  std::mutex mutex;
  std::vector<Item> items;
  std::map<std::string, std::shared_ptr<TensorArray>> gradients;  // by source
};

absl::StatusOr<std::shared_ptr<TensorArray>> Array(const KernelContext& c) {
  auto array = std::dynamic_pointer_cast<TensorArray>(c.in(0).resource());
  if (array == nullptr) return c.Error("operand 0 is not a TensorArray");
  return array;
}

Tensor Flow() { return Tensor::Scalar<float>(DT_FLOAT, 0); }

absl::Status NewArray(KernelContext& c) {
  auto array = std::make_shared<TensorArray>();
  XC_ASSIGN_OR_RETURN(array->type, c.node.Type("dtype"));
  XC_ASSIGN_OR_RETURN(array->element_shape, c.node.ShapeAttr("element_shape"));
  XC_ASSIGN_OR_RETURN(array->dynamic, c.node.Bool("dynamic_size"));
  XC_ASSIGN_OR_RETURN(array->clear_after_read, c.node.Bool("clear_after_read"));
  XC_ASSIGN_OR_RETURN(int64_t size, c.Int(0));
  if (size < 0 || size > kMaxLength) return c.Error(absl::StrCat("bad size ", size));
  array->items.resize(size);
  c.outputs[0] = Tensor::FromResource(std::move(array));
  c.outputs[1] = Flow();
  return absl::OkStatus();
}

// The array of gradients of one source: as long as the array is now, and what is written twice is summed.
absl::Status GradientArray(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto array, Array(c));
  XC_ASSIGN_OR_RETURN(std::string source, c.node.String("source"));
  std::lock_guard<std::mutex> lock(array->mutex);
  std::shared_ptr<TensorArray>& gradient = array->gradients[source];
  if (gradient == nullptr) {
    gradient = std::make_shared<TensorArray>();
    gradient->type = array->type;
    gradient->element_shape = array->element_shape;
    gradient->sums = true;
    for (const TensorArray::Item& item : array->items) {
      TensorArray::Item g;
      g.dims = item.dims;
      g.has_dims = item.has_dims;
      gradient->items.push_back(std::move(g));
    }
  }
  c.outputs[0] = Tensor::FromResource(gradient);
  c.outputs[1] = Flow();
  return absl::OkStatus();
}

// The array's mutex is held.
absl::Status WriteItem(const KernelContext& c, TensorArray& array, int64_t i, Tensor value) {
  if (value.dtype() != array.type) return c.Error("the value is not of the array's type");
  if (!array.element_shape.Accepts(value.dims())) {
    return c.Error(absl::StrCat("the value has shape ", DimsToString(value.dims()), ", the array's elements have ",
                                array.element_shape.ToString()));
  }
  if (i < 0 || i >= kMaxLength || (i >= static_cast<int64_t>(array.items.size()) && !array.dynamic)) {
    return c.Error(absl::StrCat("tried to write to index ", i, " but array size is: ", array.items.size()));
  }
  if (i >= static_cast<int64_t>(array.items.size())) array.items.resize(i + 1);
  TensorArray::Item& item = array.items[i];
  if (item.written && !array.sums) {
    return c.Error(absl::StrCat("could not write to index ", i, " because it has already been written to"));
  }
  if (item.written) {
    XC_ASSIGN_OR_RETURN(item.value, AddTensors(item.value, value));
    return absl::OkStatus();
  }
  item.dims = value.dims();
  item.has_dims = item.written = true;
  item.value = std::move(value);
  return absl::OkStatus();
}

// The array's mutex is held. An element that was never written is zeros, if its shape is known.
absl::StatusOr<Tensor> ReadItem(const KernelContext& c, TensorArray& array, int64_t i) {
  if (i < 0 || i >= static_cast<int64_t>(array.items.size())) {
    return c.Error(absl::StrCat("tried to read from index ", i, " but array size is: ", array.items.size()));
  }
  TensorArray::Item& item = array.items[i];
  if (item.cleared) {
    return c.Error(absl::StrCat("could not read index ", i,
                                " twice because it was cleared after a previous read "
                                "(perhaps try setting clear_after_read = false?)"));
  }
  Tensor value = item.value;
  if (!item.written) {
    if (!item.has_dims && !array.element_shape.IsFullyKnown()) {
      return c.Error(absl::StrCat("could not read index ", i, " because it was never written to"));
    }
    XC_ASSIGN_OR_RETURN(value, Tensor::Create(array.type, item.has_dims ? item.dims : array.element_shape.dims));
  }
  if (array.clear_after_read) {
    item.value = Tensor();
    item.cleared = true;
  }
  return value;
}

absl::Status Write(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto array, Array(c));
  XC_ASSIGN_OR_RETURN(int64_t i, c.Int(1));
  std::lock_guard<std::mutex> lock(array->mutex);
  XC_RETURN_IF_ERROR(WriteItem(c, *array, i, c.in(2)));
  c.outputs[0] = Flow();
  return absl::OkStatus();
}

absl::Status Read(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto array, Array(c));
  XC_ASSIGN_OR_RETURN(int64_t i, c.Int(1));
  if (c.node.output_types[0] != array->type) return c.Error("the result is not of the array's type");
  std::lock_guard<std::mutex> lock(array->mutex);
  XC_ASSIGN_OR_RETURN(c.outputs[0], ReadItem(c, *array, i));
  return absl::OkStatus();
}

// Copies all elements of `from` to the elements of `to` from `at` on.
void Place(const Tensor& from, Tensor& to, int64_t at) {
  for (int64_t k = 0; k < from.num_elements(); ++k) CopyElement(from, k, to, at + k);
}

absl::Status Gather(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto array, Array(c));
  XC_ASSIGN_OR_RETURN(auto indices, c.Ints(1));
  XC_ASSIGN_OR_RETURN(PartialShape shape, c.node.ShapeAttr("element_shape"));
  std::lock_guard<std::mutex> lock(array->mutex);
  std::vector<Tensor> items;
  for (int64_t i : indices) {
    XC_ASSIGN_OR_RETURN(Tensor item, ReadItem(c, *array, i));
    if (!items.empty() && item.dims() != items[0].dims()) return c.Error("the elements differ in shape");
    items.push_back(std::move(item));
  }
  if (items.empty() && !shape.IsFullyKnown()) shape = array->element_shape;
  if (items.empty() && !shape.IsFullyKnown()) return c.Error("gathers nothing, and the element shape is not known");
  Dims dims = items.empty() ? shape.dims : items[0].dims();
  dims.insert(dims.begin(), static_cast<int64_t>(items.size()));
  XC_ASSIGN_OR_RETURN(c.outputs[0], c.AllocType(array->type, dims));
  for (size_t k = 0; k < items.size(); ++k) Place(items[k], c.outputs[0], k * items[k].num_elements());
  return absl::OkStatus();
}

absl::Status Scatter(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto array, Array(c));
  XC_ASSIGN_OR_RETURN(auto indices, c.Ints(1));
  const Tensor& value = c.in(2);
  if (value.rank() < 1 || value.dims()[0] != static_cast<int64_t>(indices.size())) {
    return c.Error("needs one index per row");
  }
  std::lock_guard<std::mutex> lock(array->mutex);
  for (size_t k = 0; k < indices.size(); ++k) {
    XC_RETURN_IF_ERROR(WriteItem(c, *array, indices[k], value.Row(static_cast<int64_t>(k))));
  }
  c.outputs[0] = Flow();
  return absl::OkStatus();
}

// Elements joined along their first dimension, and that dimension of each.
absl::Status Concat(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto array, Array(c));
  XC_ASSIGN_OR_RETURN(PartialShape rest, c.node.ShapeAttr("element_shape_except0"));
  std::lock_guard<std::mutex> lock(array->mutex);
  std::vector<Tensor> items;
  std::vector<int64_t> lengths;
  Dims dims;
  for (size_t i = 0; i < array->items.size(); ++i) {
    XC_ASSIGN_OR_RETURN(Tensor item, ReadItem(c, *array, static_cast<int64_t>(i)));
    if (item.rank() < 1) return c.Error("concatenates scalars");
    if (items.empty()) {
      dims = item.dims();
      dims[0] = 0;
    }
    if (!std::equal(dims.begin() + 1, dims.end(), item.dims().begin() + 1, item.dims().end())) {
      return c.Error("the elements differ in more than their first dimension");
    }
    lengths.push_back(item.dims()[0]);
    dims[0] += item.dims()[0];
    items.push_back(std::move(item));
  }
  if (items.empty()) {
    if (!rest.IsFullyKnown()) return c.Error("concatenates nothing, and the element shape is not known");
    dims = rest.dims;
    dims.insert(dims.begin(), 0);
  }
  XC_ASSIGN_OR_RETURN(c.outputs[0], c.AllocType(array->type, dims));
  int64_t at = 0;
  for (const Tensor& item : items) {
    Place(item, c.outputs[0], at);
    at += item.num_elements();
  }
  c.outputs[1] = Tensor::Int64s(lengths);
  return absl::OkStatus();
}

absl::Status ArraySplit(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto array, Array(c));
  XC_ASSIGN_OR_RETURN(auto lengths, c.Ints(2));
  const Tensor& value = c.in(1);
  int64_t total = 0;
  for (int64_t n : lengths) {
    if (n < 0 || n > kMaxLength) return c.Error(absl::StrCat("bad length ", n));
    total += n;
  }
  if (value.rank() < 1 || value.dims()[0] != total) return c.Error("the lengths do not add up to the rows");
  std::lock_guard<std::mutex> lock(array->mutex);
  int64_t at = 0;
  for (size_t k = 0; k < lengths.size(); ++k) {
    XC_RETURN_IF_ERROR(WriteItem(c, *array, static_cast<int64_t>(k), value.Rows(at, lengths[k])));
    at += lengths[k];
  }
  c.outputs[0] = Flow();
  return absl::OkStatus();
}

absl::Status ArraySize(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto array, Array(c));
  std::lock_guard<std::mutex> lock(array->mutex);
  c.outputs[0] = Tensor::Scalar<int32_t>(DT_INT32, static_cast<int32_t>(array->items.size()));
  return absl::OkStatus();
}

}  // namespace

void RegisterStackKernels(KernelRegistry& r) {
  r.Add({"StackV2"}, NewStack, false);
  r.Add({"StackPushV2"}, Push, false);
  r.Add({"StackPopV2"}, Pop, false);
  r.Add({"StackCloseV2", "TensorArrayCloseV3"}, Close, false);
  r.Add({"TensorArrayV3"}, NewArray, false);
  r.Add({"TensorArrayGradV3"}, GradientArray, false);
  r.Add({"TensorArrayWriteV3"}, Write, false);
  r.Add({"TensorArrayReadV3"}, Read, false);
  r.Add({"TensorArrayGatherV3"}, Gather, false);
  r.Add({"TensorArrayScatterV3"}, Scatter, false);
  r.Add({"TensorArrayConcatV3"}, Concat, false);
  r.Add({"TensorArraySplitV3"}, ArraySplit, false);
  r.Add({"TensorArraySizeV3"}, ArraySize, false);
}

}  // namespace xc
