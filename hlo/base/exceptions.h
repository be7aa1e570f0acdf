// Exceptions as statuses. The project's own code throws none; what it calls does where memory runs out.
#ifndef XC_HLO_BASE_EXCEPTIONS_H_
#define XC_HLO_BASE_EXCEPTIONS_H_

#include <utility>

#include "absl/status/status.h"

namespace xc {

// ResourceExhausted "out of memory", which takes no memory to return.
const absl::Status& OutOfMemory();

// The exception that is being handled, as a status: OutOfMemory for std::bad_alloc, Internal with what it says for
// others.
absl::Status CurrentException() noexcept;

// f(), which returns absl::Status or StatusOr; the status of an exception where one leaves it.
template <typename F>
auto CatchExceptions(F&& f) -> decltype(f()) {
  try {
    return std::forward<F>(f)();
  } catch (...) {
    return CurrentException();
  }
}

}  // namespace xc

#endif  // XC_HLO_BASE_EXCEPTIONS_H_
