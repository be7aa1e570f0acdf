// All HLO text of the shared data passes the verifier, comes back equal from its printed form, and keeps its
// fingerprint.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "hlo/analysis/equality.h"
#include "hlo/analysis/fingerprint.h"
#include "hlo/testing/sample_modules.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "hlo/verifier/verifier.h"

namespace xc {
namespace {

void Verify(const std::string& text) {
  auto module = ParseModule(text);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(VerifyModule(**module), absl::OkStatus());
  auto again = ParseModule(PrintModule(**module));
  ASSERT_TRUE(again.ok()) << again.status();
  EqualityOptions all;
  all.names = all.metadata = true;
  EXPECT_EQ(DeepEqual(**module, **again, all), absl::OkStatus());
  EXPECT_EQ(FingerprintOf(**module), FingerprintOf(**again));
}

// All modules of a folder of `count` files, but those of `refused`: file (of one with several modules, a colon and the
// module's number from 1 behind it) and message.
void VerifyAll(const std::string& folder, size_t count, const std::map<std::string, std::string>& refused = {}) {
  const char* data = std::getenv("XC_DATA");
  if (data == nullptr || *data == 0) GTEST_SKIP() << "XC_DATA is not set";
  const std::vector<std::string> files = HloFiles(std::string(data) + "/" + folder);
  EXPECT_EQ(files.size(), count);
  for (const std::string& file : files) {
    const std::vector<std::string> modules = Modules(ReadText(file));
    for (size_t i = 0; i < modules.size(); ++i) {
      const std::string name =
          file.substr(file.rfind('/') + 1) + (modules.size() == 1 ? "" : ":" + std::to_string(i + 1));
      SCOPED_TRACE(name);
      if (const auto it = refused.find(name); it != refused.end()) {
        auto module = ParseModule(modules[i]);
        const absl::Status status = module.ok() ? VerifyModule(**module) : module.status();
        EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(it->second));
      } else {
        Verify(modules[i]);
      }
    }
  }
}

TEST(VerifierData, Hlo) { VerifyAll("hlo", 23); }
TEST(VerifierData, Programs) { VerifyAll("programs", 40); }
TEST(VerifierData, Conformance) { VerifyAll("hlo_conformance", 1741); }
TEST(VerifierData, MoreConformance) { VerifyAll("more/hlo_conformance", 584); }
TEST(VerifierData, MoreHlo) {
  VerifyAll("more/hlo", 36, {{"math_next_after.hlo:2", "f8e5m2fnuz[], entry_computation_layout gives f32[]"}});
}
TEST(VerifierData, MoreSlow) { VerifyAll("more/slow", 3); }
// XLA's parser takes all of them; its verifier refuses the same seven, with messages of the same sense (of 135, of an
// instruction before that one; of 137, by a failed check).
TEST(VerifierData, OfXlasOwnTests) {
  VerifyAll(
      "more/parse", 375,
      {{"084.hlo", "call: parameter 0 of to_apply=foo.bar.baz.0 is f32[], should be f32[4]"},
       {"135.hlo", "convolution: size of window dimension 0 is 3, should be 2 as operand 1 is f32[2,2,1,1]"},
       {"137.hlo", "all-gather-start: the result is f32[128,128], should be a tuple of operand and result"},
       {"139.hlo", "collective-permute-start: the result is f32[128,32], should be a tuple of operand and result"},
       {"146.hlo", "all-reduce-start: has shape (f32[128,32], f32[128,32]), should have f32[128,32]"},
       {"307.hlo", "has the shape f16[524,524,524], entry_computation_layout gives f32[524,524,524]"},
       {"372.hlo", "concatenate: operand 0 is f32[2,1] and operand 1 is f32[3,1]"}});
}

}  // namespace
}  // namespace xc
