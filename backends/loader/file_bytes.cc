#include "backends/loader/file_bytes.h"

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"

namespace xc {

void FileWriter::Number(int64_t value) {
  for (int i = 0; i < 8; ++i) out_.push_back(static_cast<char>(static_cast<uint64_t>(value) >> (8 * i)));
}

void FileWriter::Text(absl::string_view text) {
  Number(static_cast<int64_t>(text.size()));
  out_.append(text.data(), text.size());
}

void FileWriter::Numbers(const std::vector<int64_t>& values) {
  Number(static_cast<int64_t>(values.size()));
  for (const int64_t value : values) Number(value);
}

absl::StatusOr<int64_t> NumberReader::Bounded(int64_t most, absl::string_view what) {
  XC_ASSIGN_OR_RETURN(const int64_t value, Number());
  if (value >= 0 && value <= most) return value;
  return absl::InvalidArgumentError(absl::StrCat(what, " is ", value, "; 0 to ", most, " can be"));
}

absl::StatusOr<int64_t> NumberReader::Count(int64_t least) {
  XC_ASSIGN_OR_RETURN(const int64_t count, Bounded(INT64_MAX, "a number of parts"));
  // What follows, without the number itself.
  if (count <= static_cast<int64_t>(rest()) / least) return count;
  return absl::InvalidArgumentError(absl::StrCat("it ends before ", count, " parts"));
}

absl::StatusOr<std::vector<int64_t>> NumberReader::Numbers() {
  XC_ASSIGN_OR_RETURN(const int64_t count, Count(number_units_));
  std::vector<int64_t> values(count);
  for (int64_t& value : values) {
    XC_ASSIGN_OR_RETURN(value, Number());
  }
  return values;
}

absl::StatusOr<std::vector<int64_t>> NumberReader::Numbers(int64_t most, absl::string_view what) {
  XC_ASSIGN_OR_RETURN(const int64_t count, Count(number_units_));
  std::vector<int64_t> values(count);
  for (int64_t& value : values) {
    XC_ASSIGN_OR_RETURN(value, Bounded(most, what));
  }
  return values;
}

absl::StatusOr<int64_t> FileReader::Number() {
  if (rest_.size() < 8) return absl::InvalidArgumentError("it ends early");
  uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value |= uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
  rest_.remove_prefix(8);
  return static_cast<int64_t>(value);
}

absl::StatusOr<absl::string_view> FileReader::Text() {
  XC_ASSIGN_OR_RETURN(const int64_t size, Count(1));
  const absl::string_view text = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return text;
}

}  // namespace xc
