// Shardings as tilings of devices, and back.
#include "hlo/devices/device_tiling.h"

#include <gtest/gtest.h>

namespace xc {
namespace {

Sharding Tiled(Int64List tile_dims, Int64List devices, bool replicate = false) {
  Sharding sharding;
  sharding.type = Sharding::Type::kOther;
  sharding.tile_dims = std::move(tile_dims);
  sharding.devices = std::move(devices);
  sharding.replicate_on_last_tile_dim = replicate;
  return sharding;
}

TEST(DeviceTiling, TilesOfDevices) {
  // devices=[2,1,2]<=[2,2]T(1,0): dimension 0 by the second axis of a 2x2 mesh.
  Sharding sharding = Tiled({2, 1, 2}, {}, true);
  sharding.iota_reshape_dims = {2, 2};
  sharding.iota_transpose = {1, 0};
  auto tiling = DeviceTiling::FromSharding(sharding, 2, 4);
  ASSERT_TRUE(tiling.ok());
  EXPECT_EQ(tiling->Tiles(0), 2);
  EXPECT_EQ(tiling->Tiles(1), 1);
  for (int64_t device = 0; device < 4; ++device) EXPECT_EQ(tiling->TileOf(device, 0), device % 2);
  EXPECT_EQ(tiling->ToSharding(4), Tiled({2, 1, 2}, {0, 2, 1, 3}, true));
  EXPECT_EQ(tiling->ShardShape(Shape(ElementType::kF32, {6, 5}))->dims(), (Int64List{3, 5}));
  EXPECT_EQ(tiling->ShardShape(Shape(ElementType::kF32, {5, 5})).status().message(),
            "dimension 0 of f32[5,5] cannot be shared by 2 devices");
}

TEST(DeviceTiling, AnyOrderOfDevices) {
  const Sharding sharding = Tiled({4, 1}, {2, 0, 3, 1});
  auto tiling = DeviceTiling::FromSharding(sharding, 2, 4);
  ASSERT_TRUE(tiling.ok());
  EXPECT_EQ(tiling->TileOf(2, 0), 0);
  EXPECT_EQ(tiling->TileOf(1, 0), 3);
  EXPECT_EQ(tiling->ToSharding(4), sharding);
}

TEST(DeviceTiling, Summands) {
  Sharding sharding = Tiled({2, 2, 2}, {0, 2, 1, 3, 4, 6, 5, 7});
  sharding.last_tile_dims = {Sharding::Type::kUnreduced, Sharding::Type::kReplicated};
  auto tiling = DeviceTiling::FromSharding(sharding, 1, 8);
  ASSERT_TRUE(tiling.ok());
  EXPECT_EQ(tiling->Tiles(0), 2);
  EXPECT_EQ(tiling->unreduced(), (std::vector<DeviceTiling::Digit>{{1, 2}}));
  EXPECT_EQ(tiling->ToSharding(8), sharding);
  EXPECT_TRUE(DeviceTiling::Replicated(1) != *tiling);
}

TEST(DeviceTiling, Merging) {
  auto rows = DeviceTiling::Replicated(2), columns = rows, same = rows;
  rows.Append(0, {2, 2});
  columns.Append(1, {1, 2});
  same.Append(1, {2, 2});
  DeviceTiling both = rows;
  both.MergeFrom(columns);
  EXPECT_EQ(both.ToSharding(4), Tiled({2, 2}, {0, 1, 2, 3}));
  DeviceTiling clash = rows;
  clash.MergeFrom(same);
  EXPECT_EQ(clash, rows);
}

TEST(DeviceTiling, Refusals) {
  EXPECT_EQ(DeviceTiling::FromSharding(Tiled({2}, {0, 1}), 1, 4).status().message(),
            "sharding devices=[2] is for 2 devices, the program for 4");
  EXPECT_EQ(DeviceTiling::FromSharding(Tiled({2}, {0, 0}), 1, 2).status().message(),
            "sharding devices=[2] should list each device once");
  EXPECT_TRUE(DeviceTiling::FromSharding(Sharding(), 3, 4)->IsReplicated());
}

}  // namespace
}  // namespace xc
