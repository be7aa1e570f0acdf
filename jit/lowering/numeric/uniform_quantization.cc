// Lowerings of quantized arrays: whole numbers q that stand for (q - zero point) * scale, one scale for all or one per
// entry of a dimension. Scales and zero points are known while compiling, so that rescaling is fixed-point arithmetic.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "hlo/wire/attribute_proto.h"
#include "jit/lowering/lowering.h"

namespace xc {
namespace {

constexpr ElementType kF32 = ElementType::kF32;
constexpr ElementType kS32 = ElementType::kS32;
constexpr ElementType kS64 = ElementType::kS64;

struct Quantized {
  std::vector<double> scales;
  std::vector<int64_t> zeros;
  int64_t axis = -1;
  int64_t lowest = 0, highest = 0;
};

// The attributes that start with `prefix`, and scales and zero points from operand `first` on, for an array of `dims`.
absl::StatusOr<Quantized> ReadQuantized(OpContext& c, const std::string& prefix, int first, const Dims& dims) {
  Quantized q;
  XC_ASSIGN_OR_RETURN(Tensor scales, c.Const(first));
  XC_ASSIGN_OR_RETURN(q.scales, scales.AsDoubles());
  XC_ASSIGN_OR_RETURN(q.zeros, c.Ints(first + 1));
  XC_ASSIGN_OR_RETURN(q.axis, c.node.Int(prefix + "quantization_axis"));
  XC_ASSIGN_OR_RETURN(q.lowest, c.node.Int(prefix + "quantization_min_val"));
  XC_ASSIGN_OR_RETURN(q.highest, c.node.Int(prefix + "quantization_max_val"));
  if (q.axis < -1 || q.axis >= static_cast<int64_t>(dims.size())) return c.Error(prefix + "quantization_axis");
  size_t want = q.axis < 0 ? 1 : static_cast<size_t>(dims[q.axis]);
  if (q.scales.size() != want || q.zeros.size() != want) {
    return c.Error(
        absl::StrCat("there must be ", want, " scales and zero points, as ", prefix, "quantization_axis says"));
  }
  for (double s : q.scales) {
    if (!(s > 0) || !std::isfinite(s)) return c.Error("scales must be positive");
  }
  return q;
}

// One value per entry of `axis`, or one for all, over an array.
Val Over(Emitter& b, ElementType type, const std::vector<double>& values, int64_t axis, const Dims& dims) {
  if (axis < 0 || values.size() == 1) return b.Full(type, dims, values[0]);
  Literal l{Shape(type, {static_cast<int64_t>(values.size())})};
  for (size_t i = 0; i < values.size(); ++i) {
    if (IsIntegral(type)) {
      l.SetInt(i, static_cast<int64_t>(values[i]));
    } else {
      l.SetDouble(i, values[i]);
    }
  }
  return b.Broadcast(b.Constant(std::move(l)), dims, {axis});
}
Val Over(Emitter& b, ElementType type, const std::vector<int64_t>& values, int64_t axis, const Dims& dims) {
  return Over(b, type, std::vector<double>(values.begin(), values.end()), axis, dims);
}

Val Clamp(Emitter& b, Val x, const Quantized& q) {
  return b.Max(b.Min(x, b.Like(x, static_cast<double>(q.highest))), b.Like(x, static_cast<double>(q.lowest)));
}

// round(sums * from / to) + zero point of `to`, in the range of `to`: `from` scales are per entry of `axis` or one. The
// factor is a 31-bit fraction and a shift, as in integer-only inference, so the result is exact in whole numbers.
Val Rescale(OpContext& c, Val sums, const std::vector<double>& from, int64_t axis, const Quantized& to) {
  Emitter& b = c.b;
  const Dims dims = sums->shape().dims();
  std::vector<int64_t> factors, shifts, halves;
  size_t n = std::max(from.size(), to.scales.size());
  for (size_t i = 0; i < n; ++i) {
    double ratio = from[from.size() == 1 ? 0 : i] / to.scales[to.scales.size() == 1 ? 0 : i];
    int exponent;
    int64_t factor = std::llround(std::frexp(ratio, &exponent) * static_cast<double>(int64_t{1} << 31));
    if (factor == int64_t{1} << 31) {
      factor /= 2;
      ++exponent;
    }
    if (exponent < -31) exponent = factor = 0;
    factors.push_back(factor);
    shifts.push_back(std::max(31 - exponent, 0));
    halves.push_back(shifts.back() == 0 ? 0 : int64_t{1} << (shifts.back() - 1));
  }
  if (from.size() == 1) axis = to.axis;
  Val product = b.Mul(b.Convert(sums, kS64), Over(b, kS64, factors, axis, dims));
  product = b.Add(product, Over(b, kS64, halves, axis, dims));
  product = b.Binary(HloOpcode::kShiftRightArithmetic, product, Over(b, kS64, shifts, axis, dims));
  return Clamp(b, b.Add(product, Over(b, kS64, to.zeros, to.axis, dims)), to);
}

// q - zero point as s32.
Val Centered(OpContext& c, int operand, const Quantized& q) {
  return c.b.Sub(c.b.Convert(c.in(operand), kS32), Over(c.b, kS32, q.zeros, q.axis, c.dims(operand)));
}

absl::Status QuantizeUniformly(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Quantized q, ReadQuantized(c, "", 1, c.dims(0)));
  Emitter& b = c.b;
  std::vector<double> inverse;
  for (double s : q.scales) inverse.push_back(1 / static_cast<float>(s));
  Val x = b.Mul(b.Convert(c.in(0), kF32), Over(b, kF32, inverse, q.axis, c.dims(0)));
  x = b.Add(b.Floor(b.AddC(x, 0.5)), Over(b, kF32, q.zeros, q.axis, c.dims(0)));
  c.set(0, b.Convert(Clamp(b, x, q), c.out_etype(0)));
  return absl::OkStatus();
}

absl::Status Dequantize(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Quantized q, ReadQuantized(c, "", 1, c.dims(0)));
  Val x = c.b.Convert(Centered(c, 0, q), kF32);
  c.set(0, c.b.Convert(c.b.Mul(x, Over(c.b, kF32, q.scales, q.axis, c.dims(0))), c.out_etype(0)));
  return absl::OkStatus();
}

