// Pass list, code generation and JITLink, all behind jit.h. Where memory runs out inside of LLVM,
// std::bad_alloc leaves it, and what it was at work on is given up (abandoned.h).
#include "backends/cpu/jit.h"

#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "backends/codegen/diagnostics.h"
#include "backends/cpu/abandoned.h"
#include "backends/cpu/llvm_set_up.h"
#include "backends/cpu/memory_scopes.h"
#include "backends/runtime/build_id.h"
#include "hlo/base/cancel.h"
#include "hlo/base/exceptions.h"
#include "hlo/base/status.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/ExecutionEngine/Orc/Core.h"
#include "llvm/ExecutionEngine/Orc/ExecutorProcessControl.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/LCSSA.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"

namespace xc::cpu {
namespace {

constexpr char kTriple[] = "x86_64-unknown-linux-gnu";

std::string Message(llvm::Error error) { return llvm::toString(std::move(error)); }

std::unique_ptr<llvm::TargetMachine> MakeMachine(const Target& target, CodeLevel level) {
  std::string error;
  const llvm::Target* llvm_target = llvm::TargetRegistry::lookupTarget(kTriple, error);
  if (llvm_target == nullptr) return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  options.UnsafeFPMath = false;
  options.EnableFastISel = level == CodeLevel::kNone;
  options.TrapUnreachable = false;
  return std::unique_ptr<llvm::TargetMachine>(llvm_target->createTargetMachine(
      kTriple, target.cpu, target.features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      level == CodeLevel::kNone ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default, true));
}

// Works out which memory is apart, once the kernels stand where they are called.
struct MemoryScopesPass : llvm::PassInfoMixin<MemoryScopesPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
    AddMemoryScopes(function);
    return llvm::PreservedAnalyses::all();
  }
};

// The short list: the emitters write vectors and hoist what they know, so there is no vectorizer, unroller or GVN.
void RunPasses(llvm::Module& module, llvm::TargetMachine& machine) {
  Abandoned<llvm::LoopAnalysisManager> loops;
  Abandoned<llvm::FunctionAnalysisManager> functions;
  Abandoned<llvm::CGSCCAnalysisManager> calls;
  Abandoned<llvm::ModuleAnalysisManager> modules;
  Abandoned<llvm::PassBuilder> builder(&machine);
  builder->registerModuleAnalyses(*modules);
  builder->registerCGSCCAnalyses(*calls);
  builder->registerFunctionAnalyses(*functions);
  builder->registerLoopAnalyses(*loops);
  builder->crossRegisterProxies(*loops, *functions, *calls, *modules);

  Abandoned<llvm::FunctionPassManager> owned_list;
  llvm::FunctionPassManager& list = *owned_list;
  list.addPass(MemoryScopesPass());
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
  Abandoned<llvm::ModulePassManager> all;
  all->addPass(llvm::AlwaysInlinerPass(/*InsertLifetimeIntrinsics=*/false));
  all->addPass(llvm::createModuleToFunctionPassAdaptor(std::move(list)));
  all->run(module, *modules);
  // Emptying tables allocates smaller ones, which destructors must not fail at: here, from the inside out.
  loops->clear();
  functions->clear();
  calls->clear();
  modules->clear();
}

std::string Print(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

// The time of LLVM's optimizing code generator grows faster than a basic block: blocks of more instructions, which only
// computations of thousands of scalar operations have, get the fast one, so that no unit of work takes seconds.
constexpr size_t kHugeBlock = 8000;

bool HasHugeBlock(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    for (const llvm::BasicBlock& block : function) {
      if (block.size() > kHugeBlock) return true;
    }
  }
  return false;
}

// Runs the code generator; false if the target cannot write this kind of file.
bool Generate(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type, std::string* out) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  Abandoned<llvm::legacy::PassManager> passes;
  if (machine.addPassesToEmitFile(*passes, stream, nullptr, type, /*DisableVerify=*/true)) return false;
  passes->run(module);
  out->assign(bytes.begin(), bytes.end());
  return true;
}

// What an object costs beside its own bytes, for the cache's budget: the linker's records, pages that it does not fill,
// and about four memory mappings, of which the kernel gives a process 65,530.
constexpr int64_t kObjectOverhead = 128 << 10;

// An ORC session, which one thread uses at a time; never destroyed, since code may run during exit.
struct Session {
  std::mutex mu;        // held by who uses it
  bool broken = false;  // left by an exception: its locks may be locked, so that nobody may use it again
  std::unique_ptr<llvm::orc::ExecutionSession> execution;
  std::unique_ptr<llvm::orc::ObjectLinkingLayer> linker;
  std::string last_report;
  // Libraries of runtime functions, one for each list of them; all programs that use a list share its library.
  std::map<std::vector<Symbol>, llvm::orc::JITDylib*> runtimes;

