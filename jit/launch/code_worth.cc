#include "jit/launch/code_worth.h"

namespace xc {

void CodeWorth::Made(int64_t nanoseconds) {
  made_ns_.fetch_add(nanoseconds, std::memory_order_relaxed);
  made_.fetch_add(1, std::memory_order_relaxed);
}

bool CodeWorth::Pays(int64_t first, int64_t calls, int64_t host_ns) const {
  const int64_t begun = begun_.load(std::memory_order_relaxed), made = made_.load(std::memory_order_relaxed);
  if (begun < first || served_.load(std::memory_order_relaxed) >= begun) return true;
  if (made == 0 || calls < 1) return false;
  const double each = static_cast<double>(made_ns_.load(std::memory_order_relaxed)) / static_cast<double>(made);
  return static_cast<double>(calls) * static_cast<double>(host_ns) >= each;
}

}  // namespace xc
