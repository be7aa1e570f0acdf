// Host kernels of sparse and ragged tensors: (indices, values, shape) in row-major order, and row splits.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"

namespace xc {
namespace {

// A sparse tensor's indices, [n, rank], and shape, checked against each other.
struct Coordinates {
  int64_t n = 0, rank = 0;
  std::vector<int64_t> at;  // n * rank
  Dims shape;

  const int64_t* row(int64_t i) const { return at.data() + i * rank; }
  bool Less(int64_t i, int64_t j) const {
    return std::lexicographical_compare(row(i), row(i) + rank, row(j), row(j) + rank);
  }
};

absl::StatusOr<Coordinates> ReadCoordinates(KernelContext& c, int indices, int shape) {
  Coordinates s;
  if (c.in(indices).rank() != 2 || c.in(shape).rank() != 1) return c.Error("indices must be a matrix, shape a vector");
  s.n = c.in(indices).dims()[0];
  s.rank = c.in(indices).dims()[1];
  XC_ASSIGN_OR_RETURN(s.at, c.Ints(indices));
  XC_ASSIGN_OR_RETURN(s.shape, c.Ints(shape));
  if (static_cast<int64_t>(s.shape.size()) != s.rank) return c.Error("indices and shape differ in rank");
  for (int64_t d : s.shape) {
    if (d < 0) return c.Error("the shape has a negative dimension");
  }
  for (int64_t i = 0; i < s.n; ++i) {
    for (int64_t d = 0; d < s.rank; ++d) {
      if (s.row(i)[d] < 0 || s.row(i)[d] >= s.shape[d]) {
        return c.Error(
            absl::StrCat("index ", s.row(i)[d], " of entry ", i, " is out of bounds for ", DimsToString(s.shape)));
      }
    }
  }
  return s;
}

absl::Status SetIndices(KernelContext& c, int output, const std::vector<int64_t>& at, int64_t rank) {
  int64_t n = rank == 0 ? 0 : static_cast<int64_t>(at.size()) / rank;
  XC_ASSIGN_OR_RETURN(c.outputs[output], c.Alloc(output, {n, rank}));
  std::copy(at.begin(), at.end(), c.outputs[output].data<int64_t>());
  return absl::OkStatus();
}

absl::Status Reorder(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Coordinates s, ReadCoordinates(c, 0, 2));
  if (c.in(1).dims() != Dims{s.n}) return c.Error("there must be one value per index");
  std::vector<int64_t> order(s.n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return s.Less(i, j); });
  XC_ASSIGN_OR_RETURN(Tensor values, c.Alloc(1, {s.n}));
  std::vector<int64_t> at;
  for (int64_t i = 0; i < s.n; ++i) {
    at.insert(at.end(), s.row(order[i]), s.row(order[i]) + s.rank);
    CopyElement(c.in(1), order[i], values, i);
  }
  XC_RETURN_IF_ERROR(SetIndices(c, 0, at, s.rank));
  c.outputs[1] = std::move(values);
  return absl::OkStatus();
}

absl::Status Reshape(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Coordinates s, ReadCoordinates(c, 0, 1));
  XC_ASSIGN_OR_RETURN(Dims want, c.Ints(2));
  XC_ASSIGN_OR_RETURN(int64_t total, CheckedNumElements(s.shape));
  int64_t known = 1, open = -1;
  for (size_t d = 0; d < want.size(); ++d) {
    if (want[d] == -1) {
      if (open >= 0) return c.Error("more than one dimension is -1");
      open = static_cast<int64_t>(d);
    } else if (want[d] < 0 || __builtin_mul_overflow(known, want[d], &known)) {
      return c.Error("bad new shape");
    }
  }
  if (open >= 0) want[open] = known == 0 ? 0 : total / known;
  XC_ASSIGN_OR_RETURN(int64_t after, CheckedNumElements(want));
  if (after != total) {
    return c.Error(absl::StrCat(DimsToString(s.shape), " cannot become ", DimsToString(want)));
  }
  int64_t rank = static_cast<int64_t>(want.size());
  std::vector<int64_t> at(s.n * rank);
  for (int64_t i = 0; i < s.n; ++i) {
    int64_t place = 0;
    for (int64_t d = 0; d < s.rank; ++d) place = place * s.shape[d] + s.row(i)[d];
    for (int64_t d = rank - 1; d >= 0; --d) {
      at[i * rank + d] = place % want[d];
      place /= want[d];
    }
  }
  XC_RETURN_IF_ERROR(SetIndices(c, 0, at, rank));
  c.outputs[1] = Tensor::Int64s(want);
  return absl::OkStatus();
}

