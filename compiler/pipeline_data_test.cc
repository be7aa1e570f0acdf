// The whole pipeline, buffer assignment included, on every module of the data folder: it verifies after each pass, and
// no buffer is overwritten while its value is needed.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "compiler/driver.h"
#include "compiler/memory/buffer_assignment.h"
#include "compiler/memory/schedule.h"
#include "gtest/gtest.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "hlo/verifier/verifier.h"

namespace xc {
namespace {

// Runs everything; an error's text, or "".
std::string Compile(const std::string& path, std::map<std::string, int64_t, std::less<>>* counters) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  auto module = ParseModule(text.str());
  if (!module.ok()) return absl::StrCat("parse: ", module.status().message());
  const auto start = std::chrono::steady_clock::now();
  PassContext context;
  DriverCallbacks callbacks;
  callbacks.verify = [](const HloModule& m) { return VerifyModule(m); };
  auto report = RunPipeline(module->get(), context, callbacks);
  if (!report.ok()) return std::string(report.status().message());
  for (const auto& [rule, count] : context.counters) (*counters)[rule] += count;
  if (absl::Status s = VerifySchedule(module->get()); !s.ok()) return std::string(s.message());
  auto buffers = AssignBuffers(module->get());
  if (!buffers.ok()) return std::string(buffers.status().message());
  const auto middle = std::chrono::steady_clock::now();
  if (absl::Status s = CheckBufferAssignment(module->get(), *buffers); !s.ok()) return std::string(s.message());
  if (absl::Status s = VerifyModule(**module); !s.ok()) return absl::StrCat("after buffers: ", s.message());
  if (std::getenv("XC_PRINT") != nullptr) {
    std::cout << PrintModule(**module, PrintOptions::Short()) << buffers->Report() << report->ToString(context);
  }
  std::cout << std::filesystem::path(path).filename().string() << ": "
            << std::chrono::duration<double, std::milli>(middle - start).count() << " ms, "
            << (*module)->InstructionCount() << " instructions, arena " << buffers->arena_bytes() << ", lower bound "
            << buffers->lower_bound() << "\n";
  return "";
}

TEST(PipelineData, EveryModule) {
  const char* data = std::getenv("XC_DATA");
  if (data == nullptr) GTEST_SKIP() << "XC_DATA is not set";
  std::map<std::string, int64_t, std::less<>> counters;
  int count = 0;
  const char* only = std::getenv("XC_ONLY");
  for (const char* folder : {"hlo", "programs"}) {
    for (const auto& entry : std::filesystem::directory_iterator(absl::StrCat(data, "/", folder))) {
      if (entry.path().extension() != ".hlo") continue;
      if (only != nullptr && entry.path().string().find(only) == std::string::npos) continue;
      const std::string error = Compile(entry.path().string(), &counters);
      EXPECT_EQ(error, "") << entry.path().filename();
      ++count;
    }
  }
  EXPECT_GE(count, only != nullptr ? 1 : 23 + 40);
  for (const auto& [rule, fired] : counters) std::cout << fired << " " << rule << "\n";
}

}  // namespace
}  // namespace xc
