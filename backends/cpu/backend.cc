// The CPU backend behind the common interface.
#include "backends/cpu/cpu_backend.h"
#include "backends/interpreter/evaluator.h"

namespace xc {
namespace {

bool HasBoundedSizes(const HloModule& module) {
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (instruction->shape().is_dynamic()) return true;
    }
  }
  return false;
}

class CpuBackendImpl : public Backend {
 public:
  absl::string_view name() const override { return "cpu"; }
  absl::StatusOr<std::unique_ptr<Executable>> Compile(std::unique_ptr<HloModule> module,
                                                      const CompileOptions& options) override {
    // Generated code has no place for sizes that are known only when it runs.
    if (HasBoundedSizes(*module)) return InterpreterBackend()->Compile(std::move(module), options);
    return cpu::CompileModule(std::move(module), options,
                              [](const HloInstruction& instruction, absl::Span<const Literal* const> operands) {
                                return Evaluator().EvaluateInstruction(instruction, operands);
                              });
  }
};

}  // namespace

Backend* CpuBackend() {
  static CpuBackendImpl* backend = new CpuBackendImpl;
  return backend;
}

}  // namespace xc
