// convolution as matrix products: rows are output positions, depth is kernel positions times input features.
#include <algorithm>

#include "backends/interpreter/contraction.h"
#include "hlo/base/status.h"

namespace xc::interp {
namespace {

// Sizes and strides of one convolution, one feature or batch group at a time.
struct Problem {
  const WindowAttr* window;
  int64_t features;  // input features of a group
  int64_t input_feature_stride;
  Dims input_sizes, input_strides;  // spatial
  Dims kernel_sizes;                // spatial
  Dims row_batch_offset;            // of each output position: offset of its batch element in the input
  int64_t last_size = 1;            // output positions in the last spatial dimension
  std::vector<Dims> row_origin;     // [spatial][output position]: input coordinate of window place 0
};

template <typename T>
absl::Status RunGroup(const Problem& p, const Literal& input, int input_part, int64_t input_base, const Literal& kernel,
                      int kernel_part, bool negate, const std::vector<int64_t>& kernel_rows,
                      const std::vector<int64_t>& kernel_depth, T* c, OpContext& context) {
  const ElementSource<T> a(input, input_part), b(kernel, kernel_part);
  const size_t spatial = p.input_sizes.size();
  const auto load_a = [&](int64_t row, int64_t k0, int64_t kn, T* out) {
    Dims place(spatial);
    for (int64_t k = k0; k < k0 + kn;) {
      const int64_t feature = k % p.features;
      const int64_t run = std::min(p.features - feature, k0 + kn - k);
      int64_t offset = input_base + p.row_batch_offset[row];
      bool inside = true;
      Delinearize(k / p.features, p.kernel_sizes, place.data());
      for (size_t d = 0; d < spatial && inside; ++d) {
        const WindowDim& w = p.window->dims[d];
        int64_t at = p.row_origin[d][row] + place[d] * w.window_dilation;
        inside = at >= 0;
        if (w.base_dilation != 1) {
          inside = inside && at % w.base_dilation == 0;
          at /= w.base_dilation;
        }
        inside = inside && at < p.input_sizes[d];
        offset += at * p.input_strides[d];
      }
      T* to = out + (k - k0);
      if (inside) {
        a.LoadStrided(offset + feature * p.input_feature_stride, p.input_feature_stride, run, to);
        if (negate) {
          for (int64_t i = 0; i < run; ++i) to[i] = -to[i];
        }
      } else {
        std::fill_n(to, run, T(0));
      }
      k += run;
    }
  };
  const auto load_b = [&](int64_t row, int64_t k0, int64_t kn, T* out) {
    b.Load(kernel_rows[row], kernel_depth.data() + k0, kn, out);
  };
  return Gemm<T>(p.row_batch_offset.size(), kernel_rows.size(), kernel_depth.size(), load_a, load_b, c,
                 [&] { return context.CheckTime(); });
}

// The same, one output feature at a time, without packing: sums grow along runs of output positions that differ in the
// last spatial dimension only. For kernels with few elements (depthwise convolutions), where a matrix product has no
// depth.
template <typename T>
absl::Status RunGroupDirect(const Problem& p, const Literal& input, int64_t input_base, const Literal& kernel,
                            const std::vector<int64_t>& kernel_rows, const std::vector<int64_t>& kernel_depth, T* c,
                            OpContext& context) {
  const ElementSource<T> a(input, 0), b(kernel, 0);
  const size_t spatial = p.input_sizes.size(), last = spatial - 1;
  const int64_t depth = kernel_depth.size(), features = kernel_rows.size(), run = p.last_size;
  const int64_t rows = p.row_batch_offset.size();
  std::vector<T> weights(depth * features), values(run);
  for (int64_t f = 0; f < features; ++f) b.Load(kernel_rows[f], kernel_depth.data(), depth, &weights[f * depth]);
  std::vector<Dims> places(depth / p.features, Dims(spatial));
  for (size_t i = 0; i < places.size(); ++i) Delinearize(i, p.kernel_sizes, places[i].data());
  const WindowDim& inner = p.window->dims[last];
  for (int64_t row = 0; row < rows; row += run) {
    if (row / run % 256 == 0) XC_RETURN_IF_ERROR(context.CheckTime());
    for (int64_t k = 0; k < depth; ++k) {
      const Dims& place = places[k / p.features];
      int64_t offset = input_base + p.row_batch_offset[row] + k % p.features * p.input_feature_stride;
      bool inside = true;
      for (size_t d = 0; d < last && inside; ++d) {
        const WindowDim& w = p.window->dims[d];
        int64_t at = p.row_origin[d][row] + place[d] * w.window_dilation;
        inside = at >= 0 && at % w.base_dilation == 0 && at / w.base_dilation < p.input_sizes[d];
        offset += at / w.base_dilation * p.input_strides[d];
      }
      if (!inside) continue;
      // Positions first … end - 1 of the run meet elements of the input.
      const int64_t origin = p.row_origin[last][row] + place[last] * inner.window_dilation;
      const int64_t first = origin >= 0 ? 0 : (-origin + inner.stride - 1) / inner.stride;
      const int64_t room = p.input_sizes[last] - 1 - origin;
      const int64_t end = room < 0 ? 0 : std::min(run, room / inner.stride + 1);
      if (first >= end) continue;
      a.LoadStrided(offset + (origin + first * inner.stride) * p.input_strides[last],
                    inner.stride * p.input_strides[last], end - first, values.data());
      for (int64_t f = 0; f < features; ++f) {
        const T weight = weights[f * depth + k];
        T* to = c + (row + first) * features + f;
        for (int64_t i = 0; i < end - first; ++i) to[i * features] += weight * values[i];
      }
    }
  }
  return absl::OkStatus();
}

// Where the output positions lie, batch first, then space: their windows in the input go to `p`; their places in the
// output are returned.
std::vector<int64_t> PlaceRows(const ConvDims& dims, const Shape& out_shape, const Dims& in_strides,
                               const Dims& out_strides, Problem* p) {
  const size_t spatial = dims.input_spatial.size();
  Dims out_spatial, index(spatial);
  for (int64_t d : dims.output_spatial) out_spatial.push_back(out_shape.dim(d));
  if (spatial > 0) p->last_size = out_spatial.back();
  const int64_t positions = Product(out_spatial), rows = out_shape.dim(dims.output_batch) * positions;
  std::vector<int64_t> out_rows(rows);
  p->row_batch_offset.resize(rows);
  p->row_origin.assign(spatial, Dims(rows));
  for (int64_t r = 0; r < rows; ++r) {
    Delinearize(r % positions, out_spatial, index.data());
    p->row_batch_offset[r] = r / positions * in_strides[dims.input_batch];
    out_rows[r] = r / positions * out_strides[dims.output_batch];
    for (size_t d = 0; d < spatial; ++d) {
      p->row_origin[d][r] = index[d] * p->window->dims[d].stride - p->window->dims[d].padding_low;
      out_rows[r] += index[d] * out_strides[dims.output_spatial[d]];
    }
  }
  return out_rows;
}

// The places of kernel elements in the order of the depth: place in the window, then input feature.
std::vector<int64_t> PlaceDepth(const ConvDims& dims, const Dims& kernel_strides, const Problem& p) {
  Dims index(p.kernel_sizes.size());
  std::vector<int64_t> depth(Product(p.kernel_sizes) * p.features);
  for (int64_t k = 0; k < static_cast<int64_t>(depth.size()); ++k) {
    Delinearize(k / p.features, p.kernel_sizes, index.data());
    int64_t offset = k % p.features * kernel_strides[dims.kernel_input_feature];
    for (size_t d = 0; d < index.size(); ++d) {
      const int64_t at = p.window->dims[d].reversal ? p.kernel_sizes[d] - 1 - index[d] : index[d];
      offset += at * kernel_strides[dims.kernel_spatial[d]];
    }
    depth[k] = offset;
  }
  return depth;
}

}  // namespace

OpResult Convolution(const HloInstruction& instruction, Operands& operands, OpContext& context) {
  const Literal &input = operands[0], &kernel = operands[1];
  const ConvDims& dims = instruction.conv_dims();
  const WindowAttr& window = instruction.window();
  const int64_t feature_groups = instruction.attr_or<AttrKind::kFeatureGroupCount>(1);
  const int64_t batch_groups = instruction.attr_or<AttrKind::kBatchGroupCount>(1);
  if (feature_groups > 1 && batch_groups > 1) {
    return absl::UnimplementedError("feature groups and batch groups at one time are not supported");
  }
  const int64_t groups = std::max(feature_groups, batch_groups);
  Literal out(Plain(instruction.shape()));
  const Shape &in_shape = input.shape(), &kernel_shape = kernel.shape(), &out_shape = out.shape();
  const Dims in_strides = RowMajorStrides(in_shape.dims()), kernel_strides = RowMajorStrides(kernel_shape.dims());
  const Dims out_strides = RowMajorStrides(out_shape.dims());
  const size_t spatial = dims.input_spatial.size();

  Problem p;
  p.window = &window;
  p.features = kernel_shape.dim(dims.kernel_input_feature);
  p.input_feature_stride = in_strides[dims.input_feature];
  for (size_t d = 0; d < spatial; ++d) {
    p.input_sizes.push_back(in_shape.dim(dims.input_spatial[d]));
    p.input_strides.push_back(in_strides[dims.input_spatial[d]]);
    p.kernel_sizes.push_back(kernel_shape.dim(dims.kernel_spatial[d]));
  }
  const std::vector<int64_t> out_rows = PlaceRows(dims, out_shape, in_strides, out_strides, &p);
  const std::vector<int64_t> kernel_depth = PlaceDepth(dims, kernel_strides, p);
  const int64_t rows = static_cast<int64_t>(out_rows.size());

  const int64_t out_features = out_shape.dim(dims.output_feature);
  const int64_t group_features = out_features / groups;
  const ElementType in_type = in_shape.type(), kernel_type = kernel_shape.type();
  const bool in_double = SumsInDouble(in_type, kernel_type);
  const bool complex = IsComplex(in_type) || IsComplex(kernel_type);
  XC_RETURN_IF_ERROR(context.CheckMemory(rows * group_features * (complex ? 32 : 16)));
  const bool direct = !complex && spatial > 0 && window.dims.back().base_dilation == 1 && group_features <= 4 &&
                      p.features >= 1 && p.features <= 4 && rows > 0;
  std::vector<double> real, imaginary;
  std::vector<uint64_t> whole;
  Literal result(Shape(out_shape.type(), {rows, group_features}));
  const int bytes = StorageBytes(out_shape.type());
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t base = feature_groups > 1
                             ? g * p.features * p.input_feature_stride
                             : g * (in_shape.dim(dims.input_batch) / batch_groups) * in_strides[dims.input_batch];
    std::vector<int64_t> kernel_rows(group_features);
    for (int64_t j = 0; j < group_features; ++j) {
      kernel_rows[j] = (g * group_features + j) * kernel_strides[dims.kernel_output_feature];
    }
    const int64_t size = rows * group_features;
    if (in_double) {
      real.assign(size, 0);
      const auto run = [&](int input_part, int kernel_part, bool negate, std::vector<double>& sums) {
        return RunGroup<double>(p, input, input_part, base, kernel, kernel_part, negate, kernel_rows, kernel_depth,
                                sums.data(), context);
      };
      if (direct) {
        XC_RETURN_IF_ERROR(
            RunGroupDirect<double>(p, input, base, kernel, kernel_rows, kernel_depth, real.data(), context));
      } else {
        XC_RETURN_IF_ERROR(run(0, 0, false, real));
      }
      if (complex) {
        imaginary.assign(size, 0);
        if (IsComplex(in_type) && IsComplex(kernel_type)) XC_RETURN_IF_ERROR(run(1, 1, true, real));
        if (IsComplex(kernel_type)) XC_RETURN_IF_ERROR(run(0, 1, false, imaginary));
        if (IsComplex(in_type)) XC_RETURN_IF_ERROR(run(1, 0, false, imaginary));
      }
      StoreSums(real.data(), complex ? imaginary.data() : nullptr, size, &result, 0);
    } else {
      whole.assign(size, 0);
      XC_RETURN_IF_ERROR(
          RunGroup<uint64_t>(p, input, 0, base, kernel, 0, false, kernel_rows, kernel_depth, whole.data(), context));
      StoreSums(whole.data(), size, &result, 0);
    }
    // Rows of the group's result to their places.
    const int64_t feature_stride = out_strides[dims.output_feature];
    const StridedCopy copy(bytes, {group_features}, Dims{1}, Dims{feature_stride});
    for (int64_t r = 0; r < rows; ++r) {
      copy.Run(result.bytes() + r * group_features * bytes,
               out.mutable_bytes() + (out_rows[r] + g * group_features * feature_stride) * bytes);
    }
  }
  return out;
}

}  // namespace xc::interp