// Rows without an entry get one, with the default value, at column zero.
absl::Status FillEmptyRows(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Coordinates s, ReadCoordinates(c, 0, 2));
  if (c.in(1).dims() != Dims{s.n}) return c.Error("there must be one value per index");
  if (s.rank < 1) return c.Error("the tensor must have rank 1 or more");
  if (c.in(3).num_elements() != 1) return c.Error("default_value must be a scalar");
  int64_t rows = s.shape[0];
  XC_ASSIGN_OR_RETURN(Tensor empty, c.Alloc(2, {rows}));
  std::vector<int64_t> first(rows + 1, 0);  // entries before each row of the result
  for (int64_t i = 0; i < s.n; ++i) ++first[s.row(i)[0] + 1];
  for (int64_t r = 0; r < rows; ++r) {
    empty.data<uint8_t>()[r] = first[r + 1] == 0;
    first[r + 1] = first[r] + std::max<int64_t>(first[r + 1], 1);
  }
  int64_t n = first[rows];
  XC_ASSIGN_OR_RETURN(Tensor values, c.Alloc(1, {n}));
  XC_ASSIGN_OR_RETURN(Tensor map, c.Alloc(3, {s.n}));
  std::vector<int64_t> at(n * s.rank, 0);
  for (int64_t r = 0; r < rows; ++r) {
    if (!empty.data<uint8_t>()[r]) continue;
    at[first[r] * s.rank] = r;
    CopyElement(c.in(3), 0, values, first[r]);
  }
  for (int64_t i = 0; i < s.n; ++i) {
    int64_t to = first[s.row(i)[0]]++;
    std::copy(s.row(i), s.row(i) + s.rank, at.begin() + to * s.rank);
    CopyElement(c.in(1), i, values, to);
    map.data<int64_t>()[i] = to;
  }
  XC_RETURN_IF_ERROR(SetIndices(c, 0, at, s.rank));
  c.outputs[1] = std::move(values);
  c.outputs[2] = std::move(empty);
  c.outputs[3] = std::move(map);
  return absl::OkStatus();
}

// The part of a sparse tensor in a box.
absl::Status Slice(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Coordinates s, ReadCoordinates(c, 0, 2));
  XC_ASSIGN_OR_RETURN(auto start, c.Ints(3));
  XC_ASSIGN_OR_RETURN(auto size, c.Ints(4));
  if (c.in(1).dims() != Dims{s.n}) return c.Error("there must be one value per index");
  if (static_cast<int64_t>(start.size()) != s.rank || start.size() != size.size()) {
    return c.Error("start and size must have one entry per dimension");
  }
  std::vector<int64_t> at, kept;
  for (int64_t i = 0; i < s.n; ++i) {
    bool inside = true;
    for (int64_t d = 0; d < s.rank; ++d) {
      inside &= s.row(i)[d] >= start[d] && (size[d] < 0 || s.row(i)[d] - start[d] < size[d]);
    }
    if (!inside) continue;
    kept.push_back(i);
    for (int64_t d = 0; d < s.rank; ++d) at.push_back(s.row(i)[d] - start[d]);
  }
  Dims shape(s.rank);
  for (int64_t d = 0; d < s.rank; ++d) {
    if (start[d] < 0 || start[d] > s.shape[d]) return c.Error("start is out of range");
    shape[d] = size[d] < 0 ? s.shape[d] - start[d] : std::min(size[d], s.shape[d] - start[d]);
  }
  XC_ASSIGN_OR_RETURN(Tensor values, c.Alloc(1, {static_cast<int64_t>(kept.size())}));
  for (size_t i = 0; i < kept.size(); ++i) CopyElement(c.in(1), kept[i], values, static_cast<int64_t>(i));
  XC_RETURN_IF_ERROR(SetIndices(c, 0, at, s.rank));
  c.outputs[1] = std::move(values);
  c.outputs[2] = Tensor::Int64s(shape);
  return absl::OkStatus();
}

