// Packing of live blocks into an arena and into memory that is free for a while.
#include "compiler/memory/packing.h"

#include <random>

#include "gtest/gtest.h"
#include "hlo/base/choices.h"

namespace xc {
namespace {

PackedBlock Block(int64_t size, std::vector<LiveRange> ranges) { return {size, std::move(ranges), -1, 0}; }

TEST(Packing, OffsetsAreAlignedAndSizesAreNot) {
  std::vector<PackedBlock> blocks = {Block(100, {{0, 4}}), Block(70, {{0, 4}}), Block(10, {{0, 4}})};
  EXPECT_EQ(PackBlocks({}, &blocks, 64), 128 + 70);
  EXPECT_EQ(blocks[1].offset, 128);
  EXPECT_EQ(blocks[2].offset, 112);
}

TEST(Packing, BlocksThatNeverMeetShareBytes) {
  std::vector<PackedBlock> blocks = {Block(128, {{0, 4}}), Block(64, {{5, 9}}), Block(64, {{5, 6}})};
  EXPECT_EQ(PackBlocks({}, &blocks), 128);
  EXPECT_NE(blocks[1].offset, blocks[2].offset);
  EXPECT_EQ(PackingLowerBound(blocks), 128);
}

TEST(Packing, HoleInALifeIsUsed) {
  std::vector<PackedBlock> blocks = {Block(64, {{0, 2}, {8, 9}}), Block(64, {{4, 6}})};
  EXPECT_EQ(PackBlocks({}, &blocks), 64);
}

TEST(Packing, RegionTakesWhatFitsWhileItIsFree) {
  std::vector<PackedBlock> blocks = {Block(64, {{0, 3}}), Block(64, {{0, 3}}), Block(64, {{3, 9}})};
  EXPECT_EQ(PackBlocks({{128, {{8, 20}}}}, &blocks), 64);
  EXPECT_EQ(blocks[0].region, 0);
  EXPECT_EQ(blocks[1].region, 0);
  EXPECT_EQ(blocks[2].region, -1);
}

// The first program's blocks decide; a block that does not fit for a further one is given up.
TEST(Packing, RegionsForAllSizes) {
  Choices choices;
  const ChoicesScope scope(&choices);
  const auto region_of_first = [](int64_t size, int64_t region) {
    std::vector<PackedBlock> blocks = {Block(size, {{0, 3}}), Block(32, {{0, 3}})};
    PackBlocksForAllSizes({{region, {{8, 20}}}}, &blocks, 64);
    EXPECT_EQ(blocks[1].region, -1);
    return blocks[0].region;
  };
  EXPECT_EQ(region_of_first(64, 64), 0);
  choices.Replay();
  EXPECT_EQ(region_of_first(128, 128), 0);
  EXPECT_TRUE(choices.done());
  choices.Replay();
  region_of_first(128, 100);
  ASSERT_TRUE(choices.may_give_up());
  choices.GiveUp();
  EXPECT_EQ(region_of_first(64, 64), -1);
}

TEST(Packing, RandomBlocksNeverOverlap) {
  std::mt19937 random(7);
  std::vector<PackedBlock> blocks;
  for (int i = 0; i < 400; ++i) {
    std::vector<LiveRange> ranges;
    int64_t at = random() % 900;
    for (int r = 0; r <= static_cast<int>(random() % 3); ++r) {
      const int64_t start = at + random() % 20, end = start + random() % 60;
      ranges.push_back({start, end});
      at = end + 2;
    }
    blocks.push_back(Block(64 * (1 + random() % 30), std::move(ranges)));
  }
  const int64_t arena = PackBlocks({{640, {{500, 600}}}}, &blocks);
  EXPECT_GE(arena, PackingLowerBound(blocks));
  for (size_t a = 0; a < blocks.size(); ++a) {
    if (blocks[a].region < 0) {
      EXPECT_LE(blocks[a].offset + blocks[a].size, arena);
    }
    for (size_t b = 0; b < a; ++b) {
      if (blocks[a].region != blocks[b].region) continue;
      if (blocks[a].offset >= blocks[b].offset + blocks[b].size) continue;
      if (blocks[b].offset >= blocks[a].offset + blocks[a].size) continue;
      for (const LiveRange& x : blocks[a].ranges) {
        for (const LiveRange& y : blocks[b].ranges) EXPECT_TRUE(x.end < y.start || y.end < x.start) << a << " " << b;
      }
    }
  }
}

}  // namespace
}  // namespace xc
