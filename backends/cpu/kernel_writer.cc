// Kernel functions.
#include "backends/cpu/kernel_writer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "backends/cpu/code_form.h"
#include "hlo/base/choices.h"
#include "hlo/base/status.h"

namespace xc::cpu {
namespace {

using V = llvm::Value*;

// Kernels per LLVM module, and the LLVM instructions from which it takes no more: a module is compiled in one piece.
constexpr int kKernelsPerModule = 12;
constexpr int64_t kModuleSize = 6000;
// Scalar operations up to which a kernel stands where it is called.
constexpr int64_t kSmallCost = 256;
// Scalar operations from which a second thread pays, and in one piece of work.
constexpr int64_t kParallelCost = 200000;
constexpr int64_t kPieceCost = 60000;

}  // namespace

KernelWriter::KernelWriter(IrEmitter* emitter, IrEmitter::Impl* impl, const Target& target, const plan::Kernel& kernel)
    : emitter_(emitter), impl_(impl), target_(target), kernel_(kernel) {
  for (const plan::Argument& argument : kernel.arguments) pointers_.push_back(emitter->Pointer(argument.slice));
  if (ForAllSizes()) pointers_.push_back(emitter->Sizes());
}

void KernelWriter::Bind(codegen::FusedEmitter& fused) {
  for (const auto& [leaf, i] : kernel_.inputs) fused.BindMemory(leaf, argument(i));
  for (const auto& [parameter, constant] : kernel_.scalars) fused.BindAlias(parameter, constant);
}

absl::Status KernelWriter::Write(int64_t work, int64_t grain, const std::function<absl::Status(V, V)>& body) {
  IrEmitter::FunctionScope* caller = impl_->scope;
  const bool small = ChooseSafe(kernel_.cost.constant() <= kSmallCost);
  if (auto it = impl_->kernels.find(kernel_.code); it != impl_->kernels.end()) {
    Call(nullptr, nullptr, it->second, work, grain, small);
    return absl::OkStatus();
  }
  const std::string name = absl::StrCat(kKernelPrefix, impl_->next_name++);
  CodeModule* code;
  if (small) {
    code = caller->code;
  } else {
    if (impl_->kernel_module < 0 || impl_->kernels_in_module == kKernelsPerModule ||
        impl_->kernel_module_size > kModuleSize) {
      impl_->modules.push_back(std::make_unique<CodeModule>(absl::StrCat(name, ".module"), target_));
      impl_->kernel_module = impl_->modules.size() - 1;
      impl_->kernels_in_module = 0;
      impl_->kernel_module_size = 0;
    }
    code = impl_->modules[impl_->kernel_module].get();
    ++impl_->kernels_in_module;
  }
  llvm::LLVMContext& context = code->context();
  llvm::Type* p = llvm::PointerType::get(context, 0);
  llvm::Type* i64 = llvm::Type::getInt64Ty(context);
  std::vector<llvm::Type*> types(pointers_.size(), p);
  types.push_back(i64);
  types.push_back(i64);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false);
  IrEmitter::FunctionScope scope(code, name, type, /*exported=*/!small);
  if (small) scope.function->addFnAttr(llvm::Attribute::AlwaysInline);
  if (ForAllSizes()) {
    scope.function->getArg(pointers_.size() - 1)->setName(kSizesName);
    scope.function->addParamAttr(pointers_.size() - 1, llvm::Attribute::NoAlias);
    scope.function->addParamAttr(pointers_.size() - 1, llvm::Attribute::ReadOnly);
  }
  for (size_t i = 0; i < kernel_.arguments.size(); ++i) {
    if (!kernel_.arguments[i].shared) scope.function->addParamAttr(i, llvm::Attribute::NoAlias);
    if (!kernel_.arguments[i].written) scope.function->addParamAttr(i, llvm::Attribute::ReadOnly);
  }
  scope_ = &scope;
  impl_->scope = &scope;
  // A small kernel does all of its work in one call, in loops whose ends are known.
  V begin = small ? static_cast<V>(llvm::ConstantInt::get(i64, 0)) : scope.function->getArg(pointers_.size());
  V end = small ? static_cast<V>(llvm::ConstantInt::get(i64, work)) : scope.function->getArg(pointers_.size() + 1);
  absl::Status status = body(begin, end);
  scope.builder.CreateRetVoid();
  impl_->scope = caller;
  XC_RETURN_IF_ERROR(status);
  if (!small) impl_->kernel_module_size += scope.function->getInstructionCount();
  if (!small) impl_->kernels[kernel_.code] = name;
  Call(code, scope.function, name, work, grain, small);
  return absl::OkStatus();
}

