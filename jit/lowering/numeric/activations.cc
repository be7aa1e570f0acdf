// Lowerings of activation functions and their gradients.
#include <cmath>

#include "jit/lowering/lowering.h"
#include "jit/lowering/numeric/window.h"

namespace xc {
namespace {

constexpr double kSeluScale = 1.0507009873554804934193349852946;
constexpr double kSeluScaleAlpha = 1.7580993408473768599402175208123;

template <auto kFn>
absl::Status Unary(OpContext& c) {
  c.set(0, kFn(c.b, c.in(0)));
  return absl::OkStatus();
}

// (gradient, features or output) -> gradient.
template <auto kFn>
absl::Status Grad(OpContext& c) {
  XC_RETURN_IF_ERROR(c.RequireSameDims(0, 1));
  c.set(0, kFn(c.b, c.in(0), c.in(1)));
  return absl::OkStatus();
}

Val Positive(Emitter& b, Val x) { return b.Gt(x, b.Like(x, 0)); }

Val Softplus(Emitter& b, Val x) {
  // max(x, 0) + log1p(exp(-|x|)): exact at both ends.
  return b.Add(b.Max(x, b.Like(x, 0)), b.Unary(HloOpcode::kLogPlusOne, b.Exp(b.Neg(b.Abs(x)))));
}

absl::Status LeakyRelu(OpContext& c) {
  XC_ASSIGN_OR_RETURN(float alpha, c.node.Float("alpha"));
  Val x = c.in(0);
  Val scaled = c.b.MulC(x, alpha);
  c.set(0, c.b.Select(Positive(c.b, x), x, scaled));
  return absl::OkStatus();
}

absl::Status LeakyReluGrad(OpContext& c) {
  XC_RETURN_IF_ERROR(c.RequireSameDims(0, 1));
  XC_ASSIGN_OR_RETURN(float alpha, c.node.Float("alpha"));
  Val dy = c.in(0);
  c.set(0, c.b.Select(Positive(c.b, c.in(1)), dy, c.b.MulC(dy, alpha)));
  return absl::OkStatus();
}

}  // namespace

Val Swish(Emitter& b, Val x) { return b.Mul(x, b.Unary(HloOpcode::kLogistic, x)); }
Val Mish(Emitter& b, Val x) { return b.Mul(x, b.Tanh(Softplus(b, x))); }

void RegisterActivations(LoweringRegistry& r) {
  constexpr TypeSet kReal = kFloatTypes;
  r.Add({"Relu"}, kRealTypes, Unary<[](Emitter& b, Val x) { return b.Max(x, b.Like(x, 0)); }>);
  r.Add({"Relu6"}, kRealTypes, Unary<[](Emitter& b, Val x) { return b.Min(b.Max(x, b.Like(x, 0)), b.Like(x, 6)); }>);
  r.Add({"ReluGrad"}, kRealTypes,
        Grad<[](Emitter& b, Val dy, Val x) { return b.Select(Positive(b, x), dy, b.Like(dy, 0)); }>);
  r.Add({"Relu6Grad"}, kRealTypes, Grad<[](Emitter& b, Val dy, Val x) {
          return b.Select(b.And(Positive(b, x), b.Lt(x, b.Like(x, 6))), dy, b.Like(dy, 0));
        }>);
  r.Add({"LeakyRelu"}, kReal, LeakyRelu);
  r.Add({"LeakyReluGrad"}, kReal, LeakyReluGrad);
  r.Add({"Elu"}, kReal, Unary<[](Emitter& b, Val x) {
          return b.Select(Positive(b, x), x, b.Unary(HloOpcode::kExponentialMinusOne, x));
        }>);
  r.Add({"EluGrad"}, kReal,
        Grad<[](Emitter& b, Val dy, Val y) { return b.Select(b.Lt(y, b.Like(y, 0)), b.Mul(b.AddC(y, 1), dy), dy); }>);
  r.Add({"Selu"}, kReal, Unary<[](Emitter& b, Val x) {
          return b.Select(Positive(b, x), b.MulC(x, kSeluScale),
                          b.MulC(b.Unary(HloOpcode::kExponentialMinusOne, x), kSeluScaleAlpha));
        }>);
  r.Add({"SeluGrad"}, kReal, Grad<[](Emitter& b, Val dy, Val y) {
          return b.Select(b.Lt(y, b.Like(y, 0)), b.Mul(dy, b.AddC(y, kSeluScaleAlpha)), b.MulC(dy, kSeluScale));
        }>);
  r.Add({"Softplus"}, kReal, Unary<Softplus>);
  r.Add({"_MklSwish"}, kReal, Unary<Swish>);
  r.Add({"_MklFusedMish"}, kReal, Unary<Mish>);
  r.Add({"SoftplusGrad"}, kReal,
        Grad<[](Emitter& b, Val dy, Val x) { return b.Mul(dy, b.Unary(HloOpcode::kLogistic, x)); }>);
  r.Add({"Softsign"}, kReal, Unary<[](Emitter& b, Val x) { return b.Div(x, b.AddC(b.Abs(x), 1)); }>);
  r.Add({"SoftsignGrad"}, kReal,
        Grad<[](Emitter& b, Val dy, Val x) { return b.Div(dy, b.Square(b.AddC(b.Abs(x), 1))); }>);
}

}  // namespace xc