  absl::StatusOr<llvm::orc::JITDylib*> Runtime(const std::vector<Symbol>& symbols) {
    auto [it, fresh] = runtimes.try_emplace(symbols, nullptr);
    if (!fresh) return it->second;
    Abandoned<llvm::orc::SymbolMap> map;
    for (const Symbol& symbol : symbols) {
      (*map)[execution->intern(symbol.first)] = {llvm::orc::ExecutorAddr::fromPtr(symbol.second),
                                                 llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
    }
    llvm::orc::JITDylib& library = execution->createBareJITDylib(absl::StrCat("runtime.", runtimes.size()));
    if (llvm::Error error = library.define(llvm::orc::absoluteSymbols(std::move(*map)))) {
      runtimes.erase(it);
      return absl::InternalError(absl::StrCat("binding runtime functions: ", Message(std::move(error))));
    }
    return it->second = &library;
  }
};

// The use of a session by this thread.
class SessionUse {
 public:
  explicit SessionUse(Session& session) : SessionUse(session, std::unique_lock<std::mutex>(session.mu)) {}
  SessionUse(Session& session, std::unique_lock<std::mutex> lock) : session_(session), lock_(std::move(lock)) {}
  ~SessionUse() {
    if (std::uncaught_exceptions() > exceptions_) session_.broken = true;
  }
  Session* operator->() const { return &session_; }
  Session& operator*() const { return session_; }

 private:
  Session& session_;
  std::unique_lock<std::mutex> lock_;
  const int exceptions_ = std::uncaught_exceptions();
};

absl::StatusOr<Session*> NewSession() {
  auto control = llvm::orc::SelfExecutorProcessControl::Create();
  if (!control) return absl::InternalError(absl::StrCat("no JIT session: ", Message(control.takeError())));
  auto* session = new Session;
  session->execution = std::make_unique<llvm::orc::ExecutionSession>(std::move(*control));
  // The session reports causes apart from the failed lookup that they explain.
  session->execution->setErrorReporter(
      [session](llvm::Error error) { session->last_report = Message(std::move(error)); });
  session->linker = std::make_unique<llvm::orc::ObjectLinkingLayer>(*session->execution);
  return session;
}

// A session that no thread uses: there are as many as threads that ever linked at once.
absl::StatusOr<std::unique_ptr<SessionUse>> UseSession() {
  static std::mutex mu;
  static auto* const sessions = new std::vector<Session*>;
  std::lock_guard<std::mutex> lock(mu);
  for (Session* session : *sessions) {
    std::unique_lock<std::mutex> use(session->mu, std::try_to_lock);
    if (use.owns_lock() && !session->broken) return std::make_unique<SessionUse>(*session, std::move(use));
  }
  sessions->reserve(sessions->size() + 1);
  XC_ASSIGN_OR_RETURN(Session* const session, NewSession());
  sessions->push_back(session);
  return std::make_unique<SessionUse>(*session);
}

}  // namespace

absl::StatusOr<Target> GetTarget(const std::string& name, bool other_machine) {
  XC_RETURN_IF_ERROR(InitializeLlvm());
  Target target;
  const llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  auto has = [&host](const char* feature) { return host.lookup(feature); };
  const bool host_v2 = has("sse4.2") && has("popcnt") && has("ssse3");
  const bool host_v3 = has("avx2") && has("fma") && has("f16c") && has("bmi2") && has("lzcnt");
  const bool host_v4 = has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl") && has("avx512cd");
  int level = 1;
  if (name.empty() || name == "native") {
    target.cpu = llvm::sys::getHostCPUName().str();
    for (const auto& feature : host) {
      absl::StrAppend(&target.features, target.features.empty() ? "" : ",", feature.second ? "+" : "-",
                      feature.first().str());
    }
    level = host_v4 && host_v3 ? 4 : host_v3 ? 3 : host_v2 ? 2 : 1;
    target.halves = level >= 4 && has("avx512fp16");
  } else if (name == "x86-64-v2" || name == "x86-64-v3" || name == "x86-64-v4") {
    target.cpu = name;
    level = name.back() - '0';
    if (!other_machine && ((level >= 2 && !host_v2) || (level >= 3 && !host_v3) || (level >= 4 && !host_v4))) {
      return absl::FailedPreconditionError(absl::StrCat("this machine cannot run code for ", name));
    }
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown CPU \"", name, "\"; known: native, x86-64-v2, x86-64-v3, x86-64-v4"));
  }
  target.fma = target.avx2 = target.f16c = level >= 3;
  target.avx512 = level >= 4;
  target.vector_bytes = level >= 4 ? 64 : level >= 3 ? 32 : 16;
  // LLVM's tuning prefers 256 bits on some machines; the emitters write 512-bit vectors and want them kept whole.
  if (target.avx512) absl::StrAppend(&target.features, target.features.empty() ? "" : ",", "-prefer-256-bit");
  return target;
}

