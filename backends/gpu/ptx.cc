#include "backends/gpu/ptx.h"

#include <mutex>

#include "absl/strings/str_cat.h"
#include "backends/codegen/diagnostics.h"
#include "hlo/base/status.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace xc::gpu {
namespace {

constexpr char kTriple[] = "nvptx64-nvidia-cuda";

void InitializeNvptx() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> MakeMachine(const Target& target) {
  InitializeNvptx();
  std::string error;
  const llvm::Target* llvm_target = llvm::TargetRegistry::lookupTarget(kTriple, error);
  if (llvm_target == nullptr) return absl::UnimplementedError(absl::StrCat("LLVM has no code for GPUs: ", error));
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  options.UnsafeFPMath = false;
  std::unique_ptr<llvm::TargetMachine> machine(
      llvm_target->createTargetMachine(kTriple, target.name, target.features, options, llvm::Reloc::PIC_,
                                       llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default, false));
  if (machine == nullptr) return absl::InternalError(absl::StrCat("LLVM has no machine for ", target.name));
  return machine;
}

// The short list: the emitters write what they know, so there is no vectorizer, unroller or GVN.
void RunPasses(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager calls;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(calls);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, calls, modules);
  llvm::FunctionPassManager list;
  list.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  list.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/false));
  list.addPass(llvm::SimplifyCFGPass());
  llvm::InstCombineOptions combine;
  combine.setMaxIterations(1);
  list.addPass(llvm::InstCombinePass(combine));
  list.addPass(llvm::createFunctionToLoopPassAdaptor(
      llvm::LICMPass(llvm::LICMOptions(/*MssaOptCap=*/100, /*MssaNoAccForPromotionCap=*/250,
                                       /*AllowSpeculation=*/true)),
      /*UseMemorySSA=*/true));
  list.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  list.addPass(llvm::SimplifyCFGPass());
  llvm::ModulePassManager all;
  all.addPass(llvm::AlwaysInlinerPass(/*InsertLifetimeIntrinsics=*/false));
  all.addPass(llvm::GlobalDCEPass());
  all.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(list)));
  all.run(module, modules);
}

}  // namespace

struct PtxModule::Impl {
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  std::string errors;
};

PtxModule::PtxModule(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PtxModule::~PtxModule() = default;
llvm::LLVMContext& PtxModule::context() { return *impl_->context; }
llvm::Module& PtxModule::module() { return *impl_->module; }

absl::StatusOr<std::unique_ptr<PtxModule>> PtxModule::Make(const std::string& name, const Target& target) {
  auto impl = std::make_unique<Impl>();
  XC_ASSIGN_OR_RETURN(impl->machine, MakeMachine(target));
  impl->context = std::make_unique<llvm::LLVMContext>();
  impl->context->setDiagnosticHandler(codegen::CollectErrors(&impl->errors));
  impl->module = std::make_unique<llvm::Module>(name, *impl->context);
  impl->module->setTargetTriple(kTriple);
  impl->module->setDataLayout(impl->machine->createDataLayout());
  return std::unique_ptr<PtxModule>(new PtxModule(std::move(impl)));
}

absl::StatusOr<std::string> PtxModule::Compile(std::string* ir) {
  llvm::Module& module = *impl_->module;
  if (ir != nullptr) {
    llvm::raw_string_ostream stream(*ir);
    module.print(stream, nullptr);
  }
  std::string broken;
  llvm::raw_string_ostream broken_stream(broken);
  if (llvm::verifyModule(module, &broken_stream)) {
    return absl::InternalError(absl::StrCat("module ", module.getName().str(), " is not valid LLVM code: ", broken));
  }
  RunPasses(module, *impl_->machine);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (impl_->machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile,
                                          /*DisableVerify=*/true)) {
    return absl::InternalError("LLVM writes no PTX");
  }
  passes.run(module);
  if (!impl_->errors.empty()) {
    return absl::InternalError(absl::StrCat("module ", module.getName().str(), ": ", impl_->errors));
  }
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace xc::gpu
