// Lowerings of optimizer steps on resource variables.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "jit/lowering/basic/variables.h"

namespace xc {
namespace {

// The operands of an optimizer step: variables first, then scalars (hyperparameters) and the gradient.
struct Step {
  OpContext& c;
  Emitter& b;
  std::vector<Val> vars;
  Dims dims;

  // Operand `i` as an array of the variable's shape.
  absl::StatusOr<Val> Scalar(int i) {
    if (c.rank(i) != 0) return c.Error(absl::StrCat("operand ", i, " must be a scalar"));
    return b.BroadcastScalar(c.in(i), dims);
  }
};

absl::StatusOr<Step> Begin(OpContext& c, int variables, int gradient) {
  Step s{c, c.b, {}, {}};
  for (int i = 0; i < variables; ++i) {
    XC_ASSIGN_OR_RETURN(Val v, VariableValue(c, i));
    if (i > 0 && v->shape().dims() != s.vars[0]->shape().dims()) return c.Error("the slots differ in shape");
    s.vars.push_back(v);
  }
  s.dims = s.vars[0]->shape().dims();
  if (c.dims(gradient) != s.dims) return c.Error("the gradient has another shape than the variable");
  return s;
}

absl::Status GradientDescent(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Step s, Begin(c, 1, 2));
  XC_ASSIGN_OR_RETURN(Val alpha, s.Scalar(1));
  return SetVariable(c, 0, c.b.Sub(s.vars[0], c.b.Mul(alpha, c.in(2))));
}

absl::Status Momentum(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Step s, Begin(c, 2, 3));
  XC_ASSIGN_OR_RETURN(bool nesterov, c.node.Bool("use_nesterov"));
  XC_ASSIGN_OR_RETURN(Val lr, s.Scalar(2));
  XC_ASSIGN_OR_RETURN(Val momentum, s.Scalar(4));
  Emitter& b = c.b;
  Val g = c.in(3);
  Val accum = b.Add(b.Mul(s.vars[1], momentum), g);
  Val step = nesterov ? b.Add(b.Mul(g, lr), b.Mul(b.Mul(accum, momentum), lr)) : b.Mul(accum, lr);
  XC_RETURN_IF_ERROR(SetVariable(c, 0, b.Sub(s.vars[0], step)));
  return SetVariable(c, 1, accum);
}

absl::Status KerasMomentum(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Step s, Begin(c, 2, 3));
  XC_ASSIGN_OR_RETURN(bool nesterov, c.node.Bool("use_nesterov"));
  XC_ASSIGN_OR_RETURN(Val lr, s.Scalar(2));
  XC_ASSIGN_OR_RETURN(Val momentum, s.Scalar(4));
  Emitter& b = c.b;
  Val step = b.Mul(c.in(3), lr);
  Val accum = b.Sub(b.Mul(s.vars[1], momentum), step);
  Val change = nesterov ? b.Sub(b.Mul(accum, momentum), step) : accum;
  XC_RETURN_IF_ERROR(SetVariable(c, 0, b.Add(s.vars[0], change)));
  return SetVariable(c, 1, accum);
}

absl::Status Adagrad(OpContext& c) {
  bool v2 = c.node.op == "ResourceApplyAdagradV2";
  XC_ASSIGN_OR_RETURN(Step s, Begin(c, 2, v2 ? 4 : 3));
  XC_ASSIGN_OR_RETURN(bool update, c.node.Bool("update_slots"));
  XC_ASSIGN_OR_RETURN(Val lr, s.Scalar(2));
  Emitter& b = c.b;
  Val g = c.in(v2 ? 4 : 3);
  Val accum = update ? b.Add(s.vars[1], b.Mul(g, g)) : s.vars[1];
  Val scaled;
  if (v2) {
    XC_ASSIGN_OR_RETURN(Val epsilon, s.Scalar(3));
    scaled = b.Div(b.Mul(g, lr), b.Add(b.Sqrt(accum), epsilon));
  } else {
    scaled = b.Mul(b.Mul(g, lr), b.Rsqrt(accum));
  }
  XC_RETURN_IF_ERROR(SetVariable(c, 0, b.Sub(s.vars[0], scaled)));
  return SetVariable(c, 1, accum);
}