absl::Status Requantize(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Quantized from, ReadQuantized(c, "input_", 1, c.dims(0)));
  XC_ASSIGN_OR_RETURN(Quantized to, ReadQuantized(c, "output_", 3, c.dims(0)));
  if (from.axis >= 0 && to.axis >= 0 && from.axis != to.axis) return c.Error("the quantization axes differ");
  c.set(0, c.b.Convert(Rescale(c, Centered(c, 0, from), from.scales, from.axis, to), c.out_etype(0)));
  return absl::OkStatus();
}

absl::Status Add(OpContext& c) {
  XC_RETURN_IF_ERROR(c.RequireSameDims(0, 1));
  XC_ASSIGN_OR_RETURN(Quantized left, ReadQuantized(c, "lhs_", 2, c.dims(0)));
  XC_ASSIGN_OR_RETURN(Quantized right, ReadQuantized(c, "rhs_", 4, c.dims(1)));
  XC_ASSIGN_OR_RETURN(Quantized out, ReadQuantized(c, "output_", 6, c.dims(0)));
  if (left.axis != right.axis || left.axis != out.axis) return c.Unimplemented("different quantization axes");
  Emitter& b = c.b;
  Val x = Rescale(c, Centered(c, 0, left), left.scales, left.axis, out);
  Val y = Rescale(c, Centered(c, 1, right), right.scales, right.axis, out);
  Val sum = b.Sub(b.Add(x, y), Over(b, kS64, out.zeros, out.axis, c.dims(0)));
  c.set(0, b.Convert(Clamp(b, sum, out), c.out_etype(0)));
  return absl::OkStatus();
}

absl::Status ClipByValue(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Quantized q, ReadQuantized(c, "", 3, c.dims(0)));
  for (int i : {1, 2}) {
    if (c.dims(i) != (q.axis < 0 ? Dims{} : Dims{c.dims(0)[q.axis]})) return c.Error("the limits have a wrong shape");
  }
  Emitter& b = c.b;
  auto wide = [&](int i) { return b.Broadcast(c.in(i), c.dims(0), q.axis < 0 ? Dims{} : Dims{q.axis}); };
  c.set(0, b.Min(b.Max(c.in(0), wide(1)), wide(2)));
  return absl::OkStatus();
}

// The sums of a product of quantized arrays, whose right side may have a scale per entry of dimension `axis` of the
// result, as the quantized result.
absl::Status SetProduct(OpContext& c, Val sums, const Quantized& left, const Quantized& right, int64_t axis) {
  XC_ASSIGN_OR_RETURN(Quantized out, ReadQuantized(c, "output_", 6, sums->shape().dims()));
  if (left.axis >= 0) return c.Error("the left side must have one scale");
  if (out.axis >= 0 && out.axis != axis) return c.Error("output_quantization_axis is not that of the right side");
  std::vector<double> scales;
  for (double s : right.scales) scales.push_back(left.scales[0] * s);
  c.set(0, c.b.Convert(Rescale(c, sums, scales, axis, out), c.out_etype(0)));
  return absl::OkStatus();
}

