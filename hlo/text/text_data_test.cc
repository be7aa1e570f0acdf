// All HLO text of the shared data: parses, and both parse → print → parse and text → message → text give the same text.
#include <dirent.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "hlo/io.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"

namespace xc {
namespace {

std::vector<std::string> HloFiles(const std::string& folder) {
  std::vector<std::string> files;
  DIR* dir = opendir(folder.c_str());
  if (dir == nullptr) return files;
  while (const dirent* entry = readdir(dir)) {
    const std::string name = entry->d_name;
    if (name.size() > 4 && name.substr(name.size() - 4) == ".hlo") files.push_back(folder + "/" + name);
  }
  closedir(dir);
  std::sort(files.begin(), files.end());
  return files;
}

std::string ReadText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

void RoundTrip(const std::string& folder, size_t at_least) {
  const char* data = std::getenv("XC_DATA");
  if (data == nullptr || *data == 0) GTEST_SKIP() << "XC_DATA is not set";
  const std::vector<std::string> files = HloFiles(std::string(data) + "/" + folder);
  EXPECT_GE(files.size(), at_least);
  for (const std::string& file : files) {
    const auto module = ParseModule(ReadText(file));
    ASSERT_TRUE(module.ok()) << file << ": " << module.status();
    const std::string printed = PrintModule(**module);
    const auto again = ParseModule(printed);
    ASSERT_TRUE(again.ok()) << file << ": " << again.status();
    ASSERT_TRUE(PrintModule(**again) == printed) << file;
    const auto bytes = WriteModule(**module, ModuleFormat::kBinaryProto);
    ASSERT_TRUE(bytes.ok()) << file << ": " << bytes.status();
    const auto from_bytes = ReadModule(*bytes);
    ASSERT_TRUE(from_bytes.ok()) << file << ": " << from_bytes.status();
    ASSERT_EQ(PrintModule(**from_bytes), printed) << file;
  }
}

TEST(TextData, Hlo) { RoundTrip("hlo", 23); }
TEST(TextData, Programs) { RoundTrip("programs", 40); }
TEST(TextData, Conformance) { RoundTrip("hlo_conformance", 1741); }

}  // namespace
}  // namespace xc
