#include "backends/codegen/test_loop.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace xc::codegen {

void AddLoopFunction(llvm::Module& module, const std::string& name, int64_t step,
                     absl::FunctionRef<void(llvm::IRBuilderBase& b, llvm::Function* f, llvm::Value* i)> body) {
  llvm::IRBuilder<> b(module.getContext());
  llvm::Type* p = b.getPtrTy();
  auto* f = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), {p, p, p, b.getInt64Ty()}, false),
                                   llvm::Function::ExternalLinkage, name, module);
  auto block = [&] { return llvm::BasicBlock::Create(module.getContext(), "", f); };
  llvm::BasicBlock *entry = block(), *loop = block(), *done = block();
  b.SetInsertPoint(entry);
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  auto* i = b.CreatePHI(b.getInt64Ty(), 2);
  i->addIncoming(b.getInt64(0), entry);
  body(b, f, i);
  llvm::Value* next = b.CreateAdd(i, b.getInt64(step));
  i->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpSLT(next, f->getArg(3)), loop, done);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
}

}  // namespace xc::codegen
