// Makes plans: the decisions between scheduled HLO and code.
#ifndef XC_BACKENDS_PLAN_PLANNER_H_
#define XC_BACKENDS_PLAN_PLANNER_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "backends/plan/plan.h"
#include "compiler/memory/buffer_assignment.h"
#include "compiler/pass.h"

namespace xc::plan {

// The plan of a scheduled module with flat calls and row-major arrays (compiler/memory/buffer_assignment.h) for a
// backend's target. Errors: the deadline, and custom calls whose configuration cannot be read.
absl::StatusOr<Plan> MakePlan(const HloModule& module, const BufferAssignment& buffers, const TargetInfo& target,
                              absl::Time deadline = absl::InfiniteFuture());

}  // namespace xc::plan

#endif  // XC_BACKENDS_PLAN_PLANNER_H_
