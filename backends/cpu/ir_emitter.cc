// The emitter's frame: functions, pointers into a run's memory, calls of runtime functions, and the steps of a plan.
#include "backends/cpu/ir_emitter.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "backends/cpu/code_form.h"
#include "backends/cpu/ir_emitter_impl.h"
#include "backends/cpu/memory_scopes.h"
#include "hlo/base/cancel.h"
#include "hlo/base/choices.h"
#include "hlo/base/status.h"
#include "llvm/IR/Constants.h"

namespace xc::cpu {
namespace {

// Instructions per function: LLVM's time grows faster than a function's size.
constexpr int kPartSize = 96;
// Computations up to this size are written where they are called.
constexpr int kInlineSize = 48;
// Conditions of loops up to this size are written twice.
constexpr int kRepeatedSize = 6;

absl::Status CheckTime(absl::Time deadline) {
  XC_RETURN_IF_ERROR(CheckCancel());
  if (deadline == absl::InfiniteFuture() || absl::Now() <= deadline) return absl::OkStatus();
  return absl::DeadlineExceededError("writing code took longer than the compile deadline allows");
}

// The status with the instruction at whose code it came about.
absl::Status Annotate(const absl::Status& status, const plan::Step& step) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(absl::string_view(status.message()), " [emitting ", step.instruction->name(), "]"));
}

llvm::FunctionType* ComputationType(llvm::LLVMContext& context) {
  return llvm::FunctionType::get(llvm::Type::getInt32Ty(context), {llvm::PointerType::get(context, 0)}, false);
}

// Modules for long computations, among those of the program.
class ProgramModules : public codegen::FunctionModules {
 public:
  ProgramModules(std::vector<std::unique_ptr<CodeModule>>* modules, const Target& target, absl::Time deadline)
      : modules_(modules), target_(target), deadline_(deadline) {}
  absl::StatusOr<llvm::Module*> Add(const std::string& name) override {
    XC_RETURN_IF_ERROR(CheckTime(deadline_));
    modules_->push_back(std::make_unique<CodeModule>(absl::StrCat(name, ".module"), target_));
    return &modules_->back()->module();
  }

 private:
  std::vector<std::unique_ptr<CodeModule>>* modules_;
  const Target& target_;
  const absl::Time deadline_;
};

}  // namespace

IrEmitter::IrEmitter(const plan::Plan& plan, const Target& target, absl::Time deadline, bool profile)
    : plan_(plan), target_(target), deadline_(deadline), impl_(std::make_unique<Impl>()) {
  codegen_target_.fma = target.fma;
  codegen_target_.f16c = target.f16c;
  codegen_target_.halves = target.halves;
  codegen_target_.gathers = target.halves;  // the same machines
  codegen_target_.masked_memory = target.avx512;
  codegen_target_.calls_for_scalars = true;
  codegen_target_.vector_bytes = target.vector_bytes;
  impl_->functions = std::make_unique<ProgramModules>(&impl_->modules, target_, deadline);
  codegen_target_.functions = impl_->functions.get();
  if (profile) impl_->sites = std::make_unique<ProfileSites>(plan);
}

IrEmitter::~IrEmitter() = default;

llvm::IRBuilderBase& IrEmitter::b() { return impl_->scope->builder; }
llvm::Value* IrEmitter::frame() { return impl_->scope->function->getArg(0); }

// Loads a field of the frame, or an element of an array that a field points to, in the function's entry block.
static llvm::Value* LoadBase(IrEmitter::FunctionScope& scope, int field, int64_t element) {
  auto [it, fresh] = scope.bases.try_emplace({field, element}, nullptr);
  if (!fresh) return it->second;
  llvm::IRBuilder<> b(scope.jump);
  llvm::Type* p = b.getPtrTy();
  llvm::Value* value;
  if (element < 0) {
    value = b.CreateLoad(p, b.CreateConstGEP1_64(p, scope.function->getArg(0), field));
  } else {
    llvm::Value* array = LoadBase(scope, field, -1);
    llvm::IRBuilder<> after(scope.jump);
    value = after.CreateLoad(p, after.CreateConstGEP1_64(p, array, element));
  }
  if (element >= 0 || field == kArenaField) MarkBase(llvm::cast<llvm::Instruction>(value));
  scope.bases[{field, element}] = value;
  return value;
}

llvm::Value* IrEmitter::Sizes() { return LoadBase(*impl_->scope, kSizesField, -1); }
llvm::Value* IrEmitter::run_context() { return LoadBase(*impl_->scope, kContextField, -1); }

