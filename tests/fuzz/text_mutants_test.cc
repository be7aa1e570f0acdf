// Damaged text is refused with a message or read as another program; what is read can be printed and read again.
#include "gtest/gtest.h"
#include "hlo/analysis/equality.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "hlo/verifier/verifier.h"
#include "tests/fuzz/mutants.h"

namespace xc {
namespace {

TEST(Mutants, SeedsAreValid) {
  for (const std::string& seed : SeedModules()) {
    auto module = ParseModule(seed);
    ASSERT_TRUE(module.ok()) << module.status() << "\n" << seed;
    const absl::Status verified = VerifyModule(**module);
    EXPECT_TRUE(verified.ok()) << verified << "\n" << seed;
  }
}

TEST(Mutants, TokenMutantsAreRefusedOrRoundTrip) {
  ParseOptions options;
  options.max_elided_bytes = 1 << 20;
  int64_t read = 0, valid = 0, refused = 0;
  for (size_t s = 0; s < SeedModules().size(); ++s) {
    Random random(s);
    for (int n = 0; n < 1500; ++n) {
      const std::string text = MutateTokens(SeedModules()[s], random);
      SCOPED_TRACE(text);
      auto module = ParseModule(text, options);
      if (!module.ok()) {
        ++refused;
        EXPECT_GT(module.status().message().size(), 10u);
        continue;
      }
      ++read;
      valid += VerifyModule(**module).ok();
      const std::string printed = PrintModule(**module);
      auto again = ParseModule(printed, options);
      ASSERT_TRUE(again.ok()) << again.status() << "\nprinted as:\n" << printed;
      EXPECT_TRUE(DeepEqual(**module, **again).ok()) << DeepEqual(**module, **again) << "\nprinted as:\n" << printed;
    }
  }
  // Were all refused by the parser, the rest would not have been tried.
  EXPECT_GT(refused, 1000);
  EXPECT_GT(read, 500);
  EXPECT_GT(valid, 100);
}

}  // namespace
}  // namespace xc
