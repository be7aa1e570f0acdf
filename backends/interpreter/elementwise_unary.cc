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
ElementwiseFn OfDouble() {
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

ElementwiseFn FindFloat(const ElementwiseOp& op) {
  switch (op.opcode) {
    case HloOpcode::kAbs:
      return OfFloat<AbsFloat>(op);
    case HloOpcode::kNegate:
      return OfFloat<Negate>(op);
    case HloOpcode::kSign:
      return OfFloat<Sign>(op);
    case HloOpcode::kCeil:
      return OfFloat<Ceil>(op);
    case HloOpcode::kFloor:
      return OfFloat<Floor>(op);
    case HloOpcode::kRoundNearestAfz:
      return OfFloat<RoundAfz>(op);
    case HloOpcode::kRoundNearestEven:
      return OfFloat<RoundEven>(op);
    case HloOpcode::kSqrt:
      return OfFloat<Sqrt>(op);
    case HloOpcode::kReal:
      return OfFloat<Identity>(op);
    case HloOpcode::kImag:
      return OfFloat<Zero>(op);
    case HloOpcode::kIsFinite:
      return op.in[0] == ElementType::kF64 ? &UnaryLoop<double, uint64_t, IsFinite>
                                           : &UnaryLoop<float, uint64_t, IsFinite>;
    case HloOpcode::kRsqrt:
      return OfDouble<Rsqrt>();
    case HloOpcode::kCbrt:
      return OfDouble<Cbrt>();
    case HloOpcode::kExponential:
      return OfDouble<Exp>();
    case HloOpcode::kExponentialMinusOne:
      return OfDouble<Expm1>();
    case HloOpcode::kLog:
      return OfDouble<Log>();
    case HloOpcode::kLogPlusOne:
      return OfDouble<Log1p>();
    case HloOpcode::kLogistic:
      return OfDouble<Logistic>();
    case HloOpcode::kSine:
      return OfDouble<Sin>();
    case HloOpcode::kCosine:
      return OfDouble<Cos>();
    case HloOpcode::kTan:
      return OfDouble<Tan>();
    case HloOpcode::kSinh:
      return OfDouble<Sinh>();
    case HloOpcode::kCosh:
      return OfDouble<Cosh>();
    case HloOpcode::kTanh:
      return OfDouble<Tanh>();
    case HloOpcode::kAsin:
      return OfDouble<Asin>();
    case HloOpcode::kAcos:
      return OfDouble<Acos>();
    case HloOpcode::kAsinh:
      return OfDouble<Asinh>();
    case HloOpcode::kAcosh:
      return OfDouble<Acosh>();
    case HloOpcode::kAtanh:
      return OfDouble<Atanh>();
    case HloOpcode::kErf:
      return OfDouble<Erf>();
    default:
      return nullptr;
  }
}

ElementwiseFn FindInt(const ElementwiseOp& op) {
  switch (op.opcode) {
    case HloOpcode::kAbs:
      return IsSignedInt(op.in[0]) ? &UnaryLoop<int64_t, int64_t, Abs> : &UnaryLoop<uint64_t, uint64_t, Identity>;
    case HloOpcode::kNegate:
      return OfInt<NegateInt>(op);
    case HloOpcode::kSign:
      return OfInt<SignInt>(op);
    case HloOpcode::kNot:
      return op.in[0] == ElementType::kPred ? &UnaryLoop<uint64_t, uint64_t, NotPred> : OfInt<NotInt>(op);
    case HloOpcode::kPopcnt:
      return &UnaryLoop<uint64_t, uint64_t, Popcnt>;
    case HloOpcode::kCountLeadingZeros:
      return &UnaryLoop<uint64_t, uint64_t, Clz>;
    case HloOpcode::kReal:
      return OfInt<Identity>(op);
    case HloOpcode::kImag:
      return OfInt<Zero>(op);
    default:
      return nullptr;
  }
}

}  // namespace

ElementwiseFn FindUnary(const ElementwiseOp& op) {
  if (op.operands != 1) return nullptr;
  if (IsFloating(op.in[0])) return FindFloat(op);
  if (op.opcode == HloOpcode::kIsFinite && IsComplex(op.in[0])) return &UnaryLoop<Complex, uint64_t, IsFiniteComplex>;
  if (IsIntegral(op.in[0]) || op.in[0] == ElementType::kPred) return FindInt(op);
  return nullptr;
}

}  // namespace xc::interp
