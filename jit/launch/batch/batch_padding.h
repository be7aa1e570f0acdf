// Runs code that was compiled for a larger batch than a call has.
#ifndef XC_JIT_LAUNCH_BATCH_BATCH_PADDING_H_
#define XC_JIT_LAUNCH_BATCH_BATCH_PADDING_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "backends/backend.h"
#include "backends/runtime/arena.h"

namespace xc {

class BatchPadding {
 public:
  // The leaves of a program for a smaller batch and those of its executable, which is for a larger one; each pair
  // differs in one dimension at most, the batch dimension, and of parameters it is the first, of size 1 at least.
  // `pool` has blocks of BlockSize bytes at least.
  BatchPadding(absl::Span<const Shape> parameters, absl::Span<const Shape> results, const Executable& executable,
               std::shared_ptr<ArenaPool> pool);
  // Bytes that arrays of the executable's shapes take where they differ from those of the program for the smaller
  // batch.
  static size_t BlockSize(absl::Span<const Shape> parameters, absl::Span<const Shape> results,
                          const Executable& executable);

  // The batch is padded with copies of its last element. Of the results, the first elements are copied out.
  absl::Status Run(const Executable& executable, absl::Span<const void* const> parameters,
                   absl::Span<void* const> results, const RunOptions& options) const;

 private:
  // An array of both sizes: `outer` times the bytes in and below the batch dimension, and those of one element of it.
  // Equal sizes: used in place.
  struct Array {
    int64_t outer = 1, small = 0, large = 0, element = 0;
    size_t offset = 0;  // in the block
    bool in_place() const { return small == large; }
  };
  static std::vector<Array> Pairs(absl::Span<const Shape> small, absl::Span<const Shape> large, size_t* size);

  std::vector<Array> parameters_, results_;
  std::shared_ptr<ArenaPool> pool_;
};

}  // namespace xc

#endif  // XC_JIT_LAUNCH_BATCH_BATCH_PADDING_H_
