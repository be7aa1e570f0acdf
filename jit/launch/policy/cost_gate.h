// Compares code with the host's kernels, and gives it up where it is slower.
#ifndef XC_JIT_LAUNCH_POLICY_COST_GATE_H_
#define XC_JIT_LAUNCH_POLICY_COST_GATE_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "jit/launch/batch/family_times.h"
#include "jit/launch/batch/served_code.h"
#include "jit/launch/policy/policy.h"

namespace xc {

// Of one signature. Thread-safe.
class CostGate {
 public:
  enum class Verdict {
    kGoesOn,    // the code serves, for now or for ever
    kTryExact,  // slower, but without its padding it might not be
    kGiveUp,
  };

  // How other signatures of the family compare; may be null. Before the other functions.
  void SetFamily(std::shared_ptr<FamilyTimes> times) { family_ = std::move(times); }
  // Whether the host should run this call instead of `choice`, to be timed.
  bool WantsHostTiming(const ServedCode::Choice& choice, const LaunchPolicy& policy) const;
  // The host took so long for a call; `choice` is the code that could have served it, or null.
  void HostRan(int64_t ns, const ServedCode::Choice* choice, const LaunchPolicy& policy);
  // After a run of `choice`. But for kGoesOn, each verdict is given once, until Reopen.
  Verdict Judge(const ServedCode::Choice& choice, const LaunchPolicy& policy);
  // Other code serves: the verdict counts no longer.
  void Reopen() { judged_ = false; }

  int64_t host_runs() const { return host_runs_; }
  int64_t host_best_ns() const { return host_best_ns_; }

 private:
  // Whether the choice can be taken to be quicker than the host's kernels, from what its family took.
  bool LikeQuickerOnes(const ServedCode::Choice& choice) const;

  std::shared_ptr<FamilyTimes> family_;
  std::atomic<bool> judged_{false};
  std::atomic<int64_t> host_runs_{0}, host_best_ns_{INT64_MAX};
};

}  // namespace xc

#endif  // XC_JIT_LAUNCH_POLICY_COST_GATE_H_
