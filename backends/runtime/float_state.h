// The floating-point state of threads that run programs: results depend on no rounding mode, trap or treatment of
// denormal numbers that a host has set up for its own code.
#ifndef XC_BACKENDS_RUNTIME_FLOAT_STATE_H_
#define XC_BACKENDS_RUNTIME_FLOAT_STATE_H_

#include <cstdint>

namespace xc {

// While one lives, the calling thread rounds to nearest and nothing traps. Afterwards it has the state of before.
class FloatScope {
 public:
  enum class Denormals {
    kKept,      // IEEE 754; flushed to zero if XC_FLUSH_DENORMALS is 1, as XLA does
    kAsCaller,  // flushed where the thread flushes them, as TensorFlow's do, or by that variable
  };
  explicit FloatScope(Denormals denormals);
  // The state of another thread, as State() of it gave it.
  explicit FloatScope(uint32_t state) { Set(state); }
  ~FloatScope();
  FloatScope(const FloatScope&) = delete;

  static uint32_t State();

 private:
  void Set(uint32_t state);

  uint32_t before_ = 0;
  bool changed_ = false;
};

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_FLOAT_STATE_H_
