// When a cluster is compiled, for how many signatures, and when its code is given up: one structure for all hosts.
#ifndef XC_JIT_LAUNCH_POLICY_POLICY_H_
#define XC_JIT_LAUNCH_POLICY_POLICY_H_

#include <cstdint>

namespace xc {

// When code is made for a signature (argument shapes, and values that must be constant) that none serves.
enum class CompileWhen {
  kNow,         // the call waits for it
  kLazy,        // the call waits for it, but only after `lazy_runs` calls that fell back to the host
  kBackground,  // another thread makes it; until then calls fall back, each after `wait_ms` at most
};

// The defaults are those of all hosts; a host that has reason to differ says so where it makes its policy.
struct LaunchPolicy {
  CompileWhen when = CompileWhen::kNow;
  int lazy_runs = 3;
  int wait_ms = 0;

  // Signatures that get code of their own. Further ones do while the codes that there are have served `runs_for_more`
  // calls each on average; 0: none does.
  int max_signatures = 24;
  int runs_for_more = 0;
  // Of these, those that get exact code in the place of shared code.
  int max_exact_later = 8;
  // Whether code for sizes that are not known may serve clusters called with ever other shapes, for each of which it is
  // checked that its program is the same but for numbers.
  bool general_shapes = true;
  bool batch_buckets = true;  // code for a larger batch may serve calls of smaller ones, where that is exact

  // In the background a signature gets code for whatever call comes while there are fewer than `first_codes`; later,
  // where what became of these speaks for it (CodeWorth).
  int first_codes = 4;

  // The cost gate: code that turns out slower than the host's kernels by `gate_ratio` is given up. It decides after
  // `gate_runs` runs of the code and `gate_host_runs` of the host, where the code takes `gate_min_ns` at least; with
  // `time_host`, calls go to the host to be timed once `gate_warm_runs` runs have warmed the code up. Else those count
  // that the host ran anyway.
  bool cost_gate = true;
  bool time_host = false;
  int gate_warm_runs = 4;
  int gate_runs = 16;
  int gate_host_runs = 6;
  int64_t gate_min_ns = 100'000;
  double gate_ratio = 1.03;

  bool operator==(const LaunchPolicy&) const = default;
};

}  // namespace xc

#endif  // XC_JIT_LAUNCH_POLICY_POLICY_H_
