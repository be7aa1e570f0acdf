// Alias scopes of memory blocks.
#include "backends/cpu/memory_scopes.h"

#include "backends/cpu/abandoned.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/MDBuilder.h"

namespace xc::cpu {
namespace {

constexpr char kMark[] = "xc.base";
// The lists of scopes grow with the square of the blocks.
constexpr size_t kMaxBlocks = 64;

}  // namespace

void MarkBase(llvm::Instruction* load) { load->setMetadata(kMark, llvm::MDNode::get(load->getContext(), {})); }

void AddMemoryScopes(llvm::Function& function) {
  Abandoned<llvm::MapVector<const llvm::Value*, std::vector<llvm::Instruction*>>> by_block;
  auto& accesses = *by_block;
  for (llvm::Instruction& i : llvm::instructions(function)) {
    if (i.hasMetadata(kMark)) accesses[&i];
    const llvm::Value* address = llvm::getLoadStorePointerOperand(&i);
    if (address == nullptr) continue;
    auto* base = llvm::dyn_cast<llvm::Instruction>(llvm::getUnderlyingObject(address, /*MaxLookup=*/0));
    if (base != nullptr && base->hasMetadata(kMark)) accesses[base].push_back(&i);
  }
  if (accesses.size() < 2 || accesses.size() > kMaxBlocks) return;
  llvm::MDBuilder builder(function.getContext());
  llvm::MDNode* domain = builder.createAnonymousAliasScopeDomain("memory");
  std::vector<llvm::Metadata*> scopes;
  for (size_t k = 0; k < accesses.size(); ++k) scopes.push_back(builder.createAnonymousAliasScope(domain));
  size_t own = 0;
  for (auto& [base, list] : accesses) {
    std::vector<llvm::Metadata*> others = scopes;
    others.erase(others.begin() + own);
    auto add = [&](llvm::Instruction* i, unsigned kind, llvm::ArrayRef<llvm::Metadata*> nodes) {
      i->setMetadata(kind, llvm::MDNode::concatenate(i->getMetadata(kind), llvm::MDNode::get(i->getContext(), nodes)));
    };
    for (llvm::Instruction* i : list) {
      add(i, llvm::LLVMContext::MD_alias_scope, scopes[own]);
      add(i, llvm::LLVMContext::MD_noalias, others);
    }
    ++own;
  }
}

}  // namespace xc::cpu
