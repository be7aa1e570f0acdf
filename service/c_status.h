// xc_status, and how the files that implement parts of the C API keep exceptions inside.
#ifndef XC_SERVICE_C_STATUS_H_
#define XC_SERVICE_C_STATUS_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "hlo/base/exceptions.h"
#include "service/xc.h"

struct xc_status {
  int code;
  std::string message;
};

namespace xc {

// Null for OK; otherwise an object that the caller frees with xc_status_free. Where there is no memory for one, it says
// so, and takes none.
xc_status* ToCStatus(const absl::Status& status) noexcept;

// What a function of the C API returns whose work is f(), which returns absl::Status: no exception leaves it.
template <typename F>
xc_status* CallC(F&& f) noexcept {
  try {
    return ToCStatus(std::forward<F>(f)());
  } catch (...) {
    return ToCStatus(CurrentException());
  }
}

// The same for functions that return something else: `otherwise` where an exception leaves f().
template <typename F, typename T>
T CallC(F&& f, T otherwise) noexcept {
  try {
    return std::forward<F>(f)();
  } catch (...) {
    return otherwise;
  }
}

// A copy that xc_string_free frees; null without memory.
char* CopyString(absl::string_view text) noexcept;

}  // namespace xc

#endif  // XC_SERVICE_C_STATUS_H_
