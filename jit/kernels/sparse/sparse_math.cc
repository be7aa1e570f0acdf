// Host kernels that compute with sparse tensors: sums, larger and smaller values, reductions, softmax, parts, and the
// gradients of ops that pick entries.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "jit/kernels/sparse/coordinates.h"

namespace xc {
namespace {

// The entries of two sparse tensors in row-major order of their places: -1 where a side has none there.
struct Pair {
  int64_t a = -1, b = -1;
};

std::vector<Pair> Merged(const Coordinates& a, const Coordinates& b) {
  std::vector<Pair> out;
  int64_t i = 0, j = 0;
  while (i < a.n || j < b.n) {
    bool less =
        i < a.n && (j == b.n || std::lexicographical_compare(a.row(i), a.row(i) + a.rank, b.row(j), b.row(j) + b.rank));
    bool more =
        j < b.n && (i == a.n || std::lexicographical_compare(b.row(j), b.row(j) + b.rank, a.row(i), a.row(i) + a.rank));
    out.push_back({more ? -1 : i, less ? -1 : j});
    i += more ? 0 : 1;
    j += less ? 0 : 1;
  }
  return out;
}

// Two sparse tensors of one shape, operands 0-2 and 3-5.
absl::Status ReadBoth(KernelContext& c, Coordinates* a, Coordinates* b) {
  XC_ASSIGN_OR_RETURN(*a, ReadCoordinates(c, 0, 2));
  XC_ASSIGN_OR_RETURN(*b, ReadCoordinates(c, 3, 5));
  if (a->shape != b->shape) return c.Error("operands' shapes do not match");
  if (c.in(1).dims() != Dims{a->n} || c.in(4).dims() != Dims{b->n}) return c.Error("there must be one value per index");
  return absl::OkStatus();
}

void AppendPlace(const Coordinates& a, const Coordinates& b, const Pair& p, std::vector<int64_t>* at) {
  const int64_t* place = p.a >= 0 ? a.row(p.a) : b.row(p.b);
  at->insert(at->end(), place, place + a.rank);
}

// The larger (smaller) values; a place that is in one tensor alone has zero in the other.
template <bool kLarger>
absl::Status Extreme(KernelContext& c) {
  Coordinates a, b;
  XC_RETURN_IF_ERROR(ReadBoth(c, &a, &b));
  std::vector<Pair> pairs = Merged(a, b);
  std::vector<int64_t> at;
  for (const Pair& p : pairs) AppendPlace(a, b, p, &at);
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(1, {static_cast<int64_t>(pairs.size())}));
  XC_RETURN_IF_ERROR(ForType(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i < pairs.size(); ++i) {
      T x = pairs[i].a >= 0 ? c.in(1).data<T>()[pairs[i].a] : T{0};
      T y = pairs[i].b >= 0 ? c.in(4).data<T>()[pairs[i].b] : T{0};
      out.data<T>()[i] = kLarger ? std::max(x, y) : std::min(x, y);
    }
    return absl::OkStatus();
  }));
  XC_RETURN_IF_ERROR(SetIndices(c, 0, at, a.rank));
  c.outputs[1] = std::move(out);
  return absl::OkStatus();
}

// The sum; where both have an entry and the absolute value of the sum is below the threshold (operand 6), there is
// none.
absl::Status Add(KernelContext& c) {
  Coordinates a, b;
  XC_RETURN_IF_ERROR(ReadBoth(c, &a, &b));
  if (c.in(6).num_elements() != 1) return c.Error("thresh must be a scalar");
  std::vector<int64_t> at;
  absl::Status status = ForType(c.in(1).dtype(), [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    const T threshold = c.in(6).data<T>()[0];
    std::vector<T> values;
    for (const Pair& p : Merged(a, b)) {
      T sum = (p.a >= 0 ? c.in(1).data<T>()[p.a] : T{0}) + (p.b >= 0 ? c.in(4).data<T>()[p.b] : T{0});
      if (p.a >= 0 && p.b >= 0 && (sum < T{0} ? -sum : sum) < threshold) continue;
      values.push_back(sum);
      AppendPlace(a, b, p, &at);
    }
    XC_ASSIGN_OR_RETURN(c.outputs[1], c.Alloc(1, {static_cast<int64_t>(values.size())}));
    std::copy(values.begin(), values.end(), c.outputs[1].data<T>());
    return absl::OkStatus();
  });
  XC_RETURN_IF_ERROR(status);
  XC_RETURN_IF_ERROR(SetIndices(c, 0, at, a.rank));
  c.outputs[2] = Tensor::Int64s(a.shape);
  return absl::OkStatus();
}

