// What is emitted is valid: LLVM verifies it, and CUDA's assembler takes it where there is one.
#include "backends/gpu/emitter.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "backends/program/executable.h"
#include "hlo/testing/sample_modules.h"
#include "hlo/text/parser.h"
#include "hlo/verifier/verifier.h"
#include "importers/io.h"

namespace xc::gpu {
namespace {

struct Compiled {
  PlannedModule planned;
  EmittedPlan emitted;
};

absl::StatusOr<Compiled> Compile(std::unique_ptr<HloModule> module) {
  const Target target;
  Compiled compiled;
  absl::StatusOr<PlannedModule> planned = PlanModule(std::move(module), {}, TargetInfoOf(target), nullptr);
  if (!planned.ok()) return planned.status();
  compiled.planned = *std::move(planned);
  absl::StatusOr<EmittedPlan> emitted = EmitPlan(compiled.planned.plan, target, {.keep_ir = true});
  if (!emitted.ok()) return emitted.status();
  compiled.emitted = *std::move(emitted);
  return compiled;
}

std::string Assembler() {
  const char* const path = std::getenv("XC_PTXAS");
  const std::string name = path == nullptr ? "/usr/local/cuda/bin/ptxas" : path;
  return std::filesystem::exists(name) ? name : "";
}

void ExpectAssembles(const std::string& ptx, const std::string& name) {
  if (Assembler().empty()) return;
  const char* const directory = std::getenv("TEST_TMPDIR");
  const std::string file = absl::StrCat(directory == nullptr ? "/tmp" : directory, "/kernels.ptx");
  std::ofstream(file) << ptx;
  const std::string command = absl::StrCat(Assembler(), " -arch=sm_90 ", file, " -o /dev/null");
  EXPECT_EQ(std::system(command.c_str()), 0) << name << ": " << ptx;
}

void ExpectKernels(const char* text, int64_t kernels) {
  auto module = ParseModule(text);
  ASSERT_TRUE(module.ok()) << module.status();
  ASSERT_TRUE(VerifyModule(**module).ok());
  const absl::StatusOr<Compiled> compiled = Compile(std::move(*module));
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  EXPECT_EQ(static_cast<int64_t>(compiled->emitted.kernels.size()), kernels);
  for (const auto& [step, reason] : compiled->emitted.reasons) ADD_FAILURE() << reason;
  for (const std::string& ptx : compiled->emitted.ptx) ExpectAssembles(ptx, text);
}

TEST(Emitter, Elementwise) {
  ExpectKernels(R"(HloModule m
ENTRY e { x = f32[1000] parameter(0) y = f32[1000] sine(x) z = f32[1000] power(x, y) ROOT r = f32[1000] add(y, z) })",
                1);
}

TEST(Emitter, EqualKernelsOnce) {
  ExpectKernels(R"(HloModule m
ENTRY e { x = f32[1000] parameter(0) y = f32[1000] parameter(1)
  a = f32[1000] dot(x, y), lhs_contracting_dims={}, rhs_contracting_dims={}, lhs_batch_dims={0}, rhs_batch_dims={0}
  p = f32[64,64] parameter(2) q = f32[64,64] dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  s = f32[64,64] dot(q, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (f32[1000], f32[64,64]) tuple(a, s) })",
                2);
}

// Halves are multiplied by tensor cores, with tiles of two sizes; words are not.
TEST(Emitter, ProductsOfHalves) {
  const auto instructions = [](const char* type, int64_t size) {
    auto module = ParseModule(absl::StrCat("HloModule m\nENTRY e { x = ", type, "[", size, ",", size,
                                           "] parameter(0) ROOT d = ", type, "[", size, ",", size,
                                           "] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"));
    const absl::StatusOr<Compiled> compiled = Compile(*std::move(module));
    if (!compiled.ok()) return -1;
    int count = 0;
    for (const std::string& ptx : compiled->emitted.ptx) {
      ExpectAssembles(ptx, type);
      for (size_t at = 0; (at = ptx.find("mma.sync", at)) != std::string::npos; ++at) ++count;
    }
    return count;
  };
  EXPECT_EQ(instructions("bf16", 64), 8);
  EXPECT_EQ(instructions("f16", 2048), 32);
  EXPECT_EQ(instructions("f32", 64), 0);
}

TEST(Emitter, ConformancePrograms) {
  const char* data = std::getenv("XC_DATA");
  if (data == nullptr || *data == 0) GTEST_SKIP() << "no sample data (XC_DATA)";
  int64_t stride = 70;
  if (const char* all = std::getenv("XC_GPU_STRIDE"); all != nullptr) {
    ASSERT_TRUE(absl::SimpleAtoi(all, &stride));
  }
  const std::vector<std::string> files = HloFiles(absl::StrCat(data, "/hlo_conformance"));
  std::map<std::string, int> reasons;
  int programs = 0;
  for (size_t i = 0; i < files.size(); i += stride) {
    auto module = ReadModuleFile(files[i]);
    if (!module.ok() || !VerifyModule(**module).ok()) continue;
    const absl::StatusOr<Compiled> compiled = Compile(*std::move(module));
    ASSERT_TRUE(compiled.ok()) << files[i] << ": " << compiled.status();
    for (const std::string& ptx : compiled->emitted.ptx) ExpectAssembles(ptx, files[i]);
    for (const auto& [step, reason] : compiled->emitted.reasons) ++reasons[reason];
    ++programs;
  }
  EXPECT_GT(programs, 20);
  for (const auto& [reason, count] : reasons) std::printf("%d times: %s\n", count, reason.c_str());
}

}  // namespace
}  // namespace xc::gpu