absl::Status Adam(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Step s, Begin(c, 3, 9));
  XC_ASSIGN_OR_RETURN(bool nesterov, c.node.Bool("use_nesterov"));
  for (int i = 3; i < 9; ++i) XC_RETURN_IF_ERROR(c.RequireRank(i, 0));
  Emitter& b = c.b;
  ElementType t = s.vars[0]->type();
  Val one = b.Scalar(t, 1), g = c.in(9), beta1 = c.in(6), beta2 = c.in(7);
  Val alpha = b.Div(b.Mul(c.in(5), b.Sqrt(b.Sub(one, c.in(4)))), b.Sub(one, c.in(3)));
  auto wide = [&](Val v) { return b.BroadcastScalar(v, s.dims); };
  Val m = b.Add(s.vars[1], b.Mul(b.Sub(g, s.vars[1]), wide(b.Sub(one, beta1))));
  Val v = b.Add(s.vars[2], b.Mul(b.Sub(b.Mul(g, g), s.vars[2]), wide(b.Sub(one, beta2))));
  Val top = nesterov ? b.Add(b.Mul(g, wide(b.Sub(one, beta1))), b.Mul(wide(beta1), m)) : m;
  Val step = b.Div(b.Mul(top, wide(alpha)), b.Add(b.Sqrt(v), wide(c.in(8))));
  XC_RETURN_IF_ERROR(SetVariable(c, 0, b.Sub(s.vars[0], step)));
  XC_RETURN_IF_ERROR(SetVariable(c, 1, m));
  return SetVariable(c, 2, v);
}

absl::Status AdaMax(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Step s, Begin(c, 3, 8));
  for (int i = 3; i < 8; ++i) XC_RETURN_IF_ERROR(c.RequireRank(i, 0));
  Emitter& b = c.b;
  Val one = b.Scalar(s.vars[0]->type(), 1), g = c.in(8);
  auto wide = [&](Val v) { return b.BroadcastScalar(v, s.dims); };
  Val m = b.Add(s.vars[1], b.Mul(b.Sub(g, s.vars[1]), wide(b.Sub(one, c.in(5)))));
  Val v = b.Max(b.Mul(wide(c.in(6)), s.vars[2]), b.Abs(g));
  Val rate = b.Div(c.in(4), b.Sub(one, c.in(3)));
  XC_RETURN_IF_ERROR(SetVariable(c, 0, b.Sub(s.vars[0], b.Mul(wide(rate), b.Div(m, b.Add(v, wide(c.in(7))))))));
  XC_RETURN_IF_ERROR(SetVariable(c, 1, m));
  return SetVariable(c, 2, v);
}

absl::Status RmsProp(OpContext& c) {
  bool centered = c.node.op == "ResourceApplyCenteredRMSProp";
  int n = centered ? 4 : 3;  // var, [mg,] ms, mom
  XC_ASSIGN_OR_RETURN(Step s, Begin(c, n, n + 4));
  XC_ASSIGN_OR_RETURN(Val lr, s.Scalar(n));
  XC_ASSIGN_OR_RETURN(Val rho, s.Scalar(n + 1));
  XC_ASSIGN_OR_RETURN(Val momentum, s.Scalar(n + 2));
  XC_ASSIGN_OR_RETURN(Val epsilon, s.Scalar(n + 3));
  Emitter& b = c.b;
  Val g = c.in(n + 4), rest = b.Sub(b.Like(rho, 1), rho);
  Val ms_old = s.vars[n - 2], mom_old = s.vars[n - 1];
  Val ms = b.Add(ms_old, b.Mul(b.Sub(b.Mul(g, g), ms_old), rest));
  Val denominator = b.Add(ms, epsilon);
  if (centered) {
    Val mg = b.Add(s.vars[1], b.Mul(b.Sub(g, s.vars[1]), rest));
    denominator = b.Add(b.Sub(ms, b.Mul(mg, mg)), epsilon);
    XC_RETURN_IF_ERROR(SetVariable(c, 1, mg));
  }
  Val mom = b.Add(b.Mul(mom_old, momentum), b.Mul(b.Mul(g, lr), b.Rsqrt(denominator)));
  XC_RETURN_IF_ERROR(SetVariable(c, 0, b.Sub(s.vars[0], mom)));
  XC_RETURN_IF_ERROR(SetVariable(c, n - 2, ms));
  return SetVariable(c, n - 1, mom);
}

