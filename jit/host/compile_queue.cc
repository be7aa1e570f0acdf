#include "jit/host/compile_queue.h"

#include <algorithm>

namespace xc {

CompileQueue::~CompileQueue() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    tasks_.clear();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void CompileQueue::Add(const void* owner, std::function<void()> task) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    tasks_.emplace_back(owner, std::move(task));
    if (!thread_.joinable()) thread_ = std::thread([this] { Work(); });
  }
  changed_.notify_all();
}

void CompileQueue::Cancel(const void* owner) {
  std::unique_lock<std::mutex> lock(mutex_);
  tasks_.erase(std::remove_if(tasks_.begin(), tasks_.end(), [&](const auto& t) { return t.first == owner; }),
               tasks_.end());
  changed_.wait(lock, [&] { return running_ != owner; });
}

void CompileQueue::Drain() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return tasks_.empty() && running_ == nullptr; });
}

void CompileQueue::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || !tasks_.empty(); });
    if (stop_) return;
    auto [owner, task] = std::move(tasks_.front());
    tasks_.pop_front();
    running_ = owner;
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
    running_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace xc
