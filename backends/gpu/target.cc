#include "backends/gpu/target.h"

#include "absl/strings/str_cat.h"

namespace xc::gpu {

absl::StatusOr<Target> TargetOfCapability(int capability) {
  if (capability < 80) {
    return absl::FailedPreconditionError(absl::StrCat("the device has compute capability ", capability / 10, ".",
                                                      capability % 10, "; 8.0 and later are known"));
  }
  if (capability < 90) return Target{"sm_80", "+ptx78"};
  return Target{"sm_90", "+ptx78"};
}

TargetInfo TargetInfoOf(const Target&) {
  TargetInfo info;
  info.vector_bytes = 16;
  info.recomputes_rows = true;
  info.min_stitched_rows = 1;
  // A start takes some microseconds, in which thousands of threads would have computed; arithmetic waits for memory.
  info.kernel_cost = 1'000'000;
  info.memory_cost = 16;
  info.inlines_kernels = false;
  info.products_take_kernels = true;
  return info;
}

codegen::CodegenTarget CodegenTargetOf(const Target&) {
  codegen::CodegenTarget target;
  target.fma = true;
  target.f16c = true;
  target.bf16 = true;
  target.row_vectors = false;
  target.extremes = true;
  target.vector_bytes = 16;
  return target;
}

}  // namespace xc::gpu
