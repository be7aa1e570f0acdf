// Code that is compared with the host's kernels, and given up.
#include <gmock/gmock.h>

#include "jit/launch/launcher_testing.h"

namespace xc {
namespace {

using ::testing::ElementsAre;

TEST_F(LauncherTest, TheCostGateGivesUpSlowerCode) {
  policy_.time_host = true;
  policy_.batch_buckets = false;
  behaviour_.ns_per_element = 1000;
  struct {
    int64_t size, host_ns;
    int on_host;
    Outcome last;
  } cases[] = {
      {1000, 500'000, 40 - 16, Outcome::kFallsBack},
      {1001, 2'000'000, 6, Outcome::kRan},
      {1002, 1'000'000, 6, Outcome::kRan},  // within the gate's margin
      {10, 1, 0, Outcome::kRan},            // too short to be worth it
  };
  Make(kDouble);
  for (const auto& c : cases) {
    SCOPED_TRACE(c.size);
    Outcome outcome = Outcome::kRan;
    int on_host = 0;
    for (int i = 0; i < 40; ++i) {
      outcome = LaunchOrHost(c.size, c.host_ns);
      on_host += outcome != Outcome::kRan;
    }
    EXPECT_EQ(on_host, c.on_host);
    EXPECT_EQ(outcome, c.last);
  }
  EXPECT_EQ(counters_.slower_signatures, 1);
  EXPECT_EQ(States()["float32[1000]"], "slower than the host's kernels: 1000 us against 500");
  EXPECT_EQ(Launch(1000, {}, /*required=*/true), Outcome::kRan) << "better than nothing";
}

TEST_F(LauncherTest, WithoutTimingTheHostsOwnRunsDecide) {
  policy_.when = CompileWhen::kLazy;
  policy_.lazy_runs = 3;
  policy_.gate_host_runs = 3;
  behaviour_.ns_per_element = 1000;
  Make(kDouble);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(LaunchOrHost(1000, 1000), Outcome::kNotYet);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(LaunchOrHost(1000, 1000), Outcome::kRan);
  EXPECT_EQ(LaunchOrHost(1000, 1000), Outcome::kFallsBack);
  // Nothing is known of what no call ran on the host.
  policy_.when = CompileWhen::kNow;
  for (int i = 0; i < 40; ++i) EXPECT_EQ(Launch(2), Outcome::kRan);
}

TEST_F(LauncherTest, SharedCodeThatIsSlowerGetsAnExactChance) {
  policy_.when = CompileWhen::kBackground;
  policy_.time_host = true;
  behaviour_.ns_per_element = 1000;
  behaviour_.compile_ns = 1'000'000'000;
  Make(kDouble);
  for (int64_t size : {1000, 800}) {
    Launch(size);
    RunTasks();
  }
  // Padded 1000 us, exact 800: quicker than the host only by itself.
  for (int i = 0; i < 40 && counters_.exact_later == 0; ++i) {
    LaunchOrHost(800, 900'000);
    RunTasks();
  }
  EXPECT_EQ(counters_.exact_later, 1);
  for (int i = 0; i < 100; ++i) LaunchOrHost(800, 900'000);
  EXPECT_EQ(Launch(800), Outcome::kRan);
  EXPECT_EQ(counters_.slower_signatures, 0);
}

TEST_F(LauncherTest, WhatAFamilyTookIsNotTimedAgain) {
  policy_.time_host = true;
  behaviour_.ns_per_element = 1000;
  Make(kDouble);
  std::vector<int> on_host;
  // The first is alone yet; the others have about as large a batch, and share code.
  for (int64_t size : {1000, 900, 880}) {
    on_host.push_back(0);
    for (int i = 0; i < 40; ++i) on_host.back() += LaunchOrHost(size, 5'000'000) != Outcome::kRan;
  }
  EXPECT_THAT(on_host, ElementsAre(6, 6, 0));
}

}  // namespace
}  // namespace xc
