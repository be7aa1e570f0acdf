// Host kernels whose result's size depends on values: Unique, Where, ListDiff, DynamicPartition.
#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"

namespace xc {
namespace {

// The bytes of element `i`, by which elements are told apart; -0.0 counts as 0.0.
std::string Key(const Tensor& t, int64_t i) {
  if (t.dtype() == DT_STRING) return t.strings()[i];
  int64_t size = DataTypeSize(t.dtype());
  std::string key(t.data<char>() + i * size, size);
  if (t.dtype() == DT_FLOAT && t.data<float>()[i] == 0) key.assign(size, 0);
  if (t.dtype() == DT_DOUBLE && t.data<double>()[i] == 0) key.assign(size, 0);
  return key;
}

// Slices along one axis, compared as a whole.
absl::Status UniqueSlices(KernelContext& c, int64_t axis) {
  const Tensor& t = c.in(0);
  int64_t n = t.dims()[axis], inner = 1, outer = 1;
  for (int64_t d = 0; d < axis; ++d) outer *= t.dims()[d];
  for (int64_t d = axis + 1; d < t.rank(); ++d) inner *= t.dims()[d];
  std::map<std::vector<std::string>, int64_t> seen;
  std::vector<int64_t> where, order, counts;
  for (int64_t i = 0; i < n; ++i) {
    std::vector<std::string> key;
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t k = 0; k < inner; ++k) key.push_back(Key(t, (o * n + i) * inner + k));
    }
    auto [it, fresh] = seen.emplace(std::move(key), static_cast<int64_t>(order.size()));
    if (fresh) {
      order.push_back(i);
      counts.push_back(0);
    }
    ++counts[it->second];
    where.push_back(it->second);
  }
  Dims dims = t.dims();
  dims[axis] = static_cast<int64_t>(order.size());
  XC_ASSIGN_OR_RETURN(Tensor y, c.Alloc(0, dims));
  int64_t at = 0;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i : order) {
      for (int64_t k = 0; k < inner; ++k) CopyElement(t, (o * n + i) * inner + k, y, at++);
    }
  }
  c.outputs[0] = std::move(y);
  c.outputs[1] = Tensor::Integers(c.node.output_types[1], where);
  if (c.outputs.size() > 2) c.outputs[2] = Tensor::Integers(c.node.output_types[2], counts);
  return absl::OkStatus();
}

absl::Status Unique(KernelContext& c) {
  if (c.node.op == "UniqueV2" || c.node.op == "UniqueWithCountsV2") {
    XC_ASSIGN_OR_RETURN(auto axis, c.Ints(1));
    bool flat = axis.empty() || (c.in(0).rank() == 1 && axis.size() == 1 && (axis[0] == 0 || axis[0] == -1));
    if (!flat) {
      if (axis.size() != 1) return c.Error("axis must have at most one element");
      XC_ASSIGN_OR_RETURN(axis[0], c.Axis(axis[0], c.in(0).rank()));
      return UniqueSlices(c, axis[0]);
    }
  }
  if (c.in(0).rank() != 1) return c.Error("unique expects a 1D vector");
  std::unordered_map<std::string, int64_t> seen;
  std::vector<int64_t> where, order, counts;
  for (int64_t i = 0; i < c.in(0).num_elements(); ++i) {
    auto [it, fresh] = seen.emplace(Key(c.in(0), i), static_cast<int64_t>(order.size()));
    if (fresh) {
      order.push_back(i);
      counts.push_back(0);
    }
    ++counts[it->second];
    where.push_back(it->second);
  }
  XC_ASSIGN_OR_RETURN(Tensor y, c.Alloc(0, {static_cast<int64_t>(order.size())}));
  for (size_t i = 0; i < order.size(); ++i) CopyElement(c.in(0), order[i], y, i);
  c.outputs[0] = std::move(y);
  c.outputs[1] = Tensor::Integers(c.node.output_types[1], where);
  if (c.outputs.size() > 2) c.outputs[2] = Tensor::Integers(c.node.output_types[2], counts);
  return absl::OkStatus();
}

