// One function per math op and type in each module, and the C library's functions behind the rare cases.
#include "backends/codegen/math.h"

#include <string>

#include "backends/codegen/math_builder.h"
#include "backends/codegen/rare.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"

namespace xc::codegen {
namespace {

using V = llvm::Value*;

struct Row {
  MathOp op;
  const char* name;
  bool inlined;  // small enough to be inlined where it is used
};

const Row kRows[] = {
    {MathOp::kExp, "exp", true},      {MathOp::kExpm1, "expm1", false}, {MathOp::kLog, "log", true},
    {MathOp::kLog1p, "log1p", false}, {MathOp::kTanh, "tanh", true},    {MathOp::kLogistic, "logistic", true},
    {MathOp::kErf, "erf", true},      {MathOp::kSin, "sin", false},     {MathOp::kCos, "cos", false},
    {MathOp::kTan, "tan", false},     {MathOp::kSqrt, "sqrt", true},    {MathOp::kRsqrt, "rsqrt", true},
    {MathOp::kCbrt, "cbrt", false},   {MathOp::kSinh, "sinh", false},   {MathOp::kCosh, "cosh", false},
    {MathOp::kAsinh, "asinh", false}, {MathOp::kAcosh, "acosh", false}, {MathOp::kAtanh, "atanh", false},
    {MathOp::kAsin, "asin", false},   {MathOp::kAcos, "acos", false},   {MathOp::kAtan, "atan", false},
    {MathOp::kPow, "pow", false},     {MathOp::kAtan2, "atan2", false}, {MathOp::kFmod, "fmod", false},
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

V EmitMathCall(llvm::IRBuilderBase& b, MathOp op, V x, V y) {
  MathBuilder m(b, x->getType(), /*fma=*/false);
  return EmitLibraryCalls(m, op, x, y);
}

V EmitRareCalls(MathBuilder& m, MathOp op, V x, V y, V rare, V common) {
  llvm::IRBuilderBase& b = m.b;
  V any = m.lanes == 0 ? rare : b.CreateOrReduce(rare);
  return EmitUnlessRare(b, any, common, [&] { return m.Select(rare, EmitLibraryCalls(m, op, x, y), common); });
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
    if (z == nullptr && v == nullptr) z = EmitHyperbolic(m, op, u);
    if (z == nullptr) z = EmitTrigonometric(m, op, u, v);
    if (z == nullptr) z = EmitPower(m, op, u, v);
    if (z == nullptr) z = EmitLibraryCalls(m, op, u, v);
    body.CreateRet(z);
  }
  return y == nullptr ? b.CreateCall(function, {x}) : b.CreateCall(function, {x, y});
}

}  // namespace xc::codegen
