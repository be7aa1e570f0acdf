// How the code of a kernel's nest is written: the decisions that its loops and their body follow.
#ifndef XC_BACKENDS_CPU_NEST_FORM_H_
#define XC_BACKENDS_CPU_NEST_FORM_H_

#include <vector>

#include "backends/codegen/element.h"
#include "backends/cpu/kernel_analysis.h"
#include "backends/plan/expression.h"
#include "backends/plan/plan.h"
#include "hlo/module.h"

namespace xc::cpu {

struct NestForm {
  KernelShape shape;  // of the loops
  // What the nest's value reads across the rows; in tiles where shape.tile is set.
  plan::TransposedReads transposed;
  // Reductions of rows that the values are computed from: they come first at each vector of positions, `together` rows
  // of each at once, or one by one if that is 0.
  std::vector<const HloInstruction*> rows;
  int together = 0;
  // Quotients by divisors that are the same in all rows are products by reciprocals, computed once (RowDivisors).
  bool keeps_reciprocals = false;
  // The windows of which neighbouring rows share most (FindSharedWindow); null: there are none.
  const HloInstruction* window = nullptr;
};

// The form of a nest of `instruction`, a fusion or a single op.
NestForm FormOf(const HloInstruction& instruction, const plan::Nest& nest, const codegen::CodegenTarget& target);

// Whether code for `value` is short enough to stand in a kernel several times. `fused`: with that of its operands.
bool IsShort(const HloInstruction& value, bool fused);

}  // namespace xc::cpu

#endif  // XC_BACKENDS_CPU_NEST_FORM_H_
