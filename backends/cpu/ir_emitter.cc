// The emitter's frame: functions, pointers into a run's memory, calls of runtime functions, and dispatch by opcode.
#include "backends/cpu/ir_emitter.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "backends/cpu/ir_emitter_impl.h"
#include "backends/cpu/kernel_analysis.h"
#include "backends/cpu/memory_scopes.h"
#include "compiler/memory/in_place.h"
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
  if (deadline == absl::InfiniteFuture() || absl::Now() <= deadline) return absl::OkStatus();
  return absl::DeadlineExceededError("writing code took longer than the compile deadline allows");
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

IrEmitter::IrEmitter(const HloModule& module, const BufferAssignment& buffers, const Target& target,
                     absl::Time deadline)
    : module_(module), buffers_(buffers), target_(target), deadline_(deadline), impl_(std::make_unique<Impl>()) {
  codegen_target_.fma = target.fma;
  codegen_target_.f16c = target.f16c;
  codegen_target_.masked_memory = target.avx512;
  codegen_target_.vector_bytes = target.vector_bytes;
  impl_->functions = std::make_unique<ProgramModules>(&impl_->modules, target_, deadline);
  codegen_target_.functions = impl_->functions.get();
  for (size_t i = 0; i < buffers.constants().size(); ++i) impl_->constant_index[buffers.constants()[i].get()] = i;
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
  return slice.offset == 0 ? base : scope.builder.CreateConstGEP1_64(scope.builder.getInt8Ty(), base, slice.offset);
}

