#include "service/pjrt/launch_queue.h"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <utility>

namespace xc::pjrt {
namespace {

// Never freed: its thread may outlive everything.
std::atomic<LaunchQueue*> current_queue{nullptr};

}  // namespace

LaunchQueue& LaunchQueue::Get() {
  LaunchQueue* queue = current_queue.load(std::memory_order_acquire);
  if (queue != nullptr) return *queue;
  // A child has of its parent's threads only the one that forked.
  static const int registered = [] {
    std::atexit(Drain);
    return pthread_atfork(Drain, nullptr, [] { current_queue.store(nullptr, std::memory_order_release); });
  }();
  (void)registered;
  auto* const made = new LaunchQueue;
  if (current_queue.compare_exchange_strong(queue, made)) return *made;
  delete made;
  return *queue;
}

void LaunchQueue::Drain() {
  LaunchQueue* const queue = current_queue.load(std::memory_order_acquire);
  if (queue != nullptr) queue->AwaitEmpty();
}

void LaunchQueue::AwaitEmpty() {
  std::unique_lock<std::mutex> lock(mu_);
  if (OnOwnThread()) return;
  changed_.wait(lock, [this] { return tasks_.empty() && !busy_; });
}

void LaunchQueue::Add(std::function<void()> task) {
  std::unique_lock<std::mutex> lock(mu_);
  if (!OnOwnThread()) changed_.wait(lock, [this] { return tasks_.size() < kMostWaiting; });
  tasks_.push_back(std::move(task));
  if (!started_) {
    // Signals are the other threads'.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread thread([this] { Work(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    thread_ = thread.get_id();
    thread.detach();
    started_ = true;
  }
  changed_.notify_all();
}

void LaunchQueue::Work() {
  std::unique_lock<std::mutex> lock(mu_);
  while (true) {
    changed_.wait(lock, [this] { return !tasks_.empty(); });
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    busy_ = true;
    changed_.notify_all();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace xc::pjrt
