// Calls whose author says how devices share them: what the author is asked, what becomes of the answer, and what is
// refused.
#include "compiler/sharding/partitioned_calls.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "hlo/devices/device_tiling.h"
#include "hlo/text/parser.h"
#include "hlo/verifier/verifier.h"

namespace xc {
namespace {

constexpr char kTwice[] = R"(HloModule m, num_partitions=2
ENTRY e {
  a = f32[8,4] parameter(0), sharding={devices=[2,1]<=[2]}
  b = f32[8,4] negate(a)
  c = f32[8,4] custom-call(b), custom_call_target="CustomSPMDPartitioning", backend_config="k1"
  ROOT d = f32[8,4] custom-call(c), custom_call_target="CustomSPMDPartitioning", backend_config="k2"
})";

Sharding Rows() {
  Sharding sharding;
  sharding.type = Sharding::Type::kOther;
  sharding.tile_dims = {2, 1};
  sharding.devices = {0, 1};
  return sharding;
}

std::unique_ptr<HloModule> Parse(const std::string& text) {
  auto module = ParseModule(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

// An author who computes the sine of half of the rows.
absl::StatusOr<PartitionedCall> ByRows(const std::string& body) {
  PartitionedCall call;
  call.operands = call.results = {Rows()};
  call.body = Parse(body);
  return call;
}

constexpr char kSine[] = "HloModule b\nENTRY e { p = f32[4,4] parameter(0) ROOT s = f32[4,4] sine(p) }";

TEST(PartitionedCalls, BecomeManualParts) {
  auto module = Parse(kTwice);
  std::vector<std::string> asked;
  const absl::Status status = PartitionCalls(
      module.get(), 2,
      [&](const std::string& key, const std::vector<ShardedShape>& operands, const std::vector<ShardedShape>& results) {
        const auto tiles = [](const ShardedShape& s) {
          return DeviceTiling::FromSharding(s.sharding, s.shape.rank(), 2)->Tiles(0);
        };
        asked.push_back(absl::StrCat(key, " ", operands[0].shape.ToString(false), "/", tiles(operands[0]), " ",
                                     results[0].shape.ToString(false), "/", tiles(results[0])));
        return ByRows(kSine);
      });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(asked, (std::vector<std::string>{"k1 f32[8,4]/2 f32[8,4]/2", "k2 f32[8,4]/2 f32[8,4]/2"}));
  ASSERT_TRUE(VerifyModule(*module).ok()) << VerifyModule(*module);
  const std::string text = module->ToString();
  EXPECT_FALSE(absl::StrContains(text, kPartitionedCallTarget)) << text;
  EXPECT_TRUE(absl::StrContains(text, "SPMDFullToShardShape")) << text;
  EXPECT_TRUE(absl::StrContains(text, "SPMDShardToFullShape")) << text;
  EXPECT_TRUE(absl::StrContains(text, "f32[4,4]{1,0} sine(") || absl::StrContains(text, "f32[4,4] sine(")) << text;
}

TEST(PartitionedCalls, LieByTheirRule) {
  auto module = Parse(R"(HloModule m, num_partitions=4
ENTRY e {
  a = f32[8,4] parameter(0), sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}
  b = f32[4,6] parameter(1), sharding={devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}
  ROOT c = f32[8,6] custom-call(a, b), custom_call_target="CustomSPMDPartitioning", backend_config="k",
    frontend_attributes={xla.sdy.sharding_rule="#sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=8, j=6, k=4} reduction={k}, custom>"}
})");
  std::string asked;
  const absl::Status status = PartitionCalls(
      module.get(), 4,
      [&](const std::string&, const std::vector<ShardedShape>& operands, const std::vector<ShardedShape>& results) {
        for (const auto* arrays : {&operands, &results}) {
          for (const ShardedShape& s : *arrays) {
            const auto tiling = DeviceTiling::FromSharding(s.sharding, s.shape.rank(), 4);
            absl::StrAppend(&asked, tiling->Tiles(0), "x", tiling->Tiles(1), " ");
          }
        }
        return absl::StatusOr<PartitionedCall>(absl::InvalidArgumentError("enough"));
      });
  EXPECT_EQ(status.message(), "custom partitioning of c: enough");
  EXPECT_EQ(asked, "2x1 1x2 2x2 ");
}

TEST(PartitionedCalls, BodiesThatDoNotFitAreRefused) {
  const auto refused = [](const std::string& body) {
    auto module = Parse(kTwice);
    return std::string(PartitionCalls(module.get(), 2, [&](auto&&...) { return ByRows(body); }).message());
  };
  EXPECT_EQ(refused("HloModule b\nENTRY e { p = f32[8,4] parameter(0) ROOT s = f32[8,4] sine(p) }"),
            "custom partitioning of c: a device's part of f32[8,4] is f32[4,4], the partitioned program has f32[8,4]");
  EXPECT_EQ(refused("HloModule b\nENTRY e { p = f32[4,4] parameter(0) q = f32[4,4] parameter(1) "
                    "ROOT s = f32[4,4] add(p, q) }"),
            "custom partitioning of c: the partitioned program has another number of operands or results than the "
            "call");
  auto module = Parse(kTwice);
  const auto no = [](auto&&...) -> absl::StatusOr<PartitionedCall> { return absl::InvalidArgumentError("no"); };
  EXPECT_EQ(PartitionCalls(module.get(), 2, no).message(), "custom partitioning of c: no");
}

}  // namespace
}  // namespace xc
