// Compilations that happen in the background, one after the other, while the host's kernels serve.
#ifndef XC_JIT_HOST_COMPILE_QUEUE_H_
#define XC_JIT_HOST_COMPILE_QUEUE_H_

#include <sys/types.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace xc {

class CompileQueue {
 public:
  // `nice` is the priority of the compiling thread, which the first task starts.
  explicit CompileQueue(int nice = 0) : nice_(nice) {}
  ~CompileQueue() { Stop(); }
  CompileQueue(const CompileQueue&) = delete;

  // Tasks added after Stop are dropped.
  void Add(const void* owner, std::function<void()> task);
  // Drops the owner's tasks and waits for the one that runs.
  void Cancel(const void* owner);
  // Waits until nothing is left to do.
  void Drain();
  // The same for `seconds` at most; whether that was reached.
  bool DrainFor(double seconds);
  // Tasks queued or running.
  int pending();
  // Drops what has not begun and waits for the one that runs.
  void Stop();

 private:
  void Work();
  bool Idle() const { return tasks_.empty() && !busy_; }

  const int nice_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<const void*, std::function<void()>>> tasks_;
  const void* running_ = nullptr;  // the owner, while busy
  bool busy_ = false, stop_ = false;
  std::thread* thread_ = nullptr;
  pid_t process_ = 0;  // that the thread belongs to: a forked child has none of its parent's
};

}  // namespace xc

#endif  // XC_JIT_HOST_COMPILE_QUEUE_H_
