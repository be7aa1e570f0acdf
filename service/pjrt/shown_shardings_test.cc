// Orders of devices as digits, and lists that have no such form.
#include "service/pjrt/shown_shardings.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace xc::pjrt {
namespace {

std::string Shown(const std::vector<int64_t>& devices) {
  pb::HloModuleProto module;
  pb::OpSharding* const sharding = module.mutable_spmd_output_sharding()->add_tuple_shardings();
  sharding->set_type(pb::OpSharding::OTHER);
  for (int64_t device : devices) sharding->add_tile_assignment_devices(device);
  ListDevicesAsIotas(&module);
  if (sharding->iota_reshape_dims().empty()) return absl::StrJoin(sharding->tile_assignment_devices(), ",");
  EXPECT_TRUE(sharding->tile_assignment_devices().empty());
  return absl::StrCat("[", absl::StrJoin(sharding->iota_reshape_dims(), ","), "]T(",
                      absl::StrJoin(sharding->iota_transpose_perm(), ","), ")");
}

TEST(ShownShardings, AreTransposedIotas) {
  EXPECT_EQ(Shown({0, 1, 2, 3, 4, 5}), "[6]T(0)");
  EXPECT_EQ(Shown({0, 2, 4, 6, 1, 3, 5, 7}), "[4,2]T(1,0)");
  EXPECT_EQ(Shown({0, 3, 1, 4, 2, 5}), "[2,3]T(1,0)");
  EXPECT_EQ(Shown({0, 4, 2, 6, 1, 5, 3, 7}), "[2,2,2]T(2,1,0)");
  EXPECT_EQ(Shown({0, 2, 1, 3, 4, 6, 5, 7}), "[2,2,2]T(0,2,1)");
}

TEST(ShownShardings, StayListsOtherwise) {
  for (const std::vector<int64_t>& list : {std::vector<int64_t>{1, 0}, {0, 1, 3, 2}, {0, 2, 4, 6}, {0, 0}, {0}}) {
    EXPECT_EQ(Shown(list), absl::StrJoin(list, ","));
  }
}

}  // namespace
}  // namespace xc::pjrt