absl::Status Adadelta(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Step s, Begin(c, 3, 6));
  XC_ASSIGN_OR_RETURN(Val lr, s.Scalar(3));
  XC_ASSIGN_OR_RETURN(Val rho, s.Scalar(4));
  XC_ASSIGN_OR_RETURN(Val epsilon, s.Scalar(5));
  Emitter& b = c.b;
  Val g = c.in(6), rest = b.Sub(b.Like(rho, 1), rho);
  Val accum = b.Add(b.Mul(s.vars[1], rho), b.Mul(b.Mul(g, g), rest));
  Val update = b.Mul(b.Mul(b.Sqrt(b.Add(s.vars[2], epsilon)), b.Rsqrt(b.Add(accum, epsilon))), g);
  XC_RETURN_IF_ERROR(SetVariable(c, 0, b.Sub(s.vars[0], b.Mul(update, lr))));
  XC_RETURN_IF_ERROR(SetVariable(c, 1, accum));
  return SetVariable(c, 2, b.Add(b.Mul(s.vars[2], rho), b.Mul(b.Mul(update, update), rest)));
}

// sign(v) max(|v| - limit, 0): what an L1 penalty leaves of v.
Val SoftThreshold(Emitter& b, Val v, Val limit) {
  return b.Mul(b.Unary(HloOpcode::kSign, v), b.Max(b.Sub(b.Abs(v), limit), b.Like(v, 0)));
}

absl::Status AdagradDa(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Step s, Begin(c, 3, 3));
  XC_ASSIGN_OR_RETURN(Val lr, s.Scalar(4));
  XC_ASSIGN_OR_RETURN(Val l1, s.Scalar(5));
  XC_ASSIGN_OR_RETURN(Val l2, s.Scalar(6));
  XC_ASSIGN_OR_RETURN(Val count, s.Scalar(7));
  Emitter& b = c.b;
  Val g = c.in(3), step = b.Convert(count, g->type());
  Val sum = b.Add(s.vars[1], g), squares = b.Add(s.vars[2], b.Mul(g, g));
  Val top = b.Mul(b.Neg(lr), SoftThreshold(b, sum, b.Mul(l1, step)));
  XC_RETURN_IF_ERROR(SetVariable(c, 0, b.Div(top, b.Add(b.Mul(b.Mul(l2, step), lr), b.Sqrt(squares)))));
  XC_RETURN_IF_ERROR(SetVariable(c, 1, sum));
  return SetVariable(c, 2, squares);
}

// AddSign and PowerSign: steps scaled by whether gradient and momentum agree in sign.
absl::Status SignStep(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Step s, Begin(c, 2, 6));
  XC_ASSIGN_OR_RETURN(Val lr, s.Scalar(2));
  XC_ASSIGN_OR_RETURN(Val base, s.Scalar(3));
  XC_ASSIGN_OR_RETURN(Val decay, s.Scalar(4));
  XC_ASSIGN_OR_RETURN(Val beta, s.Scalar(5));
  Emitter& b = c.b;
  Val g = c.in(6);
  Val m = b.Add(b.Mul(s.vars[1], beta), b.Mul(g, b.Sub(b.Like(beta, 1), beta)));
  Val agree = b.Mul(decay, b.Mul(b.Unary(HloOpcode::kSign, g), b.Unary(HloOpcode::kSign, m)));
  Val scale = c.node.op == "ResourceApplyPowerSign" ? b.Exp(b.Mul(base, agree)) : b.Add(base, agree);
  XC_RETURN_IF_ERROR(SetVariable(c, 0, b.Sub(s.vars[0], b.Mul(b.Mul(lr, scale), g))));
  return SetVariable(c, 1, m);
}

absl::Status ProximalGradientDescent(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Step s, Begin(c, 1, 4));
  XC_ASSIGN_OR_RETURN(Val alpha, s.Scalar(1));
  XC_ASSIGN_OR_RETURN(Val l1, s.Scalar(2));
  XC_ASSIGN_OR_RETURN(Val l2, s.Scalar(3));
  Emitter& b = c.b;
  Val moved = SoftThreshold(b, b.Sub(s.vars[0], b.Mul(alpha, c.in(4))), b.Mul(alpha, l1));
  return SetVariable(c, 0, b.Div(moved, b.AddC(b.Mul(alpha, l2), 1)));
}

