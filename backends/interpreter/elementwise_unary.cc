// Elementwise operators of one real or integer operand. Transcendental functions are computed in f64 and rounded once.
#include <bit>
#include <cmath>

#include "backends/interpreter/elementwise.h"
#include "backends/interpreter/elementwise_loops.h"

namespace xc::interp {
namespace {

XC_OP(Abs, return x < 0 ? static_cast<C>(-static_cast<uint64_t>(x)) : x)
XC_OP(AbsFloat, return std::fabs(x))
XC_OP(Negate, return -x)
XC_OP(NegateInt, return static_cast<C>(-static_cast<uint64_t>(x)))
XC_OP(Sign, return std::isnan(x) || x == 0 ? x : std::copysign(C(1), x))
XC_OP(SignInt, return static_cast<C>((x > 0) - (x < 0)))
XC_OP(Ceil, return std::ceil(x))
XC_OP(Floor, return std::floor(x))
XC_OP(RoundAfz, return std::round(x))
XC_OP(RoundEven, return std::nearbyint(x))
XC_OP(Sqrt, return std::sqrt(x))
XC_OP(Rsqrt, return C(1) / std::sqrt(x))
XC_OP(Cbrt, return std::cbrt(x))
XC_OP(Exp, return std::exp(x))
XC_OP(Expm1, return std::expm1(x))
XC_OP(Log, return std::log(x))
XC_OP(Log1p, return std::log1p(x))
XC_OP(Logistic, return C(1) / (C(1) + std::exp(-x)))
XC_OP(Sin, return std::sin(x))
XC_OP(Cos, return std::cos(x))
XC_OP(Tan, return std::tan(x))
XC_OP(Sinh, return std::sinh(x))
XC_OP(Cosh, return std::cosh(x))
XC_OP(Tanh, return std::tanh(x))
XC_OP(Asin, return std::asin(x))
XC_OP(Acos, return std::acos(x))
XC_OP(Asinh, return std::asinh(x))
XC_OP(Acosh, return std::acosh(x))
XC_OP(Atanh, return std::atanh(x))
XC_OP(Erf, return std::erf(x))
XC_OP(NotInt, return static_cast<C>(~x))
XC_OP(NotPred, return static_cast<C>(x == 0))
XC_OP(Identity, return x)
XC_OP(Zero, return C(0))

struct IsFinite {
  template <typename C>
  uint64_t operator()(const ElementwiseOp&, C x) const {
    return std::isfinite(x);
  }
};
struct IsFiniteComplex {
  uint64_t operator()(const ElementwiseOp&, Complex x) const {
    return std::isfinite(x.real()) && std::isfinite(x.imag());
  }
};

uint64_t LowBits(const ElementwiseOp& op, uint64_t x) {
  const int bits = op.in[0] == ElementType::kPred ? 1 : ElementBits(op.in[0]);
  return bits == 64 ? x : x & ((uint64_t{1} << bits) - 1);
}
struct Popcnt {
  uint64_t operator()(const ElementwiseOp& op, uint64_t x) const { return std::popcount(LowBits(op, x)); }
};
struct Clz {
  uint64_t operator()(const ElementwiseOp& op, uint64_t x) const {
    return std::countl_zero(LowBits(op, x)) - (64 - ElementBits(op.in[0]));
  }
};

template <typename F>
ElementwiseFn OfDouble(const ElementwiseOp&) {
  return &UnaryLoop<double, double, F>;
}
// Operators that are exact in f32 whenever their operand is: computed in f32 for f32 and narrower.
template <typename F>
ElementwiseFn OfFloat(const ElementwiseOp& op) {
  return op.in[0] == ElementType::kF64 ? &UnaryLoop<double, double, F> : &UnaryLoop<float, float, F>;
}
template <typename F>
ElementwiseFn OfInt(const ElementwiseOp& op) {
  return IsSignedInt(op.in[0]) ? &UnaryLoop<int64_t, int64_t, F> : &UnaryLoop<uint64_t, uint64_t, F>;
}

ElementwiseFn OfIsFinite(const ElementwiseOp& op) {
  return op.in[0] == ElementType::kF64 ? &UnaryLoop<double, uint64_t, IsFinite> : &UnaryLoop<float, uint64_t, IsFinite>;
}
ElementwiseFn OfAbsInt(const ElementwiseOp& op) {
  return IsSignedInt(op.in[0]) ? &UnaryLoop<int64_t, int64_t, Abs> : &UnaryLoop<uint64_t, uint64_t, Identity>;
}
ElementwiseFn OfNot(const ElementwiseOp& op) {
  return op.in[0] == ElementType::kPred ? &UnaryLoop<uint64_t, uint64_t, NotPred> : OfInt<NotInt>(op);
}
template <typename F>
ElementwiseFn OfBits(const ElementwiseOp&) {
  return &UnaryLoop<uint64_t, uint64_t, F>;
}

// What evaluates an op for an element type.
struct Row {
  HloOpcode opcode;
  ElementwiseFn (*find)(const ElementwiseOp&);
};

constexpr Row kFloatRows[] = {
    {HloOpcode::kAbs, &OfFloat<AbsFloat>},
    {HloOpcode::kNegate, &OfFloat<Negate>},
    {HloOpcode::kSign, &OfFloat<Sign>},
    {HloOpcode::kCeil, &OfFloat<Ceil>},
    {HloOpcode::kFloor, &OfFloat<Floor>},
    {HloOpcode::kRoundNearestAfz, &OfFloat<RoundAfz>},
    {HloOpcode::kRoundNearestEven, &OfFloat<RoundEven>},
    {HloOpcode::kSqrt, &OfFloat<Sqrt>},
    {HloOpcode::kReal, &OfFloat<Identity>},
    {HloOpcode::kImag, &OfFloat<Zero>},
    {HloOpcode::kRsqrt, &OfDouble<Rsqrt>},
    {HloOpcode::kCbrt, &OfDouble<Cbrt>},
    {HloOpcode::kExponential, &OfDouble<Exp>},
    {HloOpcode::kExponentialMinusOne, &OfDouble<Expm1>},
    {HloOpcode::kLog, &OfDouble<Log>},
    {HloOpcode::kLogPlusOne, &OfDouble<Log1p>},
    {HloOpcode::kLogistic, &OfDouble<Logistic>},
    {HloOpcode::kSine, &OfDouble<Sin>},
    {HloOpcode::kCosine, &OfDouble<Cos>},
    {HloOpcode::kTan, &OfDouble<Tan>},
    {HloOpcode::kSinh, &OfDouble<Sinh>},
    {HloOpcode::kCosh, &OfDouble<Cosh>},
    {HloOpcode::kTanh, &OfDouble<Tanh>},
    {HloOpcode::kAsin, &OfDouble<Asin>},
    {HloOpcode::kAcos, &OfDouble<Acos>},
    {HloOpcode::kAsinh, &OfDouble<Asinh>},
    {HloOpcode::kAcosh, &OfDouble<Acosh>},
    {HloOpcode::kAtanh, &OfDouble<Atanh>},
    {HloOpcode::kErf, &OfDouble<Erf>},
    {HloOpcode::kIsFinite, &OfIsFinite},
};
// Integers and pred.
constexpr Row kIntRows[] = {
    {HloOpcode::kNegate, &OfInt<NegateInt>},
    {HloOpcode::kSign, &OfInt<SignInt>},
    {HloOpcode::kReal, &OfInt<Identity>},
    {HloOpcode::kImag, &OfInt<Zero>},
    {HloOpcode::kAbs, &OfAbsInt},
    {HloOpcode::kNot, &OfNot},
    {HloOpcode::kPopcnt, &OfBits<Popcnt>},
    {HloOpcode::kCountLeadingZeros, &OfBits<Clz>},
};

ElementwiseFn Find(absl::Span<const Row> rows, const ElementwiseOp& op) {
  for (const Row& row : rows) {
    if (row.opcode == op.opcode) return row.find(op);
  }
  return nullptr;
}

}  // namespace

ElementwiseFn FindUnary(const ElementwiseOp& op) {
  if (op.operands != 1) return nullptr;
  if (IsFloating(op.in[0])) return Find(kFloatRows, op);
  if (op.opcode == HloOpcode::kIsFinite && IsComplex(op.in[0])) return &UnaryLoop<Complex, uint64_t, IsFiniteComplex>;
  if (IsIntegral(op.in[0]) || op.in[0] == ElementType::kPred) return Find(kIntRows, op);
  return nullptr;
}

}  // namespace xc::interp
