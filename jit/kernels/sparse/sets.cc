// Host kernels on groups of values: set operations, edit distances, crosses of features.
#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jit/kernels/kernel.h"
#include "jit/kernels/text/hashes.h"

namespace xc {
namespace {

// A value of a set: integers by their number, strings by their bytes.
using Item = std::pair<int64_t, std::string>;

absl::StatusOr<std::vector<Item>> Items(const KernelContext& c, int operand) {
  std::vector<Item> items;
  if (c.in(operand).dtype() == DT_STRING) {
    for (const std::string& s : c.in(operand).strings()) items.emplace_back(0, s);
    return items;
  }
  XC_ASSIGN_OR_RETURN(auto values, c.Ints(operand));
  for (int64_t v : values) items.emplace_back(v, "");
  return items;
}

absl::Status StoreItem(const Item& item, Tensor& t, int64_t i) {
  switch (t.dtype()) {
    case DT_STRING:
      t.strings()[i] = item.second;
      return absl::OkStatus();
    case DT_INT64:
      t.data<int64_t>()[i] = item.first;
      return absl::OkStatus();
    case DT_INT32:
      t.data<int32_t>()[i] = static_cast<int32_t>(item.first);
      return absl::OkStatus();
    case DT_INT16:
    case DT_UINT16:
      t.data<int16_t>()[i] = static_cast<int16_t>(item.first);
      return absl::OkStatus();
    case DT_INT8:
    case DT_UINT8:
      t.data<int8_t>()[i] = static_cast<int8_t>(item.first);
      return absl::OkStatus();
    default:
      return absl::UnimplementedError(absl::StrCat("sets of ", DataTypeName(t.dtype())));
  }
}

// Values along the last dimension, by the coordinates before it.
struct Groups {
  Dims dims;  // of the groups
  std::map<std::vector<int64_t>, std::vector<Item>> of;
};

absl::StatusOr<Groups> DenseGroups(const KernelContext& c, int operand) {
  const Tensor& t = c.in(operand);
  if (t.rank() < 2) return c.Error("the rank of a set's tensor must be at least 2");
  Groups groups;
  groups.dims.assign(t.dims().begin(), t.dims().end() - 1);
  XC_ASSIGN_OR_RETURN(auto items, Items(c, operand));
  int64_t width = t.dims().back();
  for (int64_t g = 0; width > 0 && g < t.num_elements() / width; ++g) {
    std::vector<int64_t> at(groups.dims.size());
    int64_t rest = g;
    for (size_t d = at.size(); d-- > 0; rest /= groups.dims[d]) at[d] = rest % groups.dims[d];
    groups.of[at].assign(items.begin() + g * width, items.begin() + (g + 1) * width);
  }
  return groups;
}

// Of operands `first` (indices), `first + 1` (values) and `first + 2` (shape).
absl::StatusOr<Groups> SparseGroups(const KernelContext& c, int first, int64_t least_rank) {
  XC_ASSIGN_OR_RETURN(auto indices, c.Ints(first));
  XC_ASSIGN_OR_RETURN(auto items, Items(c, first + 1));
  XC_ASSIGN_OR_RETURN(auto shape, c.Ints(first + 2));
  size_t rank = shape.size();
  if (static_cast<int64_t>(rank) < least_rank || indices.size() != rank * items.size()) {
    return c.Error(absl::StrCat("a sparse tensor of rank ", rank, " with ", items.size(), " values and ",
                                indices.size(), " coordinates"));
  }
  Groups groups;
  groups.dims.assign(shape.begin(), shape.end() - 1);
  for (size_t i = 0; i < items.size(); ++i) {
    for (size_t d = 0; d < rank; ++d) {
      if (indices[i * rank + d] < 0 || indices[i * rank + d] >= shape[d]) {
        return c.Error(absl::StrCat("value ", i, " is out of the bounds of ", DimsToString(shape)));
      }
    }
    auto at = indices.begin() + static_cast<int64_t>(i * rank);
    groups.of[std::vector<int64_t>(at, at + static_cast<int64_t>(rank) - 1)].push_back(items[i]);
  }
  return groups;
}

std::set<Item> SetOf(const Groups& groups, const std::vector<int64_t>& at) {
  auto it = groups.of.find(at);
  return it == groups.of.end() ? std::set<Item>() : std::set<Item>(it->second.begin(), it->second.end());
}

absl::Status SetOperation(KernelContext& c, const Groups& a, const Groups& b) {
  XC_ASSIGN_OR_RETURN(std::string operation, c.node.String("set_operation"));
  if (a.dims != b.dims) {
    return c.Error(absl::StrCat("mismatched group shapes ", DimsToString(a.dims), " and ", DimsToString(b.dims)));
  }
  std::set<std::vector<int64_t>> places;
  for (const auto& g : a.of) places.insert(g.first);
  for (const auto& g : b.of) places.insert(g.first);
  std::vector<int64_t> indices;
  std::vector<Item> values;
  int64_t widest = 0;
  for (const auto& at : places) {
    std::set<Item> x = SetOf(a, at), y = SetOf(b, at);
    std::vector<Item> out;
    auto into = std::back_inserter(out);
    if (operation == "a-b") {
      std::set_difference(x.begin(), x.end(), y.begin(), y.end(), into);
    } else if (operation == "b-a") {
      std::set_difference(y.begin(), y.end(), x.begin(), x.end(), into);
    } else if (operation == "intersection") {
      std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), into);
    } else if (operation == "union") {
      std::set_union(x.begin(), x.end(), y.begin(), y.end(), into);
    } else {
      return c.Error(absl::StrCat("invalid set_operation ", operation));
    }
    widest = std::max(widest, static_cast<int64_t>(out.size()));
    for (size_t k = 0; k < out.size(); ++k) {
      indices.insert(indices.end(), at.begin(), at.end());
      indices.push_back(static_cast<int64_t>(k));
      values.push_back(std::move(out[k]));
    }
  }
  Dims shape = a.dims;
  shape.push_back(widest);
  int64_t count = static_cast<int64_t>(values.size());
  c.outputs[0] = Tensor::Int64s(indices).Reshaped({count, static_cast<int64_t>(shape.size())});
  XC_ASSIGN_OR_RETURN(c.outputs[1], c.Alloc(1, {count}));
  for (int64_t i = 0; i < count; ++i) XC_RETURN_IF_ERROR(StoreItem(values[i], c.outputs[1], i));
  c.outputs[2] = Tensor::Int64s(shape);
  return absl::OkStatus();
}

