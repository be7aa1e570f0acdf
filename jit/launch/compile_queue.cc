#include "jit/launch/compile_queue.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace xc {

bool CompileQueue::Add(const void* owner, Demand demand, std::function<void()> task) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (stop_ || tasks_.size() >= kMaxTasks) return false;
  tasks_.push_back({owner, std::move(demand), std::move(task)});
  if (thread_ == nullptr || process_ != getpid()) {
    busy_ = false;
    process_ = getpid();
    try {
      thread_ = new std::thread([this] { Work(); });
    } catch (...) {  // the system gives no thread
      thread_ = nullptr;
      tasks_.pop_back();
      return false;
    }
  }
  changed_.notify_all();
  return true;
}

void CompileQueue::Cancel(const void* owner) {
  std::unique_lock<std::mutex> lock(mutex_);
  tasks_.erase(std::remove_if(tasks_.begin(), tasks_.end(), [&](const Task& t) { return t.owner == owner; }),
               tasks_.end());
  changed_.wait(lock, [&] { return !busy_ || running_ != owner; });
}

void CompileQueue::Drain() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return Idle(); });
}

bool CompileQueue::DrainFor(double seconds) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return Idle(); });
}

int CompileQueue::pending() {
  std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int>(tasks_.size()) + (busy_ ? 1 : 0);
}

void CompileQueue::Stop() {
  std::thread* thread;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    tasks_.clear();
    if (thread_ == nullptr || process_ != getpid()) return;
    thread = std::exchange(thread_, nullptr);
    changed_.notify_all();
  }
  thread->join();
  delete thread;
}

CompileQueue::Task CompileQueue::Next() {
  auto next = tasks_.begin();
  if (++taken_ % kOldestEvery != 0) {
    auto asked = [](const Task& t) { return t.demand == nullptr ? 0 : t.demand->load(std::memory_order_relaxed); };
    int64_t most = asked(*next);
    for (auto it = tasks_.begin(); it != tasks_.end(); ++it) {
      if (const int64_t n = asked(*it); n > most) {
        most = n;
        next = it;
      }
    }
  }
  Task task = std::move(*next);
  tasks_.erase(next);
  return task;
}

void CompileQueue::Work() {
  if (nice_ != 0) setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), nice_);
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || !tasks_.empty(); });
    if (stop_) return;
    Task task = Next();
    running_ = task.owner;
    busy_ = true;
    lock.unlock();
    try {
      task.run();
    } catch (...) {
      // Compilations become statuses where they are made (CatchExceptions); what is lost here is what was to follow.
    }
    task = {};  // what it holds may be freed only without the lock
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace xc
