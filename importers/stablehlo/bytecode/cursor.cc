#include "importers/stablehlo/bytecode/cursor.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "importers/stablehlo/bytecode/bytecode.h"

namespace xc::stablehlo {

bool ErrorState::Fail(const char* at, absl::string_view message) {
  if (!failed_) message_ = DescribeByte(file_, at, message);
  failed_ = true;
  return false;
}

bool Cursor::FailAt(const char* at, absl::string_view message) {
  return errors_->Fail(at, absl::StrCat(part_, ": ", message));
}

bool Cursor::Fail(absl::string_view message) { return FailAt(p_, message); }

bool Cursor::Byte(uint8_t* out) {
  if (p_ == end_) return Fail("ends where a byte was expected");
  *out = static_cast<uint8_t>(*p_++);
  return true;
}

bool Cursor::Bytes(uint64_t count, absl::string_view* out) {
  if (count > remaining()) return Fail(absl::StrCat("expected ", count, " bytes, found ", remaining()));
  *out = absl::string_view(p_, count);
  p_ += count;
  return true;
}

// The zeros at the bottom of the first byte say how many bytes follow; all bits above the lowest one are the value.
bool Cursor::VarInt(uint64_t* out) {
  const char* start = p_;
  uint8_t first = 0;
  if (!Byte(&first)) return false;
  const int more = first == 0 ? 8 : __builtin_ctz(first);
  if (static_cast<uint64_t>(more) > remaining()) return FailAt(start, "ends inside of an integer");
  uint64_t rest = 0;
  for (int i = 0; i < more; ++i) rest |= uint64_t{static_cast<uint8_t>(p_[i])} << (8 * i);
  p_ += more;
  if (more >= 7) {
    *out = rest;  // the first byte holds nothing but the count
  } else {
    *out = (rest << (7 - more)) | (first >> (more + 1));
  }
  return true;
}

bool Cursor::SignedVarInt(int64_t* out) {
  uint64_t value = 0;
  if (!VarInt(&value)) return false;
  *out = static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
  return true;
}

bool Cursor::VarIntWithFlag(uint64_t* out, bool* flag) {
  if (!VarInt(out)) return false;
  *flag = (*out & 1) != 0;
  *out >>= 1;
  return true;
}

bool Cursor::Count(absl::string_view what, uint64_t* out) {
  const char* start = p_;
  if (!VarInt(out)) return false;
  if (*out <= remaining()) return true;
  return FailAt(start, absl::StrCat("says that ", *out, " ", what, " follow, but has only ", remaining(),
                                    remaining() == 1 ? " byte left" : " bytes left"));
}

bool Cursor::CheckIndex(absl::string_view what, uint64_t index, uint64_t size) {
  if (index < size) return true;
  return Fail(absl::StrCat("refers to ", what, " ", index, ", but there are ", size));
}

bool Cursor::Index(absl::string_view what, uint64_t size, uint64_t* out) {
  return VarInt(out) && CheckIndex(what, *out, size);
}

bool Cursor::ZeroTerminated(absl::string_view* out) {
  const void* zero = std::memchr(p_, 0, end_ - p_);
  if (p_ == end_ || zero == nullptr) return Fail("expected a string that ends with a zero");
  *out = absl::string_view(p_, static_cast<const char*>(zero) - p_);
  p_ += out->size() + 1;
  return true;
}

bool Cursor::AtEnd(absl::string_view what) {
  return p_ == end_ || Fail(absl::StrCat("has ", remaining(), " bytes more than ", what));
}

}  // namespace xc::stablehlo