absl::Status DenseToDense(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Groups a, DenseGroups(c, 0));
  XC_ASSIGN_OR_RETURN(Groups b, DenseGroups(c, 1));
  return SetOperation(c, a, b);
}

absl::Status DenseToSparse(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Groups a, DenseGroups(c, 0));
  XC_ASSIGN_OR_RETURN(Groups b, SparseGroups(c, 1, 2));
  return SetOperation(c, a, b);
}

absl::Status SparseToSparse(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Groups a, SparseGroups(c, 0, 2));
  XC_ASSIGN_OR_RETURN(Groups b, SparseGroups(c, 3, 2));
  return SetOperation(c, a, b);
}

absl::StatusOr<int64_t> Offset(const Dims& dims, const std::vector<int64_t>& at) {
  int64_t offset = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (at[d] >= dims[d]) return absl::InvalidArgumentError("coordinates out of bounds");
    offset = offset * dims[d] + at[d];
  }
  return offset;
}

absl::Status SetSize(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Groups groups, SparseGroups(c, 0, 1));
  XC_ASSIGN_OR_RETURN(c.outputs[0], c.Alloc(0, groups.dims));
  for (const auto& g : groups.of) {
    XC_ASSIGN_OR_RETURN(int64_t at, Offset(groups.dims, g.first));
    c.outputs[0].data<int32_t>()[at] = static_cast<int32_t>(SetOf(groups, g.first).size());
  }
  return absl::OkStatus();
}

