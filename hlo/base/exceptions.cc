#include "hlo/base/exceptions.h"

#include <exception>
#include <new>

#include "absl/strings/str_cat.h"

namespace xc {

const absl::Status& OutOfMemory() {
  static const auto* const kStatus = new absl::Status(absl::StatusCode::kResourceExhausted, "out of memory");
  return *kStatus;
}

namespace {
// Made while there is memory.
[[maybe_unused]] const absl::Status& kMadeAtStart = OutOfMemory();
}  // namespace

absl::Status CurrentException() noexcept {
  try {
    try {
      throw;
    } catch (const std::bad_alloc&) {
      return OutOfMemory();
    } catch (const std::exception& error) {
      return absl::InternalError(absl::StrCat("unexpected exception: ", error.what()));
    } catch (...) {
      return absl::InternalError("unexpected exception of an unknown type");
    }
  } catch (...) {  // no memory for the message
    return OutOfMemory();
  }
}

}  // namespace xc
