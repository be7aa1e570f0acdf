// Ends a compilation early at another thread's wish: long steps of it ask here now and then.
#ifndef XC_HLO_BASE_CANCEL_H_
#define XC_HLO_BASE_CANCEL_H_

#include <utility>

#include "absl/status/status.h"

namespace xc {

// While it lives, work of this thread ends early once *flag is not 0. The flag may be set by any thread; a null one
// never is. Work that goes on in further threads hands CurrentCancel() to a scope of its own there.
class CancelScope {
 public:
  explicit CancelScope(const int* flag);
  ~CancelScope();
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

 private:
  const int* before_;
};

// The flag of this thread's innermost scope; null for none.
const int* CurrentCancel();

// Cancelled if *flag is set.
absl::Status CheckCancel(const int* flag);
inline absl::Status CheckCancel() { return CheckCancel(CurrentCancel()); }

}  // namespace xc

#endif  // XC_HLO_BASE_CANCEL_H_
