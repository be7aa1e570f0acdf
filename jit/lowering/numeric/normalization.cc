// Lowerings of softmax, cross entropy, batch normalization and local response normalization.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"
#include "jit/lowering/lowering.h"
#include "jit/lowering/numeric/window.h"

namespace xc {
namespace {

ElementType Wide(ElementType type) {
  return type == ElementType::kF16 || type == ElementType::kBF16 ? ElementType::kF32 : type;
}

// Broadcasts a value without dimension `axis` back over it.
Val Over(Emitter& b, Val v, const Dims& dims, int64_t axis) {
  std::vector<int64_t> mapping;
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d) {
    if (d != axis) mapping.push_back(d);
  }
  return b.Broadcast(v, dims, mapping);
}

absl::Status Softmax(OpContext& c) {
  if (c.rank(0) < 1) return c.Error("logits must have rank 1 or more");
  Emitter& b = c.b;
  int64_t axis = c.rank(0) - 1;
  ElementType type = c.etype(0), wide = Wide(type);
  Val x = c.in(0);
  Val shifted = b.Convert(b.Sub(x, Over(b, b.ReduceMax(x, {axis}), c.dims(0), axis)), wide);
  Val e = b.Exp(shifted);
  Val sum = b.ReduceSum(e, {axis});
  Val y = c.node.op == "Softmax" ? b.Div(e, Over(b, sum, c.dims(0), axis))
                                 : b.Sub(shifted, Over(b, b.Log(sum), c.dims(0), axis));
  c.set(0, b.Convert(y, type));
  return absl::OkStatus();
}

// loss and gradient for logits and labels (probabilities) of one [batch, classes] shape.
void CrossEntropy(OpContext& c, Val logits, Val labels, const Dims& dims) {
  Emitter& b = c.b;
  ElementType type = logits->type(), wide = Wide(type);
  Val shifted = b.Convert(b.Sub(logits, Over(b, b.ReduceMax(logits, {1}), dims, 1)), wide);
  labels = b.Convert(labels, wide);
  Val e = b.Exp(shifted);
  Val sum = b.ReduceSum(e, {1});
  Val log_sum = Over(b, b.Log(sum), dims, 1);
  // A label of zero contributes nothing even where the logit is -inf.
  Val terms = b.Mul(labels, b.Sub(log_sum, shifted));
  terms = b.Select(b.Eq(labels, b.Like(labels, 0)), b.Like(terms, 0), terms);
  c.set(0, b.Convert(b.ReduceSum(terms, {1}), type));
  c.set(1, b.Convert(b.Sub(b.Div(e, Over(b, sum, dims, 1)), labels), type));
}

absl::Status SoftmaxCrossEntropy(OpContext& c) {
  auto dims = BroadcastDims(c.dims(0), c.dims(1));
  if (!dims.ok()) return c.Error(std::string(dims.status().message()));
  if (dims->size() != 2) return c.Error("logits and labels must be matrices");
  CrossEntropy(c, c.b.BroadcastTo(c.in(0), *dims), c.b.BroadcastTo(c.in(1), *dims), *dims);
  return absl::OkStatus();
}

absl::Status SparseSoftmaxCrossEntropy(OpContext& c) {
  XC_RETURN_IF_ERROR(c.RequireRank(0, 2));
  XC_RETURN_IF_ERROR(c.RequireRank(1, 1));
  if (c.dims(1)[0] != c.dims(0)[0]) return c.Error("labels and logits must have the same batch");
  Emitter& b = c.b;
  Val ids = c.in(1);
  c.FailIf(b.Or(b.Lt(ids, b.Like(ids, 0)), b.Ge(ids, b.Like(ids, static_cast<double>(c.dims(0)[1])))));
  Val hit = b.Eq(b.Broadcast(ids, c.dims(0), {0}), b.Iota(c.etype(1), c.dims(0), 1));
  CrossEntropy(c, c.in(0), b.Convert(hit, c.etype(0)), c.dims(0));
  return absl::OkStatus();
}

struct Channels {
  int64_t axis = 0;
  std::vector<int64_t> others;
  double count = 1;
};

absl::StatusOr<Channels> ReadChannels(OpContext& c, int operand) {
  XC_ASSIGN_OR_RETURN(DataFormat format, ReadDataFormat(c, c.rank(operand)));
  Channels ch;
  ch.axis = format.channel;
  for (int64_t d = 0; d < c.rank(operand); ++d) {
    if (d == ch.axis) continue;
    ch.others.push_back(d);
    ch.count *= static_cast<double>(c.dims(operand)[d]);
  }
  return ch;
}

absl::Status FusedBatchNorm(OpContext& c) {
  XC_ASSIGN_OR_RETURN(bool training, c.node.Bool("is_training"));
  XC_ASSIGN_OR_RETURN(float epsilon, c.node.Float("epsilon"));
  float factor = 1;
  if (c.node.def->FindAttr("exponential_avg_factor") != nullptr) {
    XC_ASSIGN_OR_RETURN(factor, c.node.Float("exponential_avg_factor"));
  }
  if (c.rank(0) != 4 && c.rank(0) != 5) return c.Error("the value must have rank 4 or 5");
  XC_ASSIGN_OR_RETURN(Channels ch, ReadChannels(c, 0));
  int64_t depth = c.dims(0)[ch.axis];
  for (int i = 1; i < 5; ++i) {
    bool unused = training && factor == 1 && i > 2;
    if (!unused && c.dims(i) != Dims{depth}) return c.Error(absl::StrCat("operand ", i, " must have size ", depth));
  }
  Emitter& b = c.b;
  ElementType type = c.etype(0), stat = ElementType::kF32;
  if (type == ElementType::kF64) stat = type;
  Val x = b.Convert(c.in(0), stat);
  auto over = [&](Val v) { return b.Broadcast(v, c.dims(0), {ch.axis}); };
  Val mean, variance;
  if (training) {
    mean = b.Div(b.ReduceSum(x, ch.others), b.Full(stat, {depth}, ch.count));
    Val centered = b.Sub(x, over(mean));
    variance = b.Div(b.ReduceSum(b.Mul(centered, centered), ch.others), b.Full(stat, {depth}, ch.count));
  } else {
    mean = b.Convert(c.in(3), stat);
    variance = b.Convert(c.in(4), stat);
  }
  Val scale = b.Mul(b.Rsqrt(b.AddC(variance, epsilon)), b.Convert(c.in(1), stat));
  Val y = b.Add(b.Mul(b.Sub(x, over(mean)), over(scale)), over(b.Convert(c.in(2), stat)));
  c.set(0, b.Convert(y, type));
  Val out_mean = mean, out_variance = variance;
  if (training) {
    double bessel = ch.count > 1 ? ch.count / (ch.count - 1) : 1;
    out_variance = b.MulC(variance, bessel);
    if (factor != 1) {
      auto mix = [&](Val old, Val fresh) { return b.Add(b.MulC(old, 1 - factor), b.MulC(fresh, factor)); };
      out_mean = mix(c.in(3), mean);
      out_variance = mix(c.in(4), out_variance);
    }
  }
  c.set(1, b.Convert(out_mean, c.out_etype(1)));
  c.set(2, b.Convert(out_variance, c.out_etype(2)));
  c.set(3, b.Convert(mean, c.out_etype(3)));
  c.set(4, b.Convert(variance, c.out_etype(4)));
  if (c.num_outputs() > 5) c.set(5, b.Scalar(c.out_etype(5), 0));
  return absl::OkStatus();
}

// Batch normalization, then an optional sum with another array and an optional activation.
absl::Status FusedBatchNormEx(OpContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t sides, c.node.Int("num_side_inputs"));
  XC_ASSIGN_OR_RETURN(std::string activation, c.node.String("activation_mode"));
  if (activation != "Identity" && activation != "Relu") return c.Error("unknown activation_mode " + activation);
  if (sides > 1 || c.num_inputs() != 5 + sides) return c.Error("more than one side input");
  XC_RETURN_IF_ERROR(FusedBatchNorm(c));
  Val y = c.outputs()[0].array;
  if (sides == 1) {
    XC_RETURN_IF_ERROR(c.RequireSameDims(0, 5));
    y = c.b.Add(y, c.in(5));
  }
  c.set(0, activation == "Relu" ? c.b.Max(y, c.b.Like(y, 0)) : y);
  return absl::OkStatus();
}

