// What is known of code for one batch size from that of others: how its time compares with the host's kernels'.
#ifndef XC_JIT_LAUNCH_BATCH_FAMILY_TIMES_H_
#define XC_JIT_LAUNCH_BATCH_FAMILY_TIMES_H_

#include <array>
#include <cstdint>
#include <mutex>

namespace xc {

// Of signatures of one shape family whose batch sizes differ by less than twice. Thread-safe.
class FamilyTimes {
 public:
  // The host's kernels took `host_ns` for a signature; code of which the part `padding` computes padding takes
  // `code_ns` at best.
  void Add(int64_t host_ns, int64_t code_ns, double padding);
  // Whether code with such a part of padding can be taken to be quicker, as the last comparisons had it. One of them
  // may have come out otherwise: the machine has other things to do.
  bool Quicker(double padding) const;

  static constexpr int kCompared = 6;
  static constexpr double kMargin = 1.1;

 private:
  mutable std::mutex mutex_;
  std::array<double, kCompared> ratios_ = {};  // the host's time over that of code without padding; the last ones
  int64_t count_ = 0;
};

}  // namespace xc

#endif  // XC_JIT_LAUNCH_BATCH_FAMILY_TIMES_H_