// Picks, for each place of `wanted`, the gradient given for that place in `given` (zero if it has none).
absl::StatusOr<Tensor> Picked(KernelContext& c, const Tensor& gradient, int given, int wanted,
                              const std::vector<int64_t>& shift) {
  const Tensor &from = c.in(given), &to = c.in(wanted);
  if (from.rank() != 2 || to.rank() != 2 || from.dims()[1] != to.dims()[1] || gradient.dims() != Dims{from.dims()[0]} ||
      (!shift.empty() && static_cast<int64_t>(shift.size()) != to.dims()[1])) {
    return c.Error("the gradient and the indices do not fit");
  }
  XC_ASSIGN_OR_RETURN(auto places, from.AsInt64s());
  XC_ASSIGN_OR_RETURN(auto asked, to.AsInt64s());
  const int64_t rank = to.dims()[1];
  std::map<std::vector<int64_t>, int64_t> entry;
  for (int64_t i = 0; i < from.dims()[0]; ++i) {
    entry[std::vector<int64_t>(places.begin() + i * rank, places.begin() + (i + 1) * rank)] = i;
  }
  XC_ASSIGN_OR_RETURN(Tensor out, c.AllocType(gradient.dtype(), {to.dims()[0]}));
  for (int64_t i = 0; i < to.dims()[0]; ++i) {
    std::vector<int64_t> place(asked.begin() + i * rank, asked.begin() + (i + 1) * rank);
    for (size_t d = 0; d < shift.size(); ++d) place[d] -= shift[d];
    if (auto it = entry.find(place); it != entry.end()) CopyElement(gradient, it->second, out, i);
  }
  return out;
}

absl::Status AddGradient(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(c.outputs[0], Picked(c, c.in(0), 3, 1, {}));
  XC_ASSIGN_OR_RETURN(c.outputs[1], Picked(c, c.in(0), 3, 2, {}));
  return absl::OkStatus();
}

absl::Status SliceGradient(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto start, c.Ints(2));
  XC_ASSIGN_OR_RETURN(c.outputs[0], Picked(c, c.in(0), 3, 1, start));
  return absl::OkStatus();
}

// The gradients of the values that were there, and the sum of those of the values that were put in.
absl::Status FillEmptyRowsGradient(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto map, c.Ints(0));
  const int64_t n = c.in(1).num_elements();
  if (c.in(0).rank() != 1 || c.in(1).rank() != 1) return c.Error("reverse_index_map and grad_values must be vectors");
  XC_ASSIGN_OR_RETURN(Tensor values, c.Alloc(0, c.in(0).dims()));
  XC_ASSIGN_OR_RETURN(Tensor rest, c.Alloc(1, {}));
  std::vector<bool> seen(n, false);
  for (size_t i = 0; i < map.size(); ++i) {
    if (map[i] < 0 || map[i] >= n) return c.Error(absl::StrCat("elements in reverse index must be in [0, ", n, ")"));
    CopyElement(c.in(1), map[i], values, static_cast<int64_t>(i));
    seen[map[i]] = true;
  }
  XC_RETURN_IF_ERROR(ForType(rest.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < n; ++i) {
      if (!seen[i]) rest.data<T>()[0] += c.in(1).data<T>()[i];
    }
    return absl::OkStatus();
  }));
  c.outputs[0] = std::move(values);
  c.outputs[1] = std::move(rest);
  return absl::OkStatus();
}