absl::Status FusedBatchNormGrad(OpContext& c) {
  XC_ASSIGN_OR_RETURN(bool training, c.node.Bool("is_training"));
  XC_ASSIGN_OR_RETURN(float epsilon, c.node.Float("epsilon"));
  XC_RETURN_IF_ERROR(c.RequireSameDims(0, 1));
  if (c.rank(0) != 4 && c.rank(0) != 5) return c.Error("the value must have rank 4 or 5");
  XC_ASSIGN_OR_RETURN(Channels ch, ReadChannels(c, 0));
  int64_t depth = c.dims(0)[ch.axis];
  for (int i = 2; i < 5; ++i) {
    if (c.dims(i) != Dims{depth}) return c.Error(absl::StrCat("operand ", i, " must have size ", depth));
  }
  Emitter& b = c.b;
  ElementType type = c.etype(0), stat = type == ElementType::kF64 ? type : ElementType::kF32;
  auto over = [&](Val v) { return b.Broadcast(v, c.dims(0), {ch.axis}); };
  Val dy = b.Convert(c.in(0), stat), x = b.Convert(c.in(1), stat), scale = b.Convert(c.in(2), stat);
  Val mean = b.Convert(c.in(3), stat), variance = b.Convert(c.in(4), stat);
  Val rstd = b.Rsqrt(b.AddC(variance, epsilon));
  Val hat = b.Mul(b.Sub(x, over(mean)), over(rstd));
  Val sum_dy = b.ReduceSum(dy, ch.others);
  Val sum_dy_hat = b.ReduceSum(b.Mul(dy, hat), ch.others);
  Val dx;
  if (training) {
    double inverse = 1 / std::max(ch.count, 1.0);
    Val centered = b.Sub(b.Sub(dy, over(b.MulC(sum_dy, inverse))), b.Mul(hat, over(b.MulC(sum_dy_hat, inverse))));
    dx = b.Mul(centered, over(b.Mul(scale, rstd)));
  } else {
    dx = b.Mul(dy, over(b.Mul(scale, rstd)));
  }
  c.set(0, b.Convert(dx, type));
  c.set(1, b.Convert(sum_dy_hat, c.out_etype(1)));
  c.set(2, b.Convert(sum_dy, c.out_etype(2)));
  for (int i = 3; i < c.num_outputs(); ++i) c.set(i, b.Full(c.out_etype(i), {0}, 0));
  return absl::OkStatus();
}

