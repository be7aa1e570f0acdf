// Host kernels of reductions over segments whose number depends on values, of counting and of scattering into a dense
// array.
#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"

namespace xc {
namespace {

constexpr int64_t kMaxSegments = int64_t{1} << 31;

// Rows of data (or with indices, rows data[index]) of one segment after another, reduced by the op that the node's name
// says, into `segments` of them (if that is not negative). Segments without rows give zeros (ones for products).
template <typename T>
absl::Status Reduce(KernelContext& c, const std::vector<int64_t>* indices, const std::vector<int64_t>& ids,
                    int64_t segments) {
  const Tensor& data = c.in(0);
  const std::string& op = c.node.op;
  bool prod = absl::StrContains(op, "Prod"), mean = absl::StrContains(op, "Mean"),
       root = absl::StrContains(op, "SqrtN");
  bool max = absl::StrContains(op, "Max"), min = absl::StrContains(op, "Min");
  if (data.rank() < 1) return c.Error("data must have rank 1 or more");
  size_t rows = indices != nullptr ? indices->size() : static_cast<size_t>(data.dims()[0]);
  if (ids.size() != rows) return c.Error("there must be one segment id per row");
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= kMaxSegments) return c.Error(absl::StrCat("segment id ", ids[i], " is out of range"));
    if (i > 0 && ids[i] < ids[i - 1]) return c.Error("segment ids are not increasing");
    if (indices != nullptr && ((*indices)[i] < 0 || (*indices)[i] >= data.dims()[0])) {
      return c.Error(absl::StrCat("index ", (*indices)[i], " is out of range"));
    }
  }
  Dims dims = data.dims();
  int64_t width = data.dims()[0] == 0 ? 0 : data.num_elements() / data.dims()[0];
  dims[0] = ids.empty() ? 0 : ids.back() + 1;
  if (segments >= 0) {
    if (dims[0] > segments) return c.Error(absl::StrCat("segment id ", dims[0] - 1, " is out of range"));
    dims[0] = segments;
  }
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, dims));
  T* to = out.data<T>();
  std::fill_n(to, out.num_elements(), prod ? T(1) : T(0));
  for (size_t first = 0; first < rows;) {
    size_t last = first;
    while (last < rows && ids[last] == ids[first]) ++last;
    T* row = to + ids[first] * width;
    for (size_t i = first; i < last; ++i) {
      const T* from = data.data<T>() + (indices != nullptr ? (*indices)[i] : static_cast<int64_t>(i)) * width;
      for (int64_t k = 0; k < width; ++k) {
        if (i == first) {
          row[k] = from[k];
        } else if (prod) {
          row[k] *= from[k];
        } else if (max) {
          row[k] = std::max(row[k], from[k]);
        } else if (min) {
          row[k] = std::min(row[k], from[k]);
        } else {
          row[k] += from[k];
        }
      }
    }
    double count = static_cast<double>(last - first);
    for (int64_t k = 0; (mean || root) && k < width; ++k) {
      row[k] = static_cast<T>(static_cast<double>(row[k]) / (mean ? count : std::sqrt(count)));
    }
    first = last;
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

template <bool kIndexed>
absl::Status Segments(KernelContext& c) {
  std::vector<int64_t> indices;
  if (kIndexed) {
    XC_ASSIGN_OR_RETURN(indices, c.Ints(1));
  }
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> ids, c.Ints(kIndexed ? 2 : 1));
  int64_t segments = -1;  // as many as the ids say
  if (kIndexed && c.num_inputs() > 3) {
    XC_ASSIGN_OR_RETURN(segments, c.Int(3));
    if (segments < 0) return c.Error("num_segments must not be negative");
  }
  const std::vector<int64_t>* rows = kIndexed ? &indices : nullptr;
  switch (c.in(0).dtype()) {
    case DT_FLOAT:
      return Reduce<float>(c, rows, ids, segments);
    case DT_DOUBLE:
      return Reduce<double>(c, rows, ids, segments);
    case DT_INT32:
      return Reduce<int32_t>(c, rows, ids, segments);
    case DT_INT64:
      return Reduce<int64_t>(c, rows, ids, segments);
    default:
      return absl::UnimplementedError("segments of that type");
  }
}

