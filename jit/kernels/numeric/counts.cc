// Host kernels that count values row by row: bincounts of sparse and ragged tensors, and counts as sparse tensors.
#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"

namespace xc {
namespace {

// Values in rows: row r has elements order[begin[r]] … of the flat values.
struct Rows {
  int64_t count = 1;
  std::vector<int64_t> of;  // the row of each value
  bool vector = false;      // one row that is not a dimension of the result
};

absl::StatusOr<Rows> RaggedRows(const KernelContext& c, int splits_operand, int64_t values) {
  XC_ASSIGN_OR_RETURN(auto splits, c.Ints(splits_operand));
  if (splits.empty() || splits[0] != 0 || splits.back() != values || !std::is_sorted(splits.begin(), splits.end())) {
    return c.Error("the splits do not fit the values");
  }
  Rows rows;
  rows.count = static_cast<int64_t>(splits.size()) - 1;
  for (int64_t r = 0; r < rows.count; ++r) rows.of.insert(rows.of.end(), splits[r + 1] - splits[r], r);
  return rows;
}

absl::StatusOr<Rows> SparseRows(const KernelContext& c, int indices_operand, int shape_operand, int64_t values) {
  XC_ASSIGN_OR_RETURN(auto indices, c.Ints(indices_operand));
  XC_ASSIGN_OR_RETURN(auto shape, c.Ints(shape_operand));
  int64_t rank = static_cast<int64_t>(shape.size());
  if (rank < 1 || rank > 2 || static_cast<int64_t>(indices.size()) != rank * values) {
    return c.Error(absl::StrCat("a sparse tensor of rank ", rank, " with ", values, " values and ", indices.size(),
                                " coordinates"));
  }
  Rows rows;
  rows.vector = rank == 1;
  rows.count = rows.vector ? 1 : shape[0];
  for (int64_t i = 0; i < values; ++i) {
    int64_t row = rows.vector ? 0 : indices[2 * i];
    if (row < 0 || row >= rows.count) return c.Error(absl::StrCat("value ", i, " is in row ", row));
    rows.of.push_back(row);
  }
  return rows;
}

absl::StatusOr<Rows> DenseRows(const KernelContext& c, int operand) {
  const Tensor& t = c.in(operand);
  if (t.rank() < 1 || t.rank() > 2) return c.Error("the values must be a vector or a matrix");
  Rows rows;
  rows.vector = t.rank() == 1;
  rows.count = rows.vector ? 1 : t.dims()[0];
  for (int64_t i = 0; i < t.num_elements(); ++i) rows.of.push_back(rows.vector ? 0 : i / t.dims()[1]);
  return rows;
}

// What each value counts; empty: one.
absl::StatusOr<std::vector<double>> Weights(const KernelContext& c, int operand, size_t values) {
  XC_ASSIGN_OR_RETURN(auto weights, c.in(operand).AsDoubles());
  if (!weights.empty() && weights.size() != values) return c.Error("needs one weight per value or none");
  return weights;
}

absl::Status Store(const std::vector<double>& from, Tensor& to) {
  for (size_t i = 0; i < from.size(); ++i) {
    switch (to.dtype()) {
      case DT_INT32:
        to.data<int32_t>()[i] = static_cast<int32_t>(from[i]);
        break;
      case DT_INT64:
        to.data<int64_t>()[i] = static_cast<int64_t>(from[i]);
        break;
      case DT_FLOAT:
        to.data<float>()[i] = static_cast<float>(from[i]);
        break;
      case DT_DOUBLE:
        to.data<double>()[i] = from[i];
        break;
      default:
        return absl::UnimplementedError(absl::StrCat("counts of ", DataTypeName(to.dtype())));
    }
  }
  return absl::OkStatus();
}

absl::Status Bincount(KernelContext& c, const Rows& rows, int values_operand, int size_operand, int weights_operand) {
  XC_ASSIGN_OR_RETURN(auto values, c.Ints(values_operand));
  XC_ASSIGN_OR_RETURN(int64_t size, c.Int(size_operand));
  XC_ASSIGN_OR_RETURN(auto weights, Weights(c, weights_operand, values.size()));
  XC_ASSIGN_OR_RETURN(bool binary, c.node.Bool("binary_output"));
  if (size < 0) return c.Error(absl::StrCat("size (", size, ") must be non-negative"));
  XC_ASSIGN_OR_RETURN(c.outputs[0], c.Alloc(0, rows.vector ? Dims{size} : Dims{rows.count, size}));
  std::vector<double> counts(c.outputs[0].num_elements());
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0) return c.Error("input must be non-negative");
    if (values[i] >= size) continue;
    double& count = counts[rows.of[i] * size + values[i]];
    count = binary ? 1 : count + (weights.empty() ? 1 : weights[i]);
  }
  return Store(counts, c.outputs[0]);
}

