// Lowerings of pooling and its gradients, and of image resizing.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "hlo/base/choices.h"
#include "jit/lowering/lowering.h"
#include "jit/lowering/numeric/window.h"

namespace xc {
namespace {

struct Pool {
  DataFormat format;
  WindowAttr window;  // per dimension of the value
  std::vector<WindowDim> spatial;
  Dims output;
  bool same = false;  // padding is what makes the windows cover everything
};

// Reads ksize and strides from attributes, or from operands first_operand and first_operand + 1 if that is not -1.
absl::StatusOr<Pool> ReadPool(OpContext& c, const Dims& input, int first_operand) {
  Pool p;
  int64_t rank = static_cast<int64_t>(input.size());
  if (rank != 4 && rank != 5) return c.Error("the value must have rank 4 or 5");
  XC_ASSIGN_OR_RETURN(p.format, ReadDataFormat(c, rank));
  std::vector<int64_t> kernel, strides, dilations(rank - 2, 1);
  if (first_operand >= 0) {
    XC_ASSIGN_OR_RETURN(auto all_sizes, c.Ints(first_operand));
    XC_ASSIGN_OR_RETURN(auto all_strides, c.Ints(first_operand + 1));
    if (static_cast<int64_t>(all_sizes.size()) != rank || static_cast<int64_t>(all_strides.size()) != rank) {
      return c.Error("ksize and strides must have one entry per dimension");
    }
    if (all_sizes[p.format.channel] != 1 || all_sizes[p.format.batch] != 1) {
      return c.Unimplemented("pooling over batch or channels");
    }
    for (int64_t d : p.format.spatial) {
      kernel.push_back(all_sizes[d]);
      strides.push_back(all_strides[d]);
      if (kernel.back() < 1 || strides.back() < 1) return c.Error("ksize and strides must be positive");
    }
  } else {
    XC_ASSIGN_OR_RETURN(kernel, SpatialAttr(c, "ksize", p.format, rank));
    XC_ASSIGN_OR_RETURN(strides, SpatialAttr(c, "strides", p.format, rank));
  }
  std::vector<int64_t> sizes;
  for (int64_t d : p.format.spatial) sizes.push_back(input[d]);
  XC_ASSIGN_OR_RETURN(p.spatial, ReadWindow(c, p.format, sizes, kernel, strides, dilations));
  XC_ASSIGN_OR_RETURN(const std::string padding, c.node.String("padding"));
  p.same = padding == "SAME";
  p.window.dims.resize(rank);
  p.output = input;
  for (size_t i = 0; i < p.spatial.size(); ++i) {
    p.window.dims[p.format.spatial[i]] = p.spatial[i];
    p.output[p.format.spatial[i]] = WindowOutputSize(sizes[i], p.spatial[i]);
  }
  return p;
}

absl::Status MaxPool(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Pool p, ReadPool(c, c.dims(0), c.node.op == "MaxPoolV2" ? 1 : -1));
  c.set(0, c.b.ReduceWindow(c.in(0), c.b.Lowest(c.etype(0)), p.window, HloOpcode::kMaximum));
  return absl::OkStatus();
}

// The number of elements under each window of one dimension, computed: in code for several sizes the padding depends on
// them, and may be 0, which must be a number like others. Positions are those in the padded value.
Val CountsAlong(Emitter& b, const WindowDim& w, int64_t outputs, int64_t input, ElementType type) {
  const auto number = [](int64_t n) { return static_cast<double>(n); };
  Val window = b.Iota(ElementType::kS32, {outputs}, 0);
  Val first = b.MulC(window, number(w.stride));
  Val end = b.Min(b.AddC(first, number(w.size)), b.Like(window, number(input + w.padding_low)));
  Val count = b.Sub(end, b.Max(first, b.Like(window, number(w.padding_low))));
  return b.Convert(b.Max(count, b.Like(window, 0)), type);
}

// Number of elements of the value under each window, as an array of the result's shape.
Val Counts(Emitter& b, const Pool& p, const Dims& input, ElementType type) {
  bool padded = p.same && ForAllSizes();
  double volume = 1;
  for (const WindowDim& w : p.spatial) {
    padded |= w.padding_low != 0 || w.padding_high != 0;
    volume *= static_cast<double>(w.size);
  }
  if (!padded) return b.Full(type, p.output, volume);
  Val counts = nullptr;
  for (size_t i = 0; i < p.spatial.size(); ++i) {
    const WindowDim& w = p.spatial[i];
    int64_t d = p.format.spatial[i], n = p.output[d];
    if (ForAllSizes()) {
      Val v = b.Broadcast(CountsAlong(b, w, n, input[d], type), p.output, {d});
      counts = counts == nullptr ? v : b.Mul(counts, v);
      continue;
    }
    Literal l{Shape(type, {n})};
    for (int64_t k = 0; k < n; ++k) {
      int64_t from = std::max<int64_t>(k * w.stride - w.padding_low, 0);
      int64_t to = std::min<int64_t>(k * w.stride - w.padding_low + w.size, input[d]);
      l.SetDouble(k, static_cast<double>(std::max<int64_t>(to - from, 0)));
    }
    Val v = b.Broadcast(b.Constant(std::move(l)), p.output, {d});
    counts = counts == nullptr ? v : b.Mul(counts, v);
  }
  return counts;
}

ElementType Accumulator(ElementType type) {
  return type == ElementType::kF16 || type == ElementType::kBF16 ? ElementType::kF32 : type;
}

absl::Status AvgPool(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Pool p, ReadPool(c, c.dims(0), -1));
  ElementType wide = Accumulator(c.etype(0));
  Val x = c.b.Convert(c.in(0), wide);
  Val sum = c.b.ReduceWindow(x, c.b.Scalar(wide, 0), p.window, HloOpcode::kAdd);
  c.set(0, c.b.Convert(c.b.Div(sum, Counts(c.b, p, c.dims(0), wide)), c.etype(0)));
  return absl::OkStatus();
}

