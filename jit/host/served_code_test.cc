// When code of a signature's own takes the place of shared code, and when it gives it back.
#include "jit/host/served_code.h"

#include <gtest/gtest.h>

#include <memory>

namespace xc {
namespace {

// Code for 10 rows of which `copies` are copies, which took a millisecond to compile; by itself for 0.
ClusterCode Code(int copies) {
  auto code = std::make_shared<CompiledCluster>();
  if (copies > 0) code->rows = 10;
  code->copies = 0.1 * copies;
  code->shared_seconds = 1.001e-3;
  return code;
}

// Runs of `ns` each until own code is asked for; at most 10,000.
int RunsUntilAsked(ServedCode& served, int64_t ns) {
  for (int runs = 1; runs <= 10'000; ++runs) {
    if (served.Ran(*served.Get(), ns)) return runs;
  }
  return 0;
}

TEST(ServedCode, OwnCodeIsAskedForOnceCopiesHaveCostAsMuchAsCompiling) {
  ServedCode served;
  EXPECT_EQ(served.Get(), nullptr);
  EXPECT_EQ(served.Note(), "");
  served.Set(Code(2));
  // A fifth of 10 us each.
  EXPECT_EQ(RunsUntilAsked(served, 10'000), 501);
  EXPECT_EQ(RunsUntilAsked(served, 10'000), 0) << "only once";
  EXPECT_FALSE(served.AskForOwn());
  EXPECT_EQ(served.Note(), " for 10 rows");
  ServedCode slow;
  slow.Set(Code(2));
  EXPECT_EQ(RunsUntilAsked(slow, 10'000'000), ServedCode::kSharedRuns);
  ServedCode same;
  same.Set(Code(0));
  EXPECT_EQ(RunsUntilAsked(same, 10'000'000), 0);
  EXPECT_EQ(same.Note(), "");
}

TEST(ServedCode, OwnCodeServesWhereItIsQuicker) {
  ServedCode served;
  const ClusterCode shared = Code(2), own = Code(0);
  served.Set(shared);
  const int runs = RunsUntilAsked(served, 10'000);
  served.SetOwn(own);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(served.Ran(*served.Get(), 9'000));
  EXPECT_EQ(served.Get()->code, own);
  EXPECT_EQ(served.runs(), runs + 100);
  EXPECT_EQ(served.Note(), " by itself after 501 runs with 10 rows");
}

TEST(ServedCode, OwnCodeThatIsNotQuickerIsGivenUp) {
  ServedCode served;
  const ClusterCode shared = Code(2);
  served.Set(shared);
  RunsUntilAsked(served, 10'000);
  served.SetOwn(Code(0));
  for (int i = 0; i < ServedCode::kTrialRuns; ++i) {
    EXPECT_NE(served.Get()->code, shared) << i;
    EXPECT_FALSE(served.Ran(*served.Get(), 10'001));
  }
  EXPECT_EQ(served.Get()->code, shared);
  EXPECT_EQ(served.Note(), " for 10 rows, as quick as by itself");
}

}  // namespace
}  // namespace xc
