// LLVM's state of its own, made at its first use behind locks that an exception leaves locked: where memory runs out
// before any code was generated, this process generates none from then on.
#ifndef XC_BACKENDS_CPU_LLVM_SET_UP_H_
#define XC_BACKENDS_CPU_LLVM_SET_UP_H_

#include <exception>

#include "absl/status/status.h"

namespace xc::cpu {

// Registers LLVM's target, once. Errors are those of CheckSetUp.
absl::Status InitializeLlvm();

// An error if an exception left LLVM before NoteSetUpDone.
absl::Status CheckSetUp();

// Code was generated and linked.
void NoteSetUpDone();
// An exception left LLVM.
void NoteSetUpLeft();

// Notes whether a scope of LLVM's work is left by an exception.
struct WatchSetUp {
  ~WatchSetUp() {
    if (std::uncaught_exceptions() > exceptions) NoteSetUpLeft();
  }
  const int exceptions = std::uncaught_exceptions();
};

}  // namespace xc::cpu

#endif  // XC_BACKENDS_CPU_LLVM_SET_UP_H_