int64_t Levenshtein(const std::vector<Item>& a, const std::vector<Item>& b) {
  std::vector<int64_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int64_t>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int64_t diagonal = row[0];
    row[0] = static_cast<int64_t>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      int64_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

absl::Status EditDistance(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(bool normalize, c.node.Bool("normalize"));
  XC_ASSIGN_OR_RETURN(Groups guess, SparseGroups(c, 0, 1));
  XC_ASSIGN_OR_RETURN(Groups truth, SparseGroups(c, 3, 1));
  if (guess.dims.size() != truth.dims.size()) return c.Error("hypothesis and truth differ in rank");
  Dims dims = guess.dims;
  for (size_t d = 0; d < dims.size(); ++d) dims[d] = std::max(dims[d], truth.dims[d]);
  XC_ASSIGN_OR_RETURN(c.outputs[0], c.Alloc(0, dims));
  std::set<std::vector<int64_t>> places;
  for (const auto& g : guess.of) places.insert(g.first);
  for (const auto& g : truth.of) places.insert(g.first);
  for (const auto& at : places) {
    XC_ASSIGN_OR_RETURN(int64_t offset, Offset(dims, at));
    float& out = c.outputs[0].data<float>()[offset];
    auto g = guess.of.find(at), t = truth.of.find(at);
    if (t == truth.of.end()) {
      out = normalize ? std::numeric_limits<float>::infinity() : static_cast<float>(g->second.size());
    } else if (g == guess.of.end()) {
      out = normalize ? 1.0f : static_cast<float>(t->second.size());
    } else {
      out = static_cast<float>(Levenshtein(g->second, t->second));
      if (normalize) out /= static_cast<float>(t->second.size());
    }
  }
  return absl::OkStatus();
}

// One feature column: the values of each row.
struct Column {
  std::vector<std::vector<Item>> rows;
  bool strings = false;
};

// How TensorFlow joins two fingerprints.
uint64_t JoinFingerprints(uint64_t a, uint64_t b) {
  constexpr uint64_t kMul = 0xc6a4a7935bd1e995u;
  auto mix = [](uint64_t v) { return v ^ (v >> 47); };
  uint64_t result = a ^ kMul;
  result ^= mix(b * kMul) * kMul;
  result *= kMul;
  result = mix(result) * kMul;
  return mix(result);
}

// Operands are `n` indices, `n` values, `n` shapes and then dense matrices up to operand `end`.
absl::StatusOr<std::vector<Column>> Columns(const KernelContext& c, int n, int end) {
  std::vector<Column> columns;
  int64_t batch = -1;
  auto start = [&](int64_t rows, DataType type) -> absl::Status {
    if (batch >= 0 && rows != batch) return c.Error("the inputs differ in batch size");
    if (rows < 0) return c.Error("a negative batch size");
    batch = rows;
    columns.emplace_back();
    columns.back().rows.resize(batch);
    columns.back().strings = type == DT_STRING;
    return absl::OkStatus();
  };
  for (int k = 0; k < n; ++k) {
    XC_ASSIGN_OR_RETURN(auto indices, c.Ints(k));
    XC_ASSIGN_OR_RETURN(auto items, Items(c, n + k));
    XC_ASSIGN_OR_RETURN(auto shape, c.Ints(2 * n + k));
    if (shape.size() != 2 || indices.size() != 2 * items.size()) return c.Error("a sparse input is not a matrix");
    XC_RETURN_IF_ERROR(start(shape[0], c.in(n + k).dtype()));
    for (size_t i = 0; i < items.size(); ++i) {
      if (indices[2 * i] < 0 || indices[2 * i] >= batch) return c.Error(absl::StrCat("no row ", indices[2 * i]));
      columns.back().rows[indices[2 * i]].push_back(items[i]);
    }
  }
  for (int k = 3 * n; k < end; ++k) {
    if (c.in(k).rank() != 2) return c.Error("a dense input is not a matrix");
    XC_ASSIGN_OR_RETURN(auto items, Items(c, k));
    XC_RETURN_IF_ERROR(start(c.in(k).dims()[0], c.in(k).dtype()));
    int64_t width = c.in(k).dims()[1];
    for (size_t i = 0; i < items.size(); ++i) columns.back().rows[i / width].push_back(items[i]);
  }
  if (columns.empty()) return c.Error("no inputs");
  return columns;
}

// Every way to take one value per column, row by row: the last column varies fastest.
absl::Status Cross(KernelContext& c, const std::vector<Column>& columns,
                   const std::function<Item(const std::vector<const Item*>&)>& join) {
  std::vector<int64_t> indices;
  std::vector<Item> values;
  int64_t batch = static_cast<int64_t>(columns[0].rows.size()), widest = 0;
  for (int64_t row = 0; row < batch; ++row) {
    int64_t count = 1;
    for (const Column& column : columns) {
      if (__builtin_mul_overflow(count, static_cast<int64_t>(column.rows[row].size()), &count) || count > (1 << 26)) {
        return absl::ResourceExhaustedError("too many crosses");
      }
    }
    widest = std::max(widest, count);
    for (int64_t k = 0; k < count; ++k) {
      std::vector<const Item*> picked(columns.size());
      int64_t rest = k;
      for (size_t i = columns.size(); i-- > 0;) {
        const auto& choices = columns[i].rows[row];
        picked[i] = &choices[rest % static_cast<int64_t>(choices.size())];
        rest /= static_cast<int64_t>(choices.size());
      }
      indices.push_back(row);
      indices.push_back(k);
      values.push_back(join(picked));
    }
  }
  int64_t total = static_cast<int64_t>(values.size());
  c.outputs[0] = Tensor::Int64s(indices).Reshaped({total, 2});
  XC_ASSIGN_OR_RETURN(c.outputs[1], c.Alloc(1, {total}));
  for (int64_t i = 0; i < total; ++i) XC_RETURN_IF_ERROR(StoreItem(values[i], c.outputs[1], i));
  c.outputs[2] = Tensor::Int64s({batch, widest});
  return absl::OkStatus();
}

Item JoinTexts(const std::vector<Column>& columns, const std::vector<const Item*>& picked,
               const std::string& separator) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < picked.size(); ++i) {
    parts.push_back(columns[i].strings ? picked[i]->second : absl::StrCat(picked[i]->first));
  }
  return {0, absl::StrJoin(parts, separator)};
}

