// Runs of programs that their callers do not wait for: one after the other, in the order of the calls.
#ifndef XC_SERVICE_PJRT_LAUNCH_QUEUE_H_
#define XC_SERVICE_PJRT_LAUNCH_QUEUE_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace xc::pjrt {

class LaunchQueue {
 public:
  // The one of this process. What is in it is done before the process forks, and before it ends; a forked child has one
  // of its own.
  static LaunchQueue& Get();
  // Waits until the process's queue, if there is one, is empty. Nothing is waited for on its own thread.
  static void Drain();

  // Does `task`, which throws nothing and waits for no other thread of the caller's, on the queue's thread. Blocks
  // while kMostWaiting others are to be done, so that callers do not run ahead without bound.
  void Add(std::function<void()> task);

  static constexpr size_t kMostWaiting = 32;

 private:
  void Work();
  void AwaitEmpty();
  bool OnOwnThread() const { return std::this_thread::get_id() == thread_; }  // with mu_ held

  std::mutex mu_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  std::thread::id thread_;
  bool started_ = false, busy_ = false;
};

}  // namespace xc::pjrt

#endif  // XC_SERVICE_PJRT_LAUNCH_QUEUE_H_
