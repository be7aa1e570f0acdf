// What TensorFlow's remapper appends to products and convolutions, and its normalizations.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"
#include "jit/lowering/lowering.h"
#include "jit/lowering/numeric/window.h"

namespace xc {
namespace {

Val Relu6(Emitter& b, Val v) { return b.Min(b.Max(v, b.Like(v, 0)), b.Like(v, 6)); }

// The activation `op` of v; null if there is none of that name.
absl::StatusOr<Val> Activation(OpContext& c, const std::string& op, Val v) {
  Emitter& b = c.b;
  if (op == "Relu") return b.Max(v, b.Like(v, 0));
  if (op == "Relu6") return Relu6(b, v);
  if (op == "Elu") return b.Select(b.Gt(v, b.Like(v, 0)), v, b.Unary(HloOpcode::kExponentialMinusOne, v));
  if (op == "Tanh") return b.Tanh(v);
  if (op == "Sigmoid") return b.Unary(HloOpcode::kLogistic, v);
  if (op == "_MklSwish") return Swish(b, v);
  if (op == "Mish") return Mish(b, v);
  if (op == "_FusedHardSwish") return b.MulC(b.Mul(v, Relu6(b, b.AddC(v, 3))), 1.0 / 6);
  if (op == "GeluExact") {
    return b.Mul(b.MulC(v, 0.5), b.AddC(b.Unary(HloOpcode::kErf, b.MulC(v, 0.70710678118654752)), 1));
  }
  if (op == "GeluApproximate") {
    Val inner = b.MulC(b.Add(v, b.MulC(b.Mul(b.Mul(v, v), v), 0.044715)), 0.79788456080286536);
    return b.Mul(b.MulC(v, 0.5), b.AddC(b.Tanh(inner), 1));
  }
  if (op == "LeakyRelu") {
    XC_ASSIGN_OR_RETURN(float alpha, c.node.Float("leakyrelu_alpha"));
    return b.Select(b.Gt(v, b.Like(v, 0)), v, b.MulC(v, alpha));
  }
  return Val(nullptr);
}

// An operand over all but one dimension of `like`, in its type; error if it has not that dimension's size. Dimensions
// of size 1 may stand before it: the remapper makes a BiasAdd of an addition of [1,1,1,C].
absl::StatusOr<Val> PerChannel(OpContext& c, int operand, Val like, int64_t channel) {
  const Dims& dims = like->shape().dims();
  if (operand >= c.num_inputs()) return c.Error("has fewer arguments than its fused_ops take");
  Dims wanted(std::max<size_t>(c.rank(operand), 1), 1);
  wanted.back() = dims[channel];
  if (c.dims(operand) != wanted) {
    return c.Error(absl::StrCat("operand ", operand, " has shape ", DimsToString(c.dims(operand)), ", expected [",
                                dims[channel], "]"));
  }
  return c.b.Broadcast(c.b.Convert(c.b.Reshape(c.in(operand), {dims[channel]}), like->type()), dims, {channel});
}

// An operand that is added or multiplied: broadcast as the unfused op does it, if that leaves the other's shape.
absl::StatusOr<Val> Beside(OpContext& c, int operand, Val like) {
  const Dims& dims = like->shape().dims();
  if (operand >= c.num_inputs()) return c.Error("has fewer arguments than its fused_ops take");
  auto both = BroadcastDims(c.dims(operand), dims);
  if (!both.ok() || *both != dims) {
    return c.Error(absl::StrCat("operand ", operand, " has shape ", DimsToString(c.dims(operand)), ", beside ",
                                DimsToString(dims)));
  }
  return c.b.BroadcastTo(c.b.Convert(c.in(operand), like->type()), dims);
}

// (v - mean) / sqrt(variance + epsilon) * scale + offset, each of one element per channel: operands from `first` on.
absl::StatusOr<Val> Normalized(OpContext& c, Val v, int first, int64_t channel) {
  XC_ASSIGN_OR_RETURN(float epsilon, c.node.Float("epsilon"));
  Emitter& b = c.b;
  XC_ASSIGN_OR_RETURN(Val scale, PerChannel(c, first, v, channel));
  XC_ASSIGN_OR_RETURN(Val offset, PerChannel(c, first + 1, v, channel));
  XC_ASSIGN_OR_RETURN(Val mean, PerChannel(c, first + 2, v, channel));
  XC_ASSIGN_OR_RETURN(Val variance, PerChannel(c, first + 3, v, channel));
  return b.Add(b.Mul(b.Sub(v, mean), b.Mul(b.Rsqrt(b.AddC(variance, epsilon)), scale)), offset);
}

// x with mean 0 and variance 1 along `axes`.
Val Standardized(Emitter& b, Val x, const std::vector<int64_t>& axes, double epsilon) {
  const Dims& dims = x->shape().dims();
  double count = 1;
  std::vector<int64_t> kept;
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d) {
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) {
      kept.push_back(d);
    } else {
      count *= static_cast<double>(dims[d]);
    }
  }
  auto mean = [&](Val v) {
    Val sum = b.ReduceSum(v, axes);
    return b.Broadcast(b.Div(sum, b.Like(sum, count)), dims, kept);
  };
  Val centered = b.Sub(x, mean(x));
  return b.Mul(centered, b.Rsqrt(b.AddC(mean(b.Square(centered)), epsilon)));
}

