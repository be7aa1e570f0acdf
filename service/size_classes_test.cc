// Sizes of signatures: classes, what follows from what, and samples.
#include "service/size_classes.h"

#include <gtest/gtest.h>

#include "absl/strings/str_join.h"

namespace xc {
namespace {

constexpr int kMultiple = 1, kRelated = 2;  // ways

SizeClasses Of(const std::vector<std::vector<int64_t>>& signatures) {
  SizeClasses classes;
  for (const std::vector<int64_t>& sizes : signatures) classes.Add(sizes);
  return classes;
}

std::string Sample(const SizeClasses& classes, int which, int way) {
  const auto sizes = classes.Sample(which, way);
  return sizes.ok() ? absl::StrJoin(*sizes, ",") : std::string(sizes.status().message());
}

TEST(SizeClasses, EqualSizesAreOneClass) {
  const SizeClasses classes = Of({{4, 9, 4, 16}, {5, 9, 5, 16}, {5, 7, 5, 16}});
  EXPECT_EQ(classes.Of(0), classes.Of(2));
  EXPECT_NE(classes.Of(0), classes.Of(1));
  EXPECT_TRUE(classes.Varies(0) && classes.Varies(1) && !classes.Varies(3));
  EXPECT_EQ(Sample(classes, 0, 0), "139,181,139,16");
  // Samples are no larger for sizes that stay.
  EXPECT_EQ(Sample(Of({{64, 16, 4, 9}, {64, 16, 5, 7}}), 0, 0), "64,16,139,181");
}

TEST(SizeClasses, SizesByThemselvesHaveOneWay) {
  const SizeClasses classes = Of({{4, 90}, {5, 77}, {3, 100}, {4, 11}});
  EXPECT_EQ(Sample(classes, 0, kRelated), "no size follows from another one");
}

// Images whose sizes are halved three times and doubled again.
TEST(SizeClasses, MultiplesStayMultiples) {
  const SizeClasses classes = Of({{2, 32, 48, 3}, {3, 40, 64, 3}, {1, 24, 80, 3}});
  EXPECT_EQ(Sample(classes, 0, kMultiple), "139,184,304,3");
  EXPECT_EQ(Sample(classes, 2, kMultiple), "3,24,48,3");
  EXPECT_EQ(Sample(classes, 4, kMultiple), "12,16,16,3");
  EXPECT_EQ(Sample(classes, 0, SizeClasses::kWays / 2 + kMultiple), "2,40,80,3");
  EXPECT_EQ(Sample(Of({{4, 9}, {5, 7}}), 0, kMultiple), "no size is always a multiple");
}

// What convolutions with strides make of a size, padded or not; in the sample both must be what they make of it.
TEST(SizeClasses, QuotientsFollow) {
  EXPECT_EQ(Sample(Of({{31, 16}, {40, 20}, {57, 29}}), 0, kRelated), "139,70");
  EXPECT_EQ(Sample(Of({{16, 31}, {20, 40}, {29, 57}}), 0, kRelated), "91,181");
  EXPECT_EQ(Sample(Of({{31, 15}, {40, 19}, {58, 28}}), 0, kRelated), "139,69");
  // That may be (n + 3) / 4 to (n + 5) / 4.
  const SizeClasses several = Of({{29, 8}, {45, 12}, {62, 16}});
  EXPECT_EQ(Sample(several, 0, kRelated), "139,35");
  EXPECT_EQ(Sample(several, 0, kRelated + SizeClasses::kWaysToRound - 1), "139,36");
}

TEST(SizeClasses, SumsAndProductsFollow) {
  EXPECT_EQ(Sample(Of({{10, 8}, {12, 10}, {25, 23}}), 0, kRelated), "139,137");
  EXPECT_EQ(Sample(Of({{3, 10, 30}, {4, 13, 52}, {5, 7, 35}}), 0, kRelated), "139,181,25159");
  EXPECT_EQ(Sample(Of({{3, 36}, {4, 64}, {5, 100}}), 0, kRelated), "139,77284");
}

// A size that has been twice another one may be that, or the other one half of it, rounded.
TEST(SizeClasses, MultiplesFollowWhereHalvesDoNot) {
  constexpr int kMultiples = kRelated + SizeClasses::kWaysToRound;
  const SizeClasses even = Of({{30, 15}, {16, 8}, {44, 22}}), odd = Of({{10, 21}, {12, 25}, {25, 51}});
  EXPECT_EQ(Sample(even, 0, kRelated), "139,70");
  EXPECT_EQ(Sample(even, 0, kMultiples), "362,181");
  EXPECT_EQ(Sample(odd, 0, kRelated), "90,181");
  EXPECT_EQ(Sample(odd, 0, kMultiples), "139,279");
}

// What follows may follow on.
TEST(SizeClasses, QuotientsOfQuotients) {
  EXPECT_EQ(Sample(Of({{35, 18, 9, 36}, {41, 21, 11, 42}, {64, 32, 16, 65}}), 0, kRelated), "330,165,83,331");
  // Batch, heights and widths of three layers with strides: what is equal by chance in three signatures does no harm.
  const SizeClasses layers =
      Of({{2, 33, 47, 17, 24, 8, 11, 4, 6}, {3, 40, 52, 20, 26, 9, 12, 5, 6}, {2, 31, 64, 16, 32, 7, 15, 4, 8}});
  EXPECT_EQ(Sample(layers, 0, kRelated), "12,181,277,91,139,45,69,23,35");
}

TEST(SizeClasses, LimitedSamplesAreNoLargerThanWhatWasSeen) {
  const SizeClasses classes = Of({{31, 16}, {40, 20}, {57, 29}});
  EXPECT_EQ(Sample(classes, 0, SizeClasses::kWays / 2), "53,29");
  EXPECT_EQ(Sample(classes, 0, SizeClasses::kWays / 2 + kRelated), "53,27");
}

}  // namespace
}  // namespace xc
