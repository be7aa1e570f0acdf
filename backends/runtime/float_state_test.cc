// The state of threads inside and outside of scopes, and of those that help in a loop.
#include "backends/runtime/float_state.h"

#include <cfenv>
#include <mutex>
#include <set>
#include <thread>

#include "backends/runtime/executor.h"
#include "gtest/gtest.h"

#if defined(__x86_64__)
#include <xmmintrin.h>

namespace xc {
namespace {

constexpr uint32_t kFlush = 0x8040;

// Sets the calling thread's register for a test.
struct Register {
  explicit Register(uint32_t value) : before(_mm_getcsr()) { _mm_setcsr(value); }
  ~Register() { _mm_setcsr(before); }
  const uint32_t before;
};

float Product(float x, float y) {
  volatile float a = x, b = y;
  return a * b;
}

TEST(FloatState, IsTheStandardsInsideAndAsBeforeOutside) {
  const Register upward(_MM_MASK_MASK | _MM_ROUND_UP | kFlush);
  const uint32_t before = FloatScope::State();
  {
    const FloatScope scope(FloatScope::Denormals::kKept);
    EXPECT_EQ(Product(0x1p-100f, 0x1p-40f), 0x1p-140f);
    EXPECT_EQ(Product(1 + 0x1p-23f, 1 + 0x1p-23f), 1 + 0x1p-22f);
  }
  EXPECT_EQ(FloatScope::State(), before);
  EXPECT_EQ(Product(0x1p-100f, 0x1p-40f), 0);
  EXPECT_GT(Product(1 + 0x1p-23f, 1 + 0x1p-23f), 1 + 0x1p-22f);
}

TEST(FloatState, NothingTraps) {
  const Register trapping(_MM_ROUND_NEAREST);
  const FloatScope scope(FloatScope::Denormals::kKept);
  EXPECT_GT(Product(1e30f, 1e30f), 1e38f);
}

TEST(FloatState, DenormalsAsTheCallerHasThem) {
  for (const uint32_t flush : {kFlush, uint32_t{0}}) {
    const Register own(_MM_MASK_MASK | flush);
    const FloatScope scope(FloatScope::Denormals::kAsCaller);
    EXPECT_EQ(Product(0x1p-100f, 0x1p-40f), flush != 0 ? 0 : 0x1p-140f);
  }
}

TEST(FloatState, ThreadsThatHelpHaveTheCallers) {
  const std::unique_ptr<Executor> pool = NewThreadPoolExecutor(3);
  for (const uint32_t flush : {kFlush, uint32_t{0}}) {
    const Register own(_MM_MASK_MASK | flush);
    const FloatScope scope(FloatScope::Denormals::kAsCaller);
    std::mutex mu;
    std::set<uint32_t> states;
    std::set<std::thread::id> threads;
    for (int tries = 0; tries < 1000 && threads.size() < 2; ++tries) {
      ParallelFor(pool.get(), 0, 64, 1, [&](int64_t, int64_t) {
        std::this_thread::yield();
        const std::lock_guard<std::mutex> lock(mu);
        states.insert(FloatScope::State());
        threads.insert(std::this_thread::get_id());
      });
    }
    EXPECT_GT(threads.size(), 1u);
    EXPECT_EQ(states, (std::set<uint32_t>{_MM_MASK_MASK | flush}));
  }
}

}  // namespace
}  // namespace xc

#endif
