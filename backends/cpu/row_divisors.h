// Quotients of doubles and of f16 by divisors that are the same in all rows: reciprocals are computed once, before the
// loops.
#ifndef XC_BACKENDS_CPU_ROW_DIVISORS_H_
#define XC_BACKENDS_CPU_ROW_DIVISORS_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "backends/codegen/fused_emitter.h"
#include "backends/cpu/kernel_analysis.h"

namespace llvm {
class Instruction;
}

namespace xc::cpu {

class RowDivisors {
 public:
  // Finds them among what `values` of a fused nest are computed from elementwise.
  RowDivisors(const std::vector<const HloInstruction*>& values, const KernelShape& shape,
              const codegen::CodegenTarget& target);
  // Computes the reciprocals, in memory of the function's stack. `bind` tells emitters where the operands are.
  absl::Status Write(codegen::ElementEmitter& element, const KernelShape& shape, llvm::Instruction* function_begin,
                     const std::function<void(codegen::FusedEmitter&)>& bind);
  void Bind(codegen::FusedEmitter& fused) const;

 private:
  std::vector<codegen::KeptReciprocals> divisors_;
};

}  // namespace xc::cpu

#endif  // XC_BACKENDS_CPU_ROW_DIVISORS_H_
