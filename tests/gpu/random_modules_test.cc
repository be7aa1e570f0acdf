// Random modules on the emulator beside the interpreter; //tests/fuzz:random_modules --platform=gpu runs more.
#include "gtest/gtest.h"
#include "hlo/text/printer.h"
#include "tests/fuzz/random_module.h"

namespace xc {
namespace {

TEST(RandomModules, EmulatorAgrees) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    auto random = MakeRandomModule(seed);
    ASSERT_TRUE(random.ok()) << "seed " << seed << ": " << random.status();
    EXPECT_EQ(CheckRandomModule(*random, "gpu"), "") << "seed " << seed << "\n" << PrintModule(*random->module);
  }
}

}  // namespace
}  // namespace xc
