// select-and-scatter, its parts on several threads.
#include "backends/codegen/scatter.h"
#include "backends/cpu/ir_emitter.h"
#include "backends/cpu/ir_emitter_impl.h"
#include "backends/cpu/kernel_analysis.h"
#include "backends/cpu/kernel_writer.h"

namespace xc::cpu {

absl::Status IrEmitter::EmitSelectAndScatter(const HloInstruction* i, const plan::Kernel& kernel) {
  KernelWriter writer(this, impl_.get(), target_, kernel);
  return writer.Write(codegen::SelectAndScatterParts(*i), 1, [&](llvm::Value* begin, llvm::Value* end) {
    codegen::ElementEmitter element(b(), codegen_target_);
    return codegen::EmitSelectAndScatter(
        element, i, [&](codegen::FusedEmitter& fused) { writer.Bind(fused); }, writer.output(0),
        LanesAlong(i->operand(0)->shape(), codegen_target_), begin, end);
  });
}

}  // namespace xc::cpu