std::string LlvmVersion() { return LLVM_VERSION_STRING; }

std::string LlvmIdentity() {
  const std::string build = BuildId(reinterpret_cast<const void*>(&LLVMInitializeX86Target));
  return build.empty() ? "" : absl::StrCat("llvm ", LLVM_VERSION_STRING, " ", build);
}

struct CodeModule::Impl {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  std::string errors;
  const int exceptions = std::uncaught_exceptions();
};

CodeModule::CodeModule(const std::string& name, const Target& target) : impl_(std::make_unique<Impl>()) {
  try {
    impl_->context = std::make_unique<llvm::LLVMContext>();
    impl_->context->setDiagnosticHandler(codegen::CollectErrors(&impl_->errors));
    impl_->module = std::make_unique<llvm::Module>(name, *impl_->context);
    impl_->module->setTargetTriple(kTriple);
    impl_->module->setDataLayout("e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128");
    impl_->module->setPICLevel(llvm::PICLevel::BigPIC);
  } catch (...) {
    Abandon();
    throw;
  }
}
CodeModule::CodeModule(CodeModule&&) noexcept = default;
CodeModule& CodeModule::operator=(CodeModule&&) noexcept = default;
CodeModule::~CodeModule() {
  if (impl_ != nullptr && std::uncaught_exceptions() > impl_->exceptions) Abandon();
}
void CodeModule::Abandon() { (void)impl_.release(); }
llvm::LLVMContext& CodeModule::context() { return *impl_->context; }
llvm::Module& CodeModule::module() { return *impl_->module; }

// Lets the functions of this file see a module's collected errors.
class CodeModuleAccess {
 public:
  static std::string& errors(CodeModule& module) { return module.impl_->errors; }
};

struct CompiledCode::Impl {
  Session* session = nullptr;
  llvm::orc::JITDylib* dylib = nullptr;  // of the session
  std::unordered_map<std::string, void*> functions;
  int64_t bytes = 0;
  CodeText text;
};

CompiledCode::CompiledCode() : impl_(std::make_unique<Impl>()) {}
CompiledCode::~CompiledCode() {
  if (impl_->dylib == nullptr) return;
  try {
    const SessionUse session(*impl_->session);
    if (session->broken) return;
    if (llvm::Error error = session->execution->removeJITDylib(*impl_->dylib)) llvm::consumeError(std::move(error));
  } catch (...) {  // out of memory: the code stays where it is
  }
}
void* CompiledCode::Find(const std::string& name) const {
  auto it = impl_->functions.find(name);
  return it == impl_->functions.end() ? nullptr : it->second;
}
int64_t CompiledCode::memory_bytes() const { return impl_->bytes; }
const CodeText& CompiledCode::text() const { return impl_->text; }

absl::StatusOr<std::string> CompileToObject(CodeModule& code, const CompileOptions& options, std::string* optimized_ir,
                                            std::string* assembly) {
  XC_RETURN_IF_ERROR(InitializeLlvm());
  llvm::Module& module = code.module();
  const std::string name = module.getName().str();
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(module, &stream)) {
    return absl::InternalError(absl::StrCat("generated code of ", name, " is malformed: ", stream.str()));
  }
  const CodeLevel level = HasHugeBlock(module) ? CodeLevel::kNone : options.level;
  Abandoned<std::unique_ptr<llvm::TargetMachine>> owned_machine(MakeMachine(options.target, level));
  if (*owned_machine == nullptr) return absl::InternalError("LLVM has no x86-64 target");
  llvm::TargetMachine& machine = **owned_machine;
  module.setDataLayout(machine.createDataLayout());
  if (level != CodeLevel::kNone) RunPasses(module, machine);
  if (optimized_ir != nullptr) *optimized_ir = Print(module);
  std::string object;
  if (assembly != nullptr) {
    Abandoned<std::unique_ptr<llvm::Module>> copy(llvm::CloneModule(module));
    if (!Generate(**copy, machine, llvm::CodeGenFileType::AssemblyFile, assembly)) assembly->clear();
  }
  if (!Generate(module, machine, llvm::CodeGenFileType::ObjectFile, &object)) {
    return absl::InternalError("LLVM's x86-64 target writes no object files");
  }
  const std::string& errors = CodeModuleAccess::errors(code);
  if (!errors.empty()) return absl::InternalError(absl::StrCat("code generation of ", name, " failed: ", errors));
  return object;
}

