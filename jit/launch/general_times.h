// Whether code for all sizes pays for a further shape, from what it cost and gained for others of its group.
#ifndef XC_JIT_LAUNCH_GENERAL_TIMES_H_
#define XC_JIT_LAUNCH_GENERAL_TIMES_H_

#include <cstdint>
#include <mutex>

namespace xc {

// Thread-safe. `elements`: of the arguments whose sizes vary, by which times of other shapes are scaled.
class GeneralTimes {
 public:
  // A shape was lowered, emitted and compared; a call ran code; the host ran a call.
  void Made(int64_t ns) { Add(&made_, 1, ns); }
  void Ran(int64_t elements, int64_t ns) { Add(&code_, elements, ns); }
  void HostRan(int64_t elements, int64_t ns) { Add(&host_, elements, ns); }

  // Whether a call may wait for its code: lowering and running it take less time than the host's kernels do.
  bool PaysInCall(int64_t elements) const;
  // Whether code is worth making beside the calls, after `calls` of this shape: as long as nothing is known, yes.
  bool Pays(int64_t elements, int64_t calls) const;

 private:
  // Sums in which what is long ago counts less.
  struct Mean {
    double of = 0, ns = 0;
    double each() const { return of > 0 ? ns / of : 0; }
  };
  static constexpr double kKept = 0.95;  // of the sums so far, with each new one

  void Add(Mean* mean, int64_t of, int64_t ns);
  // Nanoseconds that code gains on the host's kernels for such a shape; mutex_ is held.
  double Gain(int64_t elements) const;

  mutable std::mutex mutex_;
  Mean made_, code_, host_;
};

}  // namespace xc

#endif  // XC_JIT_LAUNCH_GENERAL_TIMES_H_
