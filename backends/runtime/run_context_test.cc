// Tests of the executor, arenas and the run context.
#include "backends/runtime/run_context.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "backends/runtime/arena.h"
#include "backends/runtime/executor.h"
#include "backends/runtime/symbols.h"

namespace xc {
namespace {

TEST(ParallelFor, CoversTheRangeOnce) {
  auto executor = NewThreadPoolExecutor(4);
  for (int64_t n : {0, 1, 7, 64, 1000, 4097}) {
    for (int64_t grain : {1, 16, 5000}) {
      std::vector<std::atomic<int>> hits(n);
      std::atomic<bool> aligned{true};
      ParallelFor(executor.get(), 0, n, grain, [&](int64_t begin, int64_t end) {
        if (begin % grain != 0 || (end != n && end % grain != 0)) aligned = false;
        for (int64_t i = begin; i < end; ++i) ++hits[i];
      });
      for (auto& hit : hits) EXPECT_EQ(hit, 1);
      EXPECT_TRUE(aligned) << n << " " << grain;
    }
  }
}

TEST(ParallelFor, OneThreadStaysOnTheCaller) {
  auto executor = NewThreadPoolExecutor(4);
  const auto self = std::this_thread::get_id();
  for (Executor* e : {executor.get(), static_cast<Executor*>(nullptr)}) {
    int calls = 0;
    ParallelFor(e, 1, 1000, 1, [&](int64_t begin, int64_t end) {
      EXPECT_EQ(std::this_thread::get_id(), self);
      EXPECT_TRUE(InParallelFor());
      ++calls;
    });
    EXPECT_EQ(calls, 1);
  }
  EXPECT_FALSE(InParallelFor());
}

TEST(ParallelFor, NestedCallsRunInline) {
  auto executor = NewThreadPoolExecutor(3);
  std::atomic<int64_t> sum{0};
  ParallelFor(executor.get(), 0, 50, 1, [&](int64_t begin, int64_t end) {
    const auto self = std::this_thread::get_id();
    for (int64_t i = begin; i < end; ++i) {
      ParallelFor(executor.get(), 0, 10, 1, [&](int64_t b, int64_t e) {
        EXPECT_EQ(std::this_thread::get_id(), self);
        sum += e - b;
      });
    }
  });
  EXPECT_EQ(sum, 500);
}

TEST(ParallelFor, AnExceptionOfAnyThreadIsTheCallers) {
  auto executor = NewThreadPoolExecutor(4);
  for (int64_t bad : {0, 17, 50, 99}) {
    for (Executor* e : {executor.get(), static_cast<Executor*>(nullptr)}) {
      std::atomic<int> running{0};
      EXPECT_THROW(ParallelFor(e, 0, 100, 1,
                               [&](int64_t begin, int64_t end) {
                                 ++running;
                                 std::this_thread::sleep_for(std::chrono::microseconds(50));
                                 --running;
                                 if (begin <= bad && bad < end) throw std::bad_alloc();
                               }),
                   std::bad_alloc);
      EXPECT_EQ(running, 0);  // nobody uses what the caller gave any more
      EXPECT_FALSE(InParallelFor());
    }
  }
  std::atomic<int64_t> sum{0};
  ParallelFor(executor.get(), 0, 100, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
  EXPECT_EQ(sum, 100);
}

TEST(RunContext, AnExceptionEndsAtTheGeneratedCodesCall) {
  void (*parallel_for)(void*, void (*)(void*, int64_t, int64_t), void*, int64_t, int64_t) = nullptr;
  for (const RuntimeSymbol& symbol : RuntimeSymbols()) {
    if (std::string(symbol.name) == "xc_rt_parallel_for") {
      parallel_for = reinterpret_cast<decltype(parallel_for)>(symbol.address);
    }
  }
  ASSERT_NE(parallel_for, nullptr);
  auto executor = NewThreadPoolExecutor(2);
  RunContext ctx(nullptr, executor.get());
  parallel_for(
      &ctx, [](void*, int64_t, int64_t) { throw std::bad_alloc(); }, nullptr, 1000, 1);
  EXPECT_EQ(ctx.status(), absl::ResourceExhaustedError("out of memory"));
}

TEST(SmallParallelFor, CoversTheRangeOnce) {
  auto executor = NewThreadPoolExecutor(4);
  RunContext ctx(nullptr, executor.get());
  for (int turn = 0; turn < 300; ++turn) {
    for (int64_t n : {1, 2, 7, 64}) {
      std::vector<std::atomic<int>> hits(n);
      ctx.SmallParallelFor(n, 2, int64_t{1} << 20, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) ++hits[i];
      });
      for (auto& hit : hits) EXPECT_EQ(hit, 1);
    }
  }
}

TEST(SmallParallelFor, OneThreadStaysOnTheCaller) {
  auto executor = NewThreadPoolExecutor(4);
  const auto self = std::this_thread::get_id();
  int64_t alone = 0;
  for (Executor* e : {executor.get(), static_cast<Executor*>(nullptr)}) {
    int calls = 0;
    SmallParallelFor(e, 1, 1000, 1, int64_t{1} << 40, &alone, [&](int64_t begin, int64_t end) {
      EXPECT_EQ(std::this_thread::get_id(), self);
      calls += end - begin == 1000;
    });
    EXPECT_EQ(calls, 1);
  }
}

// One that sleeps whenever it is asked, and counts how often it would have been woken.
class Sleeper : public Executor {
 public:
  int num_threads() const override { return 2; }
  int ready() const override { return 0; }
  void Schedule(std::function<void()>) override { ++woken; }
  int woken = 0;
};

// Runs with one loop of a megabyte each, until `end` or until the executor is woken.
void SmallRuns(Sleeper* executor, std::chrono::steady_clock::time_point end, std::chrono::microseconds pause) {
  while (executor->woken == 0 && std::chrono::steady_clock::now() < end) {
    RunContext ctx(nullptr, executor);
    ctx.SmallParallelFor(64, 1, int64_t{1} << 20, [](int64_t, int64_t) {});
    if (pause.count() > 0) std::this_thread::sleep_for(pause);
  }
}

TEST(SmallParallelFor, WakesForRunsThatFollowAtOnce) {
  Sleeper executor;
  const auto now = std::chrono::steady_clock::now();
  SmallRuns(&executor, now + std::chrono::milliseconds(300), std::chrono::microseconds(100));
  EXPECT_EQ(executor.woken, 0);
  SmallRuns(&executor, now + std::chrono::seconds(20), std::chrono::microseconds(0));
  EXPECT_EQ(executor.woken, 1);
}

TEST(Executor, ScheduledTasksRun) {
  std::atomic<int> ran{0};
  {
    auto executor = NewThreadPoolExecutor(3);
    EXPECT_EQ(executor->num_threads(), 3);
    for (int i = 0; i < 100; ++i) executor->Schedule([&] { ++ran; });
  }
  EXPECT_EQ(ran, 100);
}

TEST(ParallelFor, ManyCallersShareAPool) {
  auto executor = NewThreadPoolExecutor(3);
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        ParallelFor(executor.get(), 0, 37, 1, [&](int64_t b, int64_t e) { sum += e - b; });
      }
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(sum, 4 * 200 * 37);
}

