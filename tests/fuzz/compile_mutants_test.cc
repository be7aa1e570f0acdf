// Damaged programs that still mean something, through both backends: each compiles and runs or is refused with a
// message, no input ends the process, and where both run they agree.
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "hlo/text/parser.h"
#include "hlo/verifier/verifier.h"
#include "service/client.h"
#include "service/compare.h"
#include "service/inputs.h"
#include "tests/fuzz/mutants.h"

namespace xc {
namespace {

constexpr int64_t kMaxInputElements = 1 << 16;

// A damaged loop may run for ever: such programs are compiled, not run.
bool HasLoop(const HloModule& module) {
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (instruction->opcode() == HloOpcode::kWhile) return true;
    }
  }
  return false;
}

struct Outcome {
  absl::Status status;
  std::vector<Literal> results;
};

Outcome CompileAndRun(const std::string& text, absl::string_view platform) {
  auto module = ParseModule(text);
  if (!module.ok()) return {module.status(), {}};
  const bool run = !HasLoop(**module);
  CompileOptions options;
  options.max_instructions = 10'000;
  options.max_memory_bytes = int64_t{64} << 20;
  Client client;
  auto executable = client.Compile(*std::move(module), platform, options);
  if (!executable.ok()) return {executable.status(), {}};
  if (!run) return {absl::OkStatus(), {}};
  std::vector<Literal> inputs;
  std::vector<const Literal*> pointers;
  for (const Shape& leaf : (*executable)->parameter_leaves()) {
    if (leaf.IsArray() && leaf.ElementCount() > kMaxInputElements) return {absl::OkStatus(), {}};
    inputs.push_back(MakeInput(static_cast<int64_t>(inputs.size()), leaf));
  }
  for (const Literal& input : inputs) pointers.push_back(&input);
  RunOptions run_options;
  run_options.deadline = absl::Now() + absl::Seconds(60);
  run_options.guard_pages = platform == "cpu";
  auto results = RunOnLiterals(**executable, pointers, run_options);
  if (!results.ok()) return {results.status(), {}};
  return {absl::OkStatus(), *std::move(results)};
}

TEST(CompileMutants, BackendsAgreeOrRefuse) {
  int ran = 0, compared = 0;
  for (size_t s = 0; s < SeedModules().size(); ++s) {
    Random random(1000 + s);
    int programs = 0;
    for (int n = 0; n < 1500 && programs < 12; ++n) {
      const std::string text = MutateTokens(SeedModules()[s], random);
      auto module = ParseModule(text);
      if (!module.ok() || !VerifyModule(**module).ok()) continue;
      ++programs;
      SCOPED_TRACE(text);
      const Outcome expected = CompileAndRun(text, "interpreter");
      const Outcome actual = CompileAndRun(text, "cpu");
      EXPECT_EQ(expected.status.ok() || !expected.status.message().empty(), true);
      EXPECT_EQ(actual.status.ok() || !actual.status.message().empty(), true);
      if (!expected.status.ok() || !actual.status.ok()) continue;
      ++ran;
      ASSERT_EQ(expected.results.size(), actual.results.size());
      for (size_t i = 0; i < expected.results.size(); ++i) {
        ++compared;
        EXPECT_EQ(CompareClose(actual.results[i], expected.results[i]), "") << "result " << i;
      }
    }
  }
  EXPECT_GT(ran, 30);
  EXPECT_GT(compared, 50);
}

}  // namespace
}  // namespace xc
