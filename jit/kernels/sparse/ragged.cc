// Host kernels of ragged tensors: values, and splits that say where each row begins.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "jit/kernels/sparse/coordinates.h"

namespace xc {
namespace {

// start, start + delta, … below each limit, one row each.
template <typename T>
absl::Status RangesOf(KernelContext& c) {
  int64_t rows = 1;
  for (int i = 0; i < 3; ++i) {
    if (c.in(i).rank() > 1) return c.Error("starts, limits and deltas must be vectors or scalars");
    if (c.in(i).rank() == 1) rows = c.in(i).dims()[0];
  }
  for (int i = 0; i < 3; ++i) {
    if (c.in(i).rank() == 1 && c.in(i).dims()[0] != rows) return c.Error("the operands differ in length");
  }
  auto value = [&](int i, int64_t r) { return c.in(i).data<T>()[c.in(i).rank() == 0 ? 0 : r]; };
  std::vector<int64_t> splits = {0};
  for (int64_t r = 0; r < rows; ++r) {
    double start = static_cast<double>(value(0, r)), limit = static_cast<double>(value(1, r)),
           delta = static_cast<double>(value(2, r));
    if (delta == 0) return c.Error("requires delta != 0");
    double count = (delta > 0) == (limit > start) && limit != start ? std::ceil((limit - start) / delta) : 0;
    if (!(count + static_cast<double>(splits.back()) < 1e9)) return c.Error("such long ranges");
    splits.push_back(splits.back() + static_cast<int64_t>(count));
  }
  XC_ASSIGN_OR_RETURN(Tensor values, c.Alloc(1, {splits.back()}));
  for (int64_t r = 0; r < rows; ++r) {
    T v = value(0, r);
    for (int64_t i = splits[r]; i < splits[r + 1]; ++i, v += value(2, r)) values.data<T>()[i] = v;
  }
  c.outputs[0] = Tensor::Integers(c.node.output_types[0], splits);
  c.outputs[1] = std::move(values);
  return absl::OkStatus();
}

absl::Status RaggedRange(KernelContext& c) {
  return ForType(c.in(0).dtype(), [&](auto zero) { return RangesOf<decltype(zero)>(c); });
}

using Splits = std::vector<std::vector<int64_t>>;  // row splits of each ragged dimension, outermost first

absl::Status CheckSplits(KernelContext& c, const Splits& splits, int64_t values) {
  for (size_t d = 0; d < splits.size(); ++d) {
    int64_t below = d + 1 < splits.size() ? static_cast<int64_t>(splits[d + 1].size()) - 1 : values;
    bool good = !splits[d].empty() && splits[d][0] == 0 && splits[d].back() == below &&
                std::is_sorted(splits[d].begin(), splits[d].end());
    if (!good) return c.Error(absl::StrCat("row splits ", d, " do not fit what is below them"));
  }
  return absl::OkStatus();
}

// The first `depth` inputs as the splits above the one that follows them, the values.
absl::StatusOr<Splits> ReadSplits(KernelContext& c, int64_t depth) {
  const Tensor& values = c.in(static_cast<int>(depth));
  if (values.rank() < 1) return c.Error("the values must have rank 1 or more");
  Splits splits(depth);
  for (int64_t d = 0; d < depth; ++d) {
    XC_ASSIGN_OR_RETURN(splits[d], c.Ints(static_cast<int>(d)));
  }
  XC_RETURN_IF_ERROR(CheckSplits(c, splits, values.dims()[0]));
  return splits;
}

// The size of the outermost dimension and the widest row of each below it.
Dims BoundingShape(const Splits& splits) {
  Dims shape;
  for (const std::vector<int64_t>& s : splits) {
    if (shape.empty()) shape.push_back(static_cast<int64_t>(s.size()) - 1);
    int64_t widest = 0;
    for (size_t r = 0; r + 1 < s.size(); ++r) widest = std::max(widest, s[r + 1] - s[r]);
    shape.push_back(widest);
  }
  return shape;
}

absl::Status RaggedToSparse(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t depth, c.node.Int("RAGGED_RANK"));
  if (depth < 1 || depth + 1 != c.num_inputs()) return c.Error("there must be row splits");
  XC_ASSIGN_OR_RETURN(const Splits splits, ReadSplits(c, depth));
  const Tensor& values = c.in(static_cast<int>(depth));
  Dims inner(values.dims().begin() + 1, values.dims().end());
  int64_t width = values.dims()[0] == 0 ? 0 : values.num_elements() / values.dims()[0];
  int64_t rank = depth + values.rank();
  Dims shape = BoundingShape(splits);
  shape.insert(shape.end(), inner.begin(), inner.end());
  std::vector<int64_t> at, position(rank);
  for (int64_t v = 0; v < values.dims()[0]; ++v) {
    int64_t row = v;
    for (int64_t d = depth - 1; d >= 0; --d) {
      int64_t up = std::upper_bound(splits[d].begin(), splits[d].end(), row) - splits[d].begin() - 1;
      position[d + 1] = row - splits[d][up];
      row = up;
    }
    position[0] = row;
    for (int64_t k = 0; k < width; ++k) {
      int64_t rest = k;
      for (int64_t d = static_cast<int64_t>(inner.size()) - 1; d >= 0; --d) {
        position[depth + 1 + d] = rest % inner[d];
        rest /= inner[d];
      }
      at.insert(at.end(), position.begin(), position.end());
    }
  }
  XC_RETURN_IF_ERROR(SetIndices(c, 0, at, rank));
  c.outputs[1] = values.Reshaped({values.num_elements()});
  c.outputs[2] = Tensor::Int64s(shape);
  return absl::OkStatus();
}

// Rows padded with a default value, or cut, to a dense array.
absl::Status RaggedToDense(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto kinds, c.node.Strings("row_partition_types"));
  const Tensor& values = c.in(1);
  int first = 3;
  int64_t outer = -1;
  if (!kinds.empty() && kinds[0] == "FIRST_DIM_SIZE") {
    XC_ASSIGN_OR_RETURN(outer, c.Int(first++));
    kinds.erase(kinds.begin());
  }
  if (values.rank() < 1 || c.num_inputs() != first + static_cast<int>(kinds.size())) {
    return c.Error("the row partitions do not fit");
  }
  Splits splits(kinds.size());
  for (size_t d = 0; d < kinds.size(); ++d) {
    XC_ASSIGN_OR_RETURN(splits[d], c.Ints(first + static_cast<int>(d)));
    if (kinds[d] == "ROW_SPLITS") continue;
    if (kinds[d] != "VALUE_ROWIDS") return absl::UnimplementedError("row partition " + kinds[d]);
    // Row numbers of the values become splits of as many rows as the level above has.
    std::vector<int64_t> ids = std::move(splits[d]);
    int64_t rows = d == 0 ? outer : splits[d - 1].back();
    if (rows < 0 || rows > (int64_t{1} << 31)) return c.Error("the number of rows is not known");
    splits[d].assign(rows + 1, 0);
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] < 0 || ids[i] >= rows || (i > 0 && ids[i] < ids[i - 1])) return c.Error("bad row numbers");
      ++splits[d][ids[i] + 1];
    }
    std::partial_sum(splits[d].begin(), splits[d].end(), splits[d].begin());
  }
  XC_RETURN_IF_ERROR(CheckSplits(c, splits, values.dims()[0]));
  Dims shape = BoundingShape(splits);
  int64_t depth = static_cast<int64_t>(splits.size());
  if (shape.empty()) shape.push_back(values.dims()[0]);
  shape.insert(shape.end(), values.dims().begin() + 1, values.dims().end());
  XC_ASSIGN_OR_RETURN(Dims asked, c.Ints(0));
  if (c.in(0).rank() == 1) {
    if (asked.size() != shape.size()) return c.Error("the shape that is asked for has another rank");
    for (size_t d = 0; d < asked.size(); ++d) {
      if (asked[d] < 0) continue;
      if (static_cast<int64_t>(d) > depth && asked[d] != shape[d]) return c.Error("uniform dimensions cannot change");
      shape[d] = asked[d];
    }
  }
  if (c.in(2).rank() > values.rank() - 1) return c.Error("default_value has a higher rank than a row");
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, shape));
  int64_t width = 1;
  for (size_t d = depth + 1; d < shape.size(); ++d) width *= shape[d];
  XC_ASSIGN_OR_RETURN(Dims filled, BroadcastDims(c.in(2).dims(), Dims(shape.begin() + depth + 1, shape.end())));
  if (filled != Dims(shape.begin() + depth + 1, shape.end())) return c.Error("default_value does not fit a row");
  if (c.in(2).num_elements() != 1 && c.in(2).num_elements() != width) {
    return absl::UnimplementedError("a default value that is stretched");
  }
  int64_t slots = 1;
  for (int64_t d = 0; d <= depth; ++d) slots *= shape[d];
  for (int64_t slot = 0; slot < slots; ++slot) {
    // The place of the slot in each dimension, then down the splits to its value.
    std::vector<int64_t> position(depth + 1);
    int64_t rest = slot;
    for (int64_t d = depth; d >= 0; --d) {
      position[d] = rest % shape[d];
      rest /= shape[d];
    }
    int64_t row = position[0];
    bool there = row < (splits.empty() ? values.dims()[0] : static_cast<int64_t>(splits[0].size()) - 1);
    for (int64_t d = 0; there && d < depth; ++d) {
      there = position[d + 1] < splits[d][row + 1] - splits[d][row];
      row = splits[d][row] + position[d + 1];
    }
    for (int64_t k = 0; k < width; ++k) {
      if (there) {
        CopyElement(values, row * width + k, out, slot * width + k);
      } else {
        CopyElement(c.in(2), c.in(2).num_elements() == 1 ? 0 : k, out, slot * width + k);
      }
    }
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

// Rows of a ragged tensor by number.
absl::Status RaggedGather(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t depth, c.node.Int("PARAMS_RAGGED_RANK"));
  if (depth < 1 || depth + 2 != c.num_inputs()) return c.Error("there must be row splits");
  XC_ASSIGN_OR_RETURN(const Splits splits, ReadSplits(c, depth));
  const Tensor &values = c.in(static_cast<int>(depth)), &ids = c.in(static_cast<int>(depth) + 1);
  XC_ASSIGN_OR_RETURN(auto rows, ids.AsInt64s());
  if (ids.rank() != 1) return absl::UnimplementedError("indices that are not a vector");
  // Stretches of the level below, followed down to the values.
  std::vector<std::pair<int64_t, int64_t>> stretches;
  for (int64_t r : rows) {
    if (r < 0 || r + 1 >= static_cast<int64_t>(splits[0].size())) {
      return c.Error(absl::StrCat("index ", r, " is not in [0, ", splits[0].size() - 1, ")"));
    }
    stretches.emplace_back(r, r + 1);
  }
  for (int64_t d = 0; d < depth; ++d) {
    std::vector<int64_t> out = {0};
    for (auto& [first, last] : stretches) {
      for (int64_t r = first; r < last; ++r) out.push_back(out.back() + splits[d][r + 1] - splits[d][r]);
      first = splits[d][first];
      last = splits[d][last];
    }
    c.outputs[d] = Tensor::Integers(c.node.output_types[d], out);
  }
  Dims dims = values.dims();
  int64_t width = dims[0] == 0 ? 0 : values.num_elements() / dims[0];
  dims[0] = 0;
  for (auto [first, last] : stretches) dims[0] += last - first;
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(static_cast<int>(depth), dims));
  int64_t to = 0;
  for (auto [first, last] : stretches) {
    for (int64_t i = first * width; i < last * width; ++i) CopyElement(values, i, out, to++);
  }
  c.outputs[depth] = std::move(out);
  return absl::OkStatus();
}

