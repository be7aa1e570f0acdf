#include "jit/plugin/background.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>

namespace xc {
namespace {

constexpr int kNice = 5;  // calls that are being served go first

class Worker {
 public:
  void Add(std::function<void()> task) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (stopping_) return;
    queue_.push_back(std::move(task));
    // A forked child has no threads of its parent's.
    if (thread_ == nullptr || owner_ != getpid()) {
      running_ = 0;
      owner_ = getpid();
      thread_ = new std::thread([this] { Loop(); });
    }
    changed_.notify_all();
  }

  int pending() {
    std::lock_guard<std::mutex> lock(mutex_);
    return static_cast<int>(queue_.size()) + running_;
  }

  bool Wait(double seconds) {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                             [this] { return queue_.empty() && running_ == 0; });
  }

  void Stop() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
      queue_.clear();
      if (thread_ == nullptr || owner_ != getpid()) return;
      changed_.notify_all();
    }
    thread_->join();
  }

 private:
  void Loop() {
    setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kNice);
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (stopping_) return;
      std::function<void()> task = std::move(queue_.front());
      queue_.pop_front();
      running_ = 1;
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
      running_ = 0;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  std::thread* thread_ = nullptr;
  pid_t owner_ = 0;
  int running_ = 0;
  bool stopping_ = false;
};

Worker& TheWorker() {
  static Worker* worker = [] {
    auto* w = new Worker;
    // Runs before the destructors of LLVM's globals, which were made when the library was loaded.
    std::atexit([] { TheWorker().Stop(); });
    return w;
  }();
  return *worker;
}

}  // namespace

void CompileInBackground(std::function<void()> task) { TheWorker().Add(std::move(task)); }
int PendingCompilations() { return TheWorker().pending(); }
bool WaitForCompilations(double seconds) { return TheWorker().Wait(seconds); }

}  // namespace xc