absl::Status Concat(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t parts, c.node.Int("N"));
  XC_ASSIGN_OR_RETURN(int64_t axis, c.node.Int("concat_dim"));
  std::vector<Coordinates> tensors;
  std::vector<std::pair<int, int64_t>> entries;  // (part, entry)
  for (int p = 0; p < parts; ++p) {
    XC_ASSIGN_OR_RETURN(Coordinates s, ReadCoordinates(c, p, static_cast<int>(2 * parts) + p));
    if (p == 0) {
      XC_ASSIGN_OR_RETURN(axis, c.Axis(axis, s.rank));
    } else if (s.rank != tensors[0].rank) {
      return c.Error("the tensors differ in rank");
    }
    if (c.in(static_cast<int>(parts) + p).dims() != Dims{s.n}) return c.Error("there must be one value per index");
    int64_t before = 0;
    for (const Coordinates& t : tensors) before += t.shape[axis];
    for (int64_t d = 0; p > 0 && d < s.rank; ++d) {
      if (d != axis && s.shape[d] != tensors[0].shape[d]) return c.Error("the shapes differ outside concat_dim");
    }
    Coordinates moved = s;
    for (int64_t i = 0; i < s.n; ++i) {
      moved.at[i * s.rank + axis] += before;
      entries.emplace_back(p, i);
    }
    tensors.push_back(std::move(moved));
  }
  std::stable_sort(entries.begin(), entries.end(), [&](const auto& x, const auto& y) {
    const int64_t *a = tensors[x.first].row(x.second), *b = tensors[y.first].row(y.second);
    return std::lexicographical_compare(a, a + tensors[0].rank, b, b + tensors[0].rank);
  });
  XC_ASSIGN_OR_RETURN(Tensor values, c.Alloc(1, {static_cast<int64_t>(entries.size())}));
  std::vector<int64_t> at;
  for (size_t i = 0; i < entries.size(); ++i) {
    auto [p, e] = entries[i];
    at.insert(at.end(), tensors[p].row(e), tensors[p].row(e) + tensors[p].rank);
    CopyElement(c.in(static_cast<int>(parts) + p), e, values, static_cast<int64_t>(i));
  }
  Dims shape = tensors[0].shape;
  for (size_t p = 1; p < tensors.size(); ++p) shape[axis] += tensors[p].shape[axis];
  XC_RETURN_IF_ERROR(SetIndices(c, 0, at, tensors[0].rank));
  c.outputs[1] = std::move(values);
  c.outputs[2] = Tensor::Int64s(shape);
  return absl::OkStatus();
}

// Calls `fn` with a value of the C++ type of the values.
template <typename Fn>
absl::Status ForType(DataType type, Fn fn) {
  switch (type) {
    case DT_FLOAT:
      return fn(float{});
    case DT_DOUBLE:
      return fn(double{});
    case DT_INT32:
      return fn(int32_t{});
    case DT_INT64:
      return fn(int64_t{});
    default:
      return absl::UnimplementedError("sparse arithmetic of that type");
  }
}

template <typename T>
absl::Status MatMulOf(KernelContext& c, const Coordinates& s, bool adjoint_a, bool adjoint_b) {
  const Tensor& b = c.in(3);
  int64_t rows = s.shape[adjoint_a ? 1 : 0], inner = s.shape[adjoint_a ? 0 : 1];
  int64_t columns = b.dims()[adjoint_b ? 0 : 1], stride = b.dims()[1];
  if (b.dims()[adjoint_b ? 1 : 0] != inner) return c.Error("the inner sizes differ");
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, {rows, columns}));
  for (int64_t i = 0; i < s.n; ++i) {
    int64_t row = s.row(i)[adjoint_a ? 1 : 0], k = s.row(i)[adjoint_a ? 0 : 1];
    T v = c.in(1).data<T>()[i];
    for (int64_t j = 0; j < columns; ++j) {
      out.data<T>()[row * columns + j] += v * b.data<T>()[adjoint_b ? j * stride + k : k * stride + j];
    }
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status TensorDenseMatMul(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Coordinates s, ReadCoordinates(c, 0, 2));
  XC_ASSIGN_OR_RETURN(bool adjoint_a, c.node.Bool("adjoint_a"));
  XC_ASSIGN_OR_RETURN(bool adjoint_b, c.node.Bool("adjoint_b"));
  if (s.rank != 2 || c.in(3).rank() != 2) return c.Error("both sides must be matrices");
  if (c.in(1).dims() != Dims{s.n}) return c.Error("there must be one value per index");
  return ForType(c.in(1).dtype(), [&](auto zero) { return MatMulOf<decltype(zero)>(c, s, adjoint_a, adjoint_b); });
}

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
  c.outputs[0] = c.node.output_types[0] == DT_INT64 ? Tensor::Int64s(splits) : Tensor::Int32s(splits);
  c.outputs[1] = std::move(values);
  return absl::OkStatus();
}

