#include "hlo/base/timeline.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <utility>

namespace xc {

int64_t ProfileClock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int ThreadTrack() {
  thread_local const int track = static_cast<int>(syscall(SYS_gettid));
  return track;
}

void Timeline::Add(std::string name, std::string category, int64_t start_ns, int64_t end_ns) {
  std::lock_guard<std::mutex> lock(mu_);
  spans_.push_back({std::move(name), std::move(category), ThreadTrack(), start_ns, end_ns});
}

std::vector<Timeline::Span> Timeline::spans() const {
  std::lock_guard<std::mutex> lock(mu_);
  return spans_;
}

}  // namespace xc