llvm::Function* KernelWriter::WriteParallelEntry(llvm::Module& module, llvm::FunctionCallee kernel,
                                                 const std::string& name, bool exported) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* p = llvm::PointerType::get(context, 0);
  llvm::Type* i64 = llvm::Type::getInt64Ty(context);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {p, i64, i64}, false);
  auto* thunk = llvm::Function::Create(
      type, exported ? llvm::Function::ExternalLinkage : llvm::Function::InternalLinkage, name, module);
  llvm::IRBuilder<> t(llvm::BasicBlock::Create(context, "", thunk));
  std::vector<V> arguments;
  for (size_t i = 0; i < pointers_.size(); ++i) {
    arguments.push_back(t.CreateLoad(p, t.CreateConstGEP1_64(p, thunk->getArg(0), i)));
  }
  arguments.push_back(thunk->getArg(1));
  arguments.push_back(thunk->getArg(2));
  t.CreateCall(kernel, arguments);
  t.CreateRetVoid();
  return thunk;
}

void KernelWriter::Call(CodeModule* code, llvm::Function* kernel, const std::string& name, int64_t work, int64_t grain,
                        bool small) {
  const int64_t cost = kernel_.cost.constant();
  auto& b = impl_->b();
  IrEmitter::FunctionScope& caller = *impl_->scope;
  std::vector<llvm::Type*> types(pointers_.size(), b.getPtrTy());
  types.push_back(b.getInt64Ty());
  types.push_back(b.getInt64Ty());
  auto* type = llvm::FunctionType::get(b.getVoidTy(), types, false);
  const int64_t pieces = cost < kParallelCost ? 1 : std::max<int64_t>(1, cost / kPieceCost);
  const int64_t piece = std::max<int64_t>(grain, (work / pieces + grain - 1) / grain * grain);
  const bool parallel_call = (ForAllSizes() && !small) || (cost >= kParallelCost && work > grain);
  const std::string parallel = absl::StrCat(name, ".p");
  if (code != nullptr && parallel_call) WriteParallelEntry(code->module(), kernel, parallel, /*exported=*/true);
  if (impl_->parts != nullptr) {
    // An entry of its own: that for parallel loops is there only for kernels that are worth them.
    llvm::Module& module = caller.code->module();
    const std::string entry = absl::StrCat(name, ".then");
    llvm::Function* body = module.getFunction(entry);
    if (body == nullptr) {
      body = WriteParallelEntry(module, module.getOrInsertFunction(name, type), entry, /*exported=*/false);
    }
    *impl_->parts = {body, emitter_->PointerArray(pointers_), work, grain, piece};
    return;
  }
  if (parallel_call) {
    auto* here = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getInt64Ty(), b.getInt64Ty()}, false);
    V function = caller.code->module().getOrInsertFunction(parallel, here).getCallee();
    emitter_->CallRuntime("xc_rt_parallel_for", {emitter_->run_context(), function, emitter_->PointerArray(pointers_),
                                                 b.getInt64(work), b.getInt64(piece)});
    return;
  }
  std::vector<V> arguments = pointers_;
  arguments.push_back(b.getInt64(0));
  arguments.push_back(b.getInt64(work));
  b.CreateCall(caller.code->module().getOrInsertFunction(name, type), arguments);
}

}  // namespace xc::cpu