absl::Status RaggedRange(KernelContext& c) {
  return ForType(c.in(0).dtype(), [&](auto zero) { return RangesOf<decltype(zero)>(c); });
}

// Row splits of each ragged dimension, outermost first, down to `values` rows.
absl::Status CheckSplits(KernelContext& c, const std::vector<std::vector<int64_t>>& splits, int64_t values) {
  for (size_t d = 0; d < splits.size(); ++d) {
    int64_t below = d + 1 < splits.size() ? static_cast<int64_t>(splits[d + 1].size()) - 1 : values;
    bool good = !splits[d].empty() && splits[d][0] == 0 && splits[d].back() == below &&
                std::is_sorted(splits[d].begin(), splits[d].end());
    if (!good) return c.Error(absl::StrCat("row splits ", d, " do not fit what is below them"));
  }
  return absl::OkStatus();
}

absl::Status RaggedToSparse(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t depth, c.node.Int("RAGGED_RANK"));
  std::vector<std::vector<int64_t>> splits(depth);
  for (int64_t d = 0; d < depth; ++d) {
    XC_ASSIGN_OR_RETURN(splits[d], c.Ints(static_cast<int>(d)));
  }
  const Tensor& values = c.in(static_cast<int>(depth));
  if (depth < 1 || values.rank() < 1) return c.Error("there must be splits, and values of rank 1 or more");
  XC_RETURN_IF_ERROR(CheckSplits(c, splits, values.dims()[0]));
  Dims inner(values.dims().begin() + 1, values.dims().end());
  int64_t width = values.dims()[0] == 0 ? 0 : values.num_elements() / values.dims()[0];
  int64_t rank = depth + values.rank();
  Dims shape = {static_cast<int64_t>(splits[0].size()) - 1};
  for (const auto& s : splits) {
    int64_t widest = 0;
    for (size_t r = 0; r + 1 < s.size(); ++r) widest = std::max(widest, s[r + 1] - s[r]);
    shape.push_back(widest);
  }
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
  std::vector<std::vector<int64_t>> splits(kinds.size());
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
  Dims shape;
  if (!splits.empty()) shape.push_back(static_cast<int64_t>(splits[0].size()) - 1);
  for (const auto& s : splits) {
    int64_t widest = 0;
    for (size_t r = 0; r + 1 < s.size(); ++r) widest = std::max(widest, s[r + 1] - s[r]);
    shape.push_back(widest);
  }
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

absl::Status ReduceSum(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Coordinates s, ReadCoordinates(c, 0, 2));
  XC_ASSIGN_OR_RETURN(auto axes, c.Ints(3));
  XC_ASSIGN_OR_RETURN(bool keep, c.node.Bool("keep_dims"));
  if (c.in(1).dims() != Dims{s.n}) return c.Error("there must be one value per index");
  std::vector<bool> reduced(s.rank, false);
  for (int64_t a : axes) {
    XC_ASSIGN_OR_RETURN(a, c.Axis(a, s.rank));
    reduced[a] = true;
  }
  Dims dims;
  for (int64_t d = 0; d < s.rank; ++d) {
    if (!reduced[d] || keep) dims.push_back(reduced[d] ? 1 : s.shape[d]);
  }
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, dims));
  absl::Status status = ForType(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < s.n; ++i) {
      int64_t to = 0;
      for (int64_t d = 0; d < s.rank; ++d) to = reduced[d] ? to : to * s.shape[d] + s.row(i)[d];
      out.data<T>()[to] += c.in(1).data<T>()[i];
    }
    return absl::OkStatus();
  });
  c.outputs[0] = std::move(out);
  return status;
}

