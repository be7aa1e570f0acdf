// What one run of an executable has of its own: arena, threads, the first error, random state, infeed and outfeed.
// Generated code passes it, opaque, as the first argument of every xc_rt_ function.
#ifndef XC_BACKENDS_RUNTIME_RUN_CONTEXT_H_
#define XC_BACKENDS_RUNTIME_RUN_CONTEXT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "backends/runtime/executor.h"

namespace xc {

// Buffers on their way between the host program and infeed or outfeed instructions, first in, first out. Thread-safe.
class TransferQueue {
 public:
  void Push(std::string bytes);
  // Takes the oldest buffer; FailedPrecondition when there is none (a run never waits for its host program).
  absl::Status Pop(std::string* bytes);
  size_t size() const;
  // Bytes of the oldest buffer; -1 when there is none.
  int64_t next_bytes() const;

 private:
  mutable std::mutex mu_;
  std::deque<std::string> buffers_;
};

class RunProfile;
// What whoever starts a run hands to foreign functions, by the number of its type.
struct CallUserData {
  std::map<int64_t, void*> by_type;
};

class Communicator;

// Which device of a launch a run is, and what the launch has for it.
struct RunDevice {
  // What replica-id and partition-id give.
  uint32_t replica_id = 0;
  uint32_t partition_id = 0;
  // The way to the other devices that run the program (backends/runtime/communicator.h). Not owned; null: none are
  // there.
  Communicator* communicator = nullptr;
  // For foreign functions: numbers of the launch and the device, and data of who started the run. Not owned; null:
  // none.
  int64_t run_id = 0;
  int32_t ordinal = 0;
  const CallUserData* user_data = nullptr;
};

class RunContext {
  // First, since generated code reads these two at fixed offsets.
  char* arena_;
  std::atomic<int32_t> failed_{0};

 public:
  explicit RunContext(char* arena = nullptr, Executor* executor = nullptr, int thread_limit = 0)
      : arena_(arena), executor_(executor), thread_limit_(thread_limit) {}
  RunContext(const RunContext&) = delete;

  char* arena() const { return arena_; }
  Executor* executor() const { return executor_; }
  // Threads that this run may use: the executor's, or fewer by the limit.
  int num_threads() const;

  void ParallelFor(int64_t n, int64_t min_grain, absl::FunctionRef<void(int64_t, int64_t)> fn) {
    if (profile != nullptr) return ProfiledParallelFor(n, min_grain, -1, fn);
    xc::ParallelFor(executor_, thread_limit_, n, min_grain, fn);
  }
  void SmallParallelFor(int64_t n, int64_t min_grain, int64_t bytes, absl::FunctionRef<void(int64_t, int64_t)> fn) {
    if (profile != nullptr) return ProfiledParallelFor(n, min_grain, bytes, fn);
    xc::SmallParallelFor(executor_, thread_limit_, n, min_grain, bytes, &bytes_alone_, fn);
  }

  // Keeps `status` if it is the run's first error. Returns 0 for OK and 1 for an error, as xc_rt_ functions do.
  int Record(const absl::Status& status);
  bool failed() const { return failed_.load(std::memory_order_acquire) != 0; }
  absl::Status status() const;

  // State of the rng and rng-get-and-update-state instructions: a 128-bit number.
  void set_rng_state(unsigned __int128 state) { rng_state_ = state; }
  // Adds `delta`; returns the number from before.
  unsigned __int128 AdvanceRngState(uint64_t delta);

  // What send instructions gave and no recv-done of the same channel has taken.
  TransferQueue& Channel(int64_t id);

  RunDevice device;
  // Not owned; null: the run has none, and infeed or outfeed is an error.
  TransferQueue* infeed = nullptr;
  TransferQueue* outfeed = nullptr;
  // Not owned; null: nobody asked where the time goes.
  RunProfile* profile = nullptr;

  static constexpr size_t kArenaOffset = 0;
  static constexpr size_t kFailedOffset = 8;

 private:
  friend struct RunContextLayout;
  // Either loop (`bytes` < 0: ParallelFor), telling the profile what helping threads do.
  void ProfiledParallelFor(int64_t n, int64_t min_grain, int64_t bytes, absl::FunctionRef<void(int64_t, int64_t)> fn);

  Executor* executor_;
  int thread_limit_;
  int64_t bytes_alone_ = 0;  // of small loops
  mutable std::mutex mu_;
  absl::Status status_;
  unsigned __int128 rng_state_ = 0x7012395ull;  // XLA's first state
  std::map<int64_t, TransferQueue> channels_;   // queues never move
};

}  // namespace xc

extern "C" {
// Generated code's view of RunContext. Functions that can fail return 0, or 1 after an error was recorded.
void xc_rt_parallel_for(void* ctx, void (*body)(void* env, int64_t begin, int64_t end), void* env, int64_t n,
                        int64_t grain);
// Moves the next infeed buffer, which must have `bytes` bytes, to `dst`; appends `src` to the outfeed.
int xc_rt_infeed(void* ctx, void* dst, int64_t bytes);
int xc_rt_outfeed(void* ctx, const void* src, int64_t bytes);
// The same for a channel on which the program sends to itself.
int xc_rt_send(void* ctx, int64_t channel, const void* src, int64_t bytes);
int xc_rt_recv(void* ctx, int64_t channel, void* dst, int64_t bytes);
// Writes the state's two words (low first: {low, high}) from before adding `delta`.
void xc_rt_rng_get_and_update_state(void* ctx, uint64_t* state, int64_t delta);
uint32_t xc_rt_replica_id(void* ctx);
uint32_t xc_rt_partition_id(void* ctx);
}

#endif  // XC_BACKENDS_RUNTIME_RUN_CONTEXT_H_
