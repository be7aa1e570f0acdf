#include "backends/gpu/kernel_function.h"

#include <algorithm>

#include "hlo/base/status.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace xc::gpu {
namespace {

llvm::Function* Create(llvm::Module& module, const std::string& name, size_t parameters) {
  llvm::LLVMContext& context = module.getContext();
  std::vector<llvm::Type*> types(parameters, llvm::PointerType::get(context, kGlobalMemory));
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false);
  return llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
}

}  // namespace

KernelFunction::KernelFunction(llvm::Module& module, const std::string& name, const std::vector<Parameter>& parameters,
                               const codegen::CodegenTarget& target)
    : builder_(module.getContext()), function_(Create(module, name, parameters.size())), element_(builder_, target) {
  code_.name = name;
  function_->setDoesNotThrow();
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].shared) function_->addParamAttr(i, llvm::Attribute::NoAlias);
    if (!parameters[i].written) function_->addParamAttr(i, llvm::Attribute::ReadOnly);
    if (parameters[i].aligned) {
      function_->addParamAttr(i, llvm::Attribute::getWithAlignment(module.getContext(), llvm::Align(kVectorBytes)));
    }
  }
  builder_.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function_));
}

absl::Status KernelFunction::If(V condition, const std::function<absl::Status()>& body) {
  auto* then = llvm::BasicBlock::Create(builder_.getContext(), "then", function_);
  auto* next = llvm::BasicBlock::Create(builder_.getContext(), "next", function_);
  builder_.CreateCondBr(condition, then, next);
  builder_.SetInsertPoint(then);
  XC_RETURN_IF_ERROR(body());
  builder_.CreateBr(next);
  builder_.SetInsertPoint(next);
  return absl::OkStatus();
}

KernelFunction::V KernelFunction::Thread() {
  V thread = builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {}, {});
  return builder_.CreateZExt(thread, builder_.getIntNTy(element_.target().index_bits));
}

void KernelFunction::Barrier() { builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {}); }

KernelFunction::V KernelFunction::SharedMemory(llvm::Type* element, int64_t count) {
  constexpr unsigned kSharedMemory = 3;  // NVPTX's address space
  auto* type = llvm::ArrayType::get(element, count);
  auto* memory = new llvm::GlobalVariable(
      *function_->getParent(), type, /*isConstant=*/false, llvm::GlobalValue::InternalLinkage,
      llvm::UndefValue::get(type), code_.name + "_shared", nullptr, llvm::GlobalValue::NotThreadLocal, kSharedMemory);
  memory->setAlignment(llvm::Align(kVectorBytes));
  return memory;
}

void KernelFunction::WarpBarrier() {
  builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_bar_warp_sync, {}, {builder_.getInt32(-1)});
}

absl::Status KernelFunction::ForEachBlock(int64_t count, int threads, const std::function<absl::Status(V)>& body) {
  code_.threads = threads;
  code_.blocks = count;
  V block = builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, {}, {});
  return body(builder_.CreateZExt(block, builder_.getIntNTy(element_.target().index_bits)));
}

absl::Status KernelFunction::ForEach(const std::vector<Region>& regions) {
  int64_t most = 1;
  int size = 0;
  for (const Region& region : regions) {
    most = std::max(most, region.count);
    size = std::max(size, region.block);
  }
  code_.threads = size > 0 ? size : static_cast<int>(std::min<int64_t>(kThreads, (most + 31) / 32 * 32));
  llvm::Type* type = builder_.getIntNTy(element_.target().index_bits);
  V block = builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, {}, {});
  V first = builder_.CreateMul(builder_.CreateZExt(block, type), Index(code_.threads), "", true, true);
  V number = builder_.CreateAdd(first, Thread(), "", true, true);
  int64_t begin = 0;
  for (const Region& region : regions) {
    V own = begin == 0 ? number : builder_.CreateSub(number, Index(begin));
    XC_RETURN_IF_ERROR(If(builder_.CreateICmpULT(own, Index(region.count)), [&] { return region.body(own); }));
    begin += (region.count + code_.threads - 1) / code_.threads * code_.threads;
  }
  code_.blocks = begin / code_.threads;
  return absl::OkStatus();
}

KernelCode KernelFunction::Finish() {
  builder_.CreateRetVoid();
  llvm::LLVMContext& context = builder_.getContext();
  llvm::NamedMDNode* annotations = function_->getParent()->getOrInsertNamedMetadata("nvvm.annotations");
  const auto annotate = [&](const char* what, int value) {
    annotations->addOperand(
        llvm::MDNode::get(context, {llvm::ValueAsMetadata::get(function_), llvm::MDString::get(context, what),
                                    llvm::ConstantAsMetadata::get(builder_.getInt32(value))}));
  };
  annotate("kernel", 1);
  annotate("maxntidx", code_.threads);
  return code_;
}

codegen::Index PositionOf(const std::vector<int64_t>& dims, llvm::Value* linear) {
  codegen::Index position;
  if (dims.empty()) return position;
  position.linear = codegen::Term{linear, 0, nullptr, false};
  position.sizes = dims;
  position.order = Layout::Descending(dims.size()).minor_to_major;
  return position;
}

}  // namespace xc::gpu
