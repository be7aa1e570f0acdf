#include "backends/codegen/rare.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"

namespace xc::codegen {

llvm::Value* EmitUnlessRare(llvm::IRBuilderBase& b, llvm::Value* rare, llvm::Value* common,
                            absl::FunctionRef<llvm::Value*()> other) {
  llvm::Function* function = b.GetInsertBlock()->getParent();
  llvm::BasicBlock* before = b.GetInsertBlock();
  auto* branch = llvm::BasicBlock::Create(b.getContext(), "rare", function);
  auto* after = llvm::BasicBlock::Create(b.getContext(), "rare.done", function);
  b.CreateCondBr(rare, branch, after, llvm::MDBuilder(b.getContext()).createUnlikelyBranchWeights());
  b.SetInsertPoint(branch);
  llvm::Value* value = other();
  llvm::BasicBlock* end = b.GetInsertBlock();
  b.CreateBr(after);
  b.SetInsertPoint(after);
  llvm::PHINode* result = b.CreatePHI(common->getType(), 2);
  result->addIncoming(common, before);
  result->addIncoming(value, end);
  return result;
}

}  // namespace xc::codegen
