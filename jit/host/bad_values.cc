#include "jit/host/bad_values.h"

#include <mutex>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hlo/base/status.h"
#include "jit/kernels/kernel.h"

namespace xc {
namespace {

// The first of `indices` outside of [0, size), or only above it if negative ones mean nothing. `what` is what
// TensorFlow calls them.
absl::Status BadIndex(const Tensor& indices, int64_t size, const char* what, const char* is_not,
                      bool negative_allowed = false) {
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> values, indices.AsInt64s());
  for (size_t i = 0; i < values.size(); ++i) {
    if ((values[i] >= 0 || negative_allowed) && values[i] < size) continue;
    return absl::InvalidArgumentError(absl::StrCat(what, PlaceIn(indices.dims(), static_cast<int64_t>(i)), " = ",
                                                   values[i], is_not, "[0, ", size, ")"));
  }
  return absl::OkStatus();
}

// The first row of `indices` that names no slice of an array of shape `shape`.
absl::Status BadSlice(const Tensor& indices, const Dims& shape) {
  if (indices.rank() < 1 || indices.dims().back() < 1) return absl::OkStatus();
  const int64_t depth = indices.dims().back();
  if (depth > static_cast<int64_t>(shape.size())) return absl::OkStatus();
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> values, indices.AsInt64s());
  const Dims rows(indices.dims().begin(), indices.dims().end() - 1);
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t limit = shape[i % depth];
    if (values[i] >= 0 && values[i] < limit) continue;
    const auto row = static_cast<int64_t>(i) / depth;
    return absl::InvalidArgumentError(
        absl::StrCat("indices", PlaceIn(rows, row), " = [",
                     absl::StrJoin(values.begin() + row * depth, values.begin() + (row + 1) * depth, ", "),
                     "] does not index into shape [", absl::StrJoin(shape, ","), "]"));
  }
  return absl::OkStatus();
}

// The shape of an operand, which may be a variable.
Dims ShapeOf(const Tensor& t) {
  if (t.variable() == nullptr) return t.dims();
  std::lock_guard<std::mutex> lock(t.variable()->mutex);
  return t.variable()->value.dims();
}

absl::Status FindBadGather(const Node& node, const std::vector<Tensor>& inputs) {
  const Dims shape = ShapeOf(inputs[0]);
  int64_t axis = node.Int("batch_dims").value_or(0);
  if (axis < 0) axis += inputs[1].rank();
  if (inputs.size() > 2) {
    XC_ASSIGN_OR_RETURN(std::vector<int64_t> given, inputs[2].AsInt64s());
    axis = given.empty() ? 0 : given[0];
    if (axis < 0) axis += static_cast<int64_t>(shape.size());
  }
  if (axis < 0 || axis >= static_cast<int64_t>(shape.size())) return absl::OkStatus();
  return BadIndex(inputs[1], shape[axis], "indices", " is not in ");
}

}  // namespace

absl::Status FindBadValue(const Node& node, const std::vector<Tensor>& inputs) {
  static const std::set<std::string> kDivisions = {"Div", "FloorDiv", "TruncateDiv", "Mod", "FloorMod", "TruncateMod"};
  const std::string& op = node.op;
  if (inputs.size() < 2) return absl::OkStatus();
  if (op == "Gather" || op == "GatherV2" || op == "ResourceGather") return FindBadGather(node, inputs);
  if (op == "GatherNd" || op == "ResourceGatherNd" || absl::StartsWith(op, "ResourceScatterNd") ||
      absl::StartsWith(op, "TensorScatter")) {
    return BadSlice(inputs[1], ShapeOf(inputs[0]));
  }
  if (op == "ScatterNd" && inputs.size() > 2) {
    XC_ASSIGN_OR_RETURN(std::vector<int64_t> shape, inputs[2].AsInt64s());
    return BadSlice(inputs[0], shape);
  }
  if (absl::StartsWith(op, "ResourceScatter")) {
    const Dims shape = ShapeOf(inputs[0]);
    return shape.empty() ? absl::OkStatus() : BadIndex(inputs[1], shape[0], "indices", " is not in ");
  }
  if (absl::StartsWith(op, "UnsortedSegment") && inputs.size() > 2) {
    XC_ASSIGN_OR_RETURN(std::vector<int64_t> count, inputs[2].AsInt64s());
    if (count.size() == 1) return BadIndex(inputs[1], count[0], "segment_ids", " is out of range ", true);
  }
  if (kDivisions.count(op) != 0 && IsInteger(inputs[1].dtype())) {
    XC_ASSIGN_OR_RETURN(std::vector<int64_t> values, inputs[1].AsInt64s());
    for (int64_t v : values) {
      if (v == 0) return absl::InvalidArgumentError("Integer division by zero");
    }
  }
  return absl::OkStatus();
}

}  // namespace xc
