// Reduces several rows at once: each has a vector of partial results, and these vectors are combined into one vector
// that holds a row's result in each lane.
#ifndef XC_BACKENDS_CPU_ROW_GROUPS_H_
#define XC_BACKENDS_CPU_ROW_GROUPS_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "backends/codegen/fused_emitter.h"
#include "backends/cpu/kernel_analysis.h"

namespace xc::cpu {

// How many rows of each of the reductions `rows` (see RowsBelow; `fused`: with the instructions that make their input)
// are reduced at once. 0: they are reduced one by one, since they are long enough for vectors of their own, or since
// the code of their input is too long to be repeated for each row.
int RowsTogether(const std::vector<const HloInstruction*>& rows, bool fused, const codegen::CodegenTarget& target);

// Writes the reductions of the rows that the lanes of the vector at `position` need, and tells `fused` the results, for
// the elementwise code that follows. `bind` tells emitters where the operands are.
absl::Status ReduceRowsTogether(codegen::FusedEmitter& fused, const std::vector<const HloInstruction*>& rows,
                                const KernelShape& plan, const codegen::Index& position,
                                const std::function<void(codegen::FusedEmitter&)>& bind);

}  // namespace xc::cpu

#endif  // XC_BACKENDS_CPU_ROW_GROUPS_H_
