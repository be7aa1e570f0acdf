// Runs code that was compiled for more rows than a call has.
#ifndef XC_JIT_HOST_ROW_PADDING_H_
#define XC_JIT_HOST_ROW_PADDING_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "backends/backend.h"
#include "backends/runtime/arena.h"

namespace xc {

class RowPadding {
 public:
  // The leaves of a program for fewer rows and those of its executable, which is for more; each pair differs in one
  // dimension at most, that of its rows, and of parameters it is the first, of at least one row. `pool` has blocks of
  // BlockSize bytes at least.
  RowPadding(absl::Span<const Shape> parameters, absl::Span<const Shape> results, const Executable& executable,
             std::shared_ptr<ArenaPool> pool);
  // Bytes that arrays of the executable's shapes take where they differ from those of the program for fewer rows.
  static size_t BlockSize(absl::Span<const Shape> parameters, absl::Span<const Shape> results,
                          const Executable& executable);

  // The further rows are copies of the last one. Of the results, the first rows are copied out.
  absl::Status Run(const Executable& executable, absl::Span<const void* const> parameters,
                   absl::Span<void* const> results, const RunOptions& options) const;

 private:
  // An array of both sizes: `outer` times the bytes in and below the dimension of the rows. Equal sizes: used in place.
  struct Array {
    int64_t outer = 1, fewer = 0, more = 0, row = 0;
    size_t offset = 0;  // in the block
    bool in_place() const { return fewer == more; }
  };
  static std::vector<Array> Pairs(absl::Span<const Shape> fewer, absl::Span<const Shape> more, size_t* size);

  std::vector<Array> parameters_, results_;
  std::shared_ptr<ArenaPool> pool_;
};

}  // namespace xc

#endif  // XC_JIT_HOST_ROW_PADDING_H_
