#include "hlo/base/timeline.h"

#include <atomic>
#include <chrono>
#include <utility>

namespace xc {

int64_t ProfileClock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int ThreadTrack() {
  static std::atomic<int> next{0};
  thread_local const int track = next.fetch_add(1);
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
