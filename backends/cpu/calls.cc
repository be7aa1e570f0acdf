// Calls out of generated code: the runtime's functions, custom calls, and the evaluator.
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/codegen/fused_emitter.h"
#include "backends/cpu/ir_emitter.h"
#include "backends/cpu/ir_emitter_impl.h"
#include "hlo/base/status.h"

namespace xc::cpu {
namespace {

using V = llvm::Value*;

}  // namespace

// bool name(void* env, const void* const* operands), for the runtime's sort.
absl::StatusOr<V> IrEmitter::EmitComparator(const HloComputation& comparator) {
  FunctionScope* caller = impl_->scope;
  llvm::LLVMContext& context = caller->code->context();
  llvm::Type* p = llvm::PointerType::get(context, 0);
  auto* type = llvm::FunctionType::get(llvm::Type::getInt1Ty(context), {p, p}, false);
  FunctionScope scope(caller->code, absl::StrCat("xc.less", impl_->next_name++), type, /*exported=*/false);
  scope.function->addRetAttr(llvm::Attribute::ZExt);
  impl_->scope = &scope;
  codegen::ElementEmitter element(scope.builder, codegen_target_);
  std::vector<codegen::Element> arguments;
  for (const HloInstruction* parameter : comparator.parameters()) {
    V at = scope.builder.CreateLoad(
        p, scope.builder.CreateConstGEP1_64(p, scope.function->getArg(1), parameter->parameter_number()));
    codegen::FusedEmitter load(element, 1);
    load.BindMemory(parameter, at);
    XC_ASSIGN_OR_RETURN(codegen::Element value, load.Get(parameter, codegen::Index{}));
    arguments.push_back(value);
  }
  absl::StatusOr<std::vector<codegen::Element>> result = codegen::EmitApply(element, &comparator, arguments);
  impl_->scope = caller;
  if (!result.ok()) return result.status();
  scope.builder.CreateRet((*result)[0].re);
  return scope.function;
}

absl::StatusOr<V> IrEmitter::EmitArgument(const plan::CallArgument& argument) {
  if (const auto* slice = std::get_if<BufferSlice>(&argument)) return Pointer(*slice);
  if (const auto* slices = std::get_if<std::vector<BufferSlice>>(&argument)) return PointerArray(*slices);
  if (const auto* number = std::get_if<int32_t>(&argument)) return b().getInt32(*number);
  if (const auto* number = std::get_if<int64_t>(&argument)) return b().getInt64(*number);
  if (const auto* function = std::get_if<const HloComputation*>(&argument)) return EmitComparator(**function);
  if (const auto* descriptor = std::get_if<plan::Descriptor>(&argument)) {
    return std::visit([&](const auto& data) { return DataPointer(&data, sizeof(data)); }, *descriptor);
  }
  return llvm::ConstantPointerNull::get(b().getPtrTy());
}

absl::Status IrEmitter::EmitLibraryCall(const plan::LibraryCall& call) {
  std::vector<V> arguments = {run_context()};
  for (const plan::CallArgument& argument : call.arguments) {
    XC_ASSIGN_OR_RETURN(V value, EmitArgument(argument));
    arguments.push_back(value);
  }
  if (call.then != nullptr) {
    KernelParts parts;
    impl_->parts = &parts;
    const absl::Status status = EmitKernel(call.then_of, *call.then);
    impl_->parts = nullptr;
    XC_RETURN_IF_ERROR(status);
    arguments.insert(arguments.end(), {parts.body, parts.env});
    for (int64_t number : {parts.work, parts.grain, parts.piece}) arguments.push_back(b().getInt64(number));
  }
  switch (call.returns) {
    case plan::LibraryCall::Result::kStatus:
      CallChecked(call.function, arguments);
      break;
    case plan::LibraryCall::Result::kNone:
      CallRuntime(call.function, arguments);
      break;
    case plan::LibraryCall::Result::kNumber:
      b().CreateStore(CallValue(call.function, arguments), Pointer(call.result));
      break;
  }
  return absl::OkStatus();
}

void IrEmitter::EmitCallBack(const char* function, int64_t number, const std::vector<BufferSlice>& inputs,
                             const std::vector<BufferSlice>& outputs) {
  std::vector<V> in, out;
  for (const BufferSlice& slice : inputs) in.push_back(Pointer(slice));
  for (const BufferSlice& slice : outputs) out.push_back(Pointer(slice));
  CallChecked(function, {frame(), b().getInt64(number), PointerArray(in), PointerArray(out)});
}

}  // namespace xc::cpu
