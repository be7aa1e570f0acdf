#include "jit/launch/general_times.h"

#include <algorithm>

namespace xc {

void GeneralTimes::Add(Mean* mean, int64_t of, int64_t ns) {
  std::lock_guard<std::mutex> lock(mutex_);
  mean->of = mean->of * kKept + static_cast<double>(std::max<int64_t>(of, 1));
  mean->ns = mean->ns * kKept + static_cast<double>(ns);
}

double GeneralTimes::Gain(int64_t elements) const {
  return (host_.each() - code_.each()) * static_cast<double>(std::max<int64_t>(elements, 1));
}

bool GeneralTimes::PaysInCall(int64_t elements) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (made_.of == 0 || code_.of == 0 || host_.of == 0) return false;
  return Gain(elements) > made_.each();
}

bool GeneralTimes::Pays(int64_t elements, int64_t calls) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (made_.of == 0 || code_.of == 0 || host_.of == 0) return true;
  return static_cast<double>(calls) * Gain(elements) > made_.each();
}

}  // namespace xc
