// Whether more code for a cluster is worth compiling, from what became of the code that it has.
#ifndef XC_JIT_LAUNCH_POLICY_CODE_WORTH_H_
#define XC_JIT_LAUNCH_POLICY_CODE_WORTH_H_

#include <atomic>
#include <cstdint>

namespace xc {

// Thread-safe.
class CodeWorth {
 public:
  // Code is begun; it took so much of the thread's time; a call was served by code.
  void Begun() { begun_.fetch_add(1, std::memory_order_relaxed); }
  void Made(int64_t nanoseconds);
  void Served() { served_.fetch_add(1, std::memory_order_relaxed); }

  // Whether code for a signature is worth making: one of the `first`, or code has served as many calls as there are
  // codes, or the host's kernels, which took `host_ns` at best, have taken as long for the `calls` before this one as
  // making code does.
  bool Pays(int64_t first, int64_t calls, int64_t host_ns) const;
  // The last of these alone.
  bool PaysBack(int64_t calls, int64_t host_ns) const;
  // Codes that are begun; nanoseconds that making one takes on average, 0 as long as none is made.
  int64_t begun() const { return begun_.load(std::memory_order_relaxed); }
  int64_t each_ns() const;
  int64_t served() const { return served_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> begun_{0}, served_{0}, made_{0}, made_ns_{0};
};

}  // namespace xc

#endif  // XC_JIT_LAUNCH_POLICY_CODE_WORTH_H_
