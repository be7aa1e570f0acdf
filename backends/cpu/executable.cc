// A compiled module: a program and its native code.
#include "backends/program/executable.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/cpu/code_symbols.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/ir_emitter.h"
#include "backends/cpu/jit.h"
#include "backends/runtime/build_id.h"
#include "hlo/base/machine.h"
#include "hlo/base/status.h"

namespace xc::cpu {
namespace {

class CpuExecutable : public ProgramExecutable {
 public:
  static absl::StatusOr<std::unique_ptr<Executable>> Compile(std::unique_ptr<HloModule> module,
                                                             const xc::CompileOptions& options, Evaluate evaluate) {
    auto executable = std::make_unique<CpuExecutable>();
    XC_RETURN_IF_ERROR(executable->DoCompile(std::move(module), options, std::move(evaluate)));
    return std::unique_ptr<Executable>(std::move(executable));
  }

  static absl::StatusOr<std::unique_ptr<Executable>> Load(const HloModule& module, absl::string_view bytes,
                                                          Evaluate evaluate) {
    auto executable = std::make_unique<CpuExecutable>();
    XC_RETURN_IF_ERROR(executable->DoLoad(module, bytes, std::move(evaluate)));
    return std::unique_ptr<Executable>(std::move(executable));
  }

  bool loaded() const override { return loaded_; }
  int64_t size_bytes() const override { return code_->memory_bytes() + program_.constant_bytes; }
  std::string Text(absl::string_view name) const override {
    if (name == "llvm_ir") return absl::StrJoin(code_->text().ir, "\n");
    if (name == "llvm_ir_optimized") return absl::StrJoin(code_->text().optimized_ir, "\n");
    if (name == "asm") return absl::StrJoin(code_->text().assembly, "\n");
    return ProgramExecutable::Text(name);
  }

 protected:
  void Start(const Frame& frame) const override { entry_(&frame); }

 private:
  absl::Status DoCompile(std::unique_ptr<HloModule> module, const xc::CompileOptions& options, Evaluate evaluate) {
    SetSignature(*module);
    XC_ASSIGN_OR_RETURN(const Target target, GetTarget(options.cpu, options.other_machine));
    XC_ASSIGN_OR_RETURN(PlannedModule planned, PlanModule(std::move(module), options, TargetInfoOf(target), evaluate));
    EmittedProgram emitted;
    {
      const TimelineScope scope(options.timeline, "emit LLVM IR", "emit");
      IrEmitter emitter(planned.plan, target, options.deadline, options.profile);
      XC_ASSIGN_OR_RETURN(emitted, emitter.Emit());
    }
    profile_sites_ = std::move(emitted.profile_sites);
    cpu::CompileOptions code_options;
    code_options.target = target;
    code_options.threads = options.compile_threads > 0 ? options.compile_threads : AvailableCpus();
    code_options.deadline = options.deadline;
    code_options.timeline = options.timeline;
    code_options.keep_ir = code_options.keep_assembly = options.keep_texts;
    std::vector<std::string> objects;
    if (options.store) code_options.objects = &objects;
    XC_ASSIGN_OR_RETURN(code_, CompileModules(std::move(emitted.modules), AllSymbols(), {emitted.entry}, code_options));
    XC_RETURN_IF_ERROR(SetProgram(&planned, options));
    program_.entry = std::move(emitted.entry);
    XC_RETURN_IF_ERROR(Finish(std::move(evaluate)));
    if (options.store) {
      absl::StatusOr<std::string> bytes = WriteProgram(program_, objects);
      if (bytes.ok()) options.store(*std::move(bytes));
    }
    return absl::OkStatus();
  }

  absl::Status DoLoad(const HloModule& module, absl::string_view bytes, Evaluate evaluate) {
    loaded_ = true;
    std::vector<std::string> objects;
    XC_ASSIGN_OR_RETURN(Program program, ReadProgram(bytes, &objects));
    XC_RETURN_IF_ERROR(SetProgram(std::move(program), module));
    XC_ASSIGN_OR_RETURN(code_, LinkObjects(std::move(objects), AllSymbols(), {program_.entry}));
    return Finish(std::move(evaluate));
  }

  // What is left to do when the program and its code are there.
  absl::Status Finish(Evaluate evaluate) {
    entry_ = reinterpret_cast<Entry>(code_->Find(program_.entry));
    if (entry_ == nullptr) return absl::InternalError("the program's entry was not linked");
    Prepare(std::move(evaluate));
    return absl::OkStatus();
  }

  std::unique_ptr<CompiledCode> code_;
  Entry entry_ = nullptr;
  bool loaded_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> CompileModule(std::unique_ptr<HloModule> module,
                                                          const xc::CompileOptions& options, Evaluate evaluate) {
  return CpuExecutable::Compile(std::move(module), options, std::move(evaluate));
}

absl::StatusOr<std::unique_ptr<Executable>> LoadModule(const HloModule& module, absl::string_view program,
                                                       Evaluate evaluate) {
  return CpuExecutable::Load(module, program, std::move(evaluate));
}

TargetInfo TargetInfoOf(const Target& target) {
  TargetInfo info;
  info.vector_bytes = target.vector_bytes;
  info.direct_convolutions = true;
  return info;
}

std::string CodeIdentity(const xc::CompileOptions& options) {
  const absl::StatusOr<Target> target = GetTarget(options.cpu);
  const std::string own = BuildId(reinterpret_cast<const void*>(&CodeIdentity)), llvm = LlvmIdentity();
  if (!target.ok() || own.empty() || llvm.empty()) return "";
  return absl::StrCat("build ", own, ", ", llvm, ", ", target->cpu, ":", target->features);
}

}  // namespace xc::cpu
