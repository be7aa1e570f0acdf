// What launches count, for statistics: of one cluster, or of all clusters of a host together.
#ifndef XC_JIT_LAUNCH_COUNTERS_H_
#define XC_JIT_LAUNCH_COUNTERS_H_

#include <atomic>
#include <cstdint>

namespace xc {

struct LaunchCounters {
  // Runs of compiled code, those with code for a larger batch, arguments of all, the time of the calls, and the part of
  // it in compiled code.
  std::atomic<int64_t> launches{0}, shared_launches{0}, arguments{0}, launch_ns{0}, compiled_ns{0};
  // Calls that found their code, or that there is none, made before.
  std::atomic<int64_t> hits{0};
  // Calls that fell back to the host; of these, while compilation was put off or under way, and since code does not pay
  // (there are too many signatures, or it was found to be slower).
  std::atomic<int64_t> fallbacks{0}, deferred{0}, unprofitable{0};
  // Fallbacks whose times the host has told.
  std::atomic<int64_t> host_runs{0};
  // Codes made, exact ones in the place of shared ones among them, and how long that took.
  std::atomic<int64_t> compilations{0}, exact_later{0}, compile_ns{0};
  // Codes made for sizes that are not known, the signatures that got one of these, and those whose programs were
  // others.
  std::atomic<int64_t> general_codes{0}, general_signatures{0}, general_refusals{0};
  // Launches of such code.
  std::atomic<int64_t> general_launches{0};
  // Instructions of these codes that the backend has no code for.
  std::atomic<int64_t> evaluated{0};
  // Signatures that could not be compiled, and those whose code was given up as slower than the host's kernels.
  std::atomic<int64_t> failures{0}, slower_signatures{0};
};

}  // namespace xc

#endif  // XC_JIT_LAUNCH_COUNTERS_H_