// Softmax along the last dimension, over the entries that are there.
absl::Status Softmax(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Coordinates s, ReadCoordinates(c, 0, 2));
  if (c.in(1).dims() != Dims{s.n}) return c.Error("there must be one value per index");
  if (s.rank < 2) return c.Error("the tensor must have rank 2 or more");
  XC_ASSIGN_OR_RETURN(auto values, c.in(1).AsDoubles());
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, {s.n}));
  std::map<std::vector<int64_t>, std::vector<int64_t>> rows;
  for (int64_t i = 0; i < s.n; ++i) rows[std::vector<int64_t>(s.row(i), s.row(i) + s.rank - 1)].push_back(i);
  for (const auto& [row, entries] : rows) {
    double high = values[entries[0]], sum = 0;
    for (int64_t i : entries) high = std::max(high, values[i]);
    for (int64_t i : entries) sum += std::exp(values[i] - high);
    for (int64_t i : entries) StoreDouble(out, i, std::exp(values[i] - high) / sum);
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

// Parts along one dimension; the first ones are longer by one where it does not divide.
absl::Status SparseSplit(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t parts, c.node.Int("num_split"));
  XC_ASSIGN_OR_RETURN(Coordinates s, ReadCoordinates(c, 1, 3));
  XC_ASSIGN_OR_RETURN(int64_t axis, c.Int(0));
  XC_ASSIGN_OR_RETURN(axis, c.Axis(axis, s.rank));
  if (c.in(2).dims() != Dims{s.n}) return c.Error("there must be one value per index");
  if (parts < 1 || parts > s.shape[axis]) {
    return c.Error(absl::StrCat("num_split must be from 1 to ", s.shape[axis], ", is ", parts));
  }
  const int64_t size = s.shape[axis] / parts, longer = s.shape[axis] % parts;
  std::vector<std::vector<int64_t>> at(parts), entries(parts);
  for (int64_t i = 0; i < s.n; ++i) {
    const int64_t place = s.row(i)[axis], border = longer * (size + 1);
    const int64_t part = place < border ? place / (size + 1) : longer + (place - border) / size;
    entries[part].push_back(i);
    at[part].insert(at[part].end(), s.row(i), s.row(i) + s.rank);
    at[part][at[part].size() - s.rank + axis] -= part * size + std::min(part, longer);
  }
  for (int64_t p = 0; p < parts; ++p) {
    XC_RETURN_IF_ERROR(SetIndices(c, static_cast<int>(p), at[p], s.rank));
    XC_ASSIGN_OR_RETURN(Tensor values, c.AllocType(c.in(2).dtype(), {static_cast<int64_t>(entries[p].size())}));
    for (size_t i = 0; i < entries[p].size(); ++i) CopyElement(c.in(2), entries[p][i], values, static_cast<int64_t>(i));
    c.outputs[parts + p] = std::move(values);
    Dims shape = s.shape;
    shape[axis] = size + (p < longer ? 1 : 0);
    c.outputs[2 * parts + p] = Tensor::Int64s(shape);
  }
  return absl::OkStatus();
}

// Sums or greatest values along some dimensions, of what is there: dense (one output), or sparse (three).
template <bool kSum, bool kSparse>
absl::Status Reduce(KernelContext& c) {
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
  std::map<std::vector<int64_t>, std::vector<int64_t>> groups;  // place in the result, entries
  for (int64_t i = 0; i < s.n; ++i) {
    std::vector<int64_t> place;
    for (int64_t d = 0; d < s.rank; ++d) {
      if (!reduced[d] || keep) place.push_back(reduced[d] ? 0 : s.row(i)[d]);
    }
    groups[std::move(place)].push_back(i);
  }
  Dims held = kSparse ? Dims{static_cast<int64_t>(groups.size())} : dims;
  const int output = kSparse ? 1 : 0;
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(output, held));
  std::vector<int64_t> at;
  XC_RETURN_IF_ERROR(ForType(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    int64_t next = 0;
    for (const auto& [place, entries] : groups) {
      T value = c.in(1).data<T>()[entries[0]];
      for (size_t k = 1; k < entries.size(); ++k) {
        T v = c.in(1).data<T>()[entries[k]];
        value = kSum ? value + v : std::max(value, v);
      }
      int64_t to = 0;
      for (size_t d = 0; d < dims.size(); ++d) to = to * dims[d] + place[d];
      out.data<T>()[kSparse ? next++ : to] = value;
      at.insert(at.end(), place.begin(), place.end());
    }
    return absl::OkStatus();
  }));
  c.outputs[output] = std::move(out);
  if (!kSparse) return absl::OkStatus();
  const int64_t rank = static_cast<int64_t>(dims.size());
  XC_ASSIGN_OR_RETURN(c.outputs[0], c.Alloc(0, {held[0], rank}));
  std::copy(at.begin(), at.end(), c.outputs[0].data<int64_t>());
  c.outputs[2] = Tensor::Int64s(dims);
  return absl::OkStatus();
}

}  // namespace

void RegisterSparseMathKernels(KernelRegistry& r) {
  r.Add({"SparseAdd"}, Add, false);
  r.Add({"SparseAddGrad"}, AddGradient, false);
  r.Add({"SparseSliceGrad"}, SliceGradient, false);
  r.Add({"SparseFillEmptyRowsGrad", "RaggedFillEmptyRowsGrad"}, FillEmptyRowsGradient, false);
  r.Add({"SparseSparseMaximum"}, Extreme<true>, false);
  r.Add({"SparseSparseMinimum"}, Extreme<false>, false);
  r.Add({"SparseSoftmax"}, Softmax, false);
  r.Add({"SparseSplit"}, SparseSplit, false);
  r.Add({"SparseReduceSum"}, Reduce<true, false>, false);
  r.Add({"SparseReduceSumSparse"}, Reduce<true, true>, false);
  r.Add({"SparseReduceMax"}, Reduce<false, false>, false);
  r.Add({"SparseReduceMaxSparse"}, Reduce<false, true>, false);
}

}  // namespace xc
