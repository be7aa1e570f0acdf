// Sharding rules: their text, and how arrays lie by them.
#include "compiler/sharding/sharding_rule.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace xc {
namespace {

Shape Floats(Int64List dims) { return Shape(ElementType::kF32, std::move(dims)); }

// Numbers of parts, array by array.
std::string Parts(const std::vector<DeviceTiling>& tilings) {
  return absl::StrJoin(tilings, " ", [](std::string* out, const DeviceTiling& tiling) {
    for (int64_t d = 0; d < tiling.rank(); ++d) absl::StrAppend(out, d == 0 ? "" : "x", tiling.Tiles(d));
  });
}

DeviceTiling Cut(int64_t rank, int64_t dim, DeviceTiling::Digit digit) {
  DeviceTiling tiling = DeviceTiling::Replicated(rank);
  tiling.Append(dim, digit);
  return tiling;
}

TEST(ShardingRule, TextIsRead) {
  const auto rule = ParseShardingRule(
      "#sdy.op_sharding_rule<([i, jk], [])->([j, z_1]) {i=2, j=3, k=4, z_1=5} reduction={i}, need_replication={k, j}, "
      "custom>");
  ASSERT_TRUE(rule.ok()) << rule.status();
  EXPECT_EQ(rule->operands, (std::vector<ShardingRule::Mapping>{{{0}, {1, 2}}, {}}));
  EXPECT_EQ(rule->results, (std::vector<ShardingRule::Mapping>{{{1}, {18}}}));
  EXPECT_EQ(rule->sizes[2], 4);
  EXPECT_EQ(rule->sizes[18], 5);
  EXPECT_EQ(rule->replicated, (Int64List{2, 1}));
  for (const char* wrong : {"", "<([i])", "<([i])->([i])", "<([1])->([i]) {i=2}>", "<([i])->([i]) {i=0}>",
                            "<([])->([i_1]) {i=2}>", "<([i])->([i]) {i=2} reduction={1}>", "<([z_99999])->([]) {}>"}) {
    EXPECT_EQ(ParseShardingRule(wrong).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
}

TEST(ShardingRule, FactorsAreCutAlikeInAllArrays) {
  const auto product = *ParseShardingRule("<([i, k], [k, j])->([i, j]) {i=8, j=8, k=8}>");
  const std::vector<Shape> two = {Floats({8, 8}), Floats({8, 8})}, one = {Floats({8, 8})};
  const auto tilings = TilingsByRule(product, {Cut(2, 0, {2, 2}), Cut(2, 0, {1, 2})}, two, one);
  ASSERT_TRUE(tilings.ok()) << tilings.status();
  EXPECT_EQ(Parts(tilings->operands), "2x2 2x1");
  EXPECT_EQ(Parts(tilings->results), "2x1");
  // Both by the same devices: the first counts.
  const auto clash = TilingsByRule(product, {Cut(2, 0, {1, 2}), Cut(2, 1, {1, 2})}, two, one);
  ASSERT_TRUE(clash.ok()) << clash.status();
  EXPECT_EQ(Parts(clash->operands), "2x1 1x1");
  EXPECT_EQ(Parts(clash->results), "2x1");
  EXPECT_FALSE(TilingsByRule(product, {Cut(2, 0, {1, 2})}, one, one).ok());
}

TEST(ShardingRule, JoinedDimensionsAreCutByTheirFirstFactor) {
  const auto joined = *ParseShardingRule("<([i, j])->([ij]) {i=4, j=6}>");
  const auto tilings = TilingsByRule(joined, {Cut(2, 0, {1, 2})}, {Floats({4, 6})}, {Floats({24})});
  ASSERT_TRUE(tilings.ok()) << tilings.status();
  EXPECT_EQ(Parts(tilings->results), "2");
  const auto second = TilingsByRule(joined, {Cut(2, 1, {1, 2})}, {Floats({4, 6})}, {Floats({24})});
  EXPECT_EQ(Parts(second->results), "1");
}

TEST(ShardingRule, SomeFactorsAreNeverCut) {
  const auto rule = *ParseShardingRule("<([i, j])->([i, j]) {i=4, j=6} need_replication={i}>");
  const auto tilings = TilingsByRule(rule, {Cut(2, 0, {1, 2})}, {Floats({4, 6})}, {Floats({4, 6})});
  EXPECT_EQ(Parts(tilings->operands), "1x1");
  EXPECT_EQ(Parts(tilings->results), "1x1");
}

}  // namespace
}  // namespace xc