llvm::Value* IrEmitter::Pointer(const BufferSlice& slice) {
  FunctionScope& scope = *impl_->scope;
  llvm::Value* base = nullptr;
  switch (slice.kind) {
    case BufferSlice::Kind::kNone:
      return llvm::ConstantPointerNull::get(scope.builder.getPtrTy());
    case BufferSlice::Kind::kArena:
      base = LoadBase(scope, kArenaField, -1);
      break;
    case BufferSlice::Kind::kParameter:
      base = LoadBase(scope, kParametersField, slice.index);
      break;
    case BufferSlice::Kind::kOutput:
      base = LoadBase(scope, kOutputsField, slice.index);
      break;
    case BufferSlice::Kind::kConstant:
      base = LoadBase(scope, kConstantsField, slice.index);
      break;
  }
  return slice.offset == 0 && !ForAllSizes()
             ? base
             : scope.builder.CreateConstGEP1_64(scope.builder.getInt8Ty(), base, slice.offset);
}

llvm::Value* IrEmitter::DataPointer(const void* data, int64_t bytes) {
  auto& scope = *impl_->scope;
  auto* content = llvm::ConstantDataArray::getString(
      scope.code->context(), llvm::StringRef(static_cast<const char*>(data), bytes), /*AddNull=*/false);
  auto* global = new llvm::GlobalVariable(scope.code->module(), content->getType(), /*isConstant=*/true,
                                          llvm::GlobalValue::PrivateLinkage, content);
  global->setAlignment(llvm::Align(8));
  return global;
}

static llvm::Value* CallByName(IrEmitter::FunctionScope& scope, llvm::Type* result, const std::string& name,
                               const std::vector<llvm::Value*>& arguments) {
  std::vector<llvm::Type*> types;
  for (llvm::Value* a : arguments) types.push_back(a->getType());
  auto callee = scope.code->module().getOrInsertFunction(name, llvm::FunctionType::get(result, types, false));
  return scope.builder.CreateCall(callee, arguments);
}

void IrEmitter::CallChecked(const std::string& name, const std::vector<llvm::Value*>& arguments) {
  FunctionScope& scope = *impl_->scope;
  auto& b = scope.builder;
  llvm::Value* failed = b.CreateICmpNE(CallByName(scope, b.getInt32Ty(), name, arguments), b.getInt32(0));
  if (scope.failure == nullptr) {
    scope.failure = llvm::BasicBlock::Create(b.getContext(), "failure", scope.function);
    llvm::IRBuilder<> f(scope.failure);
    f.CreateRet(f.getInt32(1));
  }
  auto* next = llvm::BasicBlock::Create(b.getContext(), "", scope.function);
  b.CreateCondBr(failed, scope.failure, next);
  b.SetInsertPoint(next);
}

void IrEmitter::CallRuntime(const std::string& name, const std::vector<llvm::Value*>& arguments) {
  CallByName(*impl_->scope, b().getVoidTy(), name, arguments);
}

llvm::Value* IrEmitter::CallValue(const std::string& name, const std::vector<llvm::Value*>& arguments) {
  return CallByName(*impl_->scope, b().getInt32Ty(), name, arguments);
}

llvm::Value* IrEmitter::PointerArray(const std::vector<llvm::Value*>& pointers) {
  FunctionScope& scope = *impl_->scope;
  auto& b = scope.builder;
  llvm::IRBuilder<> head(scope.jump);
  llvm::Type* p = b.getPtrTy();
  llvm::Value* array = head.CreateAlloca(llvm::ArrayType::get(p, std::max<size_t>(1, pointers.size())));
  for (size_t i = 0; i < pointers.size(); ++i) b.CreateStore(pointers[i], b.CreateConstGEP1_64(p, array, i));
  return array;
}

llvm::Value* IrEmitter::PointerArray(const std::vector<BufferSlice>& slices) {
  std::vector<llvm::Value*> pointers;
  for (const BufferSlice& slice : slices) pointers.push_back(Pointer(slice));
  return PointerArray(pointers);
}

void IrEmitter::Copy(llvm::Value* to, llvm::Value* from, int64_t bytes) {
  b().CreateMemCpy(to, llvm::MaybeAlign(1), from, llvm::MaybeAlign(1), bytes);
}

absl::Status IrEmitter::CheckDeadline() const { return CheckTime(deadline_); }

