// Running a program for more rows than there is one for: piece by piece, by programs for fewer of them.
#ifndef XC_BACKENDS_LOADER_SPLIT_RUN_H_
#define XC_BACKENDS_LOADER_SPLIT_RUN_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/loader/open_sizes.h"
#include "backends/loader/program_file.h"

namespace xc {

class SplitRun {
 public:
  // What the programs for the pieces of a cut take and give, in their order.
  struct Signature {
    const std::vector<FileShape>*inputs, *outputs;
  };
  // Whole arrays of `cut` are made of those of its pieces. InvalidArgument where these do not fit together, or an array
  // would have more bytes than there can be.
  static absl::StatusOr<SplitRun> Make(const KeyCut& cut, absl::Span<const Signature> pieces);

  const std::vector<FileShape>& inputs() const { return inputs_; }
  const std::vector<FileShape>& outputs() const { return outputs_; }

  // Calls `run` for each piece, with its place among the programs and its parts of the arrays: where they lie if rows
  // are outermost, else copies.
  using Run =
      std::function<absl::Status(size_t piece, absl::Span<const void* const> inputs, absl::Span<void* const> outputs)>;
  absl::Status ForEach(absl::Span<const void* const> inputs, absl::Span<void* const> outputs, const Run& run) const;

 private:
  // How an array lies: `outer` blocks with `row_bytes` of each row; no rows: it is the same for all pieces.
  struct Array {
    bool rows = false;
    int64_t outer = 1, row_bytes = 0;
  };
  // Of an array whose piece of `size` rows along `dim` has the shape `piece`; `shape` is set to that of the whole one.
  static absl::StatusOr<Array> Whole(const KeyCut& cut, int64_t size, int64_t dim, const FileShape& piece,
                                     FileShape* shape);
  // Both ways between the whole array and the `count` rows from `first` of it.
  void Copy(const Array& array, char* whole, char* part, int64_t first, int64_t count, bool to_part) const;

  int64_t rows_ = 0;
  std::vector<KeyCut::Piece> pieces_;
  std::vector<FileShape> inputs_, outputs_;
  std::vector<Array> in_, out_;
};

}  // namespace xc

#endif  // XC_BACKENDS_LOADER_SPLIT_RUN_H_
