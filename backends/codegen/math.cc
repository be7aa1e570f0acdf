// One function per math op and type in each module, and the C library's functions behind the rare cases.
#include "backends/codegen/math.h"

#include <cmath>
#include <string>

#include "backends/codegen/math_builder.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"

namespace xc::codegen {
namespace {

using V = llvm::Value*;

struct Row {
  MathOp op;
  const char* name;
  double (*unary)(double);
  double (*binary)(double, double);
  bool inlined;  // small enough to be inlined where it is used
};

double Logistic(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
// glibc's double versions of these are off by more than 2 ulp in places.
double Acosh(double x) { return static_cast<double>(std::acosh(static_cast<long double>(x))); }
double Cbrt(double x) { return static_cast<double>(std::cbrt(static_cast<long double>(x))); }
double Rsqrt(double x) { return 1 / std::sqrt(x); }

const Row kRows[] = {
    {MathOp::kExp, "exp", std::exp, nullptr, true},        {MathOp::kExpm1, "expm1", std::expm1, nullptr, false},
    {MathOp::kLog, "log", std::log, nullptr, true},        {MathOp::kLog1p, "log1p", std::log1p, nullptr, false},
    {MathOp::kTanh, "tanh", std::tanh, nullptr, true},     {MathOp::kLogistic, "logistic", Logistic, nullptr, true},
    {MathOp::kErf, "erf", std::erf, nullptr, true},        {MathOp::kSin, "sin", std::sin, nullptr, false},
    {MathOp::kCos, "cos", std::cos, nullptr, false},       {MathOp::kTan, "tan", std::tan, nullptr, false},
    {MathOp::kSqrt, "sqrt", std::sqrt, nullptr, true},     {MathOp::kRsqrt, "rsqrt", Rsqrt, nullptr, true},
    {MathOp::kCbrt, "cbrt", Cbrt, nullptr, false},         {MathOp::kSinh, "sinh", std::sinh, nullptr, false},
    {MathOp::kCosh, "cosh", std::cosh, nullptr, false},    {MathOp::kAsinh, "asinh", std::asinh, nullptr, false},
    {MathOp::kAcosh, "acosh", Acosh, nullptr, false},      {MathOp::kAtanh, "atanh", std::atanh, nullptr, false},
    {MathOp::kAsin, "asin", std::asin, nullptr, false},    {MathOp::kAcos, "acos", std::acos, nullptr, false},
    {MathOp::kAtan, "atan", std::atan, nullptr, false},    {MathOp::kPow, "pow", nullptr, std::pow, false},
    {MathOp::kAtan2, "atan2", nullptr, std::atan2, false}, {MathOp::kFmod, "fmod", nullptr, std::fmod, false},
};

const Row& RowOf(MathOp op) { return kRows[static_cast<int>(op)]; }
std::string SymbolOf(MathOp op) { return std::string("xc_math_") + RowOf(op).name; }

}  // namespace

// A loop over lanes: vectors live in memory meanwhile, so that the code does not grow with the width.
V EmitLibraryCalls(MathBuilder& m, MathOp op, V x, V y) {
  llvm::IRBuilderBase& b = m.b;
  llvm::Module* module = b.GetInsertBlock()->getModule();
  llvm::Type* d = b.getDoubleTy();
  std::vector<llvm::Type*> types(y == nullptr ? 1 : 2, d);
  llvm::FunctionCallee callee = module->getOrInsertFunction(SymbolOf(op), llvm::FunctionType::get(d, types, false));
  auto* library = llvm::cast<llvm::Function>(callee.getCallee());
  library->setDoesNotThrow();
  library->setDoesNotAccessMemory();
  library->addFnAttr(llvm::Attribute::WillReturn);
  llvm::Type* scalar = m.type->getScalarType();
  auto call = [&](V u, V v) -> V {
    if (u->getType() != d) u = b.CreateFPExt(u, d);
    if (v != nullptr && v->getType() != d) v = b.CreateFPExt(v, d);
    V z = v == nullptr ? b.CreateCall(callee, {u}) : b.CreateCall(callee, {u, v});
    return scalar == d ? z : b.CreateFPTrunc(z, scalar);
  };
  if (m.lanes == 0) return call(x, y);
  llvm::Function* function = b.GetInsertBlock()->getParent();
  auto slot = [&](V value) {
    llvm::IRBuilder<> head(&function->getEntryBlock(), function->getEntryBlock().begin());
    V place = head.CreateAlloca(m.type);
    b.CreateStore(value, place);
    return place;
  };
  V in = slot(x), in2 = y == nullptr ? nullptr : slot(y), out = slot(x);
  llvm::BasicBlock* before = b.GetInsertBlock();
  auto* loop = llvm::BasicBlock::Create(b.getContext(), "lane", function);
  auto* done = llvm::BasicBlock::Create(b.getContext(), "lanes.done", function);
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  llvm::PHINode* i = b.CreatePHI(b.getInt64Ty(), 2);
  i->addIncoming(b.getInt64(0), before);
  auto load = [&](V place) { return b.CreateLoad(scalar, b.CreateGEP(scalar, place, i)); };
  b.CreateStore(call(load(in), in2 == nullptr ? nullptr : load(in2)), b.CreateGEP(scalar, out, i));
  V next = b.CreateAdd(i, b.getInt64(1));
  i->addIncoming(next, loop);
  b.CreateCondBr(b.CreateICmpULT(next, b.getInt64(m.lanes)), loop, done);
  b.SetInsertPoint(done);
  return b.CreateLoad(m.type, out);
}

V EmitRareCalls(MathBuilder& m, MathOp op, V x, V y, V rare, V common) {
  llvm::IRBuilderBase& b = m.b;
  V any = m.lanes == 0 ? rare : b.CreateOrReduce(rare);
  llvm::Function* function = b.GetInsertBlock()->getParent();
  llvm::BasicBlock* from = b.GetInsertBlock();
  auto* slow = llvm::BasicBlock::Create(b.getContext(), "rare", function);
  auto* done = llvm::BasicBlock::Create(b.getContext(), "done", function);
  b.CreateCondBr(any, slow, done);
  b.SetInsertPoint(slow);
  V other = m.Select(rare, EmitLibraryCalls(m, op, x, y), common);
  llvm::BasicBlock* slow_end = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(done);
  llvm::PHINode* phi = b.CreatePHI(m.type, 2);
  phi->addIncoming(common, from);
  phi->addIncoming(other, slow_end);
  return phi;
}

V EmitMath(llvm::IRBuilderBase& b, MathOp op, bool fma, V x, V y) {
  llvm::Type* type = x->getType();
  MathBuilder shape(b, type, fma);
  if (op == MathOp::kSqrt) return shape.Sqrt(x);
  llvm::Module* module = b.GetInsertBlock()->getModule();
  const std::string name =
      std::string("xc.") + RowOf(op).name + (shape.is_double() ? ".f64x" : ".f32x") + std::to_string(shape.lanes);
  llvm::Function* function = module->getFunction(name);
  if (function == nullptr) {
    std::vector<llvm::Type*> types(y == nullptr ? 1 : 2, type);
    function = llvm::Function::Create(llvm::FunctionType::get(type, types, false), llvm::Function::InternalLinkage,
                                      name, module);
    function->setDoesNotThrow();
    function->setDoesNotAccessMemory();
    function->addFnAttr(llvm::Attribute::WillReturn);
    function->addFnAttr(RowOf(op).inlined ? llvm::Attribute::AlwaysInline : llvm::Attribute::NoInline);
    llvm::IRBuilder<> body(llvm::BasicBlock::Create(b.getContext(), "", function));
    MathBuilder m(body, type, fma);
    V u = function->getArg(0), v = y == nullptr ? nullptr : function->getArg(1);
    V z = v == nullptr ? EmitExponential(m, op, u) : nullptr;
    if (z == nullptr) z = EmitTrigonometric(m, op, u, v);
    if (z == nullptr) z = EmitPower(m, op, u, v);
    if (z == nullptr) z = EmitLibraryCalls(m, op, u, v);
    body.CreateRet(z);
  }
  return y == nullptr ? b.CreateCall(function, {x}) : b.CreateCall(function, {x, y});
}

const std::vector<MathSymbol>& MathSymbols() {
  static const std::vector<MathSymbol>* symbols = [] {
    static std::vector<std::string> names;
    auto* list = new std::vector<MathSymbol>;
    names.reserve(std::size(kRows));
    for (const Row& row : kRows) {
      names.push_back(SymbolOf(row.op));
      list->push_back({names.back().c_str(), row.unary != nullptr ? reinterpret_cast<void*>(row.unary)
                                                                  : reinterpret_cast<void*>(row.binary)});
    }
    return list;
  }();
  return *symbols;
}

}  // namespace xc::codegen
