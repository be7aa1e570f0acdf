// Threads for parallel loops: the Executor interface, a thread pool behind it, and ParallelFor on top.
#ifndef XC_BACKENDS_RUNTIME_EXECUTOR_H_
#define XC_BACKENDS_RUNTIME_EXECUTOR_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/functional/function_ref.h"

namespace xc {

// Where tasks run. A host framework's own pool can stand behind it. Thread-safe.
class Executor {
 public:
  virtual ~Executor() = default;
  // Threads that can work at once, the calling one included; at least 1.
  virtual int num_threads() const = 0;
  // Of the others, those that look for a task right now: one reaches them within a microsecond, and wakes nobody.
  virtual int ready() const = 0;
  // Runs `task` some time, on any thread but (normally) the caller's. Never called when num_threads() is 1.
  virtual void Schedule(std::function<void()> task) = 0;
};

// A pool with `num_threads - 1` workers: the thread that calls ParallelFor is the remaining one.
std::unique_ptr<Executor> NewThreadPoolExecutor(int num_threads);

// The process-wide pool, made at its first use, with as many threads as the process may use CPUs.
Executor* DefaultExecutor();

// Calls fn(begin, end) for consecutive pieces that cover [0, n) once. Every piece starts at a multiple of `min_grain`
// and but for the last is a multiple of it long. At most `limit` threads work (0: the executor's number); with one
// thread, or inside another ParallelFor's piece, everything runs on the calling thread as one piece. How the range is
// cut depends on the number of threads, so fn(a, c) must have the effect of fn(a, b) and fn(b, c) in any order.
// Returns when all pieces have run. `executor` may be null: one thread.
void ParallelFor(Executor* executor, int limit, int64_t n, int64_t min_grain,
                 absl::FunctionRef<void(int64_t, int64_t)> fn);

// ParallelFor for a loop that takes little longer than waking a thread does, and reads `bytes` of memory: only threads
// that look for a task help, each with one piece. One is woken where a run has had so many such loops that it will find
// it awake for long. `alone`: the run's count of bytes read without help, 0 at first.
void SmallParallelFor(Executor* executor, int limit, int64_t n, int64_t min_grain, int64_t bytes, int64_t* alone,
                      absl::FunctionRef<void(int64_t, int64_t)> fn);

// Whether the calling thread is inside a ParallelFor's piece.
bool InParallelFor();

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_EXECUTOR_H_
