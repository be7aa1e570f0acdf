// The sample programs run without the interpreter: every instruction has native code.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "hlo/text/parser.h"

namespace xc {
namespace {

std::string Fallbacks(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  auto module = ParseModule(text.str());
  if (!module.ok()) return module.status().ToString();
  auto executable = CpuBackend()->Compile(*std::move(module), {});
  return executable.ok() ? (*executable)->Text("fallbacks") : executable.status().ToString();
}

TEST(NativeCode, SamplePrograms) {
  const char* data = std::getenv("XC_DATA");
  if (data == nullptr || *data == 0) GTEST_SKIP() << "no sample data (XC_DATA)";
  int programs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(data) + "/programs")) {
    if (entry.path().extension() != ".hlo") continue;
    EXPECT_EQ(Fallbacks(entry.path()), "") << entry.path().stem();
    ++programs;
  }
  EXPECT_GE(programs, 40);
}

}  // namespace
}  // namespace xc