absl::Status Dot(OpContext& c) {
  XC_RETURN_IF_ERROR(c.RequireRank(0, 2));
  XC_RETURN_IF_ERROR(c.RequireRank(1, 2));
  if (c.dims(0)[1] != c.dims(1)[0]) return c.Error("the inner sizes differ");
  XC_ASSIGN_OR_RETURN(Quantized left, ReadQuantized(c, "lhs_", 2, c.dims(0)));
  XC_ASSIGN_OR_RETURN(Quantized right, ReadQuantized(c, "rhs_", 4, c.dims(1)));
  if (right.axis == 0) return c.Error("rhs_quantization_axis must be -1 or 1");
  DotDims d;
  d.lhs_contracting = {1};
  d.rhs_contracting = {0};
  return SetProduct(c, c.b.Dot(Centered(c, 0, left), Centered(c, 1, right), d), left, right, 1);
}

absl::Status Convolution(OpContext& c) {
  XC_ASSIGN_OR_RETURN(std::string text, c.node.String("dimension_numbers"));
  XC_ASSIGN_OR_RETURN(std::string padding, c.node.String("padding"));
  XC_ASSIGN_OR_RETURN(int64_t groups, c.node.Int("feature_group_count"));
  XC_ASSIGN_OR_RETURN(int64_t batch_groups, c.node.Int("batch_group_count"));
  int64_t n = c.rank(0) - 2;
  if (n < 1 || c.rank(1) != c.rank(0)) return c.Error("both sides must have the same rank, 3 or more");
  XC_ASSIGN_OR_RETURN(Quantized left, ReadQuantized(c, "lhs_", 2, c.dims(0)));
  XC_ASSIGN_OR_RETURN(Quantized right, ReadQuantized(c, "rhs_", 4, c.dims(1)));
  Val x = Centered(c, 0, left), kernel = Centered(c, 1, right);
  auto draft = HloInstruction::Create(HloOpcode::kConvolution, Shape(kS32, {}), std::vector<Val>{x, kernel});
  pb::HloInstructionProto proto;
  auto* numbers = proto.mutable_convolution_dimension_numbers();
  if (!numbers->ParseFromString(text)) return c.Error("dimension_numbers cannot be read");
  if (text.empty()) {  // batch and features first
    numbers->set_input_feature_dimension(1);
    numbers->set_kernel_input_feature_dimension(1);
    numbers->set_output_feature_dimension(1);
    for (int64_t i = 2; i < n + 2; ++i) {
      numbers->add_input_spatial_dimensions(i);
      numbers->add_kernel_spatial_dimensions(i);
      numbers->add_output_spatial_dimensions(i);
    }
  }
  int64_t elided = 0;
  XC_RETURN_IF_ERROR(AttributesFromProto(&proto, draft.get(), &elided));
  const ConvDims places = draft->conv_dims();
  auto list = [&](const char* name, size_t want, int64_t otherwise) -> absl::StatusOr<std::vector<int64_t>> {
    XC_ASSIGN_OR_RETURN(auto v, c.node.Ints(name));
    if (v.empty()) v.assign(want, otherwise);
    if (v.size() != want) return c.Error(absl::StrCat(name, " has ", v.size(), " entries, expected ", want));
    return v;
  };
  XC_ASSIGN_OR_RETURN(auto strides, list("window_strides", n, 1));
  XC_ASSIGN_OR_RETURN(auto base, list("lhs_dilation", n, 1));
  XC_ASSIGN_OR_RETURN(auto dilation, list("rhs_dilation", n, 1));
  XC_ASSIGN_OR_RETURN(auto pads, list("explicit_padding", 2 * n, 0));
  if (static_cast<int64_t>(places.kernel_spatial.size()) != n ||
      static_cast<int64_t>(places.input_spatial.size()) != n) {
    return c.Error("dimension_numbers do not fit the rank");
  }
  WindowAttr window;
  for (int64_t i = 0; i < n; ++i) {
    int64_t k = places.kernel_spatial[i], at = places.input_spatial[i];
    if (k < 0 || k > n + 1 || at < 0 || at > n + 1) return c.Error("dimension_numbers do not fit the rank");
    WindowDim w{c.dims(1)[k], strides[i], pads[2 * i], pads[2 * i + 1], base[i], dilation[i]};
    if (w.stride < 1 || w.base_dilation < 1 || w.window_dilation < 1) return c.Error("strides must be positive");
    if (padding == "SAME") {
      int64_t size = c.dims(0)[at] == 0 ? 0 : (c.dims(0)[at] - 1) * w.base_dilation + 1;
      int64_t reach = (w.size - 1) * w.window_dilation + 1, outputs = (size + w.stride - 1) / w.stride;
      int64_t total = std::max<int64_t>((outputs - 1) * w.stride + reach - size, 0);
      w.padding_low = total / 2;
      w.padding_high = total - total / 2;
    } else if (padding == "VALID") {
      w.padding_low = w.padding_high = 0;
    } else if (padding != "EXPLICIT") {
      return c.Error("unknown padding " + padding);
    }
    window.dims.push_back(w);
  }
  draft->set_attr<AttrKind::kWindow>(window);
  if (groups != 1) draft->set_attr<AttrKind::kFeatureGroupCount>(groups);
  if (batch_groups != 1) draft->set_attr<AttrKind::kBatchGroupCount>(batch_groups);
  auto sums = c.b.AddInferred(std::move(draft));
  if (!sums.ok()) return c.Error(std::string(sums.status().message()));
  if (right.axis >= 0 && right.axis != places.kernel_output_feature) {
    return c.Error("rhs_quantization_axis must be that of the output features");
  }
  return SetProduct(c, *sums, left, right, places.output_feature);
}

