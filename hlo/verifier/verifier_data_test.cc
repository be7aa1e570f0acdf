// All HLO text of the shared data passes the verifier, comes back equal from its printed form, and keeps its
// fingerprint.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "hlo/equality.h"
#include "hlo/fingerprint.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "hlo/verifier/verifier.h"

namespace xc {
namespace {

void VerifyAll(const std::string& folder, size_t at_least) {
  const char* data = std::getenv("XC_DATA");
  if (data == nullptr || *data == 0) GTEST_SKIP() << "XC_DATA is not set";
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(data) + "/" + folder)) {
    if (entry.path().extension() == ".hlo") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  EXPECT_GE(files.size(), at_least);
  for (const std::string& file : files) {
    std::ifstream in(file, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    auto module = ParseModule(text.str());
    ASSERT_TRUE(module.ok()) << file << ": " << module.status();
    absl::Status status = VerifyModule(**module);
    EXPECT_TRUE(status.ok()) << file << ": " << status;
    auto again = ParseModule(PrintModule(**module));
    ASSERT_TRUE(again.ok()) << file << ": " << again.status();
    EqualityOptions all;
    all.names = all.metadata = true;
    status = DeepEqual(**module, **again, all);
    EXPECT_TRUE(status.ok()) << file << ": " << status;
    EXPECT_EQ(FingerprintOf(**module), FingerprintOf(**again)) << file;
  }
}

TEST(VerifierData, Hlo) { VerifyAll("hlo", 23); }
TEST(VerifierData, Programs) { VerifyAll("programs", 40); }
TEST(VerifierData, Conformance) { VerifyAll("hlo_conformance", 1741); }

}  // namespace
}  // namespace xc
