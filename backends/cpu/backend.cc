// The CPU backend behind the common interface.
#include "backends/cpu/cpu_backend.h"
#include "backends/interpreter/evaluator.h"

namespace xc {
namespace {

class CpuBackendImpl : public Backend {
 public:
  absl::string_view name() const override { return "cpu"; }
  absl::StatusOr<std::unique_ptr<Executable>> Compile(std::unique_ptr<HloModule> module,
                                                      const CompileOptions& options) override {
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
