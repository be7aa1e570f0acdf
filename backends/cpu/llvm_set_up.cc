#include "backends/cpu/llvm_set_up.h"

#include <execinfo.h>

#include <atomic>
#include <mutex>
#include <new>

#include "hlo/base/status.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/TargetSelect.h"

namespace xc::cpu {
namespace {

std::atomic<bool> done{false}, left{false};

// The C library loads the unwinder when an exception first passes through its pthread_once, and ends the process where
// it cannot: before that, then, which backtrace does.
bool LoadUnwinder() {
  static std::atomic<bool> loaded{false};
  void* frame;
  if (!loaded && backtrace(&frame, 1) > 0) loaded = true;
  return loaded;
}

}  // namespace

absl::Status InitializeLlvm() {
  XC_RETURN_IF_ERROR(CheckSetUp());
  const WatchSetUp watch;
  static std::once_flag once;
  std::call_once(once, [] {
    // Where LLVM asks malloc itself: the same as where it asks operator new, in place of the end of the process.
    llvm::remove_bad_alloc_error_handler();
    llvm::install_bad_alloc_error_handler([](void*, const char*, bool) { throw std::bad_alloc(); });
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  return absl::OkStatus();
}

absl::Status CheckSetUp() {
  if (!LoadUnwinder()) return absl::ResourceExhaustedError("out of memory: the unwinder of exceptions was not loaded");
  if (!left) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      "memory ran out while the code generator was being set up: this process can compile no more; start it anew with "
      "more memory, or use platform=interpreter");
}

void NoteSetUpDone() { done = true; }

void NoteSetUpLeft() {
  if (!done) left = true;
}

}  // namespace xc::cpu
