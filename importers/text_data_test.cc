// All HLO text of the shared data: parses, and both parse → print → parse and text → message → text give the same text.
#include <gtest/gtest.h>

#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "hlo/testing/sample_modules.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "importers/io.h"

namespace xc {
namespace {

void RoundTrip(const std::string& text) {
  const auto module = ParseModule(text);
  ASSERT_TRUE(module.ok()) << module.status();
  const std::string printed = PrintModule(**module);
  const auto again = ParseModule(printed);
  ASSERT_TRUE(again.ok()) << again.status();
  ASSERT_TRUE(PrintModule(**again) == printed);
  const auto bytes = WriteModule(**module, ModuleFormat::kBinaryProto);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const auto from_bytes = ReadModule(*bytes);
  ASSERT_TRUE(from_bytes.ok()) << from_bytes.status();
  // Messages hold the number, not how it was written.
  ASSERT_EQ(PrintModule(**from_bytes), absl::StrReplaceAll(printed, {{"{atol=1.0,", "{atol=1,"}}));
}

// All modules of a folder of `count` files, but `refused`: a file's name, or that of one with several modules, a colon
// and the module's number from 1.
void RoundTrip(const std::string& folder, size_t count, absl::string_view refused = "none") {
  const char* data = std::getenv("XC_DATA");
  if (data == nullptr || *data == 0) GTEST_SKIP() << "XC_DATA is not set";
  const std::vector<std::string> files = HloFiles(std::string(data) + "/" + folder);
  EXPECT_EQ(files.size(), count);
  for (const std::string& file : files) {
    const std::vector<std::string> modules = Modules(ReadText(file));
    for (size_t i = 0; i < modules.size(); ++i) {
      const std::string name = modules.size() == 1 ? file : absl::StrCat(file, ":", i + 1);
      SCOPED_TRACE(name);
      if (absl::EndsWith(name, refused)) {
        EXPECT_FALSE(ParseModule(modules[i]).ok());
      } else {
        RoundTrip(modules[i]);
      }
    }
  }
}

TEST(TextData, Hlo) { RoundTrip("hlo", 23); }
TEST(TextData, Programs) { RoundTrip("programs", 40); }
TEST(TextData, Conformance) { RoundTrip("hlo_conformance", 1741); }
TEST(TextData, MoreConformance) { RoundTrip("more/hlo_conformance", 584); }
// What is refused gives its entry a layout of another element type, which XLA leaves to its verifier to refuse.
TEST(TextData, MoreHlo) { RoundTrip("more/hlo", 36, "math_next_after.hlo:2"); }
TEST(TextData, MoreSlow) { RoundTrip("more/slow", 3); }
TEST(TextData, OfXlasOwnTests) { RoundTrip("more/parse", 375, "307.hlo"); }

}  // namespace
}  // namespace xc