absl::Status Where(KernelContext& c) {
  const Tensor& t = c.in(0);
  int64_t size = DataTypeSize(t.dtype());
  std::vector<int64_t> found;
  for (int64_t i = 0; i < t.num_elements(); ++i) {
    bool yes = false;
    if (t.dtype() == DT_FLOAT) {
      yes = t.data<float>()[i] != 0;
    } else if (t.dtype() == DT_DOUBLE) {
      yes = t.data<double>()[i] != 0;
    } else {
      for (int64_t k = 0; k < size; ++k) yes |= t.data<char>()[i * size + k] != 0;
    }
    if (yes) found.push_back(i);
  }
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, {static_cast<int64_t>(found.size()), t.rank()}));
  for (size_t i = 0; i < found.size(); ++i) {
    int64_t rest = found[i];
    for (int d = t.rank() - 1; d >= 0; --d) {
      out.data<int64_t>()[i * t.rank() + d] = rest % t.dims()[d];
      rest /= t.dims()[d];
    }
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status ListDiff(KernelContext& c) {
  std::unordered_map<std::string, bool> drop;
  for (int64_t i = 0; i < c.in(1).num_elements(); ++i) drop[Key(c.in(1), i)] = true;
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < c.in(0).num_elements(); ++i) {
    if (drop.count(Key(c.in(0), i)) == 0) kept.push_back(i);
  }
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, {static_cast<int64_t>(kept.size())}));
  for (size_t i = 0; i < kept.size(); ++i) CopyElement(c.in(0), kept[i], out, i);
  c.outputs[0] = std::move(out);
  c.outputs[1] = Tensor::Integers(c.node.output_types[1], kept);
  return absl::OkStatus();
}

absl::Status DynamicPartition(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto parts, c.Ints(1));
  const Tensor& data = c.in(0);
  int64_t n = static_cast<int64_t>(parts.size());
  const Dims& pd = c.in(1).dims();
  if (data.rank() < static_cast<int>(pd.size()) || !std::equal(pd.begin(), pd.end(), data.dims().begin())) {
    return c.Error("data's shape must start with that of partitions");
  }
  Dims rest(data.dims().begin() + pd.size(), data.dims().end());
  XC_ASSIGN_OR_RETURN(int64_t inner, CheckedNumElements(rest));
  std::vector<std::vector<int64_t>> members(c.outputs.size());
  for (int64_t i = 0; i < n; ++i) {
    if (parts[i] < 0 || parts[i] >= static_cast<int64_t>(members.size())) {
      return c.Error(absl::StrCat("partition ", parts[i], " is not in range"));
    }
    members[parts[i]].push_back(i);
  }
  for (size_t p = 0; p < members.size(); ++p) {
    Dims dims = rest;
    dims.insert(dims.begin(), static_cast<int64_t>(members[p].size()));
    XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(p, dims));
    int64_t at = 0;
    for (int64_t i : members[p]) {
      for (int64_t k = 0; k < inner; ++k) CopyElement(data, i * inner + k, out, at++);
    }
    c.outputs[p] = std::move(out);
  }
  return absl::OkStatus();
}

// Where a sampled class is one of the row's true ones: the row, the class's place among the sampled, and a weight that
// rules it out.
absl::Status AccidentalHits(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t per_row, c.node.Int("num_true"));
  XC_ASSIGN_OR_RETURN(auto wanted, c.Ints(0));
  XC_ASSIGN_OR_RETURN(auto sampled, c.Ints(1));
  if (c.in(0).rank() != 2 || c.in(0).dims()[1] != per_row) return c.Error("true_classes must have num_true columns");
  std::map<int64_t, int64_t> place;
  for (size_t i = 0; i < sampled.size(); ++i) place[sampled[i]] = static_cast<int64_t>(i);
  std::vector<int64_t> rows, ids;
  for (size_t i = 0; i < wanted.size(); ++i) {
    auto it = place.find(wanted[i]);
    if (it == place.end()) continue;
    rows.push_back(static_cast<int64_t>(i) / per_row);
    ids.push_back(it->second);
  }
  c.outputs[0] = Tensor::Int32s(rows);
  c.outputs[1] = Tensor::Int64s(ids);
  XC_ASSIGN_OR_RETURN(c.outputs[2], c.Alloc(2, {static_cast<int64_t>(ids.size())}));
  std::fill_n(c.outputs[2].data<float>(), ids.size(), std::numeric_limits<float>::lowest());
  return absl::OkStatus();
}

}  // namespace

void RegisterUniqueKernels(KernelRegistry& r) {
  r.Add({"ComputeAccidentalHits"}, AccidentalHits, false);
  r.Add({"Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2"}, Unique, false);
  r.Add({"Where"}, Where, false);
  r.Add({"ListDiff"}, ListDiff, false);
  r.Add({"DynamicPartition"}, DynamicPartition, false);
}

}  // namespace xc
