#include "backends/cpu/backend.h"

#include "backends/cpu/cpu_backend.h"
#include "backends/interpreter/evaluator.h"
#include "backends/program/dynamic_shapes.h"
#include "compiler/expand/expand.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

absl::StatusOr<Literal> Evaluate(const HloInstruction& instruction, absl::Span<const Literal* const> operands) {
  return Evaluator().EvaluateInstruction(instruction, operands);
}

class CpuBackendImpl : public Backend {
 public:
  absl::string_view name() const override { return "cpu"; }
  absl::StatusOr<std::unique_ptr<Executable>> Compile(std::unique_ptr<HloModule> module,
                                                      const CompileOptions& options) override {
    return CompileDynamic(std::move(module), options, [&](std::unique_ptr<HloModule> of_static_shapes) {
      return cpu::CompileModule(std::move(of_static_shapes), options, &Evaluate);
    });
  }
  absl::StatusOr<std::shared_ptr<const GeneralProgram>> CompileGeneral(std::vector<std::unique_ptr<HloModule>> samples,
                                                                       const CompileOptions& options,
                                                                       absl::string_view program) override {
    for (const auto& sample : samples) {
      if (HasDynamicDimensions(*sample)) return absl::UnimplementedError("it has arrays of bounded sizes");
    }
    return cpu::CompileGeneral(std::move(samples), options, program, &Evaluate);
  }
  absl::StatusOr<TargetInfo> Target(const CompileOptions& options) const override {
    XC_ASSIGN_OR_RETURN(const cpu::Target target, cpu::GetTarget(options.cpu, options.other_machine));
    return cpu::TargetInfoOf(target);
  }
  std::string LlvmVersion() const override { return cpu::LlvmVersion(); }
  std::string Processor() const override {
    const absl::StatusOr<cpu::Target> target = cpu::GetTarget("");
    return target.ok() ? target->cpu : "";
  }
  std::string Identity(const CompileOptions& options) const override { return cpu::CodeIdentity(options); }
  absl::StatusOr<std::unique_ptr<Executable>> Load(const HloModule& module, absl::string_view program) override {
    return LoadDynamic(module, [&](const HloModule& m) { return cpu::LoadModule(m, program, &Evaluate); });
  }
};

}  // namespace

Backend* CpuBackend() {
  static CpuBackendImpl* backend = new CpuBackendImpl;
  return backend;
}

}  // namespace xc
