#include "backends/runtime/profile.h"

#include <algorithm>

#include "backends/runtime/run_context.h"
#include "hlo/base/timeline.h"

namespace xc {

RunProfile::RunProfile(size_t sites, size_t most_events) : track_(ThreadTrack()), sums_(sites), events_(most_events) {}

void RunProfile::Begin(int32_t site) {
  if (depth_ < kMostOpen) open_[depth_++] = {site, ProfileClock(), 0};
}

void RunProfile::End(int32_t site) {
  if (depth_ == 0 || open_[depth_ - 1].site != site) return;
  const Open open = open_[--depth_];
  const int64_t start = open.start_ns, end = ProfileClock();
  if (depth_ > 0) open_[depth_ - 1].inner_ns += end - start;
  if (static_cast<size_t>(site) >= sums_.size()) return;
  ++sums_[site].count;
  sums_[site].ns += end - start;
  sums_[site].self_ns += end - start - open.inner_ns;
  Record({site, track_, start, end});
}

void RunProfile::Round(int32_t site) {
  if (static_cast<size_t>(site) < sums_.size()) ++sums_[site].iterations;
}

void RunProfile::Ran(int64_t start_ns, int64_t end_ns) {
  depth_ = 0;  // where a run failed, sites were left open
  ++runs_;
  run_ns_ += end_ns - start_ns;
  Record({-1, track_, start_ns, end_ns});
}

void RunProfile::Helped(int32_t site, int64_t start_ns, int64_t end_ns) {
  Record({site, ThreadTrack(), start_ns, end_ns});
}

void RunProfile::Record(const Event& event) {
  const size_t place = next_.fetch_add(1, std::memory_order_relaxed);
  if (place < events_.size()) events_[place] = event;
}

std::vector<RunProfile::Event> RunProfile::events() const {
  return {events_.begin(), events_.begin() + static_cast<int64_t>(std::min(next_.load(), events_.size()))};
}

int64_t RunProfile::dropped() const {
  return static_cast<int64_t>(next_.load() - std::min(next_.load(), events_.size()));
}

void RunContext::ProfiledParallelFor(int64_t n, int64_t min_grain, int64_t bytes,
                                     absl::FunctionRef<void(int64_t, int64_t)> fn) {
  const int32_t site = profile->open_site();
  const auto timed = [&](int64_t begin, int64_t end) {
    if (site < 0 || ThreadTrack() == profile->track()) return fn(begin, end);
    const int64_t start = ProfileClock();
    fn(begin, end);
    profile->Helped(site, start, ProfileClock());
  };
  if (bytes < 0) {
    xc::ParallelFor(executor_, thread_limit_, n, min_grain, timed);
  } else {
    xc::SmallParallelFor(executor_, thread_limit_, n, min_grain, bytes, &bytes_alone_, timed);
  }
}

}  // namespace xc

void xc_rt_profile_begin(void* ctx, int32_t site) {
  if (auto* profile = static_cast<xc::RunContext*>(ctx)->profile) profile->Begin(site);
}
void xc_rt_profile_end(void* ctx, int32_t site) {
  if (auto* profile = static_cast<xc::RunContext*>(ctx)->profile) profile->End(site);
}
void xc_rt_profile_iteration(void* ctx, int32_t site) {
  if (auto* profile = static_cast<xc::RunContext*>(ctx)->profile) profile->Round(site);
}
