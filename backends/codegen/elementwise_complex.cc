// Elementwise ops of complex numbers: sums and products in place, everything else in a function of its own, with the
// C++ library lane by lane for what complex_math.h has no code for.
#include <optional>
#include <string>

#include "backends/codegen/complex_math.h"
#include "backends/codegen/elementwise_internal.h"
#include "backends/codegen/roots.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"

namespace xc::codegen {
namespace {

using V = llvm::Value*;
struct Row {
  HloOpcode op;
  const char* name;  // of the functions of backends/runtime/math_functions.h
};

const Row kRows[] = {
    {HloOpcode::kDivide, "div"},
    {HloOpcode::kPower, "pow"},
    {HloOpcode::kAtan2, "atan2"},
    {HloOpcode::kExponential, "exp"},
    {HloOpcode::kExponentialMinusOne, "expm1"},
    {HloOpcode::kLog, "log"},
    {HloOpcode::kLogPlusOne, "log1p"},
    {HloOpcode::kSqrt, "sqrt"},
    {HloOpcode::kRsqrt, "rsqrt"},
    {HloOpcode::kCbrt, "cbrt"},
    {HloOpcode::kTanh, "tanh"},
    {HloOpcode::kTan, "tan"},
    {HloOpcode::kSine, "sin"},
    {HloOpcode::kCosine, "cos"},
    {HloOpcode::kSinh, "sinh"},
    {HloOpcode::kCosh, "cosh"},
    {HloOpcode::kAsinh, "asinh"},
    {HloOpcode::kAcosh, "acosh"},
    {HloOpcode::kAtanh, "atanh"},
    {HloOpcode::kAsin, "asin"},
    {HloOpcode::kAcos, "acos"},
    {HloOpcode::kLogistic, "logistic"},
    {HloOpcode::kSign, "sign"},
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

// `x` where control came from block `u`, `y` where from `v`.
V Join(llvm::IRBuilderBase& b, V x, llvm::BasicBlock* u, V y, llvm::BasicBlock* v) {
  llvm::PHINode* phi = b.CreatePHI(x->getType(), 2);
  phi->addIncoming(x, u);
  phi->addIncoming(y, v);
  return phi;
}

// Calls `row` for every lane, or for those that are `rare`, with `common` in the others: re and im of operands and
// result are kept in arrays on the stack meanwhile.
Element CallForLanes(ElementEmitter& e, const Row& row, absl::Span<const Element> x, V rare = nullptr,
                     const Element& common = {}) {
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
  if (rare != nullptr) out = common;
  for (int lane = 0; lane < lanes; ++lane) {
    const Element before = out;
    llvm::BasicBlock *from = b.GetInsertBlock(), *next = nullptr;
    if (rare != nullptr) {
      auto* call = llvm::BasicBlock::Create(b.getContext(), "lane", function);
      next = llvm::BasicBlock::Create(b.getContext(), "lane.done", function);
      b.CreateCondBr(lanes == 1 ? rare : b.CreateExtractElement(rare, lane), call, next);
      b.SetInsertPoint(call);
    }
    for (size_t k = 0; k < x.size() && k < 2; ++k) {
      put(lanes == 1 ? x[k].re : b.CreateExtractElement(x[k].re, lane), pair[k], 0);
      put(lanes == 1 ? x[k].im : b.CreateExtractElement(x[k].im, lane), pair[k], 1);
    }
    b.CreateCall(callee, {pair[0], pair[1], pair[2]});
    V re = get(0), im = get(1);
    out.re = lanes == 1 ? re : b.CreateInsertElement(out.re, re, lane);
    out.im = lanes == 1 ? im : b.CreateInsertElement(out.im, im, lane);
    if (rare == nullptr) continue;
    auto* called = b.GetInsertBlock();
    b.CreateBr(next);
    b.SetInsertPoint(next);
    out = {Join(b, before.re, from, out.re, called), Join(b, before.im, from, out.im, called)};
  }
  return out;
}

// The function's body: fast code, and the library where that does not hold.
Element EmitBody(ElementEmitter& e, const Row& row, absl::Span<const Element> x) {
  llvm::IRBuilderBase& b = e.builder();
  llvm::Type* type = x[0].re->getType();
  const bool narrow = type->getScalarType()->isFloatTy();
  MathBuilder own(b, type, e.target().fma, e.target().masked_memory);
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
  const Element other = CallForLanes(e, row, x, fast->rare, common);
  auto* slow_end = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(done);
  V re = Join(b, common.re, from, other.re, slow_end);
  return {re, Join(b, common.im, from, other.im, slow_end)};
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

// |x| of c128: parts that would overflow or vanish when they are squared are scaled first.
V AbsOfDoubles(ElementEmitter& e, const Element& x) {
  MathBuilder m(e.builder(), x.re->getType(), e.target().fma);
  V a = m.Abs(x.re), b = m.Abs(x.im);
  V larger = m.Select(m.Gt(a, b), a, b);
  V large = m.Gt(larger, m.F(0x1p500)), small = m.Lt(larger, m.F(0x1p-400));
  const auto choose = [&](double if_large, double if_small) {
    return m.Select(large, m.F(if_large), m.Select(small, m.F(if_small), m.F(1)));
  };
  V scale = choose(0x1p-600, 0x1p600);
  V u = m.Mul(a, scale), v = m.Mul(b, scale);
  V size = m.Mul(m.Sqrt(m.Fma(u, u, m.Mul(v, v))), choose(0x1p600, 0x1p-600));
  // An infinite part decides even beside NaN.
  V infinite = e.builder().CreateOr(m.Eq(a, m.F(m.inf())), m.Eq(b, m.F(m.inf())));
  return m.Select(infinite, m.F(m.inf()), size);
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
    V size = EmitRootForFloats(MathBuilder(b, d, e.target().fma, e.target().masked_memory),
                               b.CreateFAdd(b.CreateFMul(re, re), b.CreateFMul(im, im)));
    V inf = llvm::ConstantFP::getInfinity(f);
    auto infinite = [&](V v) { return b.CreateFCmpOEQ(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v), inf); };
    V any = b.CreateOr(infinite(x[0].re), infinite(x[0].im));
    return {b.CreateSelect(any, inf, b.CreateFPTrunc(size, f))};
  }
  if (op == HloOpcode::kAbs) return {AbsOfDoubles(e, x[0])};
  const Row* row = FindRow(op);
  if (row == nullptr) return {};
  return CallFunction(e, *row, x);
}

}  // namespace xc::codegen
