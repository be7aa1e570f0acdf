#include "backends/plan/prepare.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "compiler/expand/expand.h"
#include "compiler/memory/schedule.h"
#include "hlo/base/cancel.h"
#include "hlo/base/status.h"

namespace xc::plan {

absl::StatusOr<BufferAssignment> Prepare(HloModule* module, const PrepareOptions& options) {
  PassContext context;
  XC_ASSIGN_OR_RETURN(bool changed, AssignLayouts(module, context));
  for (const auto& computation : module->computations()) changed |= computation->RemoveDead();
  XC_ASSIGN_OR_RETURN(const bool flattened, FlattenCalls(module));
  // The last pass has made a schedule.
  if (changed || flattened || !VerifySchedule(module).ok()) XC_RETURN_IF_ERROR(ScheduleModule(module));
  XC_ASSIGN_OR_RETURN(BufferAssignment buffers, AssignBuffers(module));
  if (options.max_memory_bytes > 0 && buffers.arena_bytes() > options.max_memory_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("the program needs ", buffers.arena_bytes(),
                                                     " bytes of temporary memory; the limit is ",
                                                     options.max_memory_bytes));
  }
  XC_RETURN_IF_ERROR(CheckCancel());
  if (options.deadline != absl::InfiniteFuture() && absl::Now() > options.deadline) {
    return absl::DeadlineExceededError("buffer assignment took longer than the compile deadline allows");
  }
  return buffers;
}

}  // namespace xc::plan
