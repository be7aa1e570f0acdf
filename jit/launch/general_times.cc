#include "jit/launch/general_times.h"

#include <algorithm>

namespace xc {

void GeneralTimes::Line::Add(double x, double y) {
  if (known()) y = std::min(y, kMostOff * At(x));
  for (double* sum : {&n_, &x_, &y_, &xx_, &xy_}) *sum *= kKept;
  n_ += 1;
  x_ += x;
  y_ += y;
  xx_ += x * x;
  xy_ += x * y;
}

double GeneralTimes::Line::At(double x) const {
  const double mean_x = x_ / n_, mean_y = y_ / n_, variance = xx_ / n_ - mean_x * mean_x;
  const double proportional = mean_x > 0 ? mean_y / mean_x : 0;
  // Of one size only: in proportion to it.
  if (variance <= 1e-3 * mean_x * mean_x) return mean_x > 0 ? proportional * x : mean_y;
  const double slope = std::clamp((xy_ / n_ - mean_x * mean_y) / variance, 0.0, proportional);
  return mean_y + slope * (x - mean_x);
}

void GeneralTimes::Made(int64_t ns) {
  std::lock_guard<std::mutex> lock(mutex_);
  made_.Add(0, static_cast<double>(ns));
}

void GeneralTimes::Ran(int64_t elements, int64_t ns) {
  std::lock_guard<std::mutex> lock(mutex_);
  code_.Add(static_cast<double>(elements), static_cast<double>(ns));
}

void GeneralTimes::HostRan(int64_t elements, int64_t ns) {
  std::lock_guard<std::mutex> lock(mutex_);
  host_.Add(static_cast<double>(elements), static_cast<double>(ns));
}

double GeneralTimes::Gain(int64_t elements) const {
  const auto x = static_cast<double>(elements);
  return host_.At(x) - code_.At(x);
}

bool GeneralTimes::PaysInCall(int64_t elements) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!made_.known() || !host_.known()) return false;
  if (code_.known()) return Gain(elements) > made_.At(0);
  if (tries_ == kTries || made_.At(0) > host_.At(static_cast<double>(elements))) return false;
  ++tries_;
  return true;
}

bool GeneralTimes::Pays(int64_t elements, int64_t calls) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!made_.known()) return true;
  if (!code_.known() || !host_.known()) return calls > 1;
  return static_cast<double>(calls) * Gain(elements) > made_.At(0);
}

}  // namespace xc