TEST(Block, IsAlignedAndWritable) {
  for (size_t size : {size_t{0}, size_t{1}, size_t{4096}, size_t{5} << 20}) {
    for (bool guard : {false, true}) {
      auto block = Block::Allocate(size, guard);
      ASSERT_TRUE(block.ok()) << block.status();
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block->data()) % kBufferAlignment, 0);
      std::memset(block->data(), 1, size);
      EXPECT_TRUE(block->PatternIntact());
    }
  }
  auto huge = Block::Allocate(~size_t{0});
  EXPECT_EQ(huge.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(huge.status().message(), "cannot allocate a block of 18446744073709551615 bytes");
}

TEST(BlockDeathTest, GuardPagesFault) {
  auto block = Block::Allocate(4096, true);
  ASSERT_TRUE(block.ok());
  volatile char* data = block->data();
  EXPECT_DEATH(data[4096] = 1, "");
  EXPECT_DEATH(data[-1] = 1, "");
}

TEST(Block, PatternShowsSmallOverruns) {
  auto block = Block::Allocate(100, true);
  ASSERT_TRUE(block.ok());
  block->data()[100] = 1;
  EXPECT_FALSE(block->PatternIntact());
  block = Block::Allocate(100, true);
  block->data()[-1] = 1;
  EXPECT_FALSE(block->PatternIntact());
}

