// Damaged text is refused with a message or read as another program; what is read can be printed and read again.
#include <algorithm>

#include "gtest/gtest.h"
#include "hlo/analysis/equality.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "hlo/unknown_sizes.h"
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

// The text with some of its sizes unknown.
std::string LeaveSizesOpen(const std::string& text, Random& random) {
  std::string open;
  int depth = 0;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    const size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
    if (depth > 0 && end > at && random.Below(2) == 0) {
      open += '?';
      at = end;
    } else {
      open += text.substr(at, std::max<size_t>(1, end - at));
      at = std::max(at + 1, end);
    }
  }
  return open;
}

TEST(Mutants, UnknownSizesAreBoundOrRefused) {
  ParseOptions options;
  options.max_elided_bytes = 1 << 20;
  int64_t bound = 0, refused = 0;
  for (size_t s = 0; s < SeedModules().size(); ++s) {
    auto seed = ParseModule(SeedModules()[s]);
    ASSERT_TRUE(seed.ok());
    Random random(s);
    for (int n = 0; n < 1500; ++n) {
      std::string text = LeaveSizesOpen(SeedModules()[s], random);
      if (n % 2 == 0) text = MutateTokens(text, random);
      SCOPED_TRACE(text);
      auto module = ParseModule(text, options);
      if (!module.ok()) continue;
      const auto shape = [&](int64_t argument, const Shape& type) -> absl::StatusOr<Shape> {
        const auto& parameters = (*seed)->entry()->parameters();
        if (argument < static_cast<int64_t>(parameters.size())) return parameters[argument]->shape();
        return Shape(type.type(), std::vector<int64_t>(type.rank(), 3));
      };
      const absl::Status status = BindUnknownSizes(shape, module->get());
      if (!status.ok()) {
        ++refused;
        EXPECT_GT(status.message().size(), 10u);
        continue;
      }
      ++bound;
      (void)VerifyModule(**module);
      for (const auto& computation : (*module)->computations()) {
        for (const auto& i : computation->instructions()) EXPECT_FALSE(i->shape().has_unknown_size()) << i->ToString();
      }
    }
  }
  EXPECT_GT(refused, 500);
  EXPECT_GT(bound, 500);
}

}  // namespace
}  // namespace xc
