// How runs of one executable are launched on the emulator: the first step by step, later ones as one captured graph
// with the same results; faults, and memory that others need.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backends/gpu/runtime/device.h"
#include "backends/gpu/runtime/driver.h"
#include "service/compare.h"
#include "tests/gpu/testing.h"

namespace xc {
namespace {

// Two kernels, since the rows of the second need whole columns of the first.
constexpr char kTwoKernels[] = R"(HloModule m
add { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] add(p, q) }
ENTRY e { x = f32[300,200] parameter(0) zero = f32[] constant(0)
  c = f32[200] reduce(x, zero), dimensions={0}, to_apply=add b = f32[300,200] broadcast(c), dimensions={1}
  y = f32[300,200] add(x, b) ROOT r = f32[300] reduce(y, zero), dimensions={1}, to_apply=add })";
constexpr char kFirstRun[] = "1 run step by step: on memory that no run had before";

class RunsTest : public testing::Test {
 protected:
  void SetUp() override { device_ = gpu::Device::Open(0, /*emulate=*/true).value(); }
  void TearDown() override { Plant(""); }

  // Asks the emulator for a failure from now on.
  void Plant(const char* failure) {
    setenv("XC_GPU_EMULATOR_FAIL", failure, 1);
    device_->driver().cuInit(0);
    unsetenv("XC_GPU_EMULATOR_FAIL");
  }

  std::shared_ptr<gpu::Device> device_;
};

TEST_F(RunsTest, LaterRunsAreOneGraph) {
  const std::unique_ptr<Executable> executable = CompileText("gpu", kTwoKernels);
  ASSERT_EQ(executable->device_starts()->kernels, 2);
  ExpectRight(*executable, kTwoKernels, 0);
  EXPECT_EQ(executable->Text("runs"), kFirstRun);
  ExpectRight(*executable, kTwoKernels, 1);
  // No kernel is launched by itself any more.
  Plant("cuLaunchKernel:1:801");
  for (int64_t seed = 2; seed < 6; ++seed) ExpectRight(*executable, kTwoKernels, seed);
  EXPECT_EQ(executable->Text("runs"), std::string("5 runs as a graph of 2 nodes\n") + kFirstRun);
}

TEST_F(RunsTest, WhatIsNoGraph) {
  struct Case {
    const char *text, *reason;
  };
  const Case cases[] = {
      {"HloModule m ENTRY e { x = f32[900] parameter(0) ROOT n = f32[900] negate(x) }", "there is one thing to start"},
      {R"(HloModule m
more { s = (f32[], f32[99,99]) parameter(0) a = f32[] get-tuple-element(s), index=0 l = f32[] constant(5)
  ROOT c = pred[] compare(a, l), direction=LT }
body { s = (f32[], f32[99,99]) parameter(0) a = f32[] get-tuple-element(s), index=0 one = f32[] constant(1)
  b = f32[] add(a, one) x = f32[99,99] get-tuple-element(s), index=1
  d = f32[99,99] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0} y = f32[99,99] tanh(d)
  ROOT r = (f32[], f32[99,99]) tuple(b, y) }
ENTRY e { x = f32[99,99] parameter(0) z = f32[] constant(0) s = (f32[], f32[99,99]) tuple(z, x)
  ROOT w = (f32[], f32[99,99]) while(s), condition=more, body=body })",
       "the host has a part in while "},
      {R"(HloModule m
add { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] add(p, q) }
ENTRY e { x = f32[9000000] parameter(0) zero = f32[] constant(0) p = f32[60000] slice(x), slice={[7:60007]}
  m = f32[300,200] reshape(p) c = f32[200] reduce(m, zero), dimensions={0}, to_apply=add
  b = f32[300,200] broadcast(c), dimensions={1} y = f32[300,200] add(m, b)
  ROOT r = f32[300] reduce(y, zero), dimensions={1}, to_apply=add })",
       "of which 33554432 are kept"},
  };
  for (const Case& c : cases) {
    const std::unique_ptr<Executable> executable = CompileText("gpu", c.text);
    for (int64_t seed = 0; seed < 2; ++seed) ASSERT_TRUE(RunOnInputs(*executable, seed).ok());
    const std::string runs = executable->Text("runs");
    EXPECT_EQ(runs.rfind("2 runs step by step: ", 0), 0u) << runs;
    EXPECT_NE(runs.find(c.reason), std::string::npos) << runs;
  }
}

// Each fault of a capture or of a graph's launch: that run and all later ones are right, step by step.
TEST_F(RunsTest, FaultsOfGraphs) {
  for (const char* call : {"cuStreamBeginCapture_v2", "cuLaunchKernel", "cuStreamEndCapture", "cuGraphGetNodes",
                           "cuGraphInstantiateWithFlags", "cuGraphLaunch"}) {
    const std::unique_ptr<Executable> executable = CompileText("gpu", kTwoKernels);
    ExpectRight(*executable, kTwoKernels, 0);
    Plant((std::string(call) + ":1:801").c_str());
    for (int64_t seed = 1; seed < 4; ++seed) ExpectRight(*executable, kTwoKernels, seed);
    const std::string runs = executable->Text("runs");
    EXPECT_NE(runs.find("3 runs step by step: as a graph: "), std::string::npos) << call << ": " << runs;
  }
}

// A run that fails leaves nothing: the next one begins on new memory.
TEST_F(RunsTest, FaultsOfRuns) {
  const std::unique_ptr<Executable> executable = CompileText("gpu", kTwoKernels);
  for (int64_t seed = 0; seed < 2; ++seed) ExpectRight(*executable, kTwoKernels, seed);
  Plant("cuMemcpyDtoHAsync_v2:1:2");
  EXPECT_FALSE(RunOnInputs(*executable, 2).ok());
  for (int64_t seed = 3; seed < 5; ++seed) ExpectRight(*executable, kTwoKernels, seed);
  EXPECT_EQ(executable->Text("runs"),
            "3 runs as a graph of 2 nodes\n2 runs step by step: on memory that no run had before");
}

TEST_F(RunsTest, SeveralAtOnce) {
  const std::unique_ptr<Executable> executable = CompileText("gpu", kTwoKernels);
  const auto expected = RunOnInputs(*executable, 0);
  ASSERT_TRUE(expected.ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int n = 0; n < 4; ++n) {
        const auto actual = RunOnInputs(*executable, 0);
        ASSERT_TRUE(actual.ok()) << actual.status();
        EXPECT_EQ(CompareExact((*actual)[0], (*expected)[0]), "");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(RunsTest, KeptMemoryIsFreedForOthers) {
  const std::unique_ptr<Executable> executable = CompileText("gpu", kTwoKernels),
                                    other = CompileText("gpu", kTwoKernels);
  const int64_t constants = device_->used_bytes();
  ExpectRight(*executable, kTwoKernels, 0);
  const int64_t kept = device_->used_bytes() - constants;
  EXPECT_GE(kept, 300 * 200 * 4);
  // Room for one run.
  device_->set_limit_bytes(constants + kept);
  ExpectRight(*other, kTwoKernels, 1);
  ExpectRight(*executable, kTwoKernels, 2);
  EXPECT_EQ(executable->Text("runs"), "2 runs step by step: on memory that no run had before");
  device_->set_limit_bytes(constants + kept - 1);
  EXPECT_EQ(RunOnInputs(*other, 3).status().code(), absl::StatusCode::kResourceExhausted);
  device_->set_limit_bytes(0);
  ExpectRight(*other, kTwoKernels, 4);
}

}  // namespace
}  // namespace xc
