// A thread pool (Eigen's) as Executor, and ParallelFor, in which the caller and the workers claim blocks from a
// counter.
#include "backends/runtime/executor.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#define EIGEN_USE_THREADS
#include <eigen3/unsupported/Eigen/CXX11/ThreadPool>

namespace xc {
namespace {

thread_local int parallel_depth = 0;

class PoolExecutor : public Executor {
 public:
  explicit PoolExecutor(int num_threads) : num_threads_(std::max(1, num_threads)) {
    if (num_threads_ > 1) pool_ = std::make_unique<Eigen::ThreadPool>(num_threads_ - 1);
  }
  int num_threads() const override { return num_threads_; }
  void Schedule(std::function<void()> task) override {
    if (pool_ == nullptr) return task();
    pool_->Schedule(std::move(task));
  }

 private:
  int num_threads_;
  std::unique_ptr<Eigen::ThreadPool> pool_;
};

// What the threads of one ParallelFor share. Workers that come too late find no block left and only drop their
// reference, so the caller never waits for a task that has not started.
struct Loop {
  Loop(int64_t n, int64_t block, int64_t num_blocks, absl::FunctionRef<void(int64_t, int64_t)> fn)
      : n(n), block(block), num_blocks(num_blocks), fn(fn) {}
  const int64_t n, block, num_blocks;
  const absl::FunctionRef<void(int64_t, int64_t)> fn;  // valid while a block is unfinished
  std::atomic<int64_t> next{0};
  std::atomic<int64_t> done{0};

  void Work() {
    ++parallel_depth;
    int64_t finished = 0;
    for (int64_t i = next.fetch_add(1, std::memory_order_relaxed); i < num_blocks;
         i = next.fetch_add(1, std::memory_order_relaxed)) {
      fn(i * block, std::min(n, (i + 1) * block));
      ++finished;
    }
    --parallel_depth;
    if (finished != 0 && done.fetch_add(finished, std::memory_order_acq_rel) + finished == num_blocks) {
      done.notify_all();
    }
  }

  void Wait() {
    for (int spin = 0; spin < 2000; ++spin) {
      if (done.load(std::memory_order_acquire) == num_blocks) return;
      __builtin_ia32_pause();
    }
    for (int64_t seen = done.load(std::memory_order_acquire); seen != num_blocks;
         seen = done.load(std::memory_order_acquire)) {
      done.wait(seen, std::memory_order_acquire);
    }
  }
};

}  // namespace

int AvailableCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

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
  int64_t threads = executor == nullptr || InParallelFor() ? 1 : executor->num_threads();
  if (limit > 0) threads = std::min<int64_t>(threads, limit);
  const int64_t grains = (n - 1) / min_grain + 1;
  threads = std::min(threads, grains);
  if (threads <= 1) {
    ++parallel_depth;
    fn(0, n);
    --parallel_depth;
    return;
  }
  // Four blocks for each thread even out pieces of unequal cost.
  const int64_t wanted = std::min(grains, threads * 4);
  const int64_t block = ((grains - 1) / wanted + 1) * min_grain;
  const int64_t num_blocks = (n - 1) / block + 1;
  threads = std::min(threads, num_blocks);
  auto loop = std::make_shared<Loop>(n, block, num_blocks, fn);
  for (int64_t i = 1; i < threads; ++i) executor->Schedule([loop] { loop->Work(); });
  loop->Work();
  loop->Wait();
}

}  // namespace xc