// The older form: a range [min, max] in place of scale and zero point, in one of three modes.
absl::Status DequantizeRange(OpContext& c) {
  XC_ASSIGN_OR_RETURN(std::string mode, c.node.String("mode"));
  XC_ASSIGN_OR_RETURN(bool narrow, c.node.Bool("narrow_range"));
  XC_ASSIGN_OR_RETURN(int64_t axis, c.node.Int("axis"));
  if (axis < -1 || axis >= c.rank(0)) return c.Error("axis is out of range");
  XC_ASSIGN_OR_RETURN(int64_t limits, CheckedNumElements(c.dims(1)));
  if (c.dims(1) != c.dims(2) || limits != (axis < 0 ? 1 : c.dims(0)[axis]))
    return c.Error("the range has a wrong shape");
  Emitter& b = c.b;
  ElementType type = c.etype(0);
  bool is_signed = !IsUnsignedInt(type);
  double bits = ElementBits(type), steps = std::ldexp(1.0, static_cast<int>(bits));
  double lowest = is_signed ? -steps / 2 : 0, highest = lowest + steps - 1;
  const Dims dims = c.dims(0);
  auto over = [&](Val v) {
    return axis < 0 ? b.BroadcastScalar(b.Reshape(v, {}), dims) : b.Broadcast(b.Reshape(v, {limits}), dims, {axis});
  };
  Val x = b.Convert(c.in(0), kF32), min = c.in(1), max = c.in(2), y;
  if (mode == "SCALED") {
    Val scale = b.Div(max, b.Like(max, highest));
    if (is_signed) scale = b.Max(scale, b.Div(min, b.Like(min, lowest + narrow)));
    y = b.Mul(x, over(scale));
  } else if (mode == "MIN_COMBINED") {
    Val scale = b.Div(b.Sub(max, min), b.Like(max, highest - lowest));
    y = b.Add(b.Mul(b.AddC(x, is_signed ? steps / 2 : 0), over(scale)), over(min));
  } else if (mode == "MIN_FIRST") {
    Val scale = b.Div(b.Sub(max, min), b.Like(max, steps - 1));
    Val start = b.Mul(b.Unary(HloOpcode::kRoundNearestAfz, b.Div(min, scale)), scale);
    start = b.Select(b.Eq(min, max), min, start);
    y = b.Add(b.Mul(b.AddC(x, -lowest), over(scale)), over(start));
  } else {
    return c.Error("unknown mode " + mode);
  }
  c.set(0, b.Convert(y, c.out_etype(0)));
  return absl::OkStatus();
}

}  // namespace

void RegisterUniformQuantization(LoweringRegistry& r) {
  constexpr TypeSet kAny = kQuantTypes | kFloatTypes;
  const std::vector<std::string> one = {"scales", "zero_points"};
  const std::vector<std::string> three = {"lhs_scales",      "lhs_zero_points", "rhs_scales",
                                          "rhs_zero_points", "output_scales",   "output_zero_points"};
  r.Add({"UniformQuantize"}, kAny, QuantizeUniformly, one);
  r.Add({"UniformDequantize"}, kAny, Dequantize, one);
  r.Add({"UniformRequantize"}, kAny, Requantize,
        {"input_scales", "input_zero_points", "output_scales", "output_zero_points"});
  r.Add({"UniformQuantizedAdd"}, kAny, Add, three);
  r.Add({"UniformQuantizedClipByValue"}, kAny, ClipByValue, one);
  r.Add({"UniformQuantizedDot"}, kAny, Dot, three);
  r.Add({"UniformQuantizedConvolution"}, kAny, Convolution, three);
  r.Add({"Dequantize"}, kAny, DequantizeRange);
}

}  // namespace xc