// The sum of squares around each channel, scaled: what LRN divides by a power of.
absl::StatusOr<Val> LrnNorm(OpContext& c, Val x, float* alpha, float* beta, WindowAttr* window) {
  XC_ASSIGN_OR_RETURN(int64_t radius, c.node.Int("depth_radius"));
  XC_ASSIGN_OR_RETURN(float bias, c.node.Float("bias"));
  XC_ASSIGN_OR_RETURN(*alpha, c.node.Float("alpha"));
  XC_ASSIGN_OR_RETURN(*beta, c.node.Float("beta"));
  if (x->shape().rank() != 4) return c.Error("the value must have rank 4");
  if (radius < 0 || radius > (1 << 20)) return c.Error("bad depth_radius");
  window->dims.resize(4);
  window->dims[3].size = 2 * radius + 1;
  window->dims[3].padding_low = window->dims[3].padding_high = radius;
  Emitter& b = c.b;
  Val sum = b.ReduceWindow(b.Mul(x, x), b.Scalar(x->type(), 0), *window, HloOpcode::kAdd);
  return b.AddC(b.MulC(sum, *alpha), bias);
}

absl::Status Lrn(OpContext& c) {
  float alpha, beta;
  WindowAttr window;
  Val x = c.b.Convert(c.in(0), Wide(c.etype(0)));
  XC_ASSIGN_OR_RETURN(Val norm, LrnNorm(c, x, &alpha, &beta, &window));
  Val y = c.b.Mul(x, c.b.Pow(norm, c.b.Like(norm, -beta)));
  c.set(0, c.b.Convert(y, c.etype(0)));
  return absl::OkStatus();
}

absl::Status LrnGrad(OpContext& c) {
  XC_RETURN_IF_ERROR(c.RequireSameDims(0, 1));
  XC_RETURN_IF_ERROR(c.RequireSameDims(0, 2));
  float alpha, beta;
  WindowAttr window;
  Emitter& b = c.b;
  ElementType wide = Wide(c.etype(0));
  Val dy = b.Convert(c.in(0), wide), x = b.Convert(c.in(1), wide), y = b.Convert(c.in(2), wide);
  XC_ASSIGN_OR_RETURN(Val norm, LrnNorm(c, x, &alpha, &beta, &window));
  Val terms = b.Div(b.Mul(dy, y), norm);
  Val sum = b.ReduceWindow(terms, b.Scalar(wide, 0), window, HloOpcode::kAdd);
  Val dx = b.Sub(b.Mul(dy, b.Pow(norm, b.Like(norm, -beta))), b.Mul(b.MulC(x, 2.0 * alpha * beta), sum));
  c.set(0, b.Convert(dx, c.etype(0)));
  return absl::OkStatus();
}

}  // namespace

void RegisterNormalization(LoweringRegistry& r) {
  r.Add({"Softmax", "LogSoftmax"}, kFloatTypes, Softmax);
  r.Add({"SoftmaxCrossEntropyWithLogits"}, kFloatTypes, SoftmaxCrossEntropy);
  r.Add({"SparseSoftmaxCrossEntropyWithLogits"}, kFloatTypes, SparseSoftmaxCrossEntropy);
  r.Add({"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"}, kFloatTypes, FusedBatchNorm);
  r.Add({"_FusedBatchNormEx"}, kFloatTypes, FusedBatchNormEx);
  r.Add({"FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"}, kFloatTypes, FusedBatchNormGrad);
  r.Add({"LRN"}, kFloatTypes, Lrn);
  r.Add({"LRNGrad"}, kFloatTypes, LrnGrad);
}

}  // namespace xc
