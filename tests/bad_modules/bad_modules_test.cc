// Runs the table of broken modules: every one must be refused by the parser or the verifier, with a message that
// matches the `// error: REGEX` line before it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "hlo/text/parser.h"
#include "hlo/verifier/verifier.h"

namespace xc {
namespace {

struct Case {
  std::string name, regex, text;
};

std::vector<Case> ReadCases() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("tests/bad_modules")) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Case> cases;
  for (const auto& file : files) {
    std::ifstream in(file);
    std::string line;
    const std::string head = "// error: ";
    for (int number = 1; std::getline(in, line); ++number) {
      if (line.rfind(head, 0) == 0) {
        cases.push_back({file.filename().string() + ":" + std::to_string(number), line.substr(head.size()), ""});
      } else if (!cases.empty()) {
        cases.back().text += line + "\n";
      }
    }
  }
  return cases;
}

TEST(BadModules, AreRefusedWithTheMessageThatTheyAskFor) {
  std::vector<Case> cases = ReadCases();
  EXPECT_EQ(cases.size(), 352u) << "none may be lost: a new case changes this number and docs/testing.md's";
  for (const Case& c : cases) {
    auto module = ParseModule(c.text);
    absl::Status status = module.ok() ? VerifyModule(**module) : module.status();
    if (status.ok()) {
      ADD_FAILURE() << c.name << " was accepted, should fail with: " << c.regex;
      continue;
    }
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.name;
    EXPECT_THAT(std::string(status.message()), ::testing::ContainsRegex(c.regex)) << c.name;
  }
}

}  // namespace
}  // namespace xc