// A ragged tensor in a variant: a list of its row splits, outermost first, and its values.
Tensor Encode(std::vector<Tensor> splits, Tensor values) {
  auto list = std::make_shared<TensorList>();
  list->element_type = values.dtype();
  list->element_shape.known_rank = false;
  list->items = std::move(splits);
  list->items.push_back(std::move(values));
  return Tensor::FromList(std::move(list));
}

// The whole ragged tensor as one variant, or one variant for each of its rows.
absl::Status RaggedToVariant(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t depth, c.node.Int("RAGGED_RANK"));
  XC_ASSIGN_OR_RETURN(bool batched, c.node.Bool("batched_input"));
  if (depth < 0 || depth + 1 != c.num_inputs()) return c.Error("the row splits do not fit the ragged rank");
  XC_ASSIGN_OR_RETURN(const Splits splits, ReadSplits(c, depth));
  const Tensor& values = c.in(static_cast<int>(depth));
  if (!batched) {
    c.outputs[0] = Encode({c.inputs.begin(), c.inputs.begin() + depth}, values);
    return absl::OkStatus();
  }
  const int64_t rows = depth == 0 ? values.dims()[0] : static_cast<int64_t>(splits[0].size()) - 1;
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, {rows}));
  for (int64_t r = 0; r < rows; ++r) {
    int64_t first = depth == 0 ? r : splits[0][r], last = depth == 0 ? r + 1 : splits[0][r + 1];
    std::vector<Tensor> inner;
    for (int64_t d = 1; d < depth; ++d) {
      std::vector<int64_t> part(splits[d].begin() + first, splits[d].begin() + last + 1);
      first = part.front();
      last = part.back();
      for (int64_t& s : part) s -= first;
      inner.push_back(Tensor::Integers(c.in(static_cast<int>(d)).dtype(), part));
    }
    out.variants()[r] = Encode(std::move(inner), depth == 0 ? values.Row(r) : values.Rows(first, last - first));
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status FromVariantError(KernelContext& c) { return c.Error("the input is not an encoded ragged tensor"); }

// A ragged tensor out of variants: one for all of it, or an array of them, whose dimensions become the outer ones.
absl::Status RaggedFromVariant(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t outer, c.node.Int("output_ragged_rank"));
  XC_ASSIGN_OR_RETURN(int64_t inner, c.node.Int("input_ragged_rank"));
  XC_ASSIGN_OR_RETURN(DataType type, c.node.Type("Tvalues"));
  XC_ASSIGN_OR_RETURN(DataType split_type, c.node.Type("Tsplits"));
  const Tensor& in = c.in(0);
  if (inner < 0) inner = outer - in.rank();
  if (inner < 0 || outer != inner + in.rank()) return c.Error("the ragged ranks do not fit the input");
  if (static_cast<int64_t>(c.outputs.size()) != outer + 1) return c.Error("the number of outputs does not fit");
  std::vector<const TensorList*> parts;
  for (int64_t i = 0; i < in.num_elements(); ++i) {
    const Tensor& one = in.rank() == 0 ? in : in.variants()[i];
    if (one.list() == nullptr || static_cast<int64_t>(one.list()->items.size()) != inner + 1) {
      return FromVariantError(c);
    }
    parts.push_back(one.list().get());
    const Tensor& values = parts.back()->items[inner];
    if (values.dtype() != type) return c.Error("the values are of another type");
    if (values.rank() < (in.rank() > 0 || inner > 0 ? 1 : 0)) return c.Error("the values must have rank 1 or more");
  }
  if (in.rank() == 0) {
    for (int64_t d = 0; d <= outer; ++d) c.outputs[d] = parts[0]->items[d];
    return absl::OkStatus();
  }
  // Splits of the dimensions of the array, then those of the parts one behind the other.
  for (int d = 0; d < in.rank(); ++d) {
    std::vector<int64_t> splits = {0};
    if (d + 1 < in.rank()) {
      int64_t rows = 1;
      for (int k = 0; k <= d; ++k) rows *= in.dims()[k];
      for (int64_t r = 0; r < rows; ++r) splits.push_back(splits.back() + in.dims()[d + 1]);
    } else {
      for (const TensorList* p : parts) {
        const Tensor& first = p->items[0];
        if (first.rank() < 1 || (inner > 0 && first.dims()[0] < 1)) return FromVariantError(c);
        splits.push_back(splits.back() + first.dims()[0] - (inner > 0 ? 1 : 0));
      }
    }
    c.outputs[d] = Tensor::Integers(split_type, splits);
  }
  for (int64_t d = 0; d < inner; ++d) {
    std::vector<int64_t> splits = {0};
    for (const TensorList* p : parts) {
      XC_ASSIGN_OR_RETURN(auto part, p->items[d].AsInt64s());
      const int64_t base = splits.back();
      for (size_t i = 1; i < part.size(); ++i) splits.push_back(base + part[i]);
    }
    c.outputs[in.rank() + d] = Tensor::Integers(split_type, splits);
  }
  Dims dims = {0};
  for (size_t p = 0; p < parts.size(); ++p) {
    const Dims& part = parts[p]->items[inner].dims();
    if (p == 0) dims.insert(dims.end(), part.begin() + 1, part.end());
    if (!std::equal(dims.begin() + 1, dims.end(), part.begin() + 1, part.end())) {
      return c.Error("the parts' values differ in shape");
    }
    dims[0] += part[0];
  }
  XC_ASSIGN_OR_RETURN(Tensor values, c.AllocType(type, dims));
  int64_t at = 0;
  for (const TensorList* p : parts) {
    const Tensor& part = p->items[inner];
    for (int64_t i = 0; i < part.num_elements(); ++i) CopyElement(part, i, values, at++);
  }
  c.outputs[outer] = std::move(values);
  return absl::OkStatus();
}

