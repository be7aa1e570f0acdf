// Code that is shared among batch sizes, and exact code that follows.
#include <gmock/gmock.h>

#include "jit/launch/launcher_testing.h"

namespace xc {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(BatchBuckets, SizesAreAtMostAQuarterLarger) {
  std::vector<int64_t> sizes;
  for (int64_t batch : {1, 7, 8, 9, 10, 11, 16, 17, 20, 21, 100, 1025}) sizes.push_back(BatchBuckets::SizeFor(batch));
  EXPECT_THAT(sizes, ElementsAre(1, 7, 8, 10, 10, 12, 16, 20, 20, 24, 112, 1280));
  for (int64_t batch = 1; batch < 3000; ++batch) {
    EXPECT_TRUE(BatchBuckets::Reaches(BatchBuckets::SizeFor(batch), batch)) << batch;
  }
}

TEST_F(LauncherTest, OtherBatchSizesShareCode) {
  Make(kDouble);
  for (int64_t size = 40; size >= 17; --size) EXPECT_EQ(Launch(size), Outcome::kRan);
  // 40 by itself, whose code serves calls of four fifths at least; then code for 32, 28, 24 and 20.
  EXPECT_EQ(compiler_->compiled, 5);
  EXPECT_EQ(counters_.shared_launches, 23);
  std::map<std::string, int> states;
  for (const auto& row : States()) ++states[row.second];
  EXPECT_THAT(states, ElementsAre(Pair("compiled", 1), Pair("compiled for a batch of 20", 3),
                                  Pair("compiled for a batch of 24", 3), Pair("compiled for a batch of 28", 3),
                                  Pair("compiled for a batch of 32", 6), Pair("compiled for a batch of 40", 8)));
}

TEST_F(LauncherTest, SharedCodeIsReadyForAllThatItServes) {
  policy_.when = CompileWhen::kBackground;
  Make(kDouble);
  for (int64_t size : {100, 200, 300, 64}) {
    EXPECT_EQ(Launch(size), Outcome::kNotYet);
    RunTasks();
  }
  EXPECT_EQ(compiler_->compiled, 4);
  for (int64_t size = 52; size <= 64; ++size) EXPECT_EQ(Launch(size), Outcome::kRan);
  // Those that wait get their code together.
  for (int64_t size : {41, 42, 43}) EXPECT_EQ(Launch(size), Outcome::kNotYet);
  RunTasks();
  for (int64_t size : {41, 42, 43, 48}) EXPECT_EQ(Launch(size), Outcome::kRan);
  EXPECT_EQ(compiler_->compiled, 5);
}

TEST_F(LauncherTest, ExactCodeFollowsOncePaddingHasCostAsMuchAsCompiling) {
  policy_.when = CompileWhen::kBackground;
  policy_.cost_gate = false;
  Make(kDouble);
  for (int64_t size : {100, 80}) {
    Launch(size);
    RunTasks();
  }
  EXPECT_EQ(compiler_->compiled, 1);
  // A fifth of 10 us each, until that is more than a millisecond.
  int runs = 0;
  while (counters_.exact_later == 0 && runs < 10'000) {
    ++runs;
    EXPECT_EQ(Launch(80), Outcome::kRan);
    RunTasks();
  }
  EXPECT_EQ(runs, 501);
  EXPECT_EQ(compiler_->compiled, 2);
  EXPECT_EQ(Launch(80), Outcome::kRan);
  EXPECT_EQ(States()["float32[80]"], "compiled by itself after 501 runs with a batch of 100");
}

}  // namespace
}  // namespace xc
