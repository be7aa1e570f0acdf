// LLVM's objects where memory runs out. LLVM is written to be left by no exception: one that leaves it, which only lack
// of memory makes, skips its cleanup. What it was at work on may then be in any state and must not be touched again,
// not even to be destroyed: its memory is lost.
#ifndef XC_BACKENDS_CPU_ABANDONED_H_
#define XC_BACKENDS_CPU_ABANDONED_H_

#include <exception>
#include <new>
#include <utility>

namespace xc::cpu {

// An object that is destroyed with its scope, but not when an exception leaves the scope.
template <typename T>
class Abandoned {
 public:
  template <typename... Args>
  explicit Abandoned(Args&&... args) : exceptions_(std::uncaught_exceptions()) {
    new (&value_) T(std::forward<Args>(args)...);
  }
  Abandoned(const Abandoned&) = delete;
  ~Abandoned() {
    if (std::uncaught_exceptions() <= exceptions_) value_.~T();
  }
  T& operator*() { return value_; }
  T* operator->() { return &value_; }

 private:
  const int exceptions_;
  union {
    T value_;
  };
};

}  // namespace xc::cpu

#endif  // XC_BACKENDS_CPU_ABANDONED_H_
