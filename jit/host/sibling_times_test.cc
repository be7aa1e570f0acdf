// When code is taken to be quicker than the host's kernels from what its siblings took.
#include "jit/host/sibling_times.h"

#include <gtest/gtest.h>

namespace xc {
namespace {

TEST(SiblingTimes, EnoughComparisonsAreNeeded) {
  SiblingTimes times;
  for (int i = 0; i < SiblingTimes::kCompared; ++i) {
    EXPECT_FALSE(times.Quicker(0)) << i;
    times.Add(2'000, 1'000, 0);
  }
  EXPECT_TRUE(times.Quicker(0));
}

TEST(SiblingTimes, CopiesCount) {
  SiblingTimes times;
  // Without the copies it would take 1,000.
  for (int i = 0; i < SiblingTimes::kCompared; ++i) times.Add(1'250, 1'250, 0.2);
  EXPECT_TRUE(times.Quicker(0));
  EXPECT_TRUE(times.Quicker(0.1));
  EXPECT_FALSE(times.Quicker(0.2));
}

TEST(SiblingTimes, OneComparisonMayBeWrong) {
  SiblingTimes times;
  for (int i = 0; i < SiblingTimes::kCompared; ++i) times.Add(2'000, 1'000, 0);
  times.Add(100, 1'000, 0);
  EXPECT_TRUE(times.Quicker(0));
  times.Add(1'000, 1'000, 0);
  EXPECT_FALSE(times.Quicker(0));
  for (int i = 1; i < SiblingTimes::kCompared; ++i) times.Add(2'000, 1'000, 0);
  EXPECT_TRUE(times.Quicker(0)) << "the last ones count";
}

}  // namespace
}  // namespace xc
