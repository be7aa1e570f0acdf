// The form in which a module is planned: what the passes may have left out is made up for, and every array has a place.
#ifndef XC_BACKENDS_PLAN_PREPARE_H_
#define XC_BACKENDS_PLAN_PREPARE_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "compiler/memory/buffer_assignment.h"
#include "hlo/module.h"

namespace xc::plan {

struct PrepareOptions {
  int64_t max_memory_bytes = 0;  // 0: no limit
  absl::Time deadline = absl::InfiniteFuture();
};

// Makes all arrays row-major and calls flat, whichever passes have run, schedules the module and assigns its buffers.
// Errors: those of buffer assignment, and the limits.
absl::StatusOr<BufferAssignment> Prepare(HloModule* module, const PrepareOptions& options = {});

}  // namespace xc::plan

#endif  // XC_BACKENDS_PLAN_PREPARE_H_