absl::Status SparseCross(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t n, c.node.Int("N"));
  XC_ASSIGN_OR_RETURN(bool hashed, c.node.Bool("hashed_output"));
  XC_ASSIGN_OR_RETURN(int64_t buckets, c.node.Int("num_buckets"));
  XC_ASSIGN_OR_RETURN(int64_t key, c.node.Int("hash_key"));
  XC_ASSIGN_OR_RETURN(auto columns, Columns(c, static_cast<int>(n), c.num_inputs()));
  if (!hashed) {
    return Cross(c, columns, [&](const auto& picked) { return JoinTexts(columns, picked, "_X_"); });
  }
  return Cross(c, columns, [&](const std::vector<const Item*>& picked) {
    uint64_t hash = static_cast<uint64_t>(key);
    for (size_t i = 0; i < picked.size(); ++i) {
      hash = JoinFingerprints(
          hash, columns[i].strings ? FarmFingerprint64(picked[i]->second) : static_cast<uint64_t>(picked[i]->first));
    }
    uint64_t modulus = buckets > 0 ? static_cast<uint64_t>(buckets) : std::numeric_limits<int64_t>::max();
    return Item(static_cast<int64_t>(hash % modulus), "");
  });
}

absl::Status SparseCrossV2(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t n, c.node.Int("N"));
  int last = c.num_inputs() - 1;
  if (c.in(last).num_elements() != 1) return c.Error("the separator must be a scalar");
  XC_ASSIGN_OR_RETURN(auto columns, Columns(c, static_cast<int>(n), last));
  return Cross(c, columns, [&](const auto& picked) { return JoinTexts(columns, picked, c.in(last).strings()[0]); });
}

}  // namespace

void RegisterSetKernels(KernelRegistry& r) {
  r.Add({"DenseToDenseSetOperation"}, DenseToDense, false);
  r.Add({"DenseToSparseSetOperation"}, DenseToSparse, false);
  r.Add({"SparseToSparseSetOperation"}, SparseToSparse, false);
  r.Add({"SetSize"}, SetSize, false);
  r.Add({"EditDistance"}, EditDistance, false);
  r.Add({"SparseCross"}, SparseCross, false);
  r.Add({"SparseCrossV2"}, SparseCrossV2, false);
}

}  // namespace xc
