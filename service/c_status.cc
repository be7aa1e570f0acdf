#include "service/c_status.h"

#include <cstdlib>
#include <cstring>

#define XC_EXPORT __attribute__((visibility("default")))

namespace xc {
namespace {

// What is given where there is no memory for anything else; never freed.
xc_status& NoMemoryStatus() {
  static auto* const status =
      new xc_status{static_cast<int>(OutOfMemory().code()), std::string(OutOfMemory().message())};
  return *status;
}
[[maybe_unused]] const xc_status& kMadeAtStart = NoMemoryStatus();

}  // namespace

xc_status* ToCStatus(const absl::Status& status) noexcept {
  if (status.ok()) return nullptr;
  try {
    return new xc_status{static_cast<int>(status.code()), std::string(status.message())};
  } catch (...) {
    return &NoMemoryStatus();
  }
}

char* CopyString(absl::string_view text) noexcept {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) return nullptr;
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = 0;
  return copy;
}

}  // namespace xc

extern "C" {

XC_EXPORT int xc_api_version(void) { return XC_API_VERSION; }
XC_EXPORT int xc_status_code(const xc_status* status) { return status == nullptr ? 0 : status->code; }
XC_EXPORT const char* xc_status_message(const xc_status* status) {
  return status == nullptr ? "" : status->message.c_str();
}
XC_EXPORT void xc_status_free(xc_status* status) {
  if (status != &xc::NoMemoryStatus()) delete status;
}
XC_EXPORT void xc_string_free(char* string) { std::free(string); }

}  // extern "C"
