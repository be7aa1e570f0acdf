// Sizes of signatures: classes, what follows from what, and samples.
#include "service/size_classes.h"

#include <gtest/gtest.h>

#include "absl/strings/str_join.h"

namespace xc {
namespace {

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
  EXPECT_EQ(Sample(classes, 0, 0), "131,173,131,16");
}

TEST(SizeClasses, SizesByThemselvesHaveOneWay) {
  const SizeClasses classes = Of({{4, 90}, {5, 77}, {3, 100}, {4, 11}});
  EXPECT_EQ(Sample(classes, 0, 1), "no size follows from another one");
}

// What convolutions with strides make of a size, padded or not; in the sample both must be what they make of it.
TEST(SizeClasses, QuotientsFollow) {
  EXPECT_EQ(Sample(Of({{31, 16}, {40, 20}, {57, 29}}), 0, 1), "131,66");
  EXPECT_EQ(Sample(Of({{16, 31}, {20, 40}, {29, 57}}), 0, 1), "87,173");
  EXPECT_EQ(Sample(Of({{31, 15}, {40, 19}, {58, 28}}), 0, 1), "131,65");
  // That may be (n + 3) / 4 to (n + 5) / 4.
  const SizeClasses several = Of({{29, 8}, {45, 12}, {62, 16}});
  EXPECT_EQ(Sample(several, 0, 1), "131,33");
  EXPECT_EQ(Sample(several, 0, SizeClasses::kWaysToRound), "131,34");
}

TEST(SizeClasses, SumsAndProductsFollow) {
  EXPECT_EQ(Sample(Of({{10, 8}, {12, 10}, {25, 23}}), 0, 1), "131,129");
  EXPECT_EQ(Sample(Of({{3, 10, 30}, {4, 13, 52}, {5, 7, 35}}), 0, 1), "131,173,22663");
  EXPECT_EQ(Sample(Of({{3, 36}, {4, 64}, {5, 100}}), 0, 1), "131,68644");
}

// A size that has been twice another one may be that, or the other one half of it, rounded.
TEST(SizeClasses, MultiplesFollowWhereHalvesDoNot) {
  constexpr int kMultiples = 1 + SizeClasses::kWaysToRound;
  const SizeClasses even = Of({{30, 15}, {16, 8}, {44, 22}}), odd = Of({{10, 21}, {12, 25}, {25, 51}});
  EXPECT_EQ(Sample(even, 0, 1), "131,66");
  EXPECT_EQ(Sample(even, 0, kMultiples), "346,173");
  EXPECT_EQ(Sample(odd, 0, 1), "86,173");
  EXPECT_EQ(Sample(odd, 0, kMultiples), "131,263");
}

// What follows may follow on.
TEST(SizeClasses, QuotientsOfQuotients) {
  EXPECT_EQ(Sample(Of({{35, 18, 9, 36}, {41, 21, 11, 42}, {64, 32, 16, 65}}), 0, 1), "256,128,64,257");
  // Batch, heights and widths of three layers with strides: what is equal by chance in three signatures does no harm.
  const SizeClasses layers =
      Of({{2, 33, 47, 17, 24, 8, 11, 4, 6}, {3, 40, 52, 20, 26, 9, 12, 5, 6}, {2, 31, 64, 16, 32, 7, 15, 4, 8}});
  EXPECT_EQ(Sample(layers, 0, 1), "11,173,223,87,112,43,55,22,28");
}

TEST(SizeClasses, LimitedSamplesAreNoLargerThanWhatWasSeen) {
  const SizeClasses classes = Of({{31, 16}, {40, 20}, {57, 29}});
  EXPECT_EQ(Sample(classes, 0, SizeClasses::kWays / 2), "53,29");
  EXPECT_EQ(Sample(classes, 0, SizeClasses::kWays / 2 + 1), "53,27");
}

}  // namespace
}  // namespace xc
