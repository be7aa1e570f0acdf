// The code that serves one signature of a cluster: first that which is there, which may be shared, for a larger batch
// than the signature has or for all sizes; then, where padding, or what code for all sizes may lose, has cost calls as
// much time as compiling takes, exact code for the signature.
#ifndef XC_JIT_LAUNCH_BATCH_SERVED_CODE_H_
#define XC_JIT_LAUNCH_BATCH_SERVED_CODE_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "jit/launch/compiled_cluster.h"

namespace xc {

// `best` becomes `value` where that is less.
void LowerTo(std::atomic<int64_t>& best, int64_t value);

// Thread-safe. Code stays where it is as long as this lives.
class ServedCode {
 public:
  struct Choice {
    ClusterCode code;
    std::atomic<int64_t> runs{0}, best_ns{INT64_MAX};
  };

  // The code is there. Once, before any Get.
  void Set(ClusterCode code);
  // What runs now; null before Set.
  Choice* Get() const { return current_.load(std::memory_order_acquire); }

  // Notes that a run of `choice` took so long. True at most once: exact code would pay, as far as runs so far tell, and
  // should be given to SetExact.
  bool Ran(Choice& choice, int64_t ns);
  // The same for who has another reason to think so: true if nobody was told yet.
  bool AskForExact() { return !asked_.exchange(true); }
  // From now on this runs, unless it turns out not to be quicker. At most once.
  void SetExact(ClusterCode code);

  int64_t runs() const { return shared_.runs + exact_.runs; }
  // What reports add to "compiled".
  std::string Note() const;

  // Code with less padding than this is as good as exact code.
  static constexpr double kMinPadding = 0.1;
  // The part of a run's time that code for all sizes may lose: nothing is known before exact code has run.
  static constexpr double kGeneralLoss = 0.1;
  static constexpr int64_t kSharedRuns = 32;  // before exact code is asked for: the first ones tell little
  static constexpr int64_t kTrialRuns = 32;   // of exact code, before it may be given up

 private:
  Choice shared_, exact_;
  std::atomic<Choice*> current_{nullptr};
  std::atomic<bool> asked_{false};
};

}  // namespace xc

#endif  // XC_JIT_LAUNCH_BATCH_SERVED_CODE_H_
