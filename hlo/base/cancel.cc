#include "hlo/base/cancel.h"

namespace xc {
namespace {

thread_local const int* current = nullptr;

}  // namespace

CancelScope::CancelScope(const int* flag) : before_(std::exchange(current, flag)) {}
CancelScope::~CancelScope() { current = before_; }

const int* CurrentCancel() { return current; }

absl::Status CheckCancel(const int* flag) {
  if (flag == nullptr || __atomic_load_n(flag, __ATOMIC_RELAXED) == 0) return absl::OkStatus();
  return absl::CancelledError("the compilation was cancelled");
}

}  // namespace xc
