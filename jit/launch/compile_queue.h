// Compilations that happen in the background, one after the other, while the host's kernels serve: first what most
// calls have asked for.
#ifndef XC_JIT_LAUNCH_COMPILE_QUEUE_H_
#define XC_JIT_LAUNCH_COMPILE_QUEUE_H_

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace xc {

// How many calls have asked for what a task makes. Whoever waits counts; tasks that serve the same calls share it.
using Demand = std::shared_ptr<std::atomic<int64_t>>;

class CompileQueue {
 public:
  static constexpr size_t kMaxTasks = 256;
  static constexpr int kBehindCalls = 5;  // a priority: calls that are being served go first
  // `nice` is the priority of the compiling thread, which the first task starts.
  explicit CompileQueue(int nice = 0) : nice_(nice) {}
  ~CompileQueue() { Stop(); }
  CompileQueue(const CompileQueue&) = delete;

  // Whether the task was taken: a full queue takes none, nor does one that was stopped. No demand: nobody waits for it.
  bool Add(const void* owner, Demand demand, std::function<void()> task);
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
  // Every so often the oldest task goes first, so that none waits for ever.
  static constexpr int kOldestEvery = 4;

  struct Task {
    const void* owner;
    Demand demand;
    std::function<void()> run;
  };

  void Work();
  // Takes the next task out; there is one.
  Task Next();
  bool Idle() const { return tasks_.empty() && !busy_; }

  const int nice_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;         // in the order in which they came
  int taken_ = 0;                  // tasks, by Next
  const void* running_ = nullptr;  // the owner, while busy
  bool busy_ = false, stop_ = false;
  std::thread* thread_ = nullptr;
  pid_t process_ = 0;  // that the thread belongs to: a forked child has none of its parent's
};

}  // namespace xc

#endif  // XC_JIT_LAUNCH_COMPILE_QUEUE_H_
