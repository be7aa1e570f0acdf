// The clock that launches are timed by: a parameter, so that tests decide what time it is.
#ifndef XC_JIT_LAUNCH_CLOCK_H_
#define XC_JIT_LAUNCH_CLOCK_H_

#include <time.h>

#include <chrono>
#include <cstdint>

namespace xc {

// Nanoseconds since some moment; never goes back.
using Clock = int64_t (*)();

inline int64_t SteadyNow() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// What this thread has used of a processor: what it lost to others is no cost of what it does.
inline int64_t ThreadNow() {
  timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

}  // namespace xc

#endif  // XC_JIT_LAUNCH_CLOCK_H_
