#include "backends/gpu/backend.h"

#include "backends/gpu/gpu_backend.h"
#include "backends/gpu/target.h"
#include "backends/interpreter/evaluator.h"
#include "backends/program/dynamic_shapes.h"

namespace xc {
namespace {

absl::StatusOr<Literal> Evaluate(const HloInstruction& instruction, absl::Span<const Literal* const> operands) {
  return Evaluator().EvaluateInstruction(instruction, operands);
}

class GpuBackendImpl : public Backend {
 public:
  absl::string_view name() const override { return "gpu"; }
  absl::StatusOr<std::unique_ptr<Executable>> Compile(std::unique_ptr<HloModule> module,
                                                      const CompileOptions& options) override {
    return CompileDynamic(std::move(module), options, [&](std::unique_ptr<HloModule> of_static_shapes) {
      return gpu::CompileModule(std::move(of_static_shapes), options, &Evaluate);
    });
  }
  // The same for all devices.
  absl::StatusOr<TargetInfo> Target(const CompileOptions&) const override { return gpu::TargetInfoOf({}); }
};

}  // namespace

Backend* GpuBackend() {
  static GpuBackendImpl* const kBackend = new GpuBackendImpl;
  return kBackend;
}

}  // namespace xc
