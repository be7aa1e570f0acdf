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

// Reads numbers that anybody may have written: whatever is wrong is an InvalidArgument.
class NumberReader {
 public:
  virtual ~NumberReader() = default;

  virtual absl::StatusOr<int64_t> Number() = 0;
  // From 0 to `most`.
  absl::StatusOr<int64_t> Bounded(int64_t most, absl::string_view what);
  // How many things follow of which each takes at least `least` units: bytes, or numbers where only these are read.
  absl::StatusOr<int64_t> Count(int64_t least);
  // As many as the number before them says.
  absl::StatusOr<std::vector<int64_t>> Numbers();
  // Each from 0 to `most`.
  absl::StatusOr<std::vector<int64_t>> Numbers(int64_t most, absl::string_view what);

 protected:
  // `number_units`: what a number takes.
  explicit NumberReader(int64_t number_units) : number_units_(number_units) {}
  // What there still is, in units.
  virtual size_t rest() const = 0;

 private:
  const int64_t number_units_;
};

class FileReader : public NumberReader {
 public:
  explicit FileReader(absl::string_view bytes) : NumberReader(8), rest_(bytes) {}

  absl::StatusOr<int64_t> Number() override;
  // A view of the bytes.
  absl::StatusOr<absl::string_view> Text();
  bool empty() const { return rest_.empty(); }

 private:
  size_t rest() const override { return rest_.size(); }
  absl::string_view rest_;
};

}  // namespace xc

#endif  // XC_BACKENDS_LOADER_FILE_BYTES_H_
