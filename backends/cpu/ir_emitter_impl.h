// The emitter's state that needs LLVM's headers.
#ifndef XC_BACKENDS_CPU_IR_EMITTER_IMPL_H_
#define XC_BACKENDS_CPU_IR_EMITTER_IMPL_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "backends/codegen/fused_emitter.h"
#include "backends/cpu/ir_emitter.h"
#include "backends/program/executable.h"
#include "backends/program/profile_sites.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace xc::cpu {

// One function under construction.
struct IrEmitter::FunctionScope {
  FunctionScope(CodeModule* code, const std::string& name, llvm::FunctionType* type, bool exported)
      : code(code), builder(code->context()) {
    function = llvm::Function::Create(
        type, exported ? llvm::Function::ExternalLinkage : llvm::Function::InternalLinkage, name, code->module());
    function->setDoesNotThrow();
    entry = llvm::BasicBlock::Create(code->context(), "entry", function);
    // Pointers that many instructions use are loaded once, in the entry block before its jump to the body.
    auto* body = llvm::BasicBlock::Create(code->context(), "body", function);
    builder.SetInsertPoint(entry);
    jump = builder.CreateBr(body);
    builder.SetInsertPoint(body);
  }
  CodeModule* code;
  llvm::IRBuilder<> builder;
  llvm::Function* function;
  llvm::BasicBlock* entry;
  llvm::BranchInst* jump;
  llvm::BasicBlock* failure = nullptr;  // returns 1
  std::map<std::pair<int, int64_t>, llvm::Value*> bases;
};

// A kernel that a runtime function calls for pieces of its iterations, as the epilogue of a convolution.
// `body` is void body(ptr env, i64 begin, i64 end).
struct KernelParts {
  llvm::Value *body = nullptr, *env = nullptr;
  int64_t work = 0, grain = 1, piece = 1;
};

struct IrEmitter::Impl {
  FunctionScope* scope = nullptr;
  KernelParts* parts = nullptr;  // not null: the kernel that is written is not called, but described here
  absl::flat_hash_map<int64_t, std::string> kernels;  // Kernel::code to name, of those that are functions of their own
  int64_t next_name = 0;
  int kernel_module = -1;  // of `modules`: the one that takes kernels now
  int kernels_in_module = 0;
  int64_t kernel_module_size = 0;  // LLVM instructions
  std::vector<std::unique_ptr<CodeModule>> modules;
  std::unique_ptr<codegen::FunctionModules> functions;
  std::unique_ptr<ProfileSites> sites;  // null: nobody asks where the time goes
  int loops = 0;                        // around what is being written
  int32_t iteration_site = -1;          // of the loop being written, if its iterations are counted

  llvm::IRBuilder<>& b() { return scope->builder; }
};

}  // namespace xc::cpu

#endif  // XC_BACKENDS_CPU_IR_EMITTER_IMPL_H_
