#include "jit/launch/batch/family_times.h"

#include <algorithm>

namespace xc {

void FamilyTimes::Add(int64_t host_ns, int64_t code_ns, double padding) {
  const double ratio = static_cast<double>(host_ns) / (static_cast<double>(code_ns) * (1 - padding));
  std::lock_guard<std::mutex> lock(mutex_);
  ratios_[count_++ % kCompared] = ratio;
}

bool FamilyTimes::Quicker(double padding) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (count_ < kCompared) return false;
  std::array<double, kCompared> sorted = ratios_;
  std::nth_element(sorted.begin(), sorted.begin() + 1, sorted.end());
  return sorted[1] * (1 - padding) >= kMargin;
}

}  // namespace xc
