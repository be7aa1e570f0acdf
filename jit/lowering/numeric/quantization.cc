// Lowerings of quantization and of fake quantization: rounding to what few bits can hold, and the gradients of that.
#include <cmath>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "jit/lowering/lowering.h"

namespace xc {
namespace {

// Limits moved so that zero is a quantized value, and the step between quantized values.
struct Quantization {
  Val low, high, step;
};

absl::StatusOr<Quantization> Nudge(OpContext& c, Val min, Val max) {
  XC_ASSIGN_OR_RETURN(int64_t bits, c.node.Int("num_bits"));
  XC_ASSIGN_OR_RETURN(bool narrow, c.node.Bool("narrow_range"));
  if (bits < 2 || bits > 16) return c.Error("num_bits must be between 2 and 16");
  Emitter& b = c.b;
  double lowest = narrow ? 1 : 0, highest = static_cast<double>((int64_t{1} << bits) - 1);
  Quantization q;
  q.step = b.Div(b.Sub(max, min), b.Like(max, highest - lowest));
  Val zero = b.Sub(b.Like(min, lowest), b.Div(min, q.step));
  Val half_up = b.Floor(b.AddC(zero, 0.5));
  Val nudged = b.Select(b.Lt(zero, b.Like(zero, lowest)), b.Like(zero, lowest),
                        b.Select(b.Gt(zero, b.Like(zero, highest)), b.Like(zero, highest), half_up));
  q.low = b.Mul(b.Sub(b.Like(min, lowest), nudged), q.step);
  q.high = b.Mul(b.Sub(b.Like(min, highest), nudged), q.step);
  return q;
}

absl::StatusOr<Quantization> ReadLimits(OpContext& c, int first) {
  Val min, max;
  if (c.node.def->FindAttr("min") != nullptr) {
    XC_ASSIGN_OR_RETURN(float low, c.node.Float("min"));
    XC_ASSIGN_OR_RETURN(float high, c.node.Float("max"));
    if (!(low < high)) return c.Error("min must be less than max");
    min = c.b.Scalar(ElementType::kF32, low);
    max = c.b.Scalar(ElementType::kF32, high);
  } else {
    // Per channel: one range for each entry of the last dimension.
    bool channels = c.node.op.find("PerChannel") != std::string::npos;
    if (channels && c.rank(0) < 1) return c.Error("a scalar has no channels");
    Dims want = channels ? Dims{c.dims(0).back()} : Dims{};
    if (c.dims(first) != want || c.dims(first + 1) != want) return c.Error("the range has a wrong shape");
    min = c.in(first);
    max = c.in(first + 1);
  }
  return Nudge(c, min, max);
}

// A number, or one per entry of the last dimension, over an array.
Val OverLast(Emitter& b, Val v, const Dims& dims) {
  if (v->shape().rank() == 0) return b.BroadcastScalar(v, dims);
  return b.Broadcast(v, dims, {static_cast<int64_t>(dims.size()) - 1});
}

absl::Status FakeQuant(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Quantization q, ReadLimits(c, 1));
  Emitter& b = c.b;
  const Dims& dims = c.dims(0);
  Val low = OverLast(b, q.low, dims), high = OverLast(b, q.high, dims), step = OverLast(b, q.step, dims);
  Val x = b.Sub(b.Max(b.Min(c.in(0), high), low), low);
  Val level = b.Floor(b.AddC(b.Div(x, step), 0.5));
  c.set(0, b.Add(b.Mul(level, step), low));
  return absl::OkStatus();
}

absl::Status FakeQuantGrad(OpContext& c) {
  XC_RETURN_IF_ERROR(c.RequireSameDims(0, 1));
  XC_ASSIGN_OR_RETURN(Quantization q, ReadLimits(c, 2));
  Emitter& b = c.b;
  Val g = c.in(0), x = c.in(1), zero = b.Like(g, 0);
  Val below = b.Lt(x, OverLast(b, q.low, c.dims(1))), above = b.Gt(x, OverLast(b, q.high, c.dims(1)));
  c.set(0, b.Select(b.Or(below, above), zero, g));
  if (c.num_outputs() > 1) {
    std::vector<int64_t> all;
    for (int64_t d = 0; d < c.rank(0) - q.low->shape().rank(); ++d) all.push_back(d);
    c.set(1, b.ReduceSum(b.Select(below, g, zero), all));
    c.set(2, b.ReduceSum(b.Select(above, g, zero), all));
  }
  return absl::OkStatus();
}

Val OverAxis(Emitter& b, Val v, const Dims& dims, int64_t axis) {
  return v->shape().rank() == 0 ? b.BroadcastScalar(v, dims) : b.Broadcast(v, dims, {axis});
}

absl::Status QuantizeAndDequantize(OpContext& c) {
  XC_ASSIGN_OR_RETURN(bool is_signed, c.node.Bool("signed_input"));
  XC_ASSIGN_OR_RETURN(bool given, c.node.Bool("range_given"));
  XC_ASSIGN_OR_RETURN(bool narrow, c.node.Bool("narrow_range"));
  XC_ASSIGN_OR_RETURN(int64_t axis, c.node.Int("axis"));
  int64_t bits;
  if (c.node.op == "QuantizeAndDequantizeV3") {
    XC_ASSIGN_OR_RETURN(bits, c.Int(3));
  } else {
    XC_ASSIGN_OR_RETURN(bits, c.node.Int("num_bits"));
  }
  std::string rounding = "HALF_TO_EVEN";
  if (c.node.def->FindAttr("round_mode") != nullptr) {
    XC_ASSIGN_OR_RETURN(rounding, c.node.String("round_mode"));
  }
  if (bits < 1 || bits > 62 || (is_signed && bits < 2)) return c.Error(absl::StrCat("num_bits is ", bits));
  if (axis < -1 || axis >= c.rank(0)) return c.Error("axis is out of range");
  Emitter& b = c.b;
  Val x = c.in(0), min, max;
  ElementType type = x->type();
  const Dims& dims = c.dims(0);
  if (given) {
    Dims want = axis < 0 ? Dims{} : Dims{dims[axis]};
    if (c.dims(1) != want || c.dims(2) != want) return c.Error("the range has a wrong shape");
    min = c.in(1);
    max = c.in(2);
    c.FailIf(b.Gt(min, max));
  } else {
    std::vector<int64_t> others;
    for (int64_t d = 0; d < c.rank(0); ++d) {
      if (d != axis) others.push_back(d);
    }
    max = b.ReduceMax(x, others);
    min = b.Reduce(x, b.Highest(type), others, HloOpcode::kMinimum);
  }
  double half = std::ldexp(1.0, static_cast<int>(bits) - 1);
  double lowest = is_signed ? (narrow ? 1 - half : -half) : 0, highest = is_signed ? half - 1 : 2 * half - 1;
  Val huge = b.Like(min, type == ElementType::kF64 ? std::numeric_limits<double>::max()
                                                   : static_cast<double>(std::numeric_limits<float>::max()));
  auto scale_of = [&](Val end, double level) {
    Val positive = b.Gt(b.MulC(end, level), b.Like(end, 0));
    return b.Select(positive, b.Div(b.Like(end, level), end), huge);
  };
  Val from_min = scale_of(min, lowest), from_max = scale_of(max, highest);
  // The side that needs the smaller scale decides; the other end of the range moves.
  Val by_min = b.Lt(from_min, from_max);
  Val scale = b.Select(by_min, from_min, from_max);
  Val inverse = b.Select(by_min, b.Div(min, b.Like(min, lowest)), b.Div(max, b.Like(max, highest)));
  max = b.Select(by_min, b.MulC(inverse, highest), max);
  min = b.Select(by_min, min, b.MulC(inverse, lowest));
  if (given) x = b.Max(b.Min(x, OverAxis(b, max, dims, axis)), OverAxis(b, min, dims, axis));
  Val scaled = b.Mul(x, OverAxis(b, scale, dims, axis));
  Val level = rounding == "HALF_UP" ? b.Floor(b.AddC(scaled, 0.5)) : b.Unary(HloOpcode::kRoundNearestEven, scaled);
  c.set(0, b.Mul(level, OverAxis(b, inverse, dims, axis)));
  return absl::OkStatus();
}

// Quantized numbers, and the ends of the range that they stand for: the given ones moved apart where they are too near,
// and so that zero is between them.
absl::Status Quantize(OpContext& c) {
  XC_ASSIGN_OR_RETURN(std::string mode, c.node.String("mode"));
  XC_ASSIGN_OR_RETURN(std::string rounding, c.node.String("round_mode"));
  XC_ASSIGN_OR_RETURN(bool narrow, c.node.Bool("narrow_range"));
  XC_ASSIGN_OR_RETURN(int64_t axis, c.node.Int("axis"));
  XC_ASSIGN_OR_RETURN(float least_range, c.node.Float("ensure_minimum_range"));
  if (rounding != "HALF_AWAY_FROM_ZERO" && mode != "SCALED") return c.Error("only SCALED rounds half to even");
  if (axis < -1 || axis >= c.rank(0)) return c.Error("axis is out of range");
  Emitter& b = c.b;
  const Dims& dims = c.dims(0);
  const Dims ends = axis < 0 ? Dims{} : Dims{dims[axis]};
  for (int i = 1; i <= 2; ++i) {
    const bool single = axis < 0 && c.rank(i) == 1 && c.dims(i)[0] == 1;
    if (c.dims(i) != ends && !single) return c.Error("the range has a wrong shape");
  }
  const Val given_min = b.Reshape(c.in(1), ends), given_max = b.Reshape(c.in(2), ends);
  c.FailIf(b.Gt(given_min, given_max));
  Val min = b.Min(given_min, b.Like(given_min, 0));
  const Val size = b.Max(b.Like(min, 1), b.Max(b.Abs(given_min), b.Abs(given_max)));
  Val max = b.Max(b.Like(min, 0), b.Max(given_max, b.Add(min, b.MulC(size, least_range))));
  const double lowest = c.out_type(0) == DT_QINT8 ? -128 : 0, highest = lowest + 255;
  auto over = [&](Val v) { return OverAxis(b, v, dims, axis); };
  auto clipped = [&] { return b.Max(b.Min(c.in(0), over(max)), over(min)); };
  auto away = [&](Val v) { return b.Unary(HloOpcode::kRoundNearestAfz, v); };
  Val level;
  if (mode == "MIN_COMBINED") {
    const Val scaled = b.Mul(b.Sub(clipped(), over(min)), over(b.Div(b.Like(min, 255), b.Sub(max, min))));
    level = lowest < 0 ? away(b.AddC(scaled, -128)) : b.Floor(b.AddC(scaled, 0.5));
  } else if (mode == "MIN_FIRST") {
    if (axis >= 0) return c.Error("MIN_FIRST takes one range");
    const Val range = b.MulC(b.Convert(b.Sub(max, min), ElementType::kF64), 256.0 / 255);
    const Val scale = b.Convert(b.Div(b.Like(range, 256), range), ElementType::kF32);
    const Val first = b.AddC(away(b.Mul(min, scale)), -lowest);
    level = b.Sub(away(b.Mul(c.in(0), over(scale))), over(first));
    level = b.Clamp(b.Scalar(ElementType::kF32, lowest), level, b.Scalar(ElementType::kF32, highest));
  } else if (mode == "SCALED") {
    const double low = narrow ? lowest + 1 : lowest;
    const Val huge = b.Like(min, static_cast<double>(std::numeric_limits<float>::max()));
    auto scale_of = [&](Val end, double limit) {
      return b.Select(b.Gt(b.MulC(end, limit), b.Like(end, 0)), b.Div(b.Like(end, limit), end), huge);
    };
    const Val scale = b.Min(scale_of(min, low), scale_of(max, highest));
    min = b.Div(b.Like(min, low), scale);
    max = b.Div(b.Like(max, highest), scale);
    const Val scaled = b.Mul(clipped(), over(scale));
    level = rounding == "HALF_TO_EVEN" ? b.Unary(HloOpcode::kRoundNearestEven, scaled) : away(scaled);
  } else {
    return c.Error("there is no mode '" + mode + "'");
  }
  c.set(0, b.Convert(level, c.out_etype(0)));
  c.set(1, min);
  c.set(2, max);
  return absl::OkStatus();
}

absl::Status QuantizeAndDequantizeGrad(OpContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t axis, c.node.Int("axis"));
  XC_RETURN_IF_ERROR(c.RequireSameDims(0, 1));
  XC_RETURN_IF_ERROR(c.RequireSameDims(2, 3));
  if (axis < -1 || axis >= c.rank(0)) return c.Error("axis is out of range");
  if (c.dims(2) != (axis < 0 ? Dims{} : Dims{c.dims(0)[axis]})) return c.Error("the range has a wrong shape");
  Emitter& b = c.b;
  Val x = c.in(1);
  Val inside = b.And(b.Ge(x, OverAxis(b, c.in(2), c.dims(1), axis)), b.Le(x, OverAxis(b, c.in(3), c.dims(1), axis)));
  c.set(0, b.Select(inside, c.in(0), b.Like(x, 0)));
  c.set(1, b.Like(c.in(2), 0));
  c.set(2, b.Like(c.in(3), 0));
  return absl::OkStatus();
}

}  // namespace

void RegisterQuantization(LoweringRegistry& r) {
  constexpr TypeSet kAny = ~TypeSet{0};
  r.Add({"FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel"}, kAny, FakeQuant);
  r.Add({"FakeQuantWithMinMaxArgsGradient", "FakeQuantWithMinMaxVarsGradient",
         "FakeQuantWithMinMaxVarsPerChannelGradient"},
        kAny, FakeQuantGrad);
  r.Add({"QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4"}, kFloatTypes, QuantizeAndDequantize);
  r.Add({"QuantizeAndDequantizeV3"}, kFloatTypes, QuantizeAndDequantize, {"num_bits"});
  r.Add({"QuantizeV2"}, TypeBit(DT_QINT8) | TypeBit(DT_QUINT8), Quantize);
  r.Add({"QuantizeAndDequantizeV4Grad"}, kFloatTypes, QuantizeAndDequantizeGrad);
}

}  // namespace xc
