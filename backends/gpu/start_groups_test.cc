// Which steps start together: plans made by hand.
#include "backends/gpu/start_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hlo/module.h"

namespace xc::gpu {
namespace {

using testing::ElementsAre;

BufferSlice Arena(int64_t offset, int64_t size) { return {BufferSlice::Kind::kArena, 0, offset, size}; }

plan::Step Copy(int64_t to, int64_t from, int64_t bytes) {
  return {nullptr, plan::Copy{Arena(to, bytes), Arena(from, bytes), bytes}};
}

plan::Step Kernel(int64_t to, int64_t from, int64_t bytes, int64_t cost = 1) {
  plan::Kernel kernel;
  kernel.arguments = {{Arena(from, bytes)}, {Arena(to, bytes), /*written=*/true}};
  kernel.cost = cost;
  return {nullptr, kernel};
}

// The groups of a computation of these steps, sequences apart: the place and the members of each.
std::vector<std::vector<int>> Groups(std::vector<plan::Step> steps) {
  plan::Plan plan;
  plan.computations.push_back({nullptr, std::move(steps)});
  std::vector<std::vector<int>> groups;
  const auto made = GroupStarts(plan, [](const plan::Step&, const plan::Kernel&) { return KernelShape{0, 1 << 20}; });
  for (const StartGroup& group : made[0]) {
    if (group.sequence) continue;
    groups.push_back({group.at});
    groups.back().insert(groups.back().end(), group.members.begin(), group.members.end());
  }
  return groups;
}

TEST(StartGroups, StepsMoveUpPastOthers) {
  // The third starts alone and reads what the first wrote; the fourth reads what was there before.
  const int64_t large = int64_t{1} << 40;
  EXPECT_THAT(Groups({Kernel(0, 1000, 64), Kernel(64, 1064, 64), Kernel(128, 0, 64, large), Kernel(192, 1064, 64)}),
              ElementsAre(ElementsAre(0, 0, 1, 3)));
}

TEST(StartGroups, GroupsMoveDown) {
  // A result of each of two steps that start alone: 0 waits for 2.
  const int64_t large = int64_t{1} << 40;
  EXPECT_THAT(Groups({Kernel(0, 512, 64, large), Kernel(64, 0, 64), Kernel(128, 576, 64, large), Kernel(192, 128, 64)}),
              ElementsAre(ElementsAre(3, 1, 3)));
}

TEST(StartGroups, NothingMovesPastWhatDependsOnIt) {
  const int64_t large = int64_t{1} << 40;
  // 1 writes what 2 reads, and 3 needs 2.
  EXPECT_TRUE(Groups({Kernel(64, 512, 64), Kernel(128, 64, 64, large), Kernel(192, 128, 64)}).empty());
  // 2 writes where 0 reads, and where 0 writes.
  EXPECT_TRUE(Groups({Kernel(0, 64, 64), Kernel(64, 128, 64)}).empty());
  EXPECT_TRUE(Groups({Kernel(0, 64, 64), Kernel(32, 128, 64)}).empty());
}

TEST(StartGroups, CopiesAtOnceReadBeforeTheyWrite) {
  const std::vector<plan::Step> rotation = {Copy(300, 0, 64), Copy(0, 100, 64), Copy(100, 200, 64), Copy(200, 300, 64)};
  EXPECT_THAT(Groups(rotation), ElementsAre(ElementsAre(0, 0, 1, 2, 3)));
  std::vector<plan::Copy> copies;
  for (const plan::Step& step : rotation) copies.push_back(std::get<plan::Copy>(step.action));
  copies = AtOnce(copies);
  EXPECT_EQ(copies[3].from, Arena(0, 64));  // through 300
  EXPECT_EQ(copies[2].from, Arena(200, 64));
  // Parts of what was copied come from parts of where it was; what is written in part only is not known.
  EXPECT_EQ(
      AtOnce({std::get<plan::Copy>(Copy(300, 0, 64).action), std::get<plan::Copy>(Copy(100, 316, 16).action)})[1].from,
      Arena(16, 16));
  EXPECT_TRUE(Groups({Copy(300, 0, 64), Copy(100, 348, 32)}).empty());
  EXPECT_TRUE(Groups({Copy(300, 0, 64), Copy(332, 100, 64)}).empty());
}

TEST(StartGroups, LongCopiesStandBesideOthersOnly) {
  const int64_t size = 1 << 20;
  EXPECT_FALSE(IsAtOnce(std::get<plan::Copy>(Copy(0, size, size).action)));
  EXPECT_THAT(Groups({Copy(0, size, size), Copy(2 * size, size, size)}), ElementsAre(ElementsAre(0, 0, 1)));
  EXPECT_TRUE(Groups({Copy(0, size, size), Copy(size, 2 * size, size)}).empty());
}

// What one block does soon: steps that need each other, and loops of such.
TEST(StartGroups, SmallStepsAreASequence) {
  plan::Plan plan;
  plan.computations.push_back({nullptr, {Kernel(0, 0, 64)}});
  plan.computations.push_back({nullptr, {Kernel(64, 0, 64)}});
  plan::Loop loop;
  loop.more = Arena(0, 1);
  loop.body = 1;
  plan.computations.push_back({nullptr, {Kernel(0, 64, 64), {nullptr, loop}, Kernel(128, 64, 64)}});
  int64_t threads = 64;
  const auto shape = [&](const plan::Step&, const plan::Kernel&) { return KernelShape{0, threads}; };
  auto groups = GroupStarts(plan, shape);
  ASSERT_EQ(groups[2].size(), 1u);
  EXPECT_TRUE(groups[2][0].sequence);
  EXPECT_THAT(groups[2][0].members, ElementsAre(0, 1, 2));
  EXPECT_TRUE(groups[0].empty() && groups[1].empty());
  threads = 1 << 20;
  groups = GroupStarts(plan, shape);
  EXPECT_TRUE(groups[2].empty());
}

TEST(StartGroups, LoopsDependOnTheirBodies) {
  plan::Plan plan;
  plan.computations.push_back({nullptr, {Kernel(0, 64, 64)}});
  plan::Loop loop;
  loop.more = Arena(4096, 1);
  plan.computations.push_back(
      {nullptr, {Kernel(64, 512, 64), {nullptr, loop}, Kernel(256, 640, 64), Kernel(320, 0, 64)}});
  const auto groups = GroupStarts(plan, [](const plan::Step&, const plan::Kernel&) { return KernelShape{0, 1 << 20}; });
  // The loop reads what 0 writes; 2 has nothing to do with it; 3 reads what it writes.
  ASSERT_EQ(groups[1].size(), 1u);
  EXPECT_EQ(groups[1][0].at, 0);
  EXPECT_THAT(groups[1][0].members, ElementsAre(0, 2));
}

}  // namespace
}  // namespace xc::gpu
