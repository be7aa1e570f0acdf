// A table of numbers in little space: rows of equal length, of which most columns are equal in all rows or follow from
// a few others, as what a program needs for each of many sizes does.
#ifndef XC_BACKENDS_LOADER_NUMBER_ROWS_H_
#define XC_BACKENDS_LOADER_NUMBER_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/loader/file_bytes.h"

namespace xc {

class NumberRows {
 public:
  NumberRows() = default;
  // Rows of one length, one at least. The first `keys` columns, of sizes, are those whose products others may follow
  // from. Whatever is found to follow is checked for each row, so that Row gives back what is here.
  NumberRows(absl::Span<const std::vector<int64_t>> rows, int64_t keys);

  int64_t rows() const { return rows_; }
  int64_t keys() const { return keys_; }
  // For those in range.
  std::vector<int64_t> Row(int64_t r) const;
  int64_t Key(int64_t r, int64_t k) const;

  void Write(FileWriter* out) const;
  // Everything is checked that the functions above take for granted.
  static absl::StatusOr<NumberRows> Read(FileReader* in);

 private:
  // A number for each row: stored, or the product of two earlier ones.
  struct Basis {
    int64_t a = -1, b = -1;  // numbers of bases; -1: stored
    int64_t low = 0, width = 0;
    std::string bytes;  // the least is `low`; of each row what is more, in `width` bytes
  };
  // column = offset + factor * basis, in 64 bits that wrap around
  struct Varying {
    int64_t column = 0, basis = 0, factor = 0, offset = 0;
  };
  int64_t Value(int64_t r, int64_t basis) const;

  int64_t rows_ = 0, keys_ = 0;
  std::vector<int64_t> first_;
  std::vector<Basis> bases_;
  std::vector<Varying> varying_;  // by column
};

}  // namespace xc

#endif  // XC_BACKENDS_LOADER_NUMBER_ROWS_H_