absl::Status RaggedBincount(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Rows rows, RaggedRows(c, 0, c.in(1).num_elements()));
  return Bincount(c, rows, 1, 2, 3);
}

absl::Status SparseBincount(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Rows rows, SparseRows(c, 0, 2, c.in(1).num_elements()));
  return Bincount(c, rows, 1, 3, 4);
}

absl::Status CountSparse(KernelContext& c, const Rows& rows, int values_operand, int weights_operand) {
  XC_ASSIGN_OR_RETURN(auto values, c.Ints(values_operand));
  XC_ASSIGN_OR_RETURN(auto weights, Weights(c, weights_operand, values.size()));
  XC_ASSIGN_OR_RETURN(bool binary, c.node.Bool("binary_output"));
  XC_ASSIGN_OR_RETURN(int64_t least, c.node.Int("minlength"));
  XC_ASSIGN_OR_RETURN(int64_t most, c.node.Int("maxlength"));
  std::map<std::pair<int64_t, int64_t>, double> counts;  // by row and value
  int64_t width = least;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0 || (most > 0 && values[i] >= most)) continue;
    double& count = counts[{rows.of[i], values[i]}];
    count = binary ? 1 : count + (weights.empty() ? 1 : weights[i]);
    width = std::max(width, values[i] + 1);
  }
  if (most > 0) width = most;
  width = std::max<int64_t>(width, 0);
  int64_t rank = rows.vector ? 1 : 2;
  XC_ASSIGN_OR_RETURN(c.outputs[0], c.Alloc(0, {static_cast<int64_t>(counts.size()), rank}));
  XC_ASSIGN_OR_RETURN(c.outputs[1], c.Alloc(1, {static_cast<int64_t>(counts.size())}));
  std::vector<double> found;
  int64_t* at = c.outputs[0].data<int64_t>();
  for (const auto& [place, count] : counts) {
    if (!rows.vector) *at++ = place.first;
    *at++ = place.second;
    found.push_back(count);
  }
  c.outputs[2] = rows.vector ? Tensor::Int64s({width}) : Tensor::Int64s({rows.count, width});
  return Store(found, c.outputs[1]);
}

absl::Status DenseCount(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Rows rows, DenseRows(c, 0));
  return CountSparse(c, rows, 0, 1);
}

absl::Status SparseCount(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Rows rows, SparseRows(c, 0, 2, c.in(1).num_elements()));
  return CountSparse(c, rows, 1, 3);
}

absl::Status RaggedCount(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Rows rows, RaggedRows(c, 0, c.in(1).num_elements()));
  return CountSparse(c, rows, 1, 2);
}

}  // namespace

void RegisterCountKernels(KernelRegistry& r) {
  r.Add({"RaggedBincount"}, RaggedBincount, false);
  r.Add({"SparseBincount"}, SparseBincount, false);
  r.Add({"DenseCountSparseOutput"}, DenseCount, false);
  r.Add({"SparseCountSparseOutput"}, SparseCount, false);
  r.Add({"RaggedCountSparseOutput"}, RaggedCount, false);
}

}  // namespace xc
