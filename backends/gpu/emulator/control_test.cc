// Branches, calls and where lanes meet again.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "backends/gpu/emulator/testing.h"

namespace xc::emulator {
namespace {

std::vector<uint32_t> RunBody(const std::string& body, int threads = 32, const std::string& declarations = "") {
  std::vector<uint8_t> out = Bytes(std::vector<uint32_t>(static_cast<size_t>(threads), 7));
  const Outcome outcome = RunPtx(Kernel(body, declarations), "k", {}, {static_cast<unsigned>(threads)}, {&out});
  EXPECT_EQ(outcome.error, 0) << outcome.text;
  return As<uint32_t>(out);
}

TEST(ControlTest, LoopsOfDifferentLengths) {
  const std::vector<uint32_t> out = RunBody(R"(
  mov.u32 %r1, 0;
  mov.u32 %r2, 0;
LOOP:
  setp.ge.u32 %p1, %r1, %r0;
  @%p1 bra DONE;
  add.u32 %r2, %r2, %r1;
  add.u32 %r1, %r1, 1;
  bra LOOP;
DONE:
  activemask.b32 %r3;
  setp.eq.u32 %p2, %r3, 0xFFFFFFFF;
  selp.b32 %r2, %r2, 99999, %p2;
  st.global.u32 [%d1], %r2;)");
  for (uint32_t n = 0; n < 32; ++n) EXPECT_EQ(out[n], n * (n - 1) / 2);
}

TEST(ControlTest, NestedBranchesMeetAgain) {
  const std::vector<uint32_t> out = RunBody(R"(
  and.b32 %r1, %r0, 1;
  and.b32 %r2, %r0, 2;
  setp.eq.u32 %p1, %r1, 0;
  setp.eq.u32 %p2, %r2, 0;
  mov.u32 %r4, 0;
  @%p1 bra EVEN;
  @%p2 bra ODD2;
  add.u32 %r4, %r4, 3;
  bra MEET1;
ODD2:
  add.u32 %r4, %r4, 1;
MEET1:
  activemask.b32 %r5;
  setp.ne.u32 %p3, %r5, 0xAAAAAAAA;
  @%p3 trap;
  bra MEET;
EVEN:
  @!%p2 add.u32 %r4, %r4, 2;
MEET:
  activemask.b32 %r6;
  setp.ne.u32 %p4, %r6, 0xFFFFFFFF;
  @%p4 trap;
  st.global.u32 [%d1], %r4;)");
  for (uint32_t n = 0; n < 32; ++n) EXPECT_EQ(out[n], n % 4);
}

TEST(ControlTest, LanesThatReturnEarly) {
  const std::vector<uint32_t> out = RunBody(R"(
  setp.gt.u32 %p1, %r0, 40;
  @%p1 ret;
  st.global.u32 [%d1], %r0;)",
                                            64);
  for (uint32_t n = 0; n < 64; ++n) EXPECT_EQ(out[n], n > 40 ? 7 : n);
}

TEST(ControlTest, IndirectBranch) {
  const std::vector<uint32_t> out = RunBody(R"(
  and.b32 %r1, %r0, 3;
TABLE: .branchtargets A, B, C, D;
  brx.idx %r1, TABLE;
A: mov.u32 %r2, 10; bra.uni END;
B: mov.u32 %r2, 11; bra.uni END;
C: mov.u32 %r2, 12; bra.uni END;
D: mov.u32 %r2, 13;
END:
  st.global.u32 [%d1], %r2;)");
  for (uint32_t n = 0; n < 32; ++n) EXPECT_EQ(out[n], 10 + n % 4);
}

constexpr char kFactorial[] = R"(
.func (.param .b32 factorial_retval0) factorial(.param .b32 factorial_param_0)
{
  .reg .pred %p<2>;
  .reg .b32 %r<5>;
  .local .align 4 .b8 depot[8];
  .reg .b64 %SPL;
  mov.u64 %SPL, depot;
  ld.param.u32 %r1, [factorial_param_0];
  st.local.u32 [%SPL+4], %r1;
  setp.lt.u32 %p1, %r1, 2;
  mov.u32 %r2, 1;
  @%p1 bra DONE;
  sub.u32 %r3, %r1, 1;
  { // callseq 0
  .param .b32 param0;
  st.param.b32 [param0+0], %r3;
  .param .b32 retval0;
  call.uni (retval0), factorial, (param0);
  ld.param.b32 %r4, [retval0+0];
  }
  ld.local.u32 %r1, [%SPL+4];
  mul.lo.u32 %r2, %r4, %r1;
DONE:
  st.param.b32 [factorial_retval0+0], %r2;
  ret;
}
)";

TEST(ControlTest, RecursiveCallsWithLocalMemory) {
  const std::vector<uint32_t> out = RunBody(R"(
  and.b32 %r1, %r0, 7;
  { .param .b32 param0;
  st.param.b32 [param0+0], %r1;
  .param .b32 retval0;
  call.uni (retval0), factorial, (param0);
  ld.param.b32 %r2, [retval0+0]; }
  st.global.u32 [%d1], %r2;)",
                                            32, kFactorial);
  const uint32_t expected[] = {1, 1, 2, 6, 24, 120, 720, 5040};
  for (uint32_t n = 0; n < 32; ++n) EXPECT_EQ(out[n], expected[n % 8]);
}

TEST(ControlTest, CallsWithoutEndAreAFault) {
  std::vector<uint8_t> out(128);
  const Outcome outcome = RunPtx(Kernel("call f;", ".func f() { call f; ret; }"), "k", {}, {32}, {&out});
  EXPECT_EQ(outcome.error, cuda::CUDA_ERROR_ILLEGAL_INSTRUCTION);
  EXPECT_NE(outcome.text.find("calls nested too deep"), std::string::npos) << outcome.text;
}

TEST(ControlTest, LoopWithoutEndIsAFault) {
  setenv("XC_GPU_EMULATOR_MAX_INSTRUCTIONS", "100000", 1);
  std::vector<uint8_t> out(128);
  const Outcome outcome = RunPtx(Kernel("L: bra L;"), "k", {}, {32}, {&out});
  unsetenv("XC_GPU_EMULATOR_MAX_INSTRUCTIONS");
  EXPECT_EQ(outcome.error, cuda::CUDA_ERROR_LAUNCH_TIMEOUT);
}

}  // namespace
}  // namespace xc::emulator
