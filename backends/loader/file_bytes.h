// Numbers and texts of compiled programs' files as bytes: little-endian numbers of 64 bits, texts after their length.
#ifndef XC_BACKENDS_LOADER_FILE_BYTES_H_
#define XC_BACKENDS_LOADER_FILE_BYTES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace xc {

class FileWriter {
 public:
  void Number(int64_t value);
  void Text(absl::string_view text);
  void Numbers(const std::vector<int64_t>& values);
  const std::string& bytes() const { return out_; }

 private:
  std::string out_;
};

// Reads what anybody may have written: whatever is wrong is an InvalidArgument.
class FileReader {
 public:
  explicit FileReader(absl::string_view bytes) : rest_(bytes) {}

  absl::StatusOr<int64_t> Number();
  // From 0 to `most`.
  absl::StatusOr<int64_t> Bounded(int64_t most, absl::string_view what);
  // How many things there are of which each takes at least `least` bytes.
  absl::StatusOr<int64_t> Count(int64_t least);
  // A view of the bytes.
  absl::StatusOr<absl::string_view> Text();
  absl::StatusOr<std::vector<int64_t>> Numbers();
  // Each from 0 to `most`.
  absl::StatusOr<std::vector<int64_t>> Numbers(int64_t most, absl::string_view what);
  bool empty() const { return rest_.empty(); }

 private:
  absl::string_view rest_;
};

}  // namespace xc

#endif  // XC_BACKENDS_LOADER_FILE_BYTES_H_