absl::Status ProximalAdagrad(OpContext& c) {
  XC_ASSIGN_OR_RETURN(Step s, Begin(c, 2, 5));
  XC_ASSIGN_OR_RETURN(Val lr, s.Scalar(2));
  XC_ASSIGN_OR_RETURN(Val l1, s.Scalar(3));
  XC_ASSIGN_OR_RETURN(Val l2, s.Scalar(4));
  Emitter& b = c.b;
  Val g = c.in(5), accum = b.Add(s.vars[1], b.Mul(g, g));
  Val rate = b.Mul(lr, b.Rsqrt(accum));
  Val moved = SoftThreshold(b, b.Sub(s.vars[0], b.Mul(g, rate)), b.Mul(rate, l1));
  XC_RETURN_IF_ERROR(SetVariable(c, 0, b.Div(moved, b.AddC(b.Mul(rate, l2), 1))));
  return SetVariable(c, 1, accum);
}

// var, accum, linear, grad, lr, l1, l2, [l2_shrinkage,] lr_power
absl::Status Ftrl(OpContext& c) {
  bool v2 = c.node.op == "ResourceApplyFtrlV2";
  XC_ASSIGN_OR_RETURN(Step s, Begin(c, 3, 3));
  XC_ASSIGN_OR_RETURN(bool by_lr, c.node.Bool("multiply_linear_by_lr"));
  XC_ASSIGN_OR_RETURN(Val lr, s.Scalar(4));
  XC_ASSIGN_OR_RETURN(Val l1, s.Scalar(5));
  XC_ASSIGN_OR_RETURN(Val l2, s.Scalar(6));
  XC_ASSIGN_OR_RETURN(Val power, s.Scalar(v2 ? 8 : 7));
  Emitter& b = c.b;
  Val g = c.in(3), pull = g, var = s.vars[0];
  if (v2) {
    XC_ASSIGN_OR_RETURN(Val shrinkage, s.Scalar(7));
    pull = b.Add(g, b.Mul(b.MulC(shrinkage, 2), var));
  }
  Val accum = b.Add(s.vars[1], b.Mul(g, g));
  Val exponent = b.Neg(power);
  Val after = b.Pow(accum, exponent), change = b.Sub(after, b.Pow(s.vars[1], exponent));
  Val linear, limit, bottom;
  if (by_lr) {
    linear = b.Add(s.vars[2], b.Sub(b.Mul(pull, lr), b.Mul(change, var)));
    limit = b.Mul(l1, lr);
    bottom = b.Add(after, b.Mul(b.MulC(l2, 2), lr));
  } else {
    linear = b.Add(s.vars[2], b.Sub(pull, b.Mul(b.Div(change, lr), var)));
    limit = l1;
    bottom = b.Add(b.Div(after, lr), b.MulC(l2, 2));
  }
  XC_RETURN_IF_ERROR(SetVariable(c, 0, b.Div(b.Neg(SoftThreshold(b, linear, limit)), bottom)));
  XC_RETURN_IF_ERROR(SetVariable(c, 1, accum));
  return SetVariable(c, 2, linear);
}

}  // namespace

void RegisterOptimizers(LoweringRegistry& r) {
  constexpr TypeSet kAny = ~TypeSet{0};
  constexpr uint32_t kFlags = kUsesVariables;
  r.Add({"ResourceApplyGradientDescent"}, kAny, GradientDescent, {}, kFlags);
  r.Add({"ResourceApplyMomentum"}, kAny, Momentum, {}, kFlags);
  r.Add({"ResourceApplyKerasMomentum"}, kAny, KerasMomentum, {}, kFlags);
  r.Add({"ResourceApplyAdagrad", "ResourceApplyAdagradV2"}, kAny, Adagrad, {}, kFlags);
  r.Add({"ResourceApplyAdam"}, kAny, Adam, {}, kFlags);
  r.Add({"ResourceApplyAdaMax"}, kAny, AdaMax, {}, kFlags);
  r.Add({"ResourceApplyRMSProp", "ResourceApplyCenteredRMSProp"}, kAny, RmsProp, {}, kFlags);
  r.Add({"ResourceApplyAdadelta"}, kAny, Adadelta, {}, kFlags);
  r.Add({"ResourceApplyAdagradDA"}, kAny, AdagradDa, {}, kFlags);
  r.Add({"ResourceApplyAddSign", "ResourceApplyPowerSign"}, kAny, SignStep, {}, kFlags);
  r.Add({"ResourceApplyProximalGradientDescent"}, kAny, ProximalGradientDescent, {}, kFlags);
  r.Add({"ResourceApplyProximalAdagrad"}, kAny, ProximalAdagrad, {}, kFlags);
  r.Add({"ResourceApplyFtrl", "ResourceApplyFtrlV2"}, kAny, Ftrl, {}, kFlags);
}

}  // namespace xc
