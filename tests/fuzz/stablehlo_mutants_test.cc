// Damaged StableHLO is refused with a message or read as another program; what is read and valid prints as HLO text
// that reads back as the same.
#include "gtest/gtest.h"
#include "hlo/analysis/equality.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "hlo/verifier/verifier.h"
#include "importers/stablehlo/stablehlo.h"
#include "tests/fuzz/mutants.h"
#include "tests/fuzz/open_size_seeds.h"

namespace xc {
namespace {

TEST(StableHloMutants, SeedsAreValid) {
  for (const std::string& seed : StableHloSeeds()) {
    auto module = ParseStableHlo(seed, MutantOptions(0));
    ASSERT_TRUE(module.ok()) << module.status();
    EXPECT_TRUE(VerifyModule(**module).ok()) << VerifyModule(**module);
  }
}

TEST(StableHloMutants, TokenMutantsAreRefusedOrRoundTrip) {
  const ParseOptions options = MutantOptions(1 << 20);
  int64_t valid = 0, refused = 0;
  for (size_t s = 0; s < StableHloSeeds().size(); ++s) {
    Random random(s);
    for (int n = 0; n < 2500; ++n) {
      const std::string text = MutateTokens(StableHloSeeds()[s], random);
      SCOPED_TRACE(text);
      auto module = ParseStableHlo(text, options);
      if (!module.ok()) {
        ++refused;
        EXPECT_EQ(module.status().code(), absl::StatusCode::kInvalidArgument);
        EXPECT_GT(module.status().message().size(), 10u);
        continue;
      }
      if (!VerifyModule(**module).ok()) continue;
      ++valid;
      const std::string printed = PrintModule(**module);
      auto again = ParseModule(printed, options);
      ASSERT_TRUE(again.ok()) << again.status() << "\nprinted as:\n" << printed;
      const absl::Status equal = DeepEqual(**module, **again, {.config = false});
      EXPECT_TRUE(equal.ok()) << equal << "\nprinted as:\n" << printed;
    }
  }
  // Were all refused, the rest would not have been tried.
  EXPECT_GT(refused, 1000);
  EXPECT_GT(valid, 300);
}

// Every beginning of a text ends in a message, not beyond the text.
TEST(StableHloMutants, BeginningsAreRefusedOrRead) {
  for (const std::string& seed : StableHloSeeds()) {
    for (size_t size = 0; size < seed.size(); size += 3) {
      const std::string text = seed.substr(0, size);
      (void)LooksLikeStableHlo(text);
      auto module = ParseStableHlo(text, MutantOptions(0));
      if (!module.ok()) {
        EXPECT_GT(module.status().message().size(), 10u) << text;
      }
    }
  }
}

}  // namespace
}  // namespace xc
