// Work that is done on another thread while its caller waits: what a thread keeps for itself is not seen by it.
#ifndef XC_SERVICE_PJRT_HELPER_THREADS_H_
#define XC_SERVICE_PJRT_HELPER_THREADS_H_

#include "absl/functional/function_ref.h"

namespace xc::pjrt {

// Does `work` on a thread of the process's own, and returns when it is done. Threads are kept for the next call; calls
// at the same time, and those from within `work`, have a thread each. Exceptions of `work` reach the caller; in
// `work`'s place std::system_error where no thread can be made. The caller holds no lock that `work` takes. A forked
// child has threads of its own.
void CallElsewhere(absl::FunctionRef<void()> work);

}  // namespace xc::pjrt

#endif  // XC_SERVICE_PJRT_HELPER_THREADS_H_
