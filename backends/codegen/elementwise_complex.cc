// Elementwise ops of complex numbers: sums and products in place, everything else in a function of its own, with the
// C++ library lane by lane for what complex_math.h has no code for.
#include <complex>
#include <optional>
#include <string>

#include "backends/codegen/complex_math.h"
#include "backends/codegen/elementwise_internal.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"

namespace xc::codegen {
namespace {

using V = llvm::Value*;
// out = op(x, y); complex numbers as pairs.
using ComplexFunction = void (*)(const double* x, const double* y, double* out);

template <typename R>
std::complex<R> Expm1(std::complex<R> z) {
  // Keeps the digits of small arguments: e^a cos b - 1 = expm1(a) cos b - 2 sin^2(b / 2).
  const R s = std::sin(z.imag() / 2);
  return {std::expm1(z.real()) * std::cos(z.imag()) - 2 * s * s, std::exp(z.real()) * std::sin(z.imag())};
}
template <typename R>
std::complex<R> Log1p(std::complex<R> z) {
  const R a = z.real(), b = z.imag();
  if (std::hypot(a, b) > R(0.5)) return std::log(std::complex<R>(1 + a, b));
  return {std::log1p(a * (2 + a) + b * b) / 2, std::atan2(b, 1 + a)};
}
template <typename R>
std::complex<R> Sign(std::complex<R> z) {
  const R size = std::abs(z);
  return size == 0 ? std::complex<R>(0, 0) : z / size;
}
template <typename R>
std::complex<R> Power(std::complex<R> x, std::complex<R> y) {
  const std::complex<R> zero(0, 0);
  if (x == zero) return y == zero ? std::complex<R>(1, 0) : y.real() > 0 ? zero : std::pow(x, y);
  return std::pow(x, y);
}

// -i log((y + i x) / sqrt(x^2 + y^2))
template <typename R>
std::complex<R> Atan2(std::complex<R> x, std::complex<R> y) {
  const std::complex<R> i(0, 1);
  return -i * std::log((y + i * x) / std::sqrt(x * x + y * y));
}

// Computes in R, a type with more digits than the operands have.
template <typename R, typename Fn>
constexpr ComplexFunction In(Fn) {
  return +[](const double* x, const double* y, double* out) {
    const std::complex<R> z = Fn{}(std::complex<R>(x[0], x[1]), y);
    out[0] = static_cast<double>(z.real());
    out[1] = static_cast<double>(z.imag());
  };
}

struct Row {
  HloOpcode op;
  const char* name;
  ComplexFunction narrow, wide;  // for c64 and c128
};

template <typename Fn>
constexpr Row Unary(HloOpcode op, const char* name, Fn) {
  constexpr auto kCall = [](auto x, const double*) { return Fn{}(x); };
  return {op, name, In<double>(kCall), In<long double>(kCall)};
}
template <typename Fn>
constexpr Row Binary(HloOpcode op, const char* name, Fn) {
  constexpr auto kCall = [](auto x, const double* y) { return Fn{}(x, decltype(x)(y[0], y[1])); };
  return {op, name, In<double>(kCall), In<long double>(kCall)};
}

const Row kRows[] = {
    Binary(HloOpcode::kDivide, "div", [](auto x, auto y) { return x / y; }),
    Binary(HloOpcode::kPower, "pow", [](auto x, auto y) { return Power(x, y); }),
    Binary(HloOpcode::kAtan2, "atan2", [](auto x, auto y) { return Atan2(x, y); }),
    Unary(HloOpcode::kAbs, "abs", [](auto x) { return decltype(x)(std::abs(x), 0); }),
    Unary(HloOpcode::kExponential, "exp", [](auto x) { return std::exp(x); }),
    Unary(HloOpcode::kExponentialMinusOne, "expm1", [](auto x) { return Expm1(x); }),
    Unary(HloOpcode::kLog, "log", [](auto x) { return std::log(x); }),
    Unary(HloOpcode::kLogPlusOne, "log1p", [](auto x) { return Log1p(x); }),
    Unary(HloOpcode::kSqrt, "sqrt", [](auto x) { return std::sqrt(x); }),
    Unary(HloOpcode::kRsqrt, "rsqrt", [](auto x) { return decltype(x)(1) / std::sqrt(x); }),
    Unary(HloOpcode::kCbrt, "cbrt", [](auto x) { return std::pow(x, decltype(x.real())(1) / 3); }),
    Unary(HloOpcode::kTanh, "tanh", [](auto x) { return std::tanh(x); }),
    Unary(HloOpcode::kTan, "tan", [](auto x) { return std::tan(x); }),
    Unary(HloOpcode::kSine, "sin", [](auto x) { return std::sin(x); }),
    Unary(HloOpcode::kCosine, "cos", [](auto x) { return std::cos(x); }),
    Unary(HloOpcode::kSinh, "sinh", [](auto x) { return std::sinh(x); }),
    Unary(HloOpcode::kCosh, "cosh", [](auto x) { return std::cosh(x); }),
    Unary(HloOpcode::kAsinh, "asinh", [](auto x) { return std::asinh(x); }),
    Unary(HloOpcode::kAcosh, "acosh", [](auto x) { return std::acosh(x); }),
    Unary(HloOpcode::kAtanh, "atanh", [](auto x) { return std::atanh(x); }),
    Unary(HloOpcode::kAsin, "asin", [](auto x) { return std::asin(x); }),
    Unary(HloOpcode::kAcos, "acos", [](auto x) { return std::acos(x); }),
    Unary(HloOpcode::kLogistic, "logistic", [](auto x) { return decltype(x)(1) / (decltype(x)(1) + std::exp(-x)); }),
    Unary(HloOpcode::kSign, "sign", [](auto x) { return Sign(x); }),
};

std::string SymbolOf(const Row& row, bool wide) {
  return std::string(wide ? "xc_cmath_wide_" : "xc_cmath_") + row.name;
}

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
  llvm::Type* part = x[0].re->getType()->getScalarType();
  llvm::FunctionCallee callee =
      module->getOrInsertFunction(SymbolOf(row, part == d), llvm::FunctionType::get(b.getVoidTy(), {p, p, p}, false));
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

// The function's body: fast code, and the library where that does not hold.
Element EmitBody(ElementEmitter& e, const Row& row, absl::Span<const Element> x) {
  llvm::IRBuilderBase& b = e.builder();
  llvm::Type* type = x[0].re->getType();
  const bool narrow = type->getScalarType()->isFloatTy();
  MathBuilder own(b, type, e.target().fma);
  MathBuilder m = narrow ? own.Double() : own;
  const auto widen = [&](const Element& v) { return narrow ? Element{own.Extend(v.re), own.Extend(v.im)} : v; };
  const Element first = widen(x[0]), second = x.size() > 1 ? widen(x[1]) : Element{};
  const std::optional<ComplexResult> fast = EmitComplexMath(m, row.op, narrow, first, second);
  if (!fast.has_value()) return CallForLanes(e, row, x);
  Element common{fast->re, fast->im};
  if (narrow) common = {own.Round(common.re), own.Round(common.im)};
  llvm::Function* function = b.GetInsertBlock()->getParent();
  auto* slow = llvm::BasicBlock::Create(b.getContext(), "rare", function);
  auto* done = llvm::BasicBlock::Create(b.getContext(), "done", function);
  auto* from = b.GetInsertBlock();
  b.CreateCondBr(own.lanes == 0 ? fast->rare : b.CreateOrReduce(fast->rare), slow, done);
  b.SetInsertPoint(slow);
  const Element called = CallForLanes(e, row, x);
  const Element other{b.CreateSelect(fast->rare, called.re, common.re),
                      b.CreateSelect(fast->rare, called.im, common.im)};
  auto* slow_end = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(done);
  const auto join = [&](V usual, V rare) {
    llvm::PHINode* phi = b.CreatePHI(type, 2);
    phi->addIncoming(usual, from);
    phi->addIncoming(rare, slow_end);
    return phi;
  };
  V re = join(common.re, other.re);
  return {re, join(common.im, other.im)};
}

// Calls the module's function for the op, type and number of lanes, which is written when it is first needed.
Element CallFunction(ElementEmitter& e, const Row& row, absl::Span<const Element> x) {
  llvm::IRBuilderBase& b = e.builder();
  llvm::Module* module = b.GetInsertBlock()->getModule();
  llvm::Type* type = x[0].re->getType();
  const bool wide = type->getScalarType()->isDoubleTy();
  const std::string name = "xc." + SymbolOf(row, wide) + ".x" + std::to_string(ElementEmitter::Lanes(x[0].re));
  llvm::Function* function = module->getFunction(name);
  if (function == nullptr) {
    std::vector<llvm::Type*> types(2 * x.size(), type);
    auto* pair = llvm::StructType::get(type, type);
    function = llvm::Function::Create(llvm::FunctionType::get(pair, types, false), llvm::Function::InternalLinkage,
                                      name, module);
    function->setDoesNotThrow();
    function->setDoesNotAccessMemory();
    function->addFnAttr(llvm::Attribute::WillReturn);
    function->addFnAttr(llvm::Attribute::NoInline);
    llvm::IRBuilder<> body(llvm::BasicBlock::Create(b.getContext(), "", function));
    ElementEmitter inner(body, e.target());
    std::vector<Element> arguments;
    for (size_t k = 0; k < x.size(); ++k) arguments.push_back({function->getArg(2 * k), function->getArg(2 * k + 1)});
    const Element result = EmitBody(inner, row, arguments);
    V both = llvm::PoisonValue::get(pair);
    body.CreateRet(body.CreateInsertValue(body.CreateInsertValue(both, result.re, 0), result.im, 1));
  }
  std::vector<V> arguments;
  for (const Element& v : x) {
    arguments.push_back(v.re);
    arguments.push_back(v.im);
  }
  V both = b.CreateCall(function, arguments);
  return {b.CreateExtractValue(both, 0), b.CreateExtractValue(both, 1)};
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
  Element y = CallFunction(e, *row, x);
  if (op == HloOpcode::kAbs) y.im = nullptr;
  return y;
}

const std::vector<MathSymbol>& ComplexSymbols() {
  struct Symbols {
    std::vector<std::string> names;
    std::vector<MathSymbol> list;
  };
  static const Symbols* symbols = [] {
    auto* s = new Symbols;
    s->names.reserve(2 * std::size(kRows));
    for (const Row& row : kRows) {
      for (bool wide : {false, true}) {
        s->names.push_back(SymbolOf(row, wide));
        s->list.push_back({s->names.back().c_str(), reinterpret_cast<void*>(wide ? row.wide : row.narrow)});
      }
    }
    return s;
  }();
  return symbols->list;
}

}  // namespace xc::codegen
