#include "jit/launch/policy/code_worth.h"

namespace xc {

void CodeWorth::Made(int64_t nanoseconds) {
  made_ns_.fetch_add(nanoseconds, std::memory_order_relaxed);
  made_.fetch_add(1, std::memory_order_relaxed);
}

int64_t CodeWorth::each_ns() const {
  const int64_t made = made_.load(std::memory_order_relaxed);
  return made == 0 ? 0 : made_ns_.load(std::memory_order_relaxed) / made;
}

bool CodeWorth::Pays(int64_t first, int64_t calls, int64_t host_ns) const {
  return begun() < first || served() >= begun() || PaysBack(calls, host_ns);
}

bool CodeWorth::PaysBack(int64_t calls, int64_t host_ns) const {
  const int64_t each = each_ns();
  return each > 0 && calls > 0 &&
         static_cast<double>(calls) * static_cast<double>(host_ns) >= static_cast<double>(each);
}

}  // namespace xc
