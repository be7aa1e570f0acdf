// Kernels that become part of the convolution or product in front of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "backends/plan/plan_test_support.h"

namespace xc::plan {
namespace {

// A pointwise kernel is run on parts of the result in front of it, constant weights are packed; what reads other
// positions, or writes what the convolution reads, stays by itself.
TEST(Epilogues, OfConvolutions) {
  TargetInfo target;
  target.direct_convolutions = true;
  const std::string head = R"(
HloModule m
ENTRY e {
  x = f32[1,16,16,32] parameter(0)
  k = f32[] constant(2)
  w = f32[1,1,32,32] broadcast(k), dimensions={}
  c = f32[1,16,16,32] convolution(x, w), window={size=1x1}, dim_labels=b01f_01io->b01f
)";
  const std::string joined = PlanOf(head + "  ROOT n = f32[1,16,16,32] negate(c)\n}\n", target);
  EXPECT_THAT(joined, testing::HasSubstr("  c: call xc_rt_convolution_then("));
  EXPECT_THAT(joined, testing::HasSubstr(", then n: kernel 1, loop [1,16,16,32] n, reads "));
  EXPECT_THAT(joined, testing::HasSubstr("  n: alias\n"));
  EXPECT_THAT(joined, testing::Not(testing::HasSubstr("packed=1")));
  const std::string apart = PlanOf(head + "  ROOT n = f32[1,16,16,32] reverse(c), dimensions={1}\n}\n", target);
  EXPECT_THAT(apart, testing::HasSubstr("  c: call xc_rt_convolution({"));
  EXPECT_THAT(apart, testing::HasSubstr("  n: kernel "));
  const std::string packed = PlanOf(R"(
HloModule m
ENTRY e {
  x = f64[1,16,16,1] parameter(0)
  w = f64[1,1,1,4] constant({{{{1,2,3,4}}}})
  ROOT c = f64[1,16,16,4] convolution(x, w), window={size=1x1}, dim_labels=b01f_01io->b01f
}
)",
                                    target);
  // 8 lanes for 4 features.
  EXPECT_THAT(packed, testing::HasSubstr("packed=1}, parameter 0[2048], constant 1[64], output 0[8192])"));
}

// On some targets products do likewise, also behind a reshape.
TEST(Epilogues, OfProducts) {
  TargetInfo target;
  const std::string text = R"(
HloModule m
ENTRY e {
  x = f32[6,8] parameter(0)
  y = f32[8,4] parameter(1)
  d = f32[6,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  s = f32[24] reshape(d)
  ROOT n = f32[24] negate(s)
}
)";
  EXPECT_THAT(PlanOf(text, target), testing::HasSubstr("  n: kernel "));
  target.products_take_kernels = true;
  EXPECT_THAT(PlanOf(text, target), testing::HasSubstr("output 0[96]), then n: kernel 0, loop [24] n, reads "));
}

}  // namespace
}  // namespace xc::plan
