// A fixed number of random modules; the binary beside it runs more.
#include "gtest/gtest.h"
#include "hlo/text/printer.h"
#include "tests/fuzz/random_module.h"
#include "tests/fuzz/random_values.h"

namespace xc {
namespace {

TEST(RandomModules, AreTheSameForASeed) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    auto one = MakeRandomModule(seed), two = MakeRandomModule(seed);
    ASSERT_TRUE(one.ok() && two.ok()) << one.status() << two.status();
    EXPECT_EQ(PrintModule(*one->module), PrintModule(*two->module));
    ASSERT_EQ(one->inputs.size(), two->inputs.size());
    for (size_t i = 0; i < one->inputs.size(); ++i) EXPECT_TRUE(one->inputs[i].BitEqual(two->inputs[i]));
  }
}

// A product of which one order of the sums is infinite and another one is not has no bound, so none is made.
TEST(RandomModules, SumsStayInTheRange) {
  EXPECT_TRUE(SumMayOverflow(ElementType::kF32, 1.7e38, 3));
  EXPECT_TRUE(SumMayOverflow(ElementType::kC64, 1.7e38, 3));
  EXPECT_TRUE(SumMayOverflow(ElementType::kF16, 3e4, 1));
  EXPECT_FALSE(SumMayOverflow(ElementType::kF64, 1.7e38, 3));
  EXPECT_FALSE(SumMayOverflow(ElementType::kF32, 1e6, 100));
}

TEST(RandomModules, PlatformsAgree) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    auto random = MakeRandomModule(seed);
    ASSERT_TRUE(random.ok()) << "seed " << seed << ": " << random.status();
    EXPECT_EQ(CheckRandomModule(*random), "") << "seed " << seed << "\n" << PrintModule(*random->module);
  }
}

}  // namespace
}  // namespace xc
