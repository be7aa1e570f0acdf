// What a file says of sizes without an end, found out while its programs are made.
#ifndef XC_SERVICE_OPEN_SIZES_H_
#define XC_SERVICE_OPEN_SIZES_H_

#include <set>
#include <vector>

#include "absl/status/status.h"
#include "backends/loader/program_file.h"
#include "hlo/analysis/padding_safety.h"
#include "hlo/module.h"
#include "service/ahead_of_time.h"

namespace xc {

// The open sizes of a range, each checked for each of its programs.
class OpenSizes {
 public:
  // `range` must outlive this.
  explicit OpenSizes(const SizesAhead::Range& range) : range_(range), found_(range.open.size()) {}

  // Takes in the module of number `i`, once. Unimplemented: its rows are not apart, with the instruction and what to
  // do.
  absl::Status Add(int64_t i, const HloModule& module);
  // After all of them, what the file says of them; its programs are in the groups from `first` to before `end`.
  std::vector<OpenSize> Finish(int64_t first, int64_t end) const;

 private:
  // Of one open size, what holds for all programs so far.
  struct Found {
    bool any = false;
    RowDims dims;
    std::vector<bool> own;  // inputs of which it is a dimension, and not a part of one
    int64_t high = INT64_MAX;
  };
  absl::Status Check(size_t o, int64_t small_rows, const HloModule& small, int64_t large_rows, const HloModule& large);

  const SizesAhead::Range& range_;
  std::set<int64_t> added_;
  std::vector<Found> found_;
};

}  // namespace xc

#endif  // XC_SERVICE_OPEN_SIZES_H_
