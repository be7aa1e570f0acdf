// Working memory of library kernels: one growing block for each thread.
#ifndef XC_BACKENDS_RUNTIME_SCRATCH_H_
#define XC_BACKENDS_RUNTIME_SCRATCH_H_

#include <cstddef>

#include "absl/status/statusor.h"

namespace xc {

// At least `bytes` bytes, 64-byte aligned, valid until this thread's next call with the same `slot` (0 to 5: kernels
// that call each other use different ones). A block over 64 MB is given back at the slot's next smaller request.
absl::StatusOr<char*> ThreadScratch(size_t bytes, int slot);

enum ScratchSlot {
  kKernelScratch = 0,
  kPackScratch = 1,
  kOuterScratch = 2,
  kLibraryScratch = 3,
  kPartialSumScratch = 4,
  kColumnScratch = 5,
  kNumScratchSlots = 6
};

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_SCRATCH_H_