// Each row of the gradient, shared among the rows of data that its segment had.
template <typename T>
absl::Status GradientOf(KernelContext& c, const std::vector<int64_t>& indices, const std::vector<int64_t>& ids,
                        int64_t rows) {
  const Tensor& gradient = c.in(0);
  if (gradient.rank() < 1 || indices.size() != ids.size()) return c.Error("there must be one segment id per index");
  Dims dims = gradient.dims();
  int64_t segments = dims[0], width = segments == 0 ? 0 : gradient.num_elements() / segments;
  std::vector<double> share(segments, 0);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= segments) return c.Error(absl::StrCat("segment id ", ids[i], " is out of range"));
    if (indices[i] < 0 || indices[i] >= rows) return c.Error(absl::StrCat("index ", indices[i], " is out of range"));
    share[ids[i]] += 1;
  }
  bool mean = absl::StrContains(c.node.op, "Mean"), root = absl::StrContains(c.node.op, "SqrtN");
  for (double& s : share) s = s == 0 ? 0 : mean ? 1 / s : root ? 1 / std::sqrt(s) : 1;
  dims[0] = rows;
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, dims));
  for (size_t i = 0; i < ids.size(); ++i) {
    const T* from = gradient.data<T>() + ids[i] * width;
    T* to = out.data<T>() + indices[i] * width;
    for (int64_t k = 0; k < width; ++k) to[k] += from[k] * static_cast<T>(share[ids[i]]);
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

// The second version of the op gives only the rows that have an index, and which those are.
absl::Status SegmentsGrad(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> indices, c.Ints(1));
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> ids, c.Ints(2));
  XC_ASSIGN_OR_RETURN(int64_t rows, c.Int(3));
  if (c.outputs.size() == 2) {
    std::vector<int64_t> found = indices;
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    if (!found.empty() && (found.front() < 0 || found.back() >= rows)) return c.Error("an index is out of range");
    for (int64_t& i : indices) i = std::lower_bound(found.begin(), found.end(), i) - found.begin();
    rows = static_cast<int64_t>(found.size());
    c.outputs[1] = Tensor::Integers(c.node.output_types[1], found);
  }
  if (c.in(0).dtype() == DT_FLOAT) return GradientOf<float>(c, indices, ids, rows);
  if (c.in(0).dtype() == DT_DOUBLE) return GradientOf<double>(c, indices, ids, rows);
  return absl::UnimplementedError("gradients of that type");
}

template <typename T>
absl::Status CountInto(KernelContext& c, const std::vector<int64_t>& values, int64_t size) {
  const Tensor& weights = c.in(2);
  bool weighted = weights.num_elements() > 0;
  if (weighted && weights.num_elements() != static_cast<int64_t>(values.size())) {
    return c.Error("there must be one weight per value");
  }
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, {size}));
  std::fill_n(out.data<T>(), size, T(0));
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0) return c.Error("values must not be negative");
    if (values[i] < size) out.data<T>()[values[i]] += weighted ? weights.data<T>()[i] : T(1);
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status Bincount(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> values, c.Ints(0));
  XC_ASSIGN_OR_RETURN(int64_t size, c.Int(1));
  if (size < 0) return c.Error("size must not be negative");
  switch (c.node.output_types[0]) {
    case DT_FLOAT:
      return CountInto<float>(c, values, size);
    case DT_DOUBLE:
      return CountInto<double>(c, values, size);
    case DT_INT32:
      return CountInto<int32_t>(c, values, size);
    case DT_INT64:
      return CountInto<int64_t>(c, values, size);
    default:
      return absl::UnimplementedError("counts of that type");
  }
}

// sparse_indices, output_shape, sparse_values, default_value
absl::Status SparseToDense(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> indices, c.Ints(0));
  XC_ASSIGN_OR_RETURN(Dims dims, c.Ints(1));
  XC_ASSIGN_OR_RETURN(bool validate, c.node.Bool("validate_indices"));
  const Tensor& values = c.in(2);
  int64_t depth = static_cast<int64_t>(dims.size());
  if (c.in(0).rank() > 2 || c.in(3).rank() != 0) return c.Error("the indices or the default have a wrong rank");
  int64_t count = c.in(0).rank() == 0 ? 1 : c.in(0).dims()[0];
  if (count * depth != static_cast<int64_t>(indices.size())) return c.Error("the indices do not fit the shape");
  if (values.rank() > 1 || (values.rank() == 1 && values.dims()[0] != count)) {
    return c.Error("there must be one value, or one per index");
  }
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, dims));
  for (int64_t i = 0; i < out.num_elements(); ++i) CopyElement(c.in(3), 0, out, i);
  int64_t before = -1;
  for (int64_t i = 0; i < count; ++i) {
    int64_t place = 0;
    for (int64_t d = 0; d < depth; ++d) {
      int64_t at = indices[i * depth + d];
      if (at < 0 || at >= dims[d]) return c.Error(absl::StrCat("index ", at, " is out of bounds"));
      place = place * dims[d] + at;
    }
    if (validate && place <= before) return c.Error("the indices are not in order or repeat");
    before = place;
    CopyElement(values, values.rank() == 0 ? 0 : i, out, place);
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

}  // namespace

void RegisterSegmentKernels(KernelRegistry& r) {
  r.Add({"SegmentSum", "SegmentMean", "SegmentProd", "SegmentMax", "SegmentMin"}, Segments<false>, false);
  r.Add({"SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"}, Segments<true>, false);
  r.Add({"SparseSegmentSumWithNumSegments", "SparseSegmentMeanWithNumSegments", "SparseSegmentSqrtNWithNumSegments"},
        Segments<true>, false);
  r.Add({"SparseSegmentSumGrad", "SparseSegmentMeanGrad", "SparseSegmentSqrtNGrad", "SparseSegmentSumGradV2",
         "SparseSegmentMeanGradV2", "SparseSegmentSqrtNGradV2"},
        SegmentsGrad, false);
  r.Add({"Bincount"}, Bincount, false);
  r.Add({"SparseToDense"}, SparseToDense, false);
}

}  // namespace xc
