#include "service/pjrt/helper_threads.h"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace xc::pjrt {
namespace {

// A thread that waits for work. Never freed, as its thread never ends.
class Helper {
 public:
  Helper() {
    // Signals are the other threads'.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      std::thread([this] { Work(); }).detach();
    } catch (...) {
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void Do(absl::FunctionRef<void()> work) {
    std::unique_lock<std::mutex> lock(mu_);
    work_ = &work;
    changed_.notify_all();
    changed_.wait(lock, [this] { return work_ == nullptr; });
    if (thrown_ != nullptr) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }

 private:
  void Work() {
    std::unique_lock<std::mutex> lock(mu_);
    while (true) {
      changed_.wait(lock, [this] { return work_ != nullptr; });
      lock.unlock();
      std::exception_ptr thrown;
      try {
        (*work_)();
      } catch (const std::exception&) {  // not what ends a thread
        thrown = std::current_exception();
      }
      lock.lock();
      thrown_ = std::move(thrown);
      work_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex mu_;
  std::condition_variable changed_;
  const absl::FunctionRef<void()>* work_ = nullptr;
  std::exception_ptr thrown_;
};

struct IdleHelpers {
  std::mutex mu;
  std::vector<Helper*> idle;
};

// Never freed: threads may outlive everything.
std::atomic<IdleHelpers*> idle_helpers{nullptr};

IdleHelpers& Idle() {
  IdleHelpers* helpers = idle_helpers.load(std::memory_order_acquire);
  if (helpers != nullptr) return *helpers;
  // A child has of its parent's threads only the one that forked.
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { idle_helpers.store(nullptr, std::memory_order_release); });
  (void)registered;
  auto* const made = new IdleHelpers;
  if (idle_helpers.compare_exchange_strong(helpers, made)) return *made;
  delete made;
  return *helpers;
}

// Takes a helper that has nothing to do, or makes one, and gives it back.
class Taken {
 public:
  Taken() : from_(Idle()) {
    {
      const std::lock_guard<std::mutex> lock(from_.mu);
      if (!from_.idle.empty()) {
        helper_ = from_.idle.back();
        from_.idle.pop_back();
        return;
      }
    }
    helper_ = new Helper;
  }
  ~Taken() {
    const std::lock_guard<std::mutex> lock(from_.mu);
    from_.idle.push_back(helper_);
  }
  Taken(const Taken&) = delete;

  Helper& helper() { return *helper_; }

 private:
  IdleHelpers& from_;
  Helper* helper_;
};

}  // namespace

void CallElsewhere(absl::FunctionRef<void()> work) { Taken().helper().Do(work); }

}  // namespace xc::pjrt
