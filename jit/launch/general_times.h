// Whether code for all sizes pays for a further shape, from what it cost and gained for others of its group.
#ifndef XC_JIT_LAUNCH_GENERAL_TIMES_H_
#define XC_JIT_LAUNCH_GENERAL_TIMES_H_

#include <cstdint>
#include <mutex>

namespace xc {

// Thread-safe. `elements`: of the arguments whose sizes vary. Times of other shapes are those of a line through what
// was seen, in which what is long ago counts less.
class GeneralTimes {
 public:
  // A shape was lowered, emitted and compared; a call ran code; the host ran a call.
  void Made(int64_t ns);
  void Ran(int64_t elements, int64_t ns);
  void HostRan(int64_t elements, int64_t ns);

  // Whether a call may wait for its code: making and running it take less time than the host's kernels do. As long as
  // no code has run, a few calls wait for which making it takes less.
  bool PaysInCall(int64_t elements);
  // Whether code is worth making beside the calls, after `calls` of this shape: if it will be called as often again. As
  // long as nothing is known, once; then for shapes that come back.
  bool Pays(int64_t elements, int64_t calls) const;

 private:
  static constexpr double kKept = 0.95;  // of the sums so far, with each new one
  static constexpr double kMostOff = 4;  // times as long as expected: something else took the time
  static constexpr int kTries = 3;

  class Line {
   public:
    void Add(double x, double y);
    bool known() const { return n_ > 0; }
    double At(double x) const;

   private:
    double n_ = 0, x_ = 0, y_ = 0, xx_ = 0, xy_ = 0;  // sums
  };
  // Nanoseconds that code gains on the host's kernels for such a shape; mutex_ is held.
  double Gain(int64_t elements) const;

  mutable std::mutex mutex_;
  Line made_, code_, host_;
  int tries_ = 0;
};

}  // namespace xc

#endif  // XC_JIT_LAUNCH_GENERAL_TIMES_H_
