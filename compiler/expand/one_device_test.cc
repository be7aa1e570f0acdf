// What collectives, asynchronous pairs and annotations become on one device.
#include <gtest/gtest.h>

#include "compiler/expand/expand.h"
#include "compiler/pass_test_support.h"

namespace xc {
namespace {

std::string OneDevice(absl::string_view instructions, absl::string_view computations = "") {
  return Simplified({ReduceToOneDevice}, instructions, computations);
}

TEST(OneDeviceTest, AnnotationsPassTheirOperandOn) {
  EXPECT_EQ(OneDevice(R"(a = f32[4] parameter(0)
b = f32[4] custom-call(a), custom_call_target="Sharding"
ROOT c = f32[4] negate(b))"),
            "root = f32[4] negate(p0)\n");
}

TEST(OneDeviceTest, OtherCustomCallsStay) {
  EXPECT_EQ(OneDevice(R"(a = f32[4] parameter(0)
ROOT b = f32[4] custom-call(a), custom_call_target="mine")"),
            "root = f32[4] custom-call(p0), custom_call_target=\"mine\"\n");
}

constexpr char kAdd[] = R"(add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT r = f32[] add(x, y)
})";

TEST(OneDeviceTest, AllReduceOfOneParticipant) {
  EXPECT_EQ(OneDevice(R"(a = f32[4] parameter(0)
b = f32[4] all-reduce(a), replica_groups={}, to_apply=add
ROOT c = f32[4] negate(b))",
                      kAdd),
            "root = f32[4] negate(p0)\n");
}

TEST(OneDeviceTest, GatheringFromSeveralStays) {
  EXPECT_EQ(OneDevice(R"(a = f32[4] parameter(0)
ROOT b = f32[8] all-gather(a), replica_groups={{0,1}}, dimensions={0})"),
            "root = f32[8] all-gather(p0), replica_groups={{0,1}}, dimensions={0}\n");
}

TEST(OneDeviceTest, ReducingOverSeveralStays) {
  for (const char* groups : {"{{0,1}}", "{{0},{1,2}}", "[1,2]<=[2]"}) {
    const std::string all = absl::StrCat("f32[4] all-reduce(p0), replica_groups=", groups, ", to_apply=add\n");
    EXPECT_EQ(OneDevice(absl::StrCat("p0 = f32[4] parameter(0)\nROOT b = ", all), kAdd), "root = " + all);
  }
}

TEST(OneDeviceTest, PermutationWithoutThisDeviceGivesZeros) {
  EXPECT_EQ(OneDevice(R"(a = f32[4] parameter(0)
ROOT b = f32[4] collective-permute(a), source_target_pairs={{0,1}})"),
            "t0 = f32[] constant(0)\n"
            "root = f32[4] broadcast(t0), dimensions={}\n");
}

TEST(OneDeviceTest, CopyPairs) {
  EXPECT_EQ(OneDevice(R"(a = f32[4] parameter(0)
b = (f32[4], f32[4], u32[]) copy-start(a)
ROOT c = f32[4] copy-done(b))"),
            "t0 = u32[] constant(0)\n"
            "t1 = (f32[4], f32[4], u32[]) tuple(p0, p0, t0)\n"
            "root = f32[4] get-tuple-element(t1), index=0\n");
}

TEST(OneDeviceTest, AsynchronousCallsAreCalls) {
  EXPECT_EQ(OneDevice(R"(a = f32[4] parameter(0)
b = ((f32[4]), f32[4], u32[]) async-start(a), calls=work
c = ((f32[4]), f32[4], u32[]) async-update(b)
ROOT d = f32[4] async-done(c))",
                      R"(work {
  x = f32[4] parameter(0)
  ROOT y = f32[4] negate(x)
})"),
            "t0 = f32[4] call(p0), to_apply=work\n"
            "t1 = (f32[4]) tuple(p0)\n"
            "t2 = u32[] constant(0)\n"
            "t3 = ((f32[4]), f32[4], u32[]) tuple(t1, t0, t2)\n"
            "root = f32[4] get-tuple-element(t3), index=1\n");
}

}  // namespace
}  // namespace xc
