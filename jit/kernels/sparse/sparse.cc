// Host kernels of sparse tensors: (indices, values, shape) in row-major order.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "jit/kernels/sparse/coordinates.h"

namespace xc {
namespace {

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

absl::Status SparseReshape(KernelContext& c) {
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

}  // namespace

void RegisterSparseKernels(KernelRegistry& r) {
  r.Add({"SparseReorder"}, Reorder, false);
  r.Add({"SparseReshape"}, SparseReshape, false);
  r.Add({"SparseFillEmptyRows"}, FillEmptyRows, false);
  r.Add({"SparseSlice"}, Slice, false);
  r.Add({"SparseConcat"}, Concat, false);
  r.Add({"SparseTensorDenseMatMul"}, TensorDenseMatMul, false);
  r.Add({"SparseTensorDenseAdd"}, AddDense, false);
  r.Add({"SparseDenseCwiseMul", "SparseDenseCwiseDiv", "SparseDenseCwiseAdd"}, WithDense, false);
}

}  // namespace xc