absl::StatusOr<std::unique_ptr<CompiledCode>> LinkObjects(std::vector<std::string> objects,
                                                          const std::vector<Symbol>& symbols,
                                                          const std::vector<std::string>& exports) {
  namespace orc = llvm::orc;
  XC_RETURN_IF_ERROR(CheckSetUp());
  const WatchSetUp watch;
  static std::atomic<int64_t> serial{0};
  std::unique_ptr<CompiledCode> code(new CompiledCode);
  XC_ASSIGN_OR_RETURN(const std::unique_ptr<SessionUse> use, UseSession());
  Session& session = **use;
  orc::JITDylib& dylib = session.execution->createBareJITDylib(absl::StrCat("xc.", serial.fetch_add(1)));
  code->impl_->session = &session;
  code->impl_->dylib = &dylib;
  if (!symbols.empty()) {
    XC_ASSIGN_OR_RETURN(orc::JITDylib * runtime, session.Runtime(symbols));
    dylib.addToLinkOrder(*runtime);
  }
  for (std::string& object : objects) {
    code->impl_->bytes += object.size() + kObjectOverhead;
    std::unique_ptr<llvm::MemoryBuffer> copy = llvm::MemoryBuffer::getMemBufferCopy(object, "xc");
    if (copy == nullptr) return OutOfMemory();
    if (llvm::Error error = session.linker->add(dylib, std::move(copy))) {
      return absl::InternalError(absl::StrCat("loading generated code: ", Message(std::move(error))));
    }
  }
  orc::SymbolLookupSet wanted;
  for (const std::string& name : exports) wanted.add(session.execution->intern(name));
  auto found = session.execution->lookup({{&dylib, orc::JITDylibLookupFlags::MatchAllSymbols}}, std::move(wanted));
  if (!found) {
    std::string message = Message(found.takeError());
    return absl::InternalError(
        absl::StrCat("linking generated code: ", message, " ", std::exchange(session.last_report, "")));
  }
  for (const auto& [name, symbol] : *found) {
    code->impl_->functions[(*name).str()] = symbol.getAddress().toPtr<void*>();
  }
  NoteSetUpDone();
  return code;
}

absl::StatusOr<std::unique_ptr<CompiledCode>> CompileModules(std::vector<CodeModule> modules,
                                                             const std::vector<Symbol>& symbols,
                                                             const std::vector<std::string>& exports,
                                                             const CompileOptions& options) {
  XC_RETURN_IF_ERROR(InitializeLlvm());
  const size_t n = modules.size();
  CodeText text;
  if (options.keep_ir) {
    for (CodeModule& module : modules) text.ir.push_back(Print(module.module()));
    text.optimized_ir.resize(n);
  }
  if (options.keep_assembly) text.assembly.resize(n);
  std::vector<std::string> objects(n);
  std::vector<absl::Status> statuses(n);
  std::atomic<size_t> next{0};
  const int* cancel = CurrentCancel();
  auto work = [&] {
    for (size_t i = next.fetch_add(1); i < n; i = next.fetch_add(1)) {
      if (absl::Status status = CheckCancel(cancel); !status.ok()) {
        statuses[i] = std::move(status);
        continue;
      }
      if (options.deadline != absl::InfiniteFuture() && absl::Now() > options.deadline) {
        statuses[i] = absl::DeadlineExceededError("code generation took longer than the compile deadline allows");
        continue;
      }
      try {
        const std::string name = options.timeline == nullptr ? "" : modules[i].module().getName().str();
        const TimelineScope scope(options.timeline, name.c_str(), "LLVM");
        absl::StatusOr<std::string> object =
            CompileToObject(modules[i], options, options.keep_ir ? &text.optimized_ir[i] : nullptr,
                            options.keep_assembly ? &text.assembly[i] : nullptr);
        if (object.ok()) {
          objects[i] = *std::move(object);
        } else {
          statuses[i] = object.status();
        }
      } catch (...) {
        NoteSetUpLeft();
        modules[i].Abandon();
        statuses[i] = CurrentException();
      }
    }
  };
  const int extra = std::min<int64_t>(options.threads, n) - 1;
  std::vector<std::thread> threads;
  try {
    for (int i = 0; i < extra; ++i) threads.emplace_back(work);
  } catch (...) {  // the system gives no more threads: fewer do the work
  }
  work();
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& status : statuses) {
    if (!status.ok()) return status;
  }
  modules.clear();
  if (options.objects != nullptr) *options.objects = objects;
  const TimelineScope scope(options.timeline, "link", "link");
  auto code = LinkObjects(std::move(objects), symbols, exports);
  if (!code.ok()) return code.status();
  (*code)->impl_->text = std::move(text);
  return code;
}

}  // namespace xc::cpu
