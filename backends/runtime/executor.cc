// A thread pool as Executor, and ParallelFor, in which the caller and the workers claim blocks from both ends.
#include "backends/runtime/executor.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "backends/runtime/float_state.h"
#include "hlo/base/machine.h"

namespace xc {
namespace {

thread_local int parallel_depth = 0;

// For how long a worker without a task looks for one before it sleeps.
constexpr std::chrono::microseconds kLook{20};

// The last small loop that this thread ran alone: its run's bytes with it, and when it ended.
thread_local int64_t last_alone = 0;
thread_local std::chrono::steady_clock::time_point last_alone_end;

// Workers look for tasks for a while before they sleep, so that a run finds them awake from one loop to the next.
class PoolExecutor : public Executor {
 public:
  explicit PoolExecutor(int num_threads) {
    try {
      for (int i = 1; i < num_threads; ++i) workers_.emplace_back([this] { Work(); });
    } catch (...) {
      // The system gives no more threads: those that there are do the work.
    }
  }
  // Runs what was scheduled.
  ~PoolExecutor() override {
    {
      std::lock_guard<std::mutex> lock(mu_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }
  int num_threads() const override { return static_cast<int>(workers_.size()) + 1; }
  int ready() const override {
    return looking_.load(std::memory_order_relaxed) - waiting_.load(std::memory_order_relaxed);
  }
  void Schedule(std::function<void()> task) override {
    if (workers_.empty()) return task();
    bool wake;
    {
      std::lock_guard<std::mutex> lock(mu_);
      tasks_.push_back(std::move(task));
      wake = sleeping_ > 0 && static_cast<int64_t>(tasks_.size()) > looking_.load(std::memory_order_relaxed);
    }
    // Only now, so that those who look for it find the lock free.
    waiting_.fetch_add(1, std::memory_order_release);
    if (wake) changed_.notify_one();
  }

 private:
  void Work() {
    while (std::function<void()> task = Next()) {
      try {
        task();
      } catch (...) {
        // Who schedules a task that can fail sees to it that the caller learns of it, as ParallelFor does.
      }
    }
  }

  // The next task; none when the pool is to end.
  std::function<void()> Next() {
    looking_.fetch_add(1, std::memory_order_relaxed);
    const auto end = std::chrono::steady_clock::now() + kLook;
    do {
      for (int i = 0; i < 16; ++i) {
        if (waiting_.load(std::memory_order_acquire) > 0) {
          std::unique_lock<std::mutex> lock(mu_, std::try_to_lock);
          if (lock.owns_lock() && !tasks_.empty()) {
            looking_.fetch_sub(1, std::memory_order_relaxed);
            return Take();
          }
        }
        __builtin_ia32_pause();
      }
    } while (std::chrono::steady_clock::now() < end);
    std::unique_lock<std::mutex> lock(mu_);
    // Under the lock: who schedules sees this thread as looking, and then it finds the task, or as sleeping.
    looking_.fetch_sub(1, std::memory_order_relaxed);
    if (tasks_.empty()) {
      ++sleeping_;
      changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      --sleeping_;
    }
    return tasks_.empty() ? nullptr : Take();
  }

  std::function<void()> Take() {
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    return task;
  }

  std::mutex mu_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  int sleeping_ = 0;
  bool stopping_ = false;
  std::atomic<int> looking_{0};
  std::atomic<int> waiting_{0};  // tasks that were scheduled and not taken
  std::vector<std::thread> workers_;
};

// While one lives, the thread is inside of a ParallelFor's piece.
struct InsidePiece {
  InsidePiece() { ++parallel_depth; }
  ~InsidePiece() { --parallel_depth; }
};

// What the threads of one ParallelFor share. Workers that come too late find no block left and only drop their
// reference, so the caller never waits for a task that has not started. An exception that leaves a block is kept for
// the caller, and blocks that were not begun are left out.
struct Loop {
  Loop(int64_t n, int64_t block, int64_t num_blocks, absl::FunctionRef<void(int64_t, int64_t)> fn)
      : n(n), block(block), num_blocks(num_blocks), fn(fn) {}
  const int64_t n, block, num_blocks;
  const absl::FunctionRef<void(int64_t, int64_t)> fn;  // valid while a block is unfinished
  const uint32_t float_state = FloatScope::State();    // the caller's
  std::atomic<int64_t> claimed{0}, first{0}, last{0};
  std::atomic<int64_t> done{0};
  std::atomic<bool> failed{false};
  std::exception_ptr error;  // of the first block that failed; to be read when all are done

  // The caller takes blocks from the front, workers from the back: in a program that repeats itself, each finds in its
  // processor's cache what it had there the last time.
  void Work(bool caller) {
    const FloatScope floats(float_state);
    InsidePiece inside;
    int64_t finished = 0;
    while (claimed.fetch_add(1, std::memory_order_relaxed) < num_blocks) {
      const int64_t i = caller ? first.fetch_add(1, std::memory_order_relaxed)
                               : num_blocks - 1 - last.fetch_add(1, std::memory_order_relaxed);
      try {
        if (!failed.load(std::memory_order_relaxed)) fn(i * block, std::min(n, (i + 1) * block));
      } catch (...) {
        if (!failed.exchange(true)) error = std::current_exception();
      }
      ++finished;
    }
    if (finished != 0 && done.fetch_add(finished, std::memory_order_acq_rel) + finished == num_blocks) {
      done.notify_all();
    }
  }

  // Returns for how long the caller slept.
  std::chrono::steady_clock::duration Wait() {
    for (int spin = 0; spin < 2000; ++spin) {
      if (done.load(std::memory_order_acquire) == num_blocks) return {};
      __builtin_ia32_pause();
    }
    const auto start = std::chrono::steady_clock::now();
    for (int64_t seen = done.load(std::memory_order_acquire); seen != num_blocks;
         seen = done.load(std::memory_order_acquire)) {
      done.wait(seen, std::memory_order_acquire);
    }
    return std::chrono::steady_clock::now() - start;
  }
};

// Threads that a loop may use.
int Threads(Executor* executor, int limit) {
  if (executor == nullptr || InParallelFor()) return 1;
  return limit > 0 ? std::min(limit, executor->num_threads()) : executor->num_threads();
}

void RunAlone(int64_t n, absl::FunctionRef<void(int64_t, int64_t)> fn) {
  InsidePiece inside;
  fn(0, n);
}

struct Outcome {
  std::chrono::steady_clock::duration slept;  // of the caller, at the end
  bool helped;                                // a worker came in time
};

Outcome RunTogether(Executor* executor, int64_t threads, int64_t n, int64_t block,
                    absl::FunctionRef<void(int64_t, int64_t)> fn) {
  const int64_t num_blocks = (n - 1) / block + 1;
  auto loop = std::make_shared<Loop>(n, block, num_blocks, fn);
  try {
    for (int64_t i = 1; i < std::min(threads, num_blocks); ++i) executor->Schedule([loop] { loop->Work(false); });
  } catch (...) {
    // No memory to ask for more help: who was asked already, and the caller, do the work.
  }
  loop->Work(true);
  const auto slept = loop->Wait();
  if (loop->error != nullptr) std::rethrow_exception(loop->error);
  return {slept, loop->last.load(std::memory_order_relaxed) > 0};
}

}  // namespace

std::unique_ptr<Executor> NewThreadPoolExecutor(int num_threads) { return std::make_unique<PoolExecutor>(num_threads); }

Executor* DefaultExecutor() {
  // Lives as long as the process. A forked child has none of its parent's threads: it makes a pool of its own.
  static std::atomic<Executor*> current{nullptr};
  static const int registered = pthread_atfork(nullptr, nullptr, [] { current.store(nullptr); });
  (void)registered;
  Executor* executor = current.load(std::memory_order_acquire);
  if (executor != nullptr) return executor;
  Executor* made = new PoolExecutor(AvailableCpus());
  if (current.compare_exchange_strong(executor, made)) return made;
  delete made;
  return executor;
}

bool InParallelFor() { return parallel_depth > 0; }

void ParallelFor(Executor* executor, int limit, int64_t n, int64_t min_grain,
                 absl::FunctionRef<void(int64_t, int64_t)> fn) {
  if (n <= 0) return;
  min_grain = std::max<int64_t>(1, min_grain);
  const int64_t grains = (n - 1) / min_grain + 1;
  const int64_t threads = std::min<int64_t>(Threads(executor, limit), grains);
  if (threads <= 1) return RunAlone(n, fn);
  // Sixteen blocks for each thread even out pieces of unequal cost, and numbers of pieces that threads do not divide.
  const int64_t wanted = std::min(grains, threads * 16);
  RunTogether(executor, threads, n, ((grains - 1) / wanted + 1) * min_grain, fn);
}

void SmallParallelFor(Executor* executor, int limit, int64_t n, int64_t min_grain, int64_t bytes, int64_t* alone,
                      absl::FunctionRef<void(int64_t, int64_t)> fn) {
  using Clock = std::chrono::steady_clock;
  // Processors that are busy with something else: a helper that does not come, or whose piece was waited for this long
  // since it was interrupted. Then nobody is asked for some time.
  constexpr std::chrono::microseconds kLate{200};
  constexpr std::chrono::milliseconds kPause{100}, kShortPause{5};
  static std::atomic<Clock::rep> busy_until{0};
  // A wake-up without success makes the next one wait for twice as many bytes.
  constexpr int64_t kFewBytes = int64_t{4} << 20, kManyBytes = int64_t{256} << 20;
  static std::atomic<int64_t> wake_after{kFewBytes};
  if (n <= 0) return;
  const int64_t threads = std::min<int64_t>(Threads(executor, limit), n / std::max<int64_t>(1, min_grain));
  if (threads <= 1) return RunAlone(n, fn);
  const auto now = [] { return Clock::now().time_since_epoch().count(); };
  const auto until = busy_until.load(std::memory_order_relaxed);
  if (until != 0) {
    if (now() < until) return RunAlone(n, fn);
    busy_until.store(0, std::memory_order_relaxed);
  }
  int64_t helpers = std::min<int64_t>(executor->ready(), threads - 1);
  const bool ready = helpers > 0;
  if (!ready) {
    // A run that follows at once goes on counting: a thread once woken stays awake from one to the next.
    if (*alone == 0 && last_alone != 0 && Clock::now() - last_alone_end < kLook) *alone = last_alone;
    *alone += bytes;
    const int64_t wait = wake_after.load(std::memory_order_relaxed);
    if (*alone < wait) {
      RunAlone(n, fn);
      last_alone = *alone;
      last_alone_end = Clock::now();
      return;
    }
    *alone = last_alone = 0;
    wake_after.store(std::min(2 * wait, kManyBytes), std::memory_order_relaxed);
    helpers = threads - 1;
  }
  const Outcome outcome = RunTogether(executor, helpers + 1, n, (n - 1) / (helpers + 1) + 1, fn);
  if (ready && outcome.helped) wake_after.store(kFewBytes, std::memory_order_relaxed);
  if (outcome.slept > kLate || (ready && !outcome.helped)) {
    const Clock::duration pause = outcome.helped ? kPause : kShortPause;
    busy_until.store(now() + pause.count(), std::memory_order_relaxed);
  }
}

}  // namespace xc
