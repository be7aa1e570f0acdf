#include "backends/runtime/float_state.h"

#include <cstdlib>
#include <cstring>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace xc {
namespace {

#if defined(__x86_64__)
// Of the register MXCSR: what was raised, against how to go on; all exceptions masked; denormal operands as zero, and
// results that underflow.
constexpr uint32_t kControl = 0xffc0, kMasked = 0x1f80, kFlush = 0x8040;
#endif

bool FlushAsked() {
  static const bool asked = [] {
    const char* const value = std::getenv("XC_FLUSH_DENORMALS");
    return value != nullptr && std::strcmp(value, "1") == 0;
  }();
  return asked;
}

}  // namespace

#if defined(__x86_64__)

uint32_t FloatScope::State() { return _mm_getcsr() & kControl; }

FloatScope::FloatScope(Denormals denormals) {
  Set(kMasked | (FlushAsked() ? kFlush : denormals == Denormals::kAsCaller ? State() & kFlush : 0));
}

void FloatScope::Set(uint32_t state) {
  before_ = _mm_getcsr();
  changed_ = (before_ & kControl) != state;
  if (changed_) _mm_setcsr(state);
}

FloatScope::~FloatScope() {
  if (changed_) _mm_setcsr(before_);
}

#else

uint32_t FloatScope::State() { return 0; }
FloatScope::FloatScope(Denormals denormals) {}
void FloatScope::Set(uint32_t state) {}
FloatScope::~FloatScope() = default;

#endif

}  // namespace xc
