// Compilations that happen in the background, one after the other, while the host's kernels serve.
#ifndef XC_JIT_HOST_COMPILE_QUEUE_H_
#define XC_JIT_HOST_COMPILE_QUEUE_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace xc {

class CompileQueue {
 public:
  CompileQueue() = default;
  ~CompileQueue();  // drops what has not begun
  CompileQueue(const CompileQueue&) = delete;

  void Add(const void* owner, std::function<void()> task);
  // Drops the owner's tasks and waits for the one that runs.
  void Cancel(const void* owner);
  // Waits until nothing is left to do.
  void Drain();

 private:
  void Work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<const void*, std::function<void()>>> tasks_;
  const void* running_ = nullptr;
  bool stop_ = false;
  std::thread thread_;  // started by the first task
};

}  // namespace xc

#endif  // XC_JIT_HOST_COMPILE_QUEUE_H_
