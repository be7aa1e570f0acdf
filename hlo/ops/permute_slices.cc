#include "hlo/ops/permute_slices.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hlo/base/status.h"
#include "hlo/element_type.h"

namespace xc {
namespace {

// Whether `starts` is the start of one slice of an array of this rank.
bool IsStart(const Shape& starts, int64_t rank) {
  return starts.IsTuple() && starts.tuple_size() == rank &&
         std::all_of(starts.tuple_shapes().begin(), starts.tuple_shapes().end(),
                     [](const Shape& s) { return s.IsScalar() && IsIntegral(s.type()); });
}

// The starts of one buffer: indices of tuples of scalars below `at`, which leads to `starts`.
absl::Status AddStarts(const Shape& starts, int64_t rank, const ShapeIndex& at, std::vector<ShapeIndex>* out) {
  if (IsStart(starts, rank)) {
    out->push_back(at);
    return absl::OkStatus();
  }
  for (int64_t i = 0; starts.IsTuple() && i < starts.tuple_size(); ++i) {
    if (!IsStart(starts.tuple_shape(i), rank)) break;
    ShapeIndex inner = at;
    inner.push_back(i);
    out->push_back(std::move(inner));
    if (i + 1 == starts.tuple_size()) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("starts are ", starts.ToString(false), ", should be tuples of ", rank, " integers"));
}

}  // namespace

absl::StatusOr<std::vector<PermuteSlice>> PermuteSlices(absl::Span<const Shape* const> operands,
                                                        absl::Span<const std::vector<int64_t>> sizes) {
  if (operands.size() != 4) {
    return absl::InvalidArgumentError(absl::StrCat(
        "has ", operands.size(), " operands and slice_sizes, should have 4: inputs, outputs, starts of both"));
  }
  const Shape &inputs = *operands[0], &outputs = *operands[1];
  const bool tuple = inputs.IsTuple();
  const int64_t count = tuple ? inputs.tuple_size() : 1;
  if (outputs.IsTuple() != tuple || (tuple && outputs.tuple_size() != count)) {
    return absl::InvalidArgumentError(absl::StrCat("inputs ", inputs.ToString(false), " and outputs ",
                                                   outputs.ToString(false), " should be as many"));
  }
  std::vector<PermuteSlice> slices;
  for (int64_t b = 0; b < count; ++b) {
    const Shape &in = tuple ? inputs.tuple_shape(b) : inputs, &out = tuple ? outputs.tuple_shape(b) : outputs;
    if (!in.IsArray() || !out.IsArray() || in.type() != out.type() || in.rank() != out.rank()) {
      return absl::InvalidArgumentError(absl::StrCat("input ", in.ToString(false), " and output ", out.ToString(false),
                                                     "; both should have the same element type and rank"));
    }
    std::vector<ShapeIndex> starts[2];
    for (int side = 0; side < 2; ++side) {
      const Shape& all = *operands[2 + side];
      if (tuple && (!all.IsTuple() || all.tuple_size() != count)) {
        return absl::InvalidArgumentError(absl::StrCat("starts are ", all.ToString(false),
                                                       ", should have one element for each of ", count, " inputs"));
      }
      const ShapeIndex at = tuple ? ShapeIndex{b} : ShapeIndex{};
      XC_RETURN_IF_ERROR(AddStarts(tuple ? all.tuple_shape(b) : all, in.rank(), at, &starts[side]));
    }
    if (starts[0] != starts[1]) return absl::InvalidArgumentError("starts of inputs and outputs should be as many");
    for (ShapeIndex& start : starts[0]) {
      if (slices.size() == sizes.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("slice_sizes has ", sizes.size(), " slices, should have as many as there are starts"));
      }
      const std::vector<int64_t>& size = sizes[slices.size()];
      bool fits = static_cast<int64_t>(size.size()) == in.rank();
      for (int64_t d = 0; fits && d < in.rank(); ++d) {
        fits = size[d] >= 0 && size[d] <= in.dim(d) && size[d] <= out.dim(d);
      }
      if (!fits) {
        return absl::InvalidArgumentError(absl::StrCat("slice {", absl::StrJoin(size, ","), "} should fit into ",
                                                       in.ToString(false), " and ", out.ToString(false)));
      }
      slices.push_back({tuple ? b : -1, std::move(start), size});
    }
  }
  if (slices.size() != sizes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("slice_sizes has ", sizes.size(), " slices, the starts ", slices.size()));
  }
  return slices;
}

}  // namespace xc