absl::Status IrEmitter::EmitKernel(const HloInstruction* instruction, const plan::Kernel& kernel) {
  switch (kernel.form) {
    case plan::Form::kLoop:
    case plan::Form::kRowReduce:
    case plan::Form::kTranspose:
      return EmitLoops(instruction, kernel);
    case plan::Form::kColumnReduce:
      return EmitColumnReduce(instruction, kernel);
    case plan::Form::kStitched:
      return EmitStitched(instruction, kernel);
    case plan::Form::kConcatenate:
      return EmitConcatenate(instruction, kernel);
    case plan::Form::kInterleave:
      return EmitInterleave(instruction, kernel);
    case plan::Form::kUpdate:
      return EmitUpdate(instruction, kernel);
    case plan::Form::kScatter:
      return EmitScatter(instruction, kernel);
    case plan::Form::kSelectAndScatter:
      return EmitSelectAndScatter(instruction, kernel);
  }
  return absl::InternalError("a kernel of no form");
}

absl::Status IrEmitter::EmitStep(const plan::Step& step) {
  XC_RETURN_IF_ERROR(CheckDeadline());
  const int32_t site = impl_->sites == nullptr ? -1 : impl_->sites->Add(step, impl_->loops > 0);
  if (site < 0) return EmitAction(step);
  const auto* loop = std::get_if<plan::Loop>(&step.action);
  impl_->iteration_site = loop != nullptr && impl_->sites->CountsIterations(*loop) ? site : -1;
  CallRuntime("xc_rt_profile_begin", {run_context(), b().getInt32(site)});
  XC_RETURN_IF_ERROR(EmitAction(step));
  CallRuntime("xc_rt_profile_end", {run_context(), b().getInt32(site)});
  return absl::OkStatus();
}

absl::Status IrEmitter::EmitAction(const plan::Step& step) {
  if (const auto* copy = std::get_if<plan::Copy>(&step.action)) {
    llvm::Value* from = Pointer(copy->from);
    Copy(Pointer(copy->to), from, copy->bytes.constant());
  } else if (const auto* clear = std::get_if<plan::Clear>(&step.action)) {
    b().CreateMemSet(Pointer(clear->to), b().getInt8(0), clear->bytes.constant(), llvm::MaybeAlign(1));
  } else if (const auto* kernel = std::get_if<plan::Kernel>(&step.action)) {
    return EmitKernel(step.instruction, *kernel);
  } else if (const auto* call = std::get_if<plan::LibraryCall>(&step.action)) {
    return EmitLibraryCall(*call);
  } else if (const auto* custom = std::get_if<plan::CustomCall>(&step.action)) {
    EmitCallBack("xc_cpu_custom_call", custom->call, custom->inputs, custom->outputs);
  } else if (const auto* loop = std::get_if<plan::Loop>(&step.action)) {
    return EmitLoop(*loop);
  } else if (const auto* branch = std::get_if<plan::Branch>(&step.action)) {
    return EmitBranch(*branch);
  } else if (const auto* run = std::get_if<plan::Call>(&step.action)) {
    return EmitInlineOrCall(run->callee);
  } else if (const auto* evaluate = std::get_if<plan::Evaluate>(&step.action)) {
    EmitCallBack("xc_cpu_fallback", evaluate->site, evaluate->inputs, evaluate->outputs);
  }
  return absl::OkStatus();
}

absl::Status IrEmitter::EmitInline(const plan::Computation& computation) {
  for (const plan::Step& step : computation.steps) XC_RETURN_IF_ERROR(Annotate(EmitStep(step), step));
  return absl::OkStatus();
}

absl::StatusOr<std::string> IrEmitter::EmitComputation(const plan::Computation& computation) {
  const std::vector<plan::Step>& steps = computation.steps;
  const std::string name = absl::StrCat("xc.", impl_->next_name++);
  FunctionScope* outer = impl_->scope;
  std::vector<std::string> parts;
  for (size_t next = 0; next < steps.size() || parts.empty();) {
    const std::string part = absl::StrCat(name, ".", parts.size());
    impl_->modules.push_back(std::make_unique<CodeModule>(part, target_));
    CodeModule* code = impl_->modules.back().get();
    FunctionScope scope(code, part, ComputationType(code->context()), /*exported=*/true);
    impl_->scope = &scope;
    if (ForAllSizes()) frame()->setName(kFrameName);
    // All steps of kPartSize instructions.
    int instructions = 0;
    for (; next < steps.size(); ++next) {
      const bool another = next == 0 || steps[next].instruction != steps[next - 1].instruction;
      if (another && instructions == kPartSize) break;
      instructions += another;
      if (absl::Status status = Annotate(EmitStep(steps[next]), steps[next]); !status.ok()) {
        impl_->scope = outer;
        return status;
      }
    }
    scope.builder.CreateRet(scope.builder.getInt32(0));
    parts.push_back(part);
  }
  if (parts.size() == 1) {
    impl_->scope = outer;
    return parts[0];
  }
  impl_->modules.push_back(std::make_unique<CodeModule>(name, target_));
  CodeModule* code = impl_->modules.back().get();
  FunctionScope scope(code, name, ComputationType(code->context()), /*exported=*/true);
  impl_->scope = &scope;
  for (const std::string& part : parts) CallChecked(part, {frame()});
  scope.builder.CreateRet(scope.builder.getInt32(0));
  impl_->scope = outer;
  return name;
}

