// Reductions of columns.
#ifndef XC_BACKENDS_PLAN_COLUMN_FORM_H_
#define XC_BACKENDS_PLAN_COLUMN_FORM_H_

#include <optional>

#include "backends/plan/plan.h"
#include "compiler/pass.h"

namespace xc::plan {

// The reduction over all but the minor dimensions that `instruction` is, or whose result it (a fusion) is computed from
// element by element, where that is worth a kernel that adds whole rows.
std::optional<ColumnReduce> FindColumnReduce(const HloInstruction& instruction, const TargetInfo& target);

}  // namespace xc::plan

#endif  // XC_BACKENDS_PLAN_COLUMN_FORM_H_
