// RunContext and the C functions about it.
#include "backends/runtime/run_context.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace xc {

struct RunContextLayout {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
  static constexpr size_t kArena = offsetof(RunContext, arena_);
  static constexpr size_t kFailed = offsetof(RunContext, failed_);
#pragma GCC diagnostic pop
};
static_assert(RunContextLayout::kArena == RunContext::kArenaOffset);
static_assert(RunContextLayout::kFailed == RunContext::kFailedOffset);

void TransferQueue::Push(std::string bytes) {
  std::lock_guard<std::mutex> lock(mu_);
  buffers_.push_back(std::move(bytes));
}

absl::Status TransferQueue::Pop(std::string* bytes) {
  std::lock_guard<std::mutex> lock(mu_);
  if (buffers_.empty()) return absl::FailedPreconditionError("the queue is empty: nothing was transferred to it");
  *bytes = std::move(buffers_.front());
  buffers_.pop_front();
  return absl::OkStatus();
}

size_t TransferQueue::size() const {
  std::lock_guard<std::mutex> lock(mu_);
  return buffers_.size();
}

int64_t TransferQueue::next_bytes() const {
  std::lock_guard<std::mutex> lock(mu_);
  return buffers_.empty() ? -1 : static_cast<int64_t>(buffers_.front().size());
}

int RunContext::num_threads() const {
  int threads = executor_ == nullptr ? 1 : executor_->num_threads();
  return thread_limit_ > 0 ? std::min(threads, thread_limit_) : threads;
}

int RunContext::Record(const absl::Status& status) {
  if (status.ok()) return 0;
  std::lock_guard<std::mutex> lock(mu_);
  if (status_.ok()) status_ = status;
  failed_.store(1, std::memory_order_release);
  return 1;
}

absl::Status RunContext::status() const {
  std::lock_guard<std::mutex> lock(mu_);
  return status_;
}

unsigned __int128 RunContext::AdvanceRngState(uint64_t delta) {
  std::lock_guard<std::mutex> lock(mu_);
  return std::exchange(rng_state_, rng_state_ + delta);
}

TransferQueue& RunContext::Channel(int64_t id) {
  std::lock_guard<std::mutex> lock(mu_);
  return channels_[id];
}

}  // namespace xc

using xc::RunContext;

static RunContext* Of(void* ctx) { return static_cast<RunContext*>(ctx); }

void xc_rt_parallel_for(void* ctx, void (*body)(void* env, int64_t begin, int64_t end), void* env, int64_t n,
                        int64_t grain) {
  Of(ctx)->ParallelFor(n, grain, [&](int64_t begin, int64_t end) { body(env, begin, end); });
}

// Moves the queue's oldest buffer to `dst`; `what` names the queue in errors.
static int Take(RunContext* run, xc::TransferQueue& queue, const std::string& what, void* dst, int64_t bytes) {
  std::string buffer;
  absl::Status status = queue.Pop(&buffer);
  if (!status.ok()) return run->Record(absl::FailedPreconditionError(absl::StrCat(what, ": ", status.message())));
  if (static_cast<int64_t>(buffer.size()) != bytes) {
    return run->Record(absl::InvalidArgumentError(
        absl::StrCat(what, ": the program takes ", bytes, " bytes, the next buffer has ", buffer.size())));
  }
  std::memcpy(dst, buffer.data(), bytes);
  return 0;
}

int xc_rt_infeed(void* ctx, void* dst, int64_t bytes) {
  RunContext* run = Of(ctx);
  if (run->infeed == nullptr) return run->Record(absl::FailedPreconditionError("this run has no infeed queue"));
  return Take(run, *run->infeed, "infeed", dst, bytes);
}

int xc_rt_send(void* ctx, int64_t channel, const void* src, int64_t bytes) {
  Of(ctx)->Channel(channel).Push(std::string(static_cast<const char*>(src), bytes));
  return 0;
}

int xc_rt_recv(void* ctx, int64_t channel, void* dst, int64_t bytes) {
  RunContext* run = Of(ctx);
  return Take(run, run->Channel(channel), absl::StrCat("recv on channel ", channel), dst, bytes);
}

int xc_rt_outfeed(void* ctx, const void* src, int64_t bytes) {
  RunContext* run = Of(ctx);
  if (run->outfeed == nullptr) return run->Record(absl::FailedPreconditionError("this run has no outfeed queue"));
  run->outfeed->Push(std::string(static_cast<const char*>(src), bytes));
  return 0;
}

void xc_rt_rng_get_and_update_state(void* ctx, uint64_t* state, int64_t delta) {
  const unsigned __int128 old = Of(ctx)->AdvanceRngState(static_cast<uint64_t>(delta));
  state[0] = static_cast<uint64_t>(old);
  state[1] = static_cast<uint64_t>(old >> 64);
}

uint32_t xc_rt_replica_id(void* ctx) { return Of(ctx)->device.replica_id; }
uint32_t xc_rt_partition_id(void* ctx) { return Of(ctx)->device.partition_id; }
