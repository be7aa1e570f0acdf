// Errors and events: what functions of the PJRT C API fail with, and what tells when something is done.
#ifndef XC_SERVICE_PJRT_EVENTS_H_
#define XC_SERVICE_PJRT_EVENTS_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "hlo/base/exceptions.h"
#include "service/pjrt/api.h"

namespace xc::pjrt {

struct Error {
  absl::Status status;
};

// Null for OK.
Error* ToError(absl::Status status) noexcept;

// What a function of the table returns whose work is f(), which returns absl::Status: no exception leaves it.
template <typename F>
Error* Answer(F&& f) noexcept {
  try {
    return ToError(std::forward<F>(f)());
  } catch (...) {
    return ToError(CurrentException());
  }
}

// Something that will be done, well or with an error. Thread-safe.
class Completion {
 public:
  bool ready() const;
  // Whether it is done, and well.
  bool ended_well() const;
  // Blocks until done; how it ended.
  absl::Status Await() const;
  // Calls `callback` once, here and now if it is done already, otherwise on the thread that calls Finish.
  void OnReady(std::function<void(const absl::Status&)> callback);
  // Ends it; later calls change nothing.
  void Finish(absl::Status status);

 private:
  mutable std::mutex mu_;
  mutable std::condition_variable done_;
  bool ready_ = false;
  absl::Status status_;
  std::vector<std::function<void(const absl::Status&)>> waiting_;
};

struct Event {
  std::shared_ptr<Completion> completion;  // null: done, and well
};

// An event of `completion` for the caller to destroy; what is done well already costs no memory.
Event* NewEvent(std::shared_ptr<Completion> completion);

}  // namespace xc::pjrt

#endif  // XC_SERVICE_PJRT_EVENTS_H_
