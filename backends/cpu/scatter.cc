// scatter, on one thread.
#include "backends/codegen/scatter.h"

#include "backends/cpu/ir_emitter.h"
#include "backends/cpu/ir_emitter_impl.h"
#include "backends/cpu/kernel_analysis.h"
#include "backends/cpu/kernel_writer.h"
#include "hlo/base/status.h"

namespace xc::cpu {

absl::Status IrEmitter::EmitScatter(const HloInstruction* scatter, const plan::Kernel& kernel) {
  const int64_t n = (scatter->operand_count() - 1) / 2;
  KernelWriter writer(this, impl_.get(), target_, kernel);
  return writer.Write(1, 1, [&](llvm::Value*, llvm::Value*) -> absl::Status {
    codegen::ElementEmitter element(b(), codegen_target_);
    std::vector<llvm::Value*> outputs;
    for (int64_t i = 0; i < n; ++i) outputs.push_back(writer.output(i));
    const auto emit = [&](llvm::Value* part) {
      return codegen::EmitScatter(
          element, scatter, [&](codegen::FusedEmitter& fused) { writer.Bind(fused); }, outputs,
          LanesAlong(scatter->operand(n + 1)->shape(), codegen_target_), part);
    };
    if (!codegen::ScattersAcrossRows(*scatter)) return emit(nullptr);
    codegen::Loop parts(b(), b().getInt64(0), b().getInt64(codegen::ScatterParts(*scatter)), 1, "parts");
    XC_RETURN_IF_ERROR(emit(parts.index()));
    parts.End();
    return absl::OkStatus();
  });
}

}  // namespace xc::cpu
