// Token-level damage to the example module and to programs of the sample data: reading, checking, printing, comparing
// and fingerprinting never crash or hang. XC_MUTANTS asks for another number of mutants than 400.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "gtest/gtest.h"
#include "hlo/analysis/equality.h"
#include "hlo/analysis/fingerprint.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "hlo/verifier/verifier.h"
#include "tests/fuzz/mutants.h"

namespace xc {
namespace {

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// The example, and with sample data its programs of at most 64 KiB, in the order of their names.
std::vector<std::string> Seeds() {
  std::vector<std::filesystem::path> files = {"examples/small.hlo"};
  const char* data = std::getenv("XC_DATA");
  for (const char* folder : {"hlo", "programs", "hlo_conformance"}) {
    if (data == nullptr || *data == 0) break;
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(data) / folder)) {
      if (entry.path().extension() == ".hlo" && entry.file_size() <= 65536) files.push_back(entry.path());
    }
  }
  std::sort(files.begin() + 1, files.end());
  std::vector<std::string> seeds;
  for (const auto& file : files) seeds.push_back(ReadText(file));
  return seeds;
}

TEST(DataMutants, AreRefusedOrHandled) {
  const std::vector<std::string> seeds = Seeds();
  ASSERT_GT(seeds[0].size(), 1000u);
  const char* asked = std::getenv("XC_MUTANTS");
  const int64_t count = asked != nullptr && *asked != 0 ? std::atoll(asked) : 400;
  ParseOptions options;
  options.max_elided_bytes = 1 << 20;
  Random random(17);
  int64_t valid = 0, refused = 0;
  for (int64_t n = 0; n < count; ++n) {
    // Every fourth mutant is the example's, so that the test has work without sample data as well.
    const std::string& seed = n % 4 == 0 ? seeds[0] : seeds[random.Below(seeds.size())];
    const std::string text = MutateTokens(seed, random);
    SCOPED_TRACE(text);
    auto module = ParseModule(text, options);
    if (!module.ok()) {
      ++refused;
      EXPECT_EQ(module.status().code(), absl::StatusCode::kInvalidArgument);
      continue;
    }
    absl::Status status = VerifyModule(**module);
    if (!status.ok()) {
      ++refused;
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    } else {
      ++valid;
    }
    auto again = ParseModule(PrintModule(**module), options);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_TRUE(DeepEqual(**module, **again).ok()) << DeepEqual(**module, **again);
    EXPECT_EQ(FingerprintOf(**module), FingerprintOf(**again));
    EXPECT_EQ(VerifyModule(**again).ok(), status.ok());
  }
  EXPECT_GT(refused, count / 10);
  EXPECT_GT(valid, count / 50);
}

}  // namespace
}  // namespace xc