absl::Status AvgPoolGrad(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Dims input, c.Ints(0));
  XC_RETURN_IF_ERROR(CheckedNumElements(input).status());
  XC_ASSIGN_OR_RETURN(Pool p, ReadPool(c, input, -1));
  if (c.dims(1) != p.output) return c.Error("the gradient does not have the shape of the result");
  Emitter& b = c.b;
  ElementType wide = Accumulator(c.etype(1));
  Val dy = b.Div(b.Convert(c.in(1), wide), Counts(b, p, input, wide));
  // Each gradient goes to every element of its window: spread by the stride, padded, summed over windows.
  std::vector<PaddingDim> padding(input.size());
  WindowAttr window;
  window.dims.resize(input.size());
  for (size_t i = 0; i < p.spatial.size(); ++i) {
    const WindowDim& w = p.spatial[i];
    int64_t d = p.format.spatial[i];
    int64_t spread = (p.output[d] - 1) * w.stride + 1;
    padding[d].low = w.size - 1 - w.padding_low;
    padding[d].high = input[d] + w.size - 1 - spread - padding[d].low;
    padding[d].interior = w.stride - 1;
    window.dims[d].size = w.size;
  }
  Val spread = b.Pad(dy, b.Scalar(wide, 0), padding);
  Val v = b.ReduceWindow(spread, b.Scalar(wide, 0), window, HloOpcode::kAdd);
  c.set(0, b.Convert(v, c.etype(1)));
  return absl::OkStatus();
}

absl::Status MaxPoolGrad(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Pool p, ReadPool(c, c.dims(0), c.node.op == "MaxPoolGradV2" ? 3 : -1));
  if (c.dims(2) != p.output) return c.Error("the gradient does not have the shape of the result");
  ElementType type = c.etype(0), wide = Accumulator(type);
  Val x = c.b.Convert(c.in(0), wide), dy = c.b.Convert(c.in(2), wide);
  Val v = c.b.SelectAndScatter(x, dy, c.b.Scalar(wide, 0), p.window, CompareDirection::kGe);
  c.set(0, c.b.Convert(v, type));
  return absl::OkStatus();
}

// Coordinates of one resized dimension: source index pairs and the weight of the upper one.
struct Axis {
  std::vector<int64_t> low, high;
  std::vector<double> weight;
};

absl::StatusOr<Axis> ResizeAxis(OpContext& c, int64_t in, int64_t out, bool nearest) {
  XC_ASSIGN_OR_RETURN(bool align, c.node.Bool("align_corners"));
  XC_ASSIGN_OR_RETURN(bool half, c.node.Bool("half_pixel_centers"));
  if (align && half) return c.Error("align_corners and half_pixel_centers exclude each other");
  if (in < 1 || out < 1) return c.Error("sizes must be positive");
  float scale = align && out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                                 : static_cast<float>(in) / static_cast<float>(out);
  Axis a;
  for (int64_t i = 0; i < out; ++i) {
    if (nearest) {
      float at = half ? (static_cast<float>(i) + 0.5f) * scale : static_cast<float>(i) * scale;
      int64_t k = align ? static_cast<int64_t>(std::roundf(at)) : static_cast<int64_t>(std::floor(at));
      k = std::clamp<int64_t>(k, 0, in - 1);
      a.low.push_back(k);
      a.high.push_back(k);
      a.weight.push_back(0);
      continue;
    }
    float at = half ? (static_cast<float>(i) + 0.5f) * scale - 0.5f : static_cast<float>(i) * scale;
    float floor = std::floor(at);
    a.low.push_back(std::max<int64_t>(static_cast<int64_t>(floor), 0));
    a.high.push_back(std::min<int64_t>(static_cast<int64_t>(std::ceil(at)), in - 1));
    a.weight.push_back(at - floor);
  }
  return a;
}