// A sparse tensor plus a dense one, dense.
absl::Status AddDense(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Coordinates s, ReadCoordinates(c, 0, 2));
  if (c.in(1).dims() != Dims{s.n}) return c.Error("there must be one value per index");
  if (c.in(3).dims() != s.shape) return c.Error("the two sides differ in shape");
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, s.shape));
  absl::Status status = ForType(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::copy_n(c.in(3).data<T>(), out.num_elements(), out.data<T>());
    for (int64_t i = 0; i < s.n; ++i) {
      int64_t to = 0;
      for (int64_t d = 0; d < s.rank; ++d) to = to * s.shape[d] + s.row(i)[d];
      out.data<T>()[to] += c.in(1).data<T>()[i];
    }
    return absl::OkStatus();
  });
  c.outputs[0] = std::move(out);
  return status;
}

// The values of a sparse tensor with those of a dense one, stretched to its shape, at the same places.
absl::Status WithDense(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Coordinates s, ReadCoordinates(c, 0, 2));
  if (c.in(1).dims() != Dims{s.n}) return c.Error("there must be one value per index");
  const Dims& dense = c.in(3).dims();
  int64_t skipped = s.rank - static_cast<int64_t>(dense.size());
  for (size_t d = 0; d < dense.size(); ++d) {
    if (skipped < 0 || (dense[d] != 1 && dense[d] != s.shape[d + skipped]))
      return c.Error("the dense side does not fit");
  }
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, {s.n}));
  char kind = c.node.op.back();  // SparseDenseCwiseMul, …Div, …Add
  absl::Status status = ForType(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < s.n; ++i) {
      int64_t from = 0;
      for (size_t d = 0; d < dense.size(); ++d) from = from * dense[d] + (dense[d] == 1 ? 0 : s.row(i)[d + skipped]);
      T x = c.in(1).data<T>()[i], y = c.in(3).data<T>()[from];
      if (kind == 'v' && !std::is_floating_point_v<T> && y == 0) return c.Error("division by zero");
      out.data<T>()[i] = kind == 'l' ? x * y : kind == 'v' ? x / y : x + y;
    }
    return absl::OkStatus();
  });
  c.outputs[0] = std::move(out);
  return status;
}

// Rows of a ragged tensor by number.
absl::Status RaggedGather(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t depth, c.node.Int("PARAMS_RAGGED_RANK"));
  if (depth < 1 || depth + 2 != c.num_inputs()) return c.Error("there must be row splits");
  std::vector<std::vector<int64_t>> splits(depth);
  for (int64_t d = 0; d < depth; ++d) {
    XC_ASSIGN_OR_RETURN(splits[d], c.Ints(static_cast<int>(d)));
  }
  const Tensor &values = c.in(static_cast<int>(depth)), &ids = c.in(static_cast<int>(depth) + 1);
  if (values.rank() < 1) return c.Error("the values must have rank 1 or more");
  XC_RETURN_IF_ERROR(CheckSplits(c, splits, values.dims()[0]));
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
    c.outputs[d] = c.node.output_types[d] == DT_INT64 ? Tensor::Int64s(out) : Tensor::Int32s(out);
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

}  // namespace

void RegisterSparseKernels(KernelRegistry& r) {
  r.Add({"SparseReorder"}, Reorder, false);
  r.Add({"SparseReshape"}, Reshape, false);
  r.Add({"SparseFillEmptyRows"}, FillEmptyRows, false);
  r.Add({"SparseSlice"}, Slice, false);
  r.Add({"SparseConcat"}, Concat, false);
  r.Add({"SparseTensorDenseMatMul"}, TensorDenseMatMul, false);
  r.Add({"SparseReduceSum"}, ReduceSum, false);
  r.Add({"SparseTensorDenseAdd"}, AddDense, false);
  r.Add({"SparseDenseCwiseMul", "SparseDenseCwiseDiv", "SparseDenseCwiseAdd"}, WithDense, false);
  r.Add({"RaggedGather"}, RaggedGather, false);
  r.Add({"RaggedRange"}, RaggedRange, false);
  r.Add({"RaggedTensorToSparse"}, RaggedToSparse, false);
  r.Add({"RaggedTensorToTensor"}, RaggedToDense, false);
}

}  // namespace xc