absl::Status IrEmitter::EmitInlineOrCall(int computation) {
  const plan::Computation& callee = plan_.computations[computation];
  if (callee.computation->instruction_count() <= kInlineSize) return EmitInline(callee);
  XC_ASSIGN_OR_RETURN(std::string name, EmitComputation(callee));
  CallChecked(name, {frame()});
  return absl::OkStatus();
}

absl::Status IrEmitter::EmitLoop(const plan::Loop& loop) {
  FunctionScope& scope = *impl_->scope;
  auto& b = scope.builder;
  auto block = [&](const char* name) { return llvm::BasicBlock::Create(b.getContext(), name, scope.function); };
  const int32_t iteration_site = std::exchange(impl_->iteration_site, -1);
  ++impl_->loops;
  llvm::BasicBlock *condition = block("while.condition"), *body = block("while.body"), *exit = block("while.exit");
  auto test = [&]() -> absl::Status {
    XC_RETURN_IF_ERROR(EmitInlineOrCall(loop.condition));
    llvm::Value* more = b.CreateLoad(b.getInt8Ty(), Pointer(loop.more));
    b.CreateCondBr(b.CreateICmpNE(more, b.getInt8(0)), body, exit);
    return absl::OkStatus();
  };
  b.CreateBr(condition);
  b.SetInsertPoint(condition);
  XC_RETURN_IF_ERROR(test());
  b.SetInsertPoint(body);
  if (iteration_site >= 0) CallRuntime("xc_rt_profile_iteration", {run_context(), b.getInt32(iteration_site)});
  XC_RETURN_IF_ERROR(EmitInlineOrCall(loop.body));
  if (plan_.computations[loop.condition].computation->instruction_count() <= kRepeatedSize) {
    // Tested again at its end, the body runs whenever the loop does: LLVM can keep scalars of the state in registers.
    XC_RETURN_IF_ERROR(test());
  } else {
    b.CreateBr(condition);
  }
  --impl_->loops;
  b.SetInsertPoint(exit);
  return absl::OkStatus();
}

absl::Status IrEmitter::EmitBranch(const plan::Branch& branch) {
  FunctionScope& scope = *impl_->scope;
  auto& b = scope.builder;
  const int64_t n = branch.branches.size();
  auto block = [&](const char* name) { return llvm::BasicBlock::Create(b.getContext(), name, scope.function); };
  std::vector<llvm::BasicBlock*> branches;
  for (int64_t i = 0; i < n; ++i) branches.push_back(block("branch"));
  llvm::BasicBlock* exit = block("branch.exit");
  if (branch.by_pred) {
    llvm::Value* value = b.CreateLoad(b.getInt8Ty(), Pointer(branch.selector));
    b.CreateCondBr(b.CreateICmpNE(value, b.getInt8(0)), branches[0], branches[1]);
  } else {
    // Out of range: the last branch.
    llvm::Value* value = b.CreateLoad(b.getInt32Ty(), Pointer(branch.selector));
    llvm::SwitchInst* choice = b.CreateSwitch(value, branches[n - 1], n);
    for (int64_t i = 0; i + 1 < n; ++i) choice->addCase(b.getInt32(i), branches[i]);
  }
  for (int64_t i = 0; i < n; ++i) {
    b.SetInsertPoint(branches[i]);
    XC_RETURN_IF_ERROR(EmitInlineOrCall(branch.branches[i]));
    b.CreateBr(exit);
  }
  b.SetInsertPoint(exit);
  return absl::OkStatus();
}

absl::StatusOr<EmittedProgram> IrEmitter::Emit() {
  EmittedProgram program;
  XC_ASSIGN_OR_RETURN(program.entry, EmitComputation(plan_.entry()));
  if (impl_->sites != nullptr) program.profile_sites = impl_->sites->Take();
  for (std::unique_ptr<CodeModule>& code : impl_->modules) program.modules.push_back(std::move(*code));
  return program;
}

}  // namespace xc::cpu