Val Take(Emitter& b, Val x, const std::vector<int64_t>& indices, int64_t axis) {
  GatherDims g;
  Dims sizes = x->shape().dims();
  for (int64_t d = 0; d < x->shape().rank(); ++d) {
    if (d != axis) g.offset_dims.push_back(d);
  }
  sizes[axis] = 1;
  g.collapsed_slice_dims = {axis};
  g.start_index_map = {axis};
  g.index_vector_dim = 1;
  return b.Gather(x, b.Vector(ElementType::kS32, indices), g, sizes);
}

template <bool kNearest>
absl::Status Resize(OpContext& c) {
  XC_RETURN_IF_ERROR(c.RequireRank(0, 4));
  XC_ASSIGN_OR_RETURN(auto size, c.Ints(1));
  if (size.size() != 2) return c.Error("size must have two elements");
  if (size[0] > (1 << 20) || size[1] > (1 << 20)) return c.Error("size is too large");
  Emitter& b = c.b;
  Val x = kNearest ? c.in(0) : b.Convert(c.in(0), ElementType::kF32);
  for (int64_t k = 0; k < 2; ++k) {
    // Width first, then height, as the host kernel interpolates.
    int64_t axis = 2 - k;
    XC_ASSIGN_OR_RETURN(Axis a, ResizeAxis(c, c.dims(0)[axis], size[axis - 1], kNearest));
    Val low = Take(b, x, a.low, axis);
    if (kNearest) {
      x = low;
      continue;
    }
    Val high = Take(b, x, a.high, axis);
    Literal l{Shape(ElementType::kF32, {size[axis - 1]})};
    for (size_t i = 0; i < a.weight.size(); ++i) l.SetDouble(i, a.weight[i]);
    Val w = b.Broadcast(b.Constant(std::move(l)), low->shape().dims(), {axis});
    x = b.Add(low, b.Mul(b.Sub(high, low), w));
  }
  c.set(0, b.Convert(x, c.out_etype(0)));
  return absl::OkStatus();
}

// The gradient as products with the interpolation matrices of both dimensions.
absl::Status ResizeBilinearGrad(OpContext& c) {
  XC_RETURN_IF_ERROR(c.RequireRank(0, 4));
  XC_RETURN_IF_ERROR(c.RequireRank(1, 4));
  Emitter& b = c.b;
  Val g = b.Convert(c.in(0), ElementType::kF32);
  for (int64_t axis = 1; axis <= 2; ++axis) {
    int64_t in = c.dims(1)[axis], out = c.dims(0)[axis];
    XC_ASSIGN_OR_RETURN(Axis a, ResizeAxis(c, in, out, false));
    if (in * out > (1 << 26)) return c.Unimplemented("such large images");
    Literal l{Shape(ElementType::kF32, {out, in})};
    for (int64_t i = 0; i < out; ++i) {
      l.SetDouble(i * in + a.low[i], l.GetDouble(i * in + a.low[i]) + 1 - a.weight[i]);
      l.SetDouble(i * in + a.high[i], l.GetDouble(i * in + a.high[i]) + a.weight[i]);
    }
    DotDims d;
    d.lhs_contracting = {axis};
    d.rhs_contracting = {0};
    Val v = b.Dot(g, b.Constant(std::move(l)), d);  // the new dimension comes last
    g = axis == 1 ? b.Transpose(v, {0, 3, 1, 2}) : b.Transpose(v, {0, 1, 3, 2});
  }
  c.set(0, b.Convert(g, c.out_etype(0)));
  return absl::OkStatus();
}

}  // namespace

void RegisterPooling(LoweringRegistry& r) {
  r.Add({"MaxPool", "MaxPool3D"}, kRealTypes, MaxPool);
  r.Add({"MaxPoolV2"}, kRealTypes, MaxPool, {"ksize", "strides"});
  r.Add({"AvgPool", "AvgPool3D"}, kFloatTypes, AvgPool);
  r.Add({"AvgPoolGrad", "AvgPool3DGrad"}, kFloatTypes, AvgPoolGrad, {"orig_input_shape"});
  r.Add({"MaxPoolGrad", "MaxPool3DGrad"}, kRealTypes, MaxPoolGrad);
  r.Add({"MaxPoolGradV2"}, kRealTypes, MaxPoolGrad, {"ksize", "strides"});
  r.Add({"ResizeNearestNeighbor"}, kRealTypes, Resize<true>, {"size"});
  r.Add({"ResizeBilinear"}, kRealTypes, Resize<false>, {"size"});
  r.Add({"ResizeBilinearGrad"}, kFloatTypes, ResizeBilinearGrad);
}

}  // namespace xc