absl::Status LayerNorm(OpContext& c) {
  XC_ASSIGN_OR_RETURN(float epsilon, c.node.Float("epsilon"));
  if (c.rank(0) < 1) return c.Error("the value must have rank 1 or more");
  Emitter& b = c.b;
  const int64_t last = c.rank(0) - 1;
  Val y = Standardized(b, b.Convert(c.in(0), ElementType::kF32), {last}, epsilon);
  XC_ASSIGN_OR_RETURN(Val scale, PerChannel(c, 1, y, last));
  XC_ASSIGN_OR_RETURN(Val offset, PerChannel(c, 2, y, last));
  c.set(0, b.Convert(b.Add(b.Mul(y, scale), offset), c.etype(0)));
  return absl::OkStatus();
}

absl::Status FusedInstanceNorm(OpContext& c) {
  XC_ASSIGN_OR_RETURN(float epsilon, c.node.Float("epsilon"));
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> axes, c.node.Ints("reduction_axes"));
  XC_ASSIGN_OR_RETURN(std::vector<std::string> ops, c.node.Strings("fused_ops"));
  if (c.rank(0) != 4 && c.rank(0) != 5) return c.Error("the value must have rank 4 or 5");
  for (int64_t& axis : axes) {
    XC_ASSIGN_OR_RETURN(axis, c.Axis(axis, c.rank(0)));
  }
  // The channels come last, or after the batch.
  const bool first = std::find(axes.begin(), axes.end(), c.rank(0) - 1) != axes.end();
  const int64_t channel = first ? 1 : c.rank(0) - 1;
  Emitter& b = c.b;
  const ElementType f32 = ElementType::kF32;
  auto per_channel = [&](int i) -> absl::StatusOr<Val> {
    XC_ASSIGN_OR_RETURN(int64_t elements, CheckedNumElements(c.dims(i)));
    if (elements != c.dims(0)[channel]) return c.Error(absl::StrCat("operand ", i, " must have a value per channel"));
    return b.Broadcast(b.Convert(b.Reshape(c.in(i), {elements}), f32), c.dims(0), {channel});
  };
  XC_ASSIGN_OR_RETURN(Val scale, per_channel(1));
  XC_ASSIGN_OR_RETURN(Val offset, per_channel(2));
  Val y = b.Add(b.Mul(Standardized(b, b.Convert(c.in(0), f32), axes, epsilon), scale), offset);
  for (const std::string& op : ops) {
    XC_ASSIGN_OR_RETURN(y, Activation(c, op, y));
    if (y == nullptr) return c.Unimplemented("fused op " + op);
  }
  c.set(0, b.Convert(y, c.etype(0)));
  return absl::OkStatus();
}

}  // namespace

absl::Status ApplyFusedOps(OpContext& c, Val v, int64_t channel) {
  XC_ASSIGN_OR_RETURN(std::vector<std::string> ops, c.node.Strings("fused_ops"));
  Emitter& b = c.b;
  int next = 2;  // the first operand that no op has taken
  for (const std::string& op : ops) {
    if (op == "BiasAdd") {
      XC_ASSIGN_OR_RETURN(Val bias, PerChannel(c, next++, v, channel));
      v = b.Add(v, bias);
    } else if (op == "Add" || op == "Mul") {
      XC_ASSIGN_OR_RETURN(Val other, Beside(c, next++, v));
      v = op == "Add" ? b.Add(v, other) : b.Mul(v, other);
    } else if (op == "FusedBatchNorm") {
      XC_ASSIGN_OR_RETURN(v, Normalized(c, v, next, channel));
      next += 4;
    } else {
      XC_ASSIGN_OR_RETURN(Val activated, Activation(c, op, v));
      if (activated == nullptr) return c.Unimplemented("fused op " + op);
      v = activated;
    }
  }
  c.set(0, v);
  return absl::OkStatus();
}

void RegisterFused(LoweringRegistry& r) {
  constexpr TypeSet kTypes = TypeBit(DT_FLOAT) | TypeBit(DT_HALF) | TypeBit(DT_BFLOAT16);
  r.Add({"_MklLayerNorm"}, kTypes, LayerNorm);
  r.Add({"_MklFusedInstanceNorm"}, kTypes, FusedInstanceNorm);
}

}  // namespace xc