// The gradient of one variant per row: the values of the rows' gradients, put together; rows without one have zeros.
absl::Status RaggedToVariantGradient(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto splits, c.Ints(1));
  XC_ASSIGN_OR_RETURN(Dims dims, c.Ints(2));
  const Tensor& in = c.in(0);
  if (in.rank() == 0 || dims.empty()) {
    if (in.list() == nullptr || in.list()->items.empty()) return FromVariantError(c);
    c.outputs[0] = in.list()->items.back();
    return absl::OkStatus();
  }
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, dims));
  const int64_t width = dims[0] == 0 ? 0 : out.num_elements() / dims[0];
  if (static_cast<int64_t>(splits.size()) != in.num_elements() + 1) return c.Error("needs one row for each variant");
  for (int64_t r = 0; r < in.num_elements(); ++r) {
    const auto& row = in.variants()[r].list();
    if (row == nullptr || row->items.empty()) continue;
    const Tensor& part = row->items.back();
    if (part.dtype() != out.dtype() || splits[r] < 0 || splits[r] > dims[0] ||
        part.num_elements() > (dims[0] - splits[r]) * width) {
      return c.Error("the gradients of the rows do not fit");
    }
    for (int64_t i = 0; i < part.num_elements(); ++i) CopyElement(part, i, out, splits[r] * width + i);
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

// Rows without a value get one, the default.
absl::Status RaggedFillEmptyRows(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto ids, c.Ints(0));
  XC_ASSIGN_OR_RETURN(int64_t rows, c.Int(2));
  const int64_t n = static_cast<int64_t>(ids.size());
  if (c.in(1).dims() != Dims{n} || c.in(3).num_elements() != 1 || rows < 0 || rows > (int64_t{1} << 31)) {
    return c.Error("value_rowids, values, nrows and default_value do not fit");
  }
  XC_ASSIGN_OR_RETURN(Tensor empty, c.Alloc(2, {rows}));
  std::vector<int64_t> first(rows + 1, 0);
  for (int64_t id : ids) {
    if (id < 0 || id >= rows) return c.Error(absl::StrCat("row ", id, " is not in [0, ", rows, ")"));
    ++first[id + 1];
  }
  for (int64_t r = 0; r < rows; ++r) {
    empty.data<uint8_t>()[r] = first[r + 1] == 0;
    first[r + 1] = first[r] + std::max<int64_t>(first[r + 1], 1);
  }
  XC_ASSIGN_OR_RETURN(Tensor out_ids, c.Alloc(0, {first[rows]}));
  XC_ASSIGN_OR_RETURN(Tensor values, c.Alloc(1, {first[rows]}));
  XC_ASSIGN_OR_RETURN(Tensor map, c.Alloc(3, {n}));
  for (int64_t r = 0; r < rows; ++r) {
    std::fill(out_ids.data<int64_t>() + first[r], out_ids.data<int64_t>() + first[r + 1], r);
    if (empty.data<uint8_t>()[r]) CopyElement(c.in(3), 0, values, first[r]);
  }
  for (int64_t i = 0; i < n; ++i) {
    const int64_t to = first[ids[i]]++;
    CopyElement(c.in(1), i, values, to);
    map.data<int64_t>()[i] = to;
  }
  c.outputs = {std::move(out_ids), std::move(values), std::move(empty), std::move(map)};
  return absl::OkStatus();
}

}  // namespace

void RegisterRaggedKernels(KernelRegistry& r) {
  r.Add({"RaggedGather"}, RaggedGather, false);
  r.Add({"RaggedRange"}, RaggedRange, false);
  r.Add({"RaggedTensorToSparse"}, RaggedToSparse, false);
  r.Add({"RaggedTensorToTensor"}, RaggedToDense, false);
  r.Add({"RaggedTensorToVariant"}, RaggedToVariant, false);
  r.Add({"RaggedTensorFromVariant"}, RaggedFromVariant, false);
  r.Add({"RaggedTensorToVariantGradient"}, RaggedToVariantGradient, false);
  r.Add({"RaggedFillEmptyRows"}, RaggedFillEmptyRows, false);
}

}  // namespace xc
