// The CPU backend behind the common interface. Sizes that only a run knows have no native form: such modules are
// evaluated as they are written.
#include "backends/cpu/cpu_backend.h"
#include "backends/interpreter/evaluator.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// Whether the number of valid elements of some array is computed while the module runs.
bool HasRunTimeSizes(const HloModule& module) {
  for (const auto& computation : module.computations()) {
    for (const auto& i : computation->instructions()) {
      if (i->shape().is_dynamic() || i->opcode() == HloOpcode::kSetDimensionSize) return true;
    }
  }
  return false;
}

// The interpreter under this backend's name.
class EvaluatedExecutable : public Executable {
 public:
  static absl::StatusOr<std::unique_ptr<Executable>> Create(std::unique_ptr<HloModule> module,
                                                            const CompileOptions& options) {
    auto executable = std::make_unique<EvaluatedExecutable>();
    executable->SetSignature(*module);
    XC_ASSIGN_OR_RETURN(executable->executable_, InterpreterBackend()->Compile(std::move(module), options));
    return std::unique_ptr<Executable>(std::move(executable));
  }
  absl::Status Run(absl::Span<const void* const> parameters, absl::Span<void* const> results, const RunOptions& options,
                   std::vector<std::vector<int64_t>>* dynamic_sizes) const override {
    return executable_->Run(parameters, results, options, dynamic_sizes);
  }
  int64_t temp_bytes() const override { return executable_->temp_bytes(); }
  int64_t size_bytes() const override { return executable_->size_bytes(); }
  std::string Text(absl::string_view name) const override {
    if (name == "fallbacks") return "module with sizes that only a run knows";
    return executable_->Text(name);
  }

 private:
  std::unique_ptr<Executable> executable_;
};

absl::StatusOr<Literal> Evaluate(const HloInstruction& instruction, absl::Span<const Literal* const> operands) {
  return Evaluator().EvaluateInstruction(instruction, operands);
}

class CpuBackendImpl : public Backend {
 public:
  absl::string_view name() const override { return "cpu"; }
  absl::StatusOr<std::unique_ptr<Executable>> Compile(std::unique_ptr<HloModule> module,
                                                      const CompileOptions& options) override {
    if (HasRunTimeSizes(*module)) return EvaluatedExecutable::Create(std::move(module), options);
    return cpu::CompileModule(std::move(module), options, &Evaluate);
  }
  std::string Identity(const CompileOptions& options) const override { return cpu::CodeIdentity(options); }
  absl::StatusOr<std::unique_ptr<Executable>> Load(const HloModule& module, absl::string_view program) override {
    return cpu::LoadModule(module, program, &Evaluate);
  }
};

}  // namespace

Backend* CpuBackend() {
  static CpuBackendImpl* backend = new CpuBackendImpl;
  return backend;
}

}  // namespace xc
