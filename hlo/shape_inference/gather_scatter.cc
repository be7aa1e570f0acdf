// Shape rules of gather and scatter.
#include <algorithm>

#include "hlo/shape_inference/internal.h"

namespace xc::shape_inference {
namespace {

// What gather and scatter ask alike of their indices: an integer array, index_vector_dim within [0, rank], one index
// per entry of `index_map`, batching dimensions that pair up in size.
absl::Status CheckIndices(const Context& c, const Shape& operand, const Shape& indices, int64_t index_vector_dim,
                          absl::string_view map_name, const Int64List& index_map, const Int64List& operand_batching,
                          absl::string_view indices_batching_name, const Int64List& indices_batching) {
  if (!IsIntegral(indices.type())) {
    return c.Error("indices are ", indices.ToString(false), ", their element type should be an integer");
  }
  if (index_vector_dim < 0 || index_vector_dim > indices.rank()) {
    return c.Error("index_vector_dim is ", index_vector_dim, ", should be between 0 and the rank of the indices, ",
                   indices.rank());
  }
  int64_t length = index_vector_dim == indices.rank() ? 1 : indices.dim(index_vector_dim);
  if (!SizesAgree(length, index_map.size())) {
    return c.Error(map_name, "=", DimsText(index_map), " and each index has ", length,
                   " numbers; it should have as many as ", map_name);
  }
  XC_RETURN_IF_ERROR(c.CheckDims(map_name, index_map, operand.rank()));
  XC_RETURN_IF_ERROR(c.CheckDims("operand batching dimensions", operand_batching, operand.rank()));
  XC_RETURN_IF_ERROR(c.CheckDims(indices_batching_name, indices_batching, indices.rank()));
  if (operand_batching.size() != indices_batching.size()) {
    return c.Error("there are ", operand_batching.size(), " batching dimensions of the operand and ",
                   indices_batching.size(), " of the indices; there should be as many of each");
  }
  for (size_t i = 0; i < operand_batching.size(); ++i) {
    if (Contains(index_map, operand_batching[i])) {
      return c.Error("dimension ", operand_batching[i], " of the operand is a batching dimension and in ", map_name,
                     "; it should be one of the two");
    }
    if (indices_batching[i] == index_vector_dim) {
      return c.Error(indices_batching_name, "=", DimsText(indices_batching), " should not name index_vector_dim");
    }
    if (!SizesAgree(operand.dim(operand_batching[i]), indices.dim(indices_batching[i]))) {
      return c.Error("batching dimension ", operand_batching[i], " of the operand has size ",
                     operand.dim(operand_batching[i]), " and dimension ", indices_batching[i], " of the indices size ",
                     indices.dim(indices_batching[i]), "; both should be equal");
    }
  }
  return absl::OkStatus();
}

// Dimensions of the indices that are not index_vector_dim.
std::vector<Dim> BatchDims(const Shape& indices, int64_t index_vector_dim) {
  std::vector<Dim> dims;
  for (int64_t d = 0; d < indices.rank(); ++d) {
    if (d != index_vector_dim) dims.push_back(DimOf(indices, d));
  }
  return dims;
}

// The two lists of dimensions that are left out of a window are sorted and do not meet.
absl::Status CheckLeftOut(const Context& c, absl::string_view name, const Int64List& left_out,
                          const Int64List& batching, int64_t rank) {
  XC_RETURN_IF_ERROR(c.CheckDims(name, left_out, rank));
  XC_RETURN_IF_ERROR(c.CheckSorted(name, left_out));
  XC_RETURN_IF_ERROR(c.CheckSorted("operand batching dimensions", batching));
  for (int64_t d : left_out) {
    if (Contains(batching, d)) {
      return c.Error("dimension ", d, " is in ", name, " and a batching dimension; it should be one of the two");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Shape> InferGather(const Context& c) {
  XC_RETURN_IF_ERROR(c.NeedArrays());
  const Shape &x = c.operand(0), &indices = c.operand(1);
  const GatherDims& g = c.attr<AttrKind::kGatherDims>();
  const Int64List& sizes = c.attr<AttrKind::kSliceSizes>();
  XC_RETURN_IF_ERROR(c.CheckDims("operand batching dimensions", g.operand_batching_dims, x.rank()));
  XC_RETURN_IF_ERROR(
      CheckLeftOut(c, "collapsed_slice_dims", g.collapsed_slice_dims, g.operand_batching_dims, x.rank()));
  XC_RETURN_IF_ERROR(CheckIndices(c, x, indices, g.index_vector_dim, "start_index_map", g.start_index_map,
                                  g.operand_batching_dims, "start_indices_batching_dims",
                                  g.start_indices_batching_dims));
  if (static_cast<int64_t>(sizes.size()) != x.rank()) {
    return c.Error(c.Describe(0), "; slice_sizes=", DimsText(sizes), " should have one size per dimension, ", x.rank());
  }
  std::vector<Dim> window;
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (sizes[d] < 0 || (!IsUnknown(x.dim(d)) && sizes[d] > x.dim(d))) {
      return c.Error(c.Describe(0), "; slice_sizes=", DimsText(sizes), " should be between 0 and ", x.dim(d),
                     " in dimension ", d);
    }
    bool out = Contains(g.collapsed_slice_dims, d) || Contains(g.operand_batching_dims, d);
    if (out && sizes[d] > 1) {
      return c.Error("slice_sizes=", DimsText(sizes), " has ", sizes[d], " in dimension ", d,
                     ", which the result drops; it should be at most 1");
    }
    if (!out) window.push_back({sizes[d], x.is_dynamic_dim(d) && sizes[d] == x.dim(d)});
  }
  if (window.size() != g.offset_dims.size()) {
    return c.Error("offset_dims=", DimsText(g.offset_dims), " and a slice keeps ", window.size(),
                   " dimensions; there should be as many offset_dims");
  }
  std::vector<Dim> batch = BatchDims(indices, g.index_vector_dim);
  int64_t rank = static_cast<int64_t>(window.size() + batch.size());
  XC_RETURN_IF_ERROR(c.CheckDims("offset_dims", g.offset_dims, rank));
  XC_RETURN_IF_ERROR(c.CheckSorted("offset_dims", g.offset_dims));
  std::vector<Dim> out;
  size_t w = 0, b = 0;
  for (int64_t d = 0; d < rank; ++d) out.push_back(Contains(g.offset_dims, d) ? window[w++] : batch[b++]);
  return MakeShape(x.type(), out);
}

absl::StatusOr<Shape> InferScatter(const Context& c) {
  if (c.operand_count() < 3 || c.operand_count() % 2 == 0) {
    return c.Error("has ", c.operand_count(), " operands, should have n operands, the indices, and n updates");
  }
  XC_RETURN_IF_ERROR(c.NeedArrays());
  int64_t n = c.operand_count() / 2;
  const Shape &x = c.operand(0), &indices = c.operand(n), &updates = c.operand(n + 1);
  const ScatterDims& s = c.attr<AttrKind::kScatterDims>();
  for (int64_t i = 0; i < n; ++i) {
    if (!DimsAgree(c.operand(i).dims(), x.dims())) {
      return c.Error(c.Describe(0), " and ", c.Describe(i), "; both should have the same dimensions");
    }
    if (!DimsAgree(c.operand(n + 1 + i).dims(), updates.dims())) {
      return c.Error(c.Describe(n + 1), " and ", c.Describe(n + 1 + i), "; both should have the same dimensions");
    }
    if (c.operand(i).type() != c.operand(n + 1 + i).type()) {
      return c.Error(c.Describe(i), " and its updates, ", c.Describe(n + 1 + i),
                     "; both should have the same element type");
    }
  }
  XC_RETURN_IF_ERROR(c.CheckDims("operand batching dimensions", s.input_batching_dims, x.rank()));
  XC_RETURN_IF_ERROR(CheckLeftOut(c, "inserted_window_dims", s.inserted_window_dims, s.input_batching_dims, x.rank()));
  XC_RETURN_IF_ERROR(CheckIndices(c, x, indices, s.index_vector_dim, "scatter_dims_to_operand_dims",
                                  s.scatter_dims_to_operand_dims, s.input_batching_dims,
                                  "scatter_indices_batching_dims", s.scatter_indices_batching_dims));
  XC_RETURN_IF_ERROR(c.CheckDims("update_window_dims", s.update_window_dims, updates.rank()));
  XC_RETURN_IF_ERROR(c.CheckSorted("update_window_dims", s.update_window_dims));
  std::vector<Dim> batch = BatchDims(indices, s.index_vector_dim);
  if (static_cast<int64_t>(batch.size() + s.update_window_dims.size()) != updates.rank()) {
    return c.Error("updates are ", updates.ToString(false), "; they should have the ", batch.size(),
                   " dimensions of the indices and the ", s.update_window_dims.size(), " of update_window_dims");
  }
  std::vector<int64_t> window;
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (!Contains(s.inserted_window_dims, d) && !Contains(s.input_batching_dims, d)) window.push_back(d);
  }
  if (window.size() != s.update_window_dims.size()) {
    return c.Error("update_window_dims=", DimsText(s.update_window_dims), " and a window keeps ", window.size(),
                   " dimensions of the operand; there should be as many");
  }
  size_t w = 0, b = 0;
  for (int64_t d = 0; d < updates.rank(); ++d) {
    if (Contains(s.update_window_dims, d)) {
      int64_t of = window[w++];
      if (!IsUnknown(updates.dim(d)) && !IsUnknown(x.dim(of)) && updates.dim(d) > x.dim(of)) {
        return c.Error("updates are ", updates.ToString(false), ", ", c.Describe(0), "; window dimension ", d,
                       " of the updates should be at most ", x.dim(of), ", as dimension ", of, " of the operand");
      }
    } else {
      Dim of = batch[b++];
      if (!SizesAgree(updates.dim(d), of.size)) {
        return c.Error("updates are ", updates.ToString(false), ", indices ", indices.ToString(false), "; dimension ",
                       d, " of the updates should have size ", of.size);
      }
    }
  }
  XC_RETURN_IF_ERROR(CheckReducer(c, c.called(0), c.operands().subspan(0, n), {}));
  if (n == 1) return Plain(x);
  std::vector<Shape> out;
  for (int64_t i = 0; i < n; ++i) out.push_back(Plain(c.operand(i)));
  return Shape::Tuple(std::move(out));
}

}  // namespace xc::shape_inference