llvm::Value* IrEmitter::ConstantPointer(const std::shared_ptr<const Literal>& literal) {
  auto [it, fresh] = impl_->constant_index.try_emplace(
      literal.get(), buffers_.constants().size() + impl_->program.extra_constants.size());
  if (fresh) impl_->program.extra_constants.push_back(literal);
  return LoadBase(*impl_->scope, kConstantsField, it->second);
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

void IrEmitter::Copy(llvm::Value* to, llvm::Value* from, int64_t bytes) {
  b().CreateMemCpy(to, llvm::MaybeAlign(1), from, llvm::MaybeAlign(1), bytes);
}

std::vector<HloInstruction*> IrEmitter::Sequence(const HloComputation* computation) const {
  auto it = module_.schedule().find(computation);
  return it != module_.schedule().end() ? it->second : computation->PostOrder();
}

absl::Status IrEmitter::EmitFallback(const HloInstruction* instruction) {
  std::vector<llvm::Value*> inputs, outputs;
  for (const HloInstruction* operand : instruction->operands()) {
    const int64_t leaves = operand->shape().LeafCount();
    for (int64_t i = 0; i < leaves; ++i) inputs.push_back(Pointer(operand, i));
  }
  const int64_t leaves = instruction->shape().LeafCount();
  for (int64_t i = 0; i < leaves; ++i) outputs.push_back(Pointer(instruction, i));
  const int64_t site = impl_->program.fallbacks.size();
  impl_->program.fallbacks.push_back(instruction);
  CallChecked("xc_cpu_fallback", {frame(), b().getInt64(site), PointerArray(inputs), PointerArray(outputs)});
  return absl::OkStatus();
}

bool IrEmitter::UpdatesWindow(const HloInstruction* fusion) const {
  const HloInstruction* root = fusion->fused_root();
  const HloInstruction* updated = root->operand(0);
  if (updated->opcode() != HloOpcode::kParameter) return false;
  const BufferSlice& result = buffers_.Slice(fusion);
  if (buffers_.Slice(fusion->operand(updated->parameter_number())) == result) {
    return InPlaceUpdateParameter(fusion->fused_computation()) == updated;
  }
  // Copied first: worth it where most of the array stays as it is. Nothing that is read may lie where the copy goes.
  if (2 * root->operand(1)->shape().ElementCount() > root->shape().ElementCount()) return false;
  return std::none_of(fusion->operands().begin(), fusion->operands().end(), [&](const HloInstruction* operand) {
    return operand->shape().IsArray() && buffers_.Slice(operand) == result;
  });
}

absl::Status IrEmitter::CheckDeadline() const { return CheckTime(deadline_); }

absl::Status IrEmitter::EmitInstruction(const HloInstruction* i) {
  XC_RETURN_IF_ERROR(CheckDeadline());
  switch (i->opcode()) {
    case HloOpcode::kParameter:
    case HloOpcode::kConstant:
      return absl::OkStatus();
    case HloOpcode::kWhile:
      return EmitWhile(i);
    case HloOpcode::kConditional:
      return EmitConditional(i);
    case HloOpcode::kCall:
      return EmitCall(i);
    default:
      break;
  }
  if (IsForwarding(i)) return absl::OkStatus();
  switch (i->opcode()) {
    case HloOpcode::kCopy:
      if (i->shape().IsArray()) {
        if (buffers_.Slice(i) == buffers_.Slice(i->operand(0))) return absl::OkStatus();
        if (!(i->shape().layout_or_default() == i->operand(0)->shape().layout_or_default())) break;
        Copy(Pointer(i), Pointer(i->operand(0)), i->shape().ByteSize());
        return absl::OkStatus();
      }
      break;
    case HloOpcode::kDynamicUpdateSlice:
      if (codegen::CanEmitFused(*i)) return EmitDynamicUpdateSlice(i, i);
      break;
    case HloOpcode::kDot: {
      XC_ASSIGN_OR_RETURN(bool done, EmitDot(i));
      if (done) return absl::OkStatus();
      break;
    }
    case HloOpcode::kConvolution: {
      XC_ASSIGN_OR_RETURN(bool done, EmitConvolution(i));
      if (done) return absl::OkStatus();
      break;
    }
    case HloOpcode::kScatter:
      if (CanEmitScatter(*i)) return EmitScatter(i);
      break;
    case HloOpcode::kFusion: {
      const HloInstruction* root = i->fused_root();
      if (!codegen::CanEmitFused(*i)) break;
      if (root->opcode() == HloOpcode::kDynamicUpdateSlice && UpdatesWindow(i)) return EmitDynamicUpdateSlice(i, root);
      return EmitFused(i);
    }
    default:
      break;
  }
  XC_ASSIGN_OR_RETURN(bool done, EmitLibraryOp(i));
  if (done) return absl::OkStatus();
  if (codegen::CanEmitFused(*i) && i->opcode() != HloOpcode::kGetTupleElement) return EmitFused(i);
  return EmitFallback(i);
}

absl::Status IrEmitter::EmitInline(const HloComputation* computation) {
  for (const HloInstruction* instruction : Sequence(computation)) {
    absl::Status status = EmitInstruction(instruction);
    if (!status.ok()) {
      return absl::Status(status.code(),
                          absl::StrCat(absl::string_view(status.message()), " [emitting ", instruction->name(), "]"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> IrEmitter::EmitComputation(const HloComputation* computation) {
  const std::vector<HloInstruction*> sequence = Sequence(computation);
  const std::string name = absl::StrCat("xc.", impl_->next_name++);
  FunctionScope* outer = impl_->scope;
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < sequence.size() || begin == 0; begin += kPartSize) {
    const size_t end = std::min(sequence.size(), begin + kPartSize);
    const std::string part = absl::StrCat(name, ".", parts.size());
    impl_->modules.push_back(std::make_unique<CodeModule>(part, target_));
    CodeModule* code = impl_->modules.back().get();
    FunctionScope scope(code, part, ComputationType(code->context()), /*exported=*/true);
    impl_->scope = &scope;
    for (size_t k = begin; k < end; ++k) {
      absl::Status status = EmitInstruction(sequence[k]);
      if (!status.ok()) {
        impl_->scope = outer;
        return absl::Status(status.code(),
                            absl::StrCat(absl::string_view(status.message()), " [emitting ", sequence[k]->name(), "]"));
      }
    }
    scope.builder.CreateRet(scope.builder.getInt32(0));
    parts.push_back(part);
    if (sequence.empty()) break;
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

absl::Status IrEmitter::EmitInlineOrCall(const HloComputation* computation) {
  if (computation->instruction_count() <= kInlineSize) return EmitInline(computation);
  XC_ASSIGN_OR_RETURN(std::string name, EmitComputation(computation));
  CallChecked(name, {frame()});
  return absl::OkStatus();
}

absl::Status IrEmitter::EmitWhile(const HloInstruction* loop) {
  FunctionScope& scope = *impl_->scope;
  auto& b = scope.builder;
  auto block = [&](const char* name) { return llvm::BasicBlock::Create(b.getContext(), name, scope.function); };
  llvm::BasicBlock *condition = block("while.condition"), *body = block("while.body"), *exit = block("while.exit");
  auto test = [&]() -> absl::Status {
    XC_RETURN_IF_ERROR(EmitInlineOrCall(loop->while_condition()));
    llvm::Value* more = b.CreateLoad(b.getInt8Ty(), Pointer(loop->while_condition()->root()));
    b.CreateCondBr(b.CreateICmpNE(more, b.getInt8(0)), body, exit);
    return absl::OkStatus();
  };
  b.CreateBr(condition);
  b.SetInsertPoint(condition);
  XC_RETURN_IF_ERROR(test());
  b.SetInsertPoint(body);
  XC_RETURN_IF_ERROR(EmitInlineOrCall(loop->while_body()));
  if (loop->while_condition()->instruction_count() <= kRepeatedSize) {
    // Tested again at its end, the body runs whenever the loop does: LLVM can keep scalars of the state in registers.
    XC_RETURN_IF_ERROR(test());
  } else {
    b.CreateBr(condition);
  }
  b.SetInsertPoint(exit);
  return absl::OkStatus();
}

absl::Status IrEmitter::EmitConditional(const HloInstruction* conditional) {
  FunctionScope& scope = *impl_->scope;
  auto& b = scope.builder;
  const HloInstruction* selector = conditional->operand(0);
  const int64_t n = conditional->called_computations().size();
  auto block = [&](const char* name) { return llvm::BasicBlock::Create(b.getContext(), name, scope.function); };
  std::vector<llvm::BasicBlock*> branches;
  for (int64_t i = 0; i < n; ++i) branches.push_back(block("branch"));
  llvm::BasicBlock* exit = block("branch.exit");
  if (selector->type() == ElementType::kPred) {
    llvm::Value* value = b.CreateLoad(b.getInt8Ty(), Pointer(selector));
    b.CreateCondBr(b.CreateICmpNE(value, b.getInt8(0)), branches[0], branches[1]);
  } else {
    // Out of range: the last branch.
    llvm::Value* value = b.CreateLoad(b.getInt32Ty(), Pointer(selector));
    llvm::SwitchInst* choice = b.CreateSwitch(value, branches[n - 1], n);
    for (int64_t i = 0; i + 1 < n; ++i) choice->addCase(b.getInt32(i), branches[i]);
  }
  for (int64_t i = 0; i < n; ++i) {
    b.SetInsertPoint(branches[i]);
    XC_RETURN_IF_ERROR(EmitInlineOrCall(conditional->called(i)));
    b.CreateBr(exit);
  }
  b.SetInsertPoint(exit);
  return absl::OkStatus();
}

absl::Status IrEmitter::EmitCall(const HloInstruction* call) { return EmitInlineOrCall(call->to_apply()); }

absl::StatusOr<EmittedProgram> IrEmitter::Emit() {
  XC_ASSIGN_OR_RETURN(impl_->program.entry, EmitComputation(module_.entry()));
  for (std::unique_ptr<CodeModule>& code : impl_->modules) impl_->program.modules.push_back(std::move(*code));
  return std::move(impl_->program);
}

}  // namespace xc::cpu
