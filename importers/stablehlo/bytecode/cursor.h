// Reads the primitives of MLIR bytecode from a range of bytes, and keeps the first error with its place.
#ifndef XC_IMPORTERS_STABLEHLO_BYTECODE_CURSOR_H_
#define XC_IMPORTERS_STABLEHLO_BYTECODE_CURSOR_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace xc::stablehlo {

// The first error of a reader.
class ErrorState {
 public:
  explicit ErrorState(absl::string_view file) : file_(file) {}

  // Always false.
  bool Fail(const char* at, absl::string_view message);
  bool failed() const { return failed_; }
  const std::string& message() const { return message_; }

 private:
  absl::string_view file_;
  bool failed_ = false;
  std::string message_;
};

// A place in a part of the file. `part` names it in messages. Methods return false after an error.
class Cursor {
 public:
  Cursor(absl::string_view bytes, absl::string_view part, ErrorState* errors)
      : p_(bytes.data()), end_(bytes.data() + bytes.size()), part_(part), errors_(errors) {}

  const char* at() const { return p_; }
  uint64_t remaining() const { return static_cast<uint64_t>(end_ - p_); }

  bool Byte(uint8_t* out);
  bool Bytes(uint64_t count, absl::string_view* out);
  bool VarInt(uint64_t* out);
  bool SignedVarInt(int64_t* out);
  // An integer whose lowest bit is a flag.
  bool VarIntWithFlag(uint64_t* out, bool* flag);
  // How many of something follow, each a byte at least.
  bool Count(absl::string_view what, uint64_t* out);
  // The number of one of `size` things.
  bool Index(absl::string_view what, uint64_t size, uint64_t* out);
  bool CheckIndex(absl::string_view what, uint64_t index, uint64_t size);
  // Bytes up to a zero, which is consumed.
  bool ZeroTerminated(absl::string_view* out);
  // Nothing is left.
  bool AtEnd(absl::string_view what);

  bool Fail(absl::string_view message);
  bool FailAt(const char* at, absl::string_view message);

 private:
  const char* p_;
  const char* end_;
  absl::string_view part_;
  ErrorState* errors_;
};

}  // namespace xc::stablehlo

#endif  // XC_IMPORTERS_STABLEHLO_BYTECODE_CURSOR_H_
