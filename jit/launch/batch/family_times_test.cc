// When code is taken to be quicker than the host's kernels from what others of its shape family took.
#include "jit/launch/batch/family_times.h"

#include <gtest/gtest.h>

namespace xc {
namespace {

TEST(FamilyTimes, EnoughComparisonsAreNeeded) {
  FamilyTimes times;
  for (int i = 0; i < FamilyTimes::kCompared; ++i) {
    EXPECT_FALSE(times.Quicker(0)) << i;
    times.Add(2'000, 1'000, 0);
  }
  EXPECT_TRUE(times.Quicker(0));
}

TEST(FamilyTimes, PaddingCounts) {
  FamilyTimes times;
  // Without the padding it would take 1,000.
  for (int i = 0; i < FamilyTimes::kCompared; ++i) times.Add(1'250, 1'250, 0.2);
  EXPECT_TRUE(times.Quicker(0));
  EXPECT_TRUE(times.Quicker(0.1));
  EXPECT_FALSE(times.Quicker(0.2));
}

TEST(FamilyTimes, OneComparisonMayBeWrong) {
  FamilyTimes times;
  for (int i = 0; i < FamilyTimes::kCompared; ++i) times.Add(2'000, 1'000, 0);
  times.Add(100, 1'000, 0);
  EXPECT_TRUE(times.Quicker(0));
  times.Add(1'000, 1'000, 0);
  EXPECT_FALSE(times.Quicker(0));
  for (int i = 1; i < FamilyTimes::kCompared; ++i) times.Add(2'000, 1'000, 0);
  EXPECT_TRUE(times.Quicker(0)) << "the last ones count";
}

}  // namespace
}  // namespace xc
