// Modules at other sizes: what Resizable makes of them, and random ones by code for all sizes.
#include "gtest/gtest.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "tests/fuzz/random_module.h"
#include "tests/sizes/check_sizes.h"
#include "tests/sizes/resizable.h"

namespace xc {
namespace {

TEST(Resizable, FollowsSizesThroughTheOps) {
  auto module = ParseModule(R"(
HloModule m
add { a = f32[] parameter(0)  c = f32[] parameter(1)  ROOT s = f32[] add(a, c) }
ENTRY e {
  x = f32[4,6,10] parameter(0)
  w = f32[10,5] parameter(1)
  zero = f32[] constant(0)
  flat = f32[24,10] reshape(x)
  y = f32[24,5] dot(flat, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  back = f32[4,6,5] reshape(y)
  part = f32[4,4,5] slice(back), slice={[0:4],[1:5],[0:5]}
  long = f32[4,10,5] concatenate(back, part), dimensions={1}
  ROOT sums = f32[4,10] reduce(long, zero), dimensions={2}, to_apply=add
})");
  ASSERT_TRUE(module.ok()) << module.status();
  auto all = Resizable::Of(*std::move(module));
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->symbols().size(), 4u);
  std::map<int, int64_t> values;
  for (const Resizable::Symbol& symbol : all->symbols()) {
    values[symbol.id] = symbol.where == "x.0" ? 3 : symbol.where == "x.1" ? 9 : symbol.where == "x.2" ? 7 : 2;
  }
  auto resized = all->Resized(values);
  ASSERT_TRUE(resized.ok()) << resized.status();
  const std::string text = PrintModule(**resized);
  for (const char* line : {"x = f32[3,9,7]", "w = f32[7,2]", "flat = f32[27,7]", "part = f32[3,7,2]",
                           "slice={[0:3], [1:8], [0:2]}", "long = f32[3,16,2]", "sums = f32[3,16]"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << " in\n" << text;
  }
}

// What two equations say about one size fixes it.
TEST(Resizable, FixesWhatCannotVary) {
  auto module = ParseModule(R"(
HloModule m
ENTRY e {
  x = f32[4,6] parameter(0)
  c = f32[6] constant({1,2,3,4,5,6})
  b = f32[4,6] broadcast(c), dimensions={1}
  ROOT y = f32[4,6] add(x, b)
})");
  ASSERT_TRUE(module.ok()) << module.status();
  auto all = Resizable::Of(*std::move(module));
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->symbols().size(), 1u);
  EXPECT_EQ(all->symbols()[0].where, "x.0");
}

// More by hand: docs/testing.md.
TEST(Sizes, RandomModulesAgree) {
  int64_t sizes = 0, refused = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    auto random = MakeRandomModule(seed);
    ASSERT_TRUE(random.ok()) << "seed " << seed << ": " << random.status();
    SizesOptions options;
    options.seed = seed;
    options.sizes = 3;
    auto report = CheckSizes(std::move(random->module), options);
    ASSERT_TRUE(report.ok()) << "seed " << seed << ": " << report.status();
    for (const SizeReport& size : report->sizes) {
      EXPECT_EQ(size.wrong, "") << "seed " << seed << ", " << size.sizes;
      ++sizes;
      refused += !size.refused.empty();
    }
  }
  EXPECT_GE(sizes, 60);
  EXPECT_LE(refused, sizes / 2);
}

}  // namespace
}  // namespace xc
