// Several rows reduced together: one vector of partial results a row, which then become one vector with a result a row.
#ifndef XC_BACKENDS_CPU_ROW_GROUPS_H_
#define XC_BACKENDS_CPU_ROW_GROUPS_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "backends/codegen/fused_emitter.h"
#include "backends/cpu/kernel_analysis.h"

namespace xc::cpu {

// How many rows of each of `rows` (reductions of RowsBelow, `fused` with what they reduce) are to be reduced together.
// 0: none, since they are long enough for vectors of their own, or what they are made of is too much code to stand
// there so many times.
int RowsTogether(const std::vector<const HloInstruction*>& rows, bool fused, const codegen::CodegenTarget& target);

// At the vector `position` of what follows reductions of rows: reduces the rows of all its lanes together, and makes
// the results known to `fused`. `bind` prepares emitters for the operands.
absl::Status ReduceRowsTogether(codegen::FusedEmitter& fused, const std::vector<const HloInstruction*>& rows,
                                const KernelShape& plan, const codegen::Index& position,
                                const std::function<void(codegen::FusedEmitter&)>& bind);

}  // namespace xc::cpu

#endif  // XC_BACKENDS_CPU_ROW_GROUPS_H_