TEST(ArenaPool, ReusesBlocks) {
  ArenaPool pool(1000);
  char* first = nullptr;
  {
    auto a = pool.Acquire();
    auto b = pool.Acquire();
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_NE(a->data(), b->data());
    first = a->data();
  }
  auto c = pool.Acquire();
  auto d = pool.Acquire();
  EXPECT_TRUE(c->data() == first || d->data() == first);
}

TEST(RunContext, KeepsTheFirstError) {
  RunContext ctx;
  EXPECT_FALSE(ctx.failed());
  EXPECT_EQ(ctx.Record(absl::OkStatus()), 0);
  EXPECT_EQ(ctx.Record(absl::InvalidArgumentError("first")), 1);
  EXPECT_EQ(ctx.Record(absl::InternalError("second")), 1);
  EXPECT_EQ(ctx.status(), absl::InvalidArgumentError("first"));
  EXPECT_TRUE(ctx.failed());
}

TEST(RunContext, ParallelForInC) {
  auto executor = NewThreadPoolExecutor(2);
  RunContext ctx(nullptr, executor.get());
  std::vector<int> values(1000);
  xc_rt_parallel_for(
      &ctx,
      [](void* env, int64_t begin, int64_t end) {
        for (; begin < end; ++begin) ++static_cast<int*>(env)[begin];
      },
      values.data(), values.size(), 10);
  EXPECT_EQ(values, std::vector<int>(1000, 1));
}

TEST(RunContext, Feeds) {
  RunContext ctx;
  int32_t value = 0;
  EXPECT_EQ(xc_rt_infeed(&ctx, &value, 4), 1);
  EXPECT_EQ(ctx.status().message(), "this run has no infeed queue");
  TransferQueue in, out;
  RunContext fed;
  fed.infeed = &in;
  fed.outfeed = &out;
  in.Push(std::string("\x05\0\0\0", 4));
  in.Push("abc");
  EXPECT_EQ(xc_rt_infeed(&fed, &value, 4), 0);
  EXPECT_EQ(value, 5);
  EXPECT_EQ(xc_rt_outfeed(&fed, &value, 4), 0);
  EXPECT_EQ(out.size(), 1);
  EXPECT_EQ(xc_rt_infeed(&fed, &value, 4), 1);
  EXPECT_EQ(fed.status().message(), "infeed: the program takes 4 bytes, the next buffer has 3");
  RunContext dry;
  dry.infeed = &in;
  EXPECT_EQ(xc_rt_infeed(&dry, &value, 4), 1);
  EXPECT_EQ(dry.status().message(), "infeed: the queue is empty: nothing was transferred to it");
}

TEST(RunContext, RngState) {
  RunContext ctx;
  ctx.set_rng_state((static_cast<unsigned __int128>(3) << 64) | ~0ull);
  uint64_t state[2];
  xc_rt_rng_get_and_update_state(&ctx, state, 2);
  EXPECT_EQ(state[0], ~0ull);
  EXPECT_EQ(state[1], 3);
  xc_rt_rng_get_and_update_state(&ctx, state, 1);
  EXPECT_EQ(state[0], 1);
  EXPECT_EQ(state[1], 4);
}

}  // namespace
}  // namespace xc
