// Where the time of one run went: what code that was compiled for profiling tells while it runs.
#ifndef XC_BACKENDS_RUNTIME_PROFILE_H_
#define XC_BACKENDS_RUNTIME_PROFILE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace xc {

// Events of one run, or of several one after the other. Sites are the numbers that the compiler gave to the program's
// parts (Executable::profile_sites). The thread that runs the program opens and closes them, one inside another;
// threads that help it add what they did. Beyond a number of events only the sums are kept.
class RunProfile {
 public:
  struct Event {
    int32_t site = 0;                  // -1: a whole run
    int32_t track = 0;                 // ThreadTrack
    int64_t start_ns = 0, end_ns = 0;  // by ProfileClock
  };
  struct Sum {
    int64_t count = 0, ns = 0;
    int64_t self_ns = 0;     // without what other sites told inside of it
    int64_t iterations = 0;  // of a loop, where they are counted
  };

  static constexpr size_t kMostEvents = size_t{1} << 18;
  explicit RunProfile(size_t sites, size_t most_events = kMostEvents);

  void Begin(int32_t site);
  void End(int32_t site);
  void Round(int32_t site);
  // What a helping thread did for the site that is open.
  void Helped(int32_t site, int64_t start_ns, int64_t end_ns);
  // A whole run.
  void Ran(int64_t start_ns, int64_t end_ns);
  // The innermost open site; -1: none.
  int32_t open_site() const { return depth_ == 0 ? -1 : open_[depth_ - 1].site; }
  int track() const { return track_; }

  std::vector<Event> events() const;
  const std::vector<Sum>& sums() const { return sums_; }
  // Events that there was no room for.
  int64_t dropped() const;
  int64_t runs() const { return runs_; }
  int64_t run_ns() const { return run_ns_; }

 private:
  // Deeper than programs nest what is profiled; what lies deeper counts to what it lies in.
  static constexpr int kMostOpen = 64;
  void Record(const Event& event);

  struct Open {
    int32_t site;
    int64_t start_ns;
    int64_t inner_ns;  // of sites inside of it
  };
  Open open_[kMostOpen];
  int depth_ = 0;
  int track_;
  int64_t runs_ = 0, run_ns_ = 0;
  std::vector<Sum> sums_;
  std::vector<Event> events_;
  std::atomic<size_t> next_{0};
};

}  // namespace xc

extern "C" {
// Called by code that was compiled for profiling; nothing happens in runs without a profile.
void xc_rt_profile_begin(void* ctx, int32_t site);
void xc_rt_profile_end(void* ctx, int32_t site);
void xc_rt_profile_iteration(void* ctx, int32_t site);
}

#endif  // XC_BACKENDS_RUNTIME_PROFILE_H_
