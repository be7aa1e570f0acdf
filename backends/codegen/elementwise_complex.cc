// Elementwise ops of complex numbers: sums and products in place, everything else through the C++ library lane by lane.
#include <complex>
#include <string>

#include "backends/codegen/elementwise_internal.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"

namespace xc::codegen {
namespace {

using V = llvm::Value*;
using C = std::complex<double>;

// out = op(x, y); complex numbers as pairs.
using ComplexFunction = void (*)(const double* x, const double* y, double* out);

C Read(const double* x) { return {x[0], x[1]}; }
void Write(C value, double* out) {
  out[0] = value.real();
  out[1] = value.imag();
}

template <typename Fn>
constexpr ComplexFunction Unary(Fn) {
  return +[](const double* x, const double*, double* out) { Write(Fn{}(Read(x)), out); };
}
template <typename Fn>
constexpr ComplexFunction Binary(Fn) {
  return +[](const double* x, const double* y, double* out) { Write(Fn{}(Read(x), Read(y)), out); };
}

C Expm1(C z) {
  // Keeps the digits of small arguments: e^a cos b - 1 = expm1(a) cos b - 2 sin^2(b / 2).
  const double s = std::sin(z.imag() / 2);
  return {std::expm1(z.real()) * std::cos(z.imag()) - 2 * s * s, std::exp(z.real()) * std::sin(z.imag())};
}
C Log1p(C z) {
  const double a = z.real(), b = z.imag();
  if (std::hypot(a, b) > 0.5) return std::log(C(1 + a, b));
  return {0.5 * std::log1p(a * (2 + a) + b * b), std::atan2(b, 1 + a)};
}
C Sign(C z) {
  const double size = std::abs(z);
  return size == 0 ? C(0, 0) : z / size;
}
C Power(C x, C y) {
  if (x == C(0, 0)) return y == C(0, 0) ? C(1, 0) : y.real() > 0 ? C(0, 0) : std::pow(x, y);
  return std::pow(x, y);
}

struct Row {
  HloOpcode op;
  const char* name;
  ComplexFunction function;
};
const Row kRows[] = {
    {HloOpcode::kDivide, "xc_cmath_div", Binary([](C x, C y) { return x / y; })},
    {HloOpcode::kPower, "xc_cmath_pow", Binary([](C x, C y) { return Power(x, y); })},
    {HloOpcode::kAbs, "xc_cmath_abs", Unary([](C x) { return C(std::abs(x), 0); })},
    {HloOpcode::kExponential, "xc_cmath_exp", Unary([](C x) { return std::exp(x); })},
    {HloOpcode::kExponentialMinusOne, "xc_cmath_expm1", Unary([](C x) { return Expm1(x); })},
    {HloOpcode::kLog, "xc_cmath_log", Unary([](C x) { return std::log(x); })},
    {HloOpcode::kLogPlusOne, "xc_cmath_log1p", Unary([](C x) { return Log1p(x); })},
    {HloOpcode::kSqrt, "xc_cmath_sqrt", Unary([](C x) { return std::sqrt(x); })},
    {HloOpcode::kRsqrt, "xc_cmath_rsqrt", Unary([](C x) { return 1.0 / std::sqrt(x); })},
    {HloOpcode::kCbrt, "xc_cmath_cbrt", Unary([](C x) { return std::pow(x, 1.0 / 3); })},
    {HloOpcode::kTanh, "xc_cmath_tanh", Unary([](C x) { return std::tanh(x); })},
    {HloOpcode::kTan, "xc_cmath_tan", Unary([](C x) { return std::tan(x); })},
    {HloOpcode::kSine, "xc_cmath_sin", Unary([](C x) { return std::sin(x); })},
    {HloOpcode::kCosine, "xc_cmath_cos", Unary([](C x) { return std::cos(x); })},
    {HloOpcode::kSinh, "xc_cmath_sinh", Unary([](C x) { return std::sinh(x); })},
    {HloOpcode::kCosh, "xc_cmath_cosh", Unary([](C x) { return std::cosh(x); })},
    {HloOpcode::kAsinh, "xc_cmath_asinh", Unary([](C x) { return std::asinh(x); })},
    {HloOpcode::kAcosh, "xc_cmath_acosh", Unary([](C x) { return std::acosh(x); })},
    {HloOpcode::kAtanh, "xc_cmath_atanh", Unary([](C x) { return std::atanh(x); })},
    {HloOpcode::kAsin, "xc_cmath_asin", Unary([](C x) { return std::asin(x); })},
    {HloOpcode::kAcos, "xc_cmath_acos", Unary([](C x) { return std::acos(x); })},
    {HloOpcode::kLogistic, "xc_cmath_logistic", Unary([](C x) { return 1.0 / (1.0 + std::exp(-x)); })},
    {HloOpcode::kSign, "xc_cmath_sign", Unary([](C x) { return Sign(x); })},
};

const Row* FindRow(HloOpcode op) {
  for (const Row& row : kRows) {
    if (row.op == op) return &row;
  }
  return nullptr;
}

// Calls `row` for every lane: re and im of operands and result are kept in arrays on the stack meanwhile.
Element CallForLanes(ElementEmitter& e, const Row& row, absl::Span<const Element> x) {
  auto& b = e.builder();
  llvm::Function* function = b.GetInsertBlock()->getParent();
  llvm::Module* module = function->getParent();
  llvm::Type* d = b.getDoubleTy();
  llvm::Type* p = b.getPtrTy();
  llvm::FunctionCallee callee =
      module->getOrInsertFunction(row.name, llvm::FunctionType::get(b.getVoidTy(), {p, p, p}, false));
  llvm::Type* part = x[0].re->getType()->getScalarType();
  const int lanes = ElementEmitter::Lanes(x[0].re);
  llvm::IRBuilder<> head(&function->getEntryBlock(), function->getEntryBlock().begin());
  V pair[3];
  for (V& place : pair) place = head.CreateAlloca(llvm::ArrayType::get(d, 2));
  auto field = [&](V place, int i) { return b.CreateConstGEP1_32(d, place, i); };
  auto put = [&](V value, V place, int i) {
    if (part != d) value = b.CreateFPExt(value, d);
    b.CreateStore(value, field(place, i));
  };
  auto get = [&](int i) -> V {
    V value = b.CreateLoad(d, field(pair[2], i));
    return part == d ? value : b.CreateFPTrunc(value, part);
  };
  Element out;
  if (lanes > 1) out = {llvm::PoisonValue::get(x[0].re->getType()), llvm::PoisonValue::get(x[0].re->getType())};
  for (int lane = 0; lane < lanes; ++lane) {
    for (size_t k = 0; k < x.size() && k < 2; ++k) {
      put(lanes == 1 ? x[k].re : b.CreateExtractElement(x[k].re, lane), pair[k], 0);
      put(lanes == 1 ? x[k].im : b.CreateExtractElement(x[k].im, lane), pair[k], 1);
    }
    b.CreateCall(callee, {pair[0], pair[1], pair[2]});
    V re = get(0), im = get(1);
    out.re = lanes == 1 ? re : b.CreateInsertElement(out.re, re, lane);
    out.im = lanes == 1 ? im : b.CreateInsertElement(out.im, im, lane);
  }
  return out;
}

// x * y + z with one rounding. Targets that cannot do so compute f32 by way of f64, where the product is exact, and f64
// with two roundings.
V Fused(ElementEmitter& e, V x, V y, V z) {
  auto& b = e.builder();
  if (e.target().fma) return b.CreateIntrinsic(x->getType(), llvm::Intrinsic::fma, {x, y, z});
  if (x->getType()->getScalarType()->isDoubleTy()) return b.CreateFAdd(b.CreateFMul(x, y), z);
  llvm::Type* wide = x->getType()->getWithNewType(b.getDoubleTy());
  const auto extend = [&](V value) { return b.CreateFPExt(value, wide); };
  return b.CreateFPTrunc(b.CreateFAdd(b.CreateFMul(extend(x), extend(y)), extend(z)), x->getType());
}

}  // namespace

bool KnownComplexOp(HloOpcode op) {
  return op == HloOpcode::kAdd || op == HloOpcode::kSubtract || op == HloOpcode::kMultiply ||
         op == HloOpcode::kNegate || FindRow(op) != nullptr;
}

Element EmitComplexOp(ElementEmitter& e, HloOpcode op, absl::Span<const Element> x) {
  auto& b = e.builder();
  switch (op) {
    case HloOpcode::kAdd:
      return {b.CreateFAdd(x[0].re, x[1].re), b.CreateFAdd(x[0].im, x[1].im)};
    case HloOpcode::kSubtract:
      return {b.CreateFSub(x[0].re, x[1].re), b.CreateFSub(x[0].im, x[1].im)};
    case HloOpcode::kNegate:
      return {b.CreateFNeg(x[0].re), b.CreateFNeg(x[0].im)};
    case HloOpcode::kMultiply:
      return {Fused(e, x[0].re, x[1].re, b.CreateFNeg(b.CreateFMul(x[0].im, x[1].im))),
              Fused(e, x[0].re, x[1].im, b.CreateFMul(x[0].im, x[1].re))};
    default:
      break;
  }
  if (op == HloOpcode::kAbs && x[0].re->getType()->getScalarType()->isFloatTy()) {
    // The squares of floats neither overflow nor vanish in double. An infinite part decides even beside NaN.
    llvm::Type* f = x[0].re->getType();
    llvm::Type* d = e.RegisterType(ElementType::kF64, ElementEmitter::Lanes(x[0].re));
    V re = b.CreateFPExt(x[0].re, d), im = b.CreateFPExt(x[0].im, d);
    V size = b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, b.CreateFAdd(b.CreateFMul(re, re), b.CreateFMul(im, im)));
    V inf = llvm::ConstantFP::getInfinity(f);
    auto infinite = [&](V v) { return b.CreateFCmpOEQ(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v), inf); };
    V any = b.CreateOr(infinite(x[0].re), infinite(x[0].im));
    return {b.CreateSelect(any, inf, b.CreateFPTrunc(size, f))};
  }
  const Row* row = FindRow(op);
  if (row == nullptr) return {};
  Element y = CallForLanes(e, *row, x);
  if (op == HloOpcode::kAbs) y.im = nullptr;
  return y;
}

const std::vector<MathSymbol>& ComplexSymbols() {
  static const std::vector<MathSymbol>* symbols = [] {
    auto* list = new std::vector<MathSymbol>;
    for (const Row& row : kRows) list->push_back({row.name, reinterpret_cast<void*>(row.function)});
    return list;
  }();
  return *symbols;
}

}  // namespace xc::codegen
