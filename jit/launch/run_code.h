// Runs a cluster's code on the host's buffers, with results in memory that the host gives.
#ifndef XC_JIT_LAUNCH_RUN_CODE_H_
#define XC_JIT_LAUNCH_RUN_CODE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "jit/launch/compiled_cluster.h"
#include "jit/launch/signature.h"

namespace xc {

// How a run gets its results' memory. Slots are the cluster's results, in order, and after them the new values of its
// variables, in the order of LoweredCluster::variable_updates. The error of a function is the call's.
class ResultAllocator {
 public:
  virtual ~ResultAllocator() = default;
  // Before all others.
  virtual void Begin(const LoweredCluster& cluster) {}
  // Memory of `bytes` bytes for a slot. If `tentative`, the slot must not be visible before Commit.
  virtual absl::StatusOr<void*> Allocate(int slot, DataType type, const Dims& dims, size_t bytes, bool tentative) = 0;
  // The slot has the value of argument `argument`, or of slot `other`, which was allocated before.
  virtual absl::Status Forward(int slot, int argument) = 0;
  virtual absl::Status Share(int slot, int other) = 0;
  // The slot has a value that was known while compiling; by default it is copied into memory from Allocate.
  virtual absl::Status SetConstant(int slot, const Tensor& value, bool tentative);
  // All tentative slots are right.
  virtual absl::Status Commit() = 0;
  // Whether what was allocated may still be dropped, and the host run the cluster instead, where the code gives an
  // error. Tentative slots always may.
  virtual bool discards() const { return false; }
};

enum class CodeOutcome {
  kRan,
  kCheckFailed,  // an op of the cluster fails on these values: the host's kernels give its error
  kFailed,       // the code gave an error, which the host's kernels may not
};

// Runs `code`. Nothing is visible unless the outcome is kRan. `compiled_ns` gets the time in compiled code, `why` the
// error of kFailed. An error is the call's.
absl::StatusOr<CodeOutcome> RunCode(const CompiledCluster& code, absl::Span<const ArgView> args,
                                    ResultAllocator& results, const RunOptions& options, Clock now,
                                    int64_t* compiled_ns, absl::Status* why);

}  // namespace xc

#endif  // XC_JIT_LAUNCH_RUN_CODE_H_
