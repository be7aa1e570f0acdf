// Ranges of sizes: what they stand for, one combination after the other.
#include "service/size_ranges.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace xc {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> All(absl::string_view text) {
  const auto ranges = SizeRanges::Parse(text);
  EXPECT_TRUE(ranges.ok()) << ranges.status();
  std::vector<std::string> all;
  for (int64_t i = 0; ranges.ok() && i < ranges->count(); ++i) all.push_back(ranges->At(i).value());
  return all;
}

std::string Error(absl::string_view text) { return std::string(SizeRanges::Parse(text).status().message()); }

TEST(SizeRangesTest, ShapesWithRanges) {
  EXPECT_THAT(All("[8,4],f32[8]"), testing::ElementsAre("[8,4],f32[8]"));
  EXPECT_THAT(All("[1..3,4]"), testing::ElementsAre("[1,4]", "[2,4]", "[3,4]"));
  EXPECT_THAT(All("f32[b=2..3, 4], bf16[b]"), testing::ElementsAre("f32[2, 4], bf16[2]", "f32[3, 4], bf16[3]"));
  EXPECT_THAT(All("[n=5..16:8],[$(2*n+1)]"), testing::ElementsAre("[8],[17]", "[16],[33]"));
  EXPECT_THAT(All("[1..2,0..1]"), testing::ElementsAre("[1,0]", "[2,0]", "[1,1]", "[2,1]"));
  EXPECT_TRUE(SizeRanges::Parse("[8,4]")->exact());
  EXPECT_FALSE(SizeRanges::Parse("[1..1,4]")->exact());
}

TEST(SizeRangesTest, ValuesOfSymbols) {
  EXPECT_THAT(All("b=2,n=17"), testing::ElementsAre("b=2,n=17"));
  EXPECT_THAT(All("b=1..2,n=17"), testing::ElementsAre("b=1,n=17", "b=2,n=17"));
  const auto all = SizeRanges::OfSymbols({{"b", 1, 3, 1}, {"n", 1, 32, 16}});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->count(), 6);
  EXPECT_EQ(all->At(5).value(), "b=3,n=32");
}

TEST(SizeRangesTest, OpenRangesHavePieces) {
  auto ranges = SizeRanges::Parse("[b=8..:8,n=2..3],[$(2*b)]");
  ASSERT_TRUE(ranges.ok()) << ranges.status();
  ASSERT_EQ(ranges->open().size(), 1u);
  ASSERT_TRUE(ranges->SetPieces(3, 16).ok());
  EXPECT_THAT(ranges->open()[0].pieces, testing::ElementsAre(8, 16, 24, 32, 64, 128));
  EXPECT_EQ(ranges->count(), 12);
  EXPECT_EQ(ranges->At(3).value(), "[32,2],[64]");
  EXPECT_EQ(ranges->OpenValue(9, 0), 32);
  EXPECT_EQ(ranges->With(9, 0, 800).value(), "[800,3],[1600]");
  // Two, which share what they may have; a range that is too long for each size to be tried is one, too.
  ranges = SizeRanges::Parse("[b=1..,4],[1..200000]");
  ASSERT_TRUE(ranges.ok()) << ranges.status();
  ASSERT_EQ(ranges->open().size(), 2u);
  EXPECT_EQ(ranges->open()[1].high, 200000);
  ASSERT_TRUE(ranges->SetPieces(2, 64).ok());
  EXPECT_THAT(ranges->open()[1].pieces, testing::ElementsAre(1, 2, 4, 8));
  EXPECT_EQ(ranges->count(), 16);
  ranges = SizeRanges::Parse("[3..]");
  ASSERT_TRUE(ranges->SetPieces(1, 16).ok());
  EXPECT_THAT(ranges->open()[0].pieces, testing::ElementsAre(3, 4, 5, 8, 16));
  EXPECT_THAT(Error("[100000..]"), HasSubstr("has to begin at 1024 at most"));
  // The named one is open, and has fewer pieces where the other has many sizes.
  ranges = SizeRanges::Parse("[b=1..64,n=1..4096]", {{"b"}, {}});
  ASSERT_TRUE(ranges.ok()) << ranges.status();
  ASSERT_EQ(ranges->open().size(), 1u);
  ASSERT_TRUE(ranges->SetPieces(64, 1 << 20).ok());
  EXPECT_EQ(ranges->open()[0].pieces.size(), 32u);
  EXPECT_EQ(ranges->open()[0].pieces.back(), 1 << 20);
  EXPECT_EQ(SizeRanges::Parse("[b=1..64,n=1..4096]")->open()[0].name, "n");
  // Ranges that get an end: as many sizes as can be tried.
  ranges = SizeRanges::Parse("[b=1..,n=1..,m=8..:8]", {{"b"}, {"n", "m"}, 5000});
  ASSERT_TRUE(ranges.ok()) << ranges.status();
  EXPECT_EQ(ranges->open().size(), 1u);
  EXPECT_EQ(ranges->ranges()[1].ToString(), "n=1..16");
  EXPECT_EQ(ranges->ranges()[2].ToString(), "m=8..128:8");
  ASSERT_TRUE(ranges->SetPieces(64, 1 << 20).ok());
  EXPECT_LE(ranges->count(), 5000);
  ranges = SizeRanges::Parse("[1..,1..,1..,3..5]");
  ASSERT_TRUE(ranges->SetPieces(1 << 20, 1).ok());
  EXPECT_LE(ranges->count(), SizeRanges::kMost);
  EXPECT_EQ(SizeRanges::OfSymbols({{"b"}})->open()[0].name, "b");
}

TEST(SizeRangesTest, SamplesAreInRangesOrBeyond) {
  const auto ranges = SizeRanges::Parse("[8..40:8,3]");
  ASSERT_TRUE(ranges.ok());
  EXPECT_EQ(ranges->Sample(0, true).value(), "[1048,3]");
  EXPECT_EQ(ranges->Sample(0, false).value(), "[40,3]");
}

TEST(SizeRangesTest, WhatIsNoRangeIsAnError) {
  EXPECT_THAT(Error("[1..3"), HasSubstr(""));
  EXPECT_THAT(Error("[3..1]"), HasSubstr("a range is written LOW..HIGH"));
  EXPECT_THAT(Error("[5..7:8]"), HasSubstr("has no value"));
  EXPECT_THAT(Error("[b=1..2],[b=1..2]"), HasSubstr("twice"));
  EXPECT_THAT(Error("[1..2]\n}"), HasSubstr("is no list of shapes"));
  EXPECT_FALSE(SizeRanges::Parse("[1..2],[c]")->At(0).ok());
}

}  // namespace
}  // namespace xc
