#include "tests/gpu/testing.h"

#include <gtest/gtest.h>

#include <utility>

#include "backends/registry.h"
#include "hlo/text/parser.h"
#include "hlo/verifier/verifier.h"
#include "service/client.h"
#include "service/compare.h"
#include "service/inputs.h"

namespace xc {

std::unique_ptr<Executable> CompileText(const std::string& platform, const std::string& text, bool gpu_libraries) {
  CompileOptions options;
  options.emulate = true;
  options.gpu_libraries = gpu_libraries;
  auto module = ParseModule(text);
  EXPECT_TRUE(module.ok()) << module.status() << text;
  EXPECT_TRUE(VerifyModule(**module).ok()) << text;
  auto executable = (*BackendByName(platform))->Compile(*std::move(module), options);
  EXPECT_TRUE(executable.ok()) << executable.status() << text;
  return *std::move(executable);
}

absl::StatusOr<std::vector<Literal>> RunOnInputs(const Executable& executable, int64_t seed) {
  std::vector<Literal> inputs;
  for (const Shape& leaf : executable.parameter_leaves()) inputs.push_back(MakeInput(seed++, leaf));
  std::vector<const Literal*> pointers;
  for (const Literal& input : inputs) pointers.push_back(&input);
  return RunOnLiterals(executable, pointers);
}

void ExpectRight(const Executable& executable, const std::string& text, int64_t seed) {
  const auto actual = RunOnInputs(executable, seed);
  const auto expected = RunOnInputs(*CompileText("interpreter", text), seed);
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_TRUE(actual.ok()) << actual.status() << text;
  ASSERT_EQ(actual->size(), expected->size());
  for (size_t i = 0; i < actual->size(); ++i) {
    EXPECT_EQ(CompareNorm((*actual)[i], (*expected)[i]), "") << text << ", result " << i;
  }
}

void ExpectSame(const std::string& text, size_t evaluated) {
  const std::unique_ptr<Executable> executable = CompileText("gpu", text);
  EXPECT_EQ(executable->evaluated().size(), evaluated) << text;
  ExpectRight(*executable, text);
}

}  // namespace xc
