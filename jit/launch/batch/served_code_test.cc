// When exact code takes the place of shared code, and when it gives it back.
#include "jit/launch/batch/served_code.h"

#include <gtest/gtest.h>

#include <memory>

namespace xc {
namespace {

// Code for a batch of 10 of which `padding` are padding, which took a millisecond to compile; exact for 0.
ClusterCode Code(int padding) {
  auto code = std::make_shared<CompiledCluster>();
  if (padding > 0) code->padded_batch = 10;
  code->padding_part = 0.1 * padding;
  code->padded_seconds = 1.001e-3;
  return code;
}

// Runs of `ns` each until exact code is asked for; at most 10,000.
int RunsUntilAsked(ServedCode& served, int64_t ns) {
  for (int runs = 1; runs <= 10'000; ++runs) {
    if (served.Ran(*served.Get(), ns)) return runs;
  }
  return 0;
}

TEST(ServedCode, ExactCodeIsAskedForOncePaddingHasCostAsMuchAsCompiling) {
  ServedCode served;
  EXPECT_EQ(served.Get(), nullptr);
  EXPECT_EQ(served.Note(), "");
  served.Set(Code(2));
  // A fifth of 10 us each.
  EXPECT_EQ(RunsUntilAsked(served, 10'000), 501);
  EXPECT_EQ(RunsUntilAsked(served, 10'000), 0) << "only once";
  EXPECT_FALSE(served.AskForExact());
  EXPECT_EQ(served.Note(), " for a batch of 10");
  ServedCode slow;
  slow.Set(Code(2));
  EXPECT_EQ(RunsUntilAsked(slow, 10'000'000), ServedCode::kSharedRuns);
  ServedCode same;
  same.Set(Code(0));
  EXPECT_EQ(RunsUntilAsked(same, 10'000'000), 0);
  EXPECT_EQ(same.Note(), "");
}

TEST(ServedCode, ExactCodeServesWhereItIsQuicker) {
  ServedCode served;
  const ClusterCode shared = Code(2), exact = Code(0);
  served.Set(shared);
  const int runs = RunsUntilAsked(served, 10'000);
  served.SetExact(exact);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(served.Ran(*served.Get(), 9'000));
  EXPECT_EQ(served.Get()->code, exact);
  EXPECT_EQ(served.runs(), runs + 100);
  EXPECT_EQ(served.Note(), " by itself after 501 runs with a batch of 10");
}

TEST(ServedCode, ExactCodeThatIsNotQuickerIsGivenUp) {
  ServedCode served;
  const ClusterCode shared = Code(2);
  served.Set(shared);
  RunsUntilAsked(served, 10'000);
  served.SetExact(Code(0));
  for (int i = 0; i < ServedCode::kTrialRuns; ++i) {
    EXPECT_NE(served.Get()->code, shared) << i;
    EXPECT_FALSE(served.Ran(*served.Get(), 10'001));
  }
  EXPECT_EQ(served.Get()->code, shared);
  EXPECT_EQ(served.Note(), " for a batch of 10, as quick as by itself");
}

}  // namespace
}  // namespace xc
