// What was done when, on which thread: spans of time with a name, for profiles. Recording one takes about a
// microsecond.
#ifndef XC_HLO_BASE_TIMELINE_H_
#define XC_HLO_BASE_TIMELINE_H_

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace xc {

// Nanoseconds of the clock that all profiles go by.
int64_t ProfileClock();
// The calling thread's number in the operating system, which debuggers and `perf` show, too.
int ThreadTrack();

class Timeline {
 public:
  struct Span {
    std::string name, category;
    int track = 0;
    int64_t start_ns = 0, end_ns = 0;  // by ProfileClock
  };

  // From any thread.
  void Add(std::string name, std::string category, int64_t start_ns, int64_t end_ns);
  std::vector<Span> spans() const;

 private:
  mutable std::mutex mu_;
  std::vector<Span> spans_;
};

// Adds a span from its construction to its destruction, if there is a timeline.
class TimelineScope {
 public:
  TimelineScope(Timeline* timeline, const char* name, const char* category)
      : timeline_(timeline), name_(name), category_(category), start_(timeline == nullptr ? 0 : ProfileClock()) {}
  ~TimelineScope() {
    if (timeline_ != nullptr) timeline_->Add(name_, category_, start_, ProfileClock());
  }
  TimelineScope(const TimelineScope&) = delete;

 private:
  Timeline* const timeline_;
  const char *const name_, *const category_;
  const int64_t start_;
};

}  // namespace xc

#endif  // XC_HLO_BASE_TIMELINE_H_
