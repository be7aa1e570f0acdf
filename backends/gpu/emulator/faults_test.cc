// Planted faults: each kind of mistake in a kernel is found, and its text says where.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "backends/gpu/emulator/testing.h"

namespace xc::emulator {
namespace {

using cuda::CUDA_ERROR_ILLEGAL_ADDRESS;
using cuda::CUDA_ERROR_LAUNCH_FAILED;
using cuda::CUDA_ERROR_MISALIGNED_ADDRESS;

constexpr char kShared[] = ".shared .align 16 .b8 sm[512];";

// Runs `body` with 128 bytes of `out` in both orders of warps and blocks, and expects the fault in both.
void ExpectFault(const std::string& body, int error, const std::string& text, unsigned threads = 32,
                 unsigned blocks = 1, const std::string& declarations = "") {
  for (const char* reversed : {"0", "1"}) {
    setenv("XC_GPU_EMULATOR_REVERSED", reversed, 1);
    std::vector<uint8_t> out(128);
    const Outcome outcome = RunPtx(Kernel(body, declarations), "k", {blocks}, {threads}, {&out});
    unsetenv("XC_GPU_EMULATOR_REVERSED");
    EXPECT_EQ(outcome.error, error) << outcome.text;
    EXPECT_NE(outcome.text.find(text), std::string::npos) << outcome.text;
    EXPECT_NE(outcome.text.find("kernel k, PTX line "), std::string::npos) << outcome.text;
  }
}

void ExpectRuns(const std::string& body, unsigned threads = 32, unsigned blocks = 1,
                const std::string& declarations = "") {
  for (const char* reversed : {"0", "1"}) {
    setenv("XC_GPU_EMULATOR_REVERSED", reversed, 1);
    std::vector<uint8_t> out(128);
    const Outcome outcome = RunPtx(Kernel(body, declarations), "k", {blocks}, {threads}, {&out});
    unsetenv("XC_GPU_EMULATOR_REVERSED");
    EXPECT_EQ(outcome.error, 0) << outcome.text;
  }
}

TEST(FaultsTest, AccessBehindAnAllocation) {
  ExpectFault("st.global.u32 [%d1+4], %r0;", CUDA_ERROR_ILLEGAL_ADDRESS, "thread 31,0,0: access to 4 bytes at");
  ExpectFault("ld.global.u32 %r1, [%d1+124];", CUDA_ERROR_ILLEGAL_ADDRESS, "an allocation of 128 bytes");
  ExpectFault("ld.global.u32 %r1, [%d1-4];", CUDA_ERROR_ILLEGAL_ADDRESS, "4 bytes before an allocation");
}

TEST(FaultsTest, AccessToNull) {
  ExpectFault("mov.u64 %d2, 0; ld.global.u32 %r1, [%d2];", CUDA_ERROR_ILLEGAL_ADDRESS, "which is not allocated");
  ExpectFault("mov.u64 %d2, 0; ld.shared.u32 %r1, [%d2];", CUDA_ERROR_ILLEGAL_ADDRESS, "of shared memory", 32, 1,
              kShared);
}

TEST(FaultsTest, AccessBehindSharedMemory) {
  ExpectFault("mov.u64 %d2, sm; ld.shared.u32 %r1, [%d2+512];", CUDA_ERROR_ILLEGAL_ADDRESS, "of shared memory", 32, 1,
              kShared);
}

TEST(FaultsTest, MisalignedAccess) {
  ExpectFault("ld.global.u32 %r1, [%d1+2];", CUDA_ERROR_MISALIGNED_ADDRESS, "which is no multiple of 4");
  ExpectFault("ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%out+8];", CUDA_ERROR_MISALIGNED_ADDRESS,
              "which is no multiple of 16");
}

TEST(FaultsTest, UninitialisedRegisters) {
  ExpectFault("st.global.u32 [%d1], %r7;", CUDA_ERROR_LAUNCH_FAILED, "stores a value that was not written");
  ExpectFault("add.u32 %r1, %r7, 1; st.global.u32 [%d1], %r1;", CUDA_ERROR_LAUNCH_FAILED,
              "stores a value that was not written");
  ExpectFault("ld.global.u32 %r1, [%d7];", CUDA_ERROR_LAUNCH_FAILED, "access to an address that was not written");
  ExpectFault("@%p7 bra L; L:", CUDA_ERROR_LAUNCH_FAILED, "branches on a predicate that was not written");
  ExpectFault("@%p7 mov.u32 %r1, 0;", CUDA_ERROR_LAUNCH_FAILED, "depends on a predicate that was not written");
  // Written by half of the lanes.
  ExpectFault("setp.lt.u32 %p1, %r0, 16; @%p1 mov.u32 %r7, 1; st.global.u32 [%d1], %r7;", CUDA_ERROR_LAUNCH_FAILED,
              "thread 16,0,0: stores");
}

TEST(FaultsTest, UnusedUninitialisedRegistersAreNone) {
  ExpectRuns("add.u32 %r1, %r7, 1; setp.ge.u32 %p1, %r0, 0; selp.b32 %r2, %r0, %r1, %p1; st.global.u32 [%d1], %r2;");
}

TEST(FaultsTest, UninitialisedSharedMemory) {
  ExpectFault("mov.u64 %d2, sm; ld.shared.u32 %r1, [%d2]; st.global.u32 [%d1], %r1;", CUDA_ERROR_LAUNCH_FAILED,
              "stores a value that was not written", 32, 1, kShared);
}

TEST(FaultsTest, DivergentBarrier) {
  ExpectFault("setp.lt.u32 %p1, %r0, 16; @%p1 bra L; bar.sync 0; L:", CUDA_ERROR_LAUNCH_FAILED,
              "the warp has diverged");
  ExpectFault("setp.lt.u32 %p1, %r0, 16; @%p1 ret; bar.sync 0;", CUDA_ERROR_LAUNCH_FAILED, "it has exited");
  ExpectFault("setp.lt.u32 %p1, %r0, 32; @%p1 ret; bar.sync 0;", CUDA_ERROR_LAUNCH_FAILED,
              "waits at barrier 0 for threads that do not come", 64);
  ExpectFault("setp.lt.u32 %p1, %r0, 32; @%p1 bra L; bar.sync 1; ret; L: bar.sync 2;", CUDA_ERROR_LAUNCH_FAILED,
              "for threads that do not come", 64);
}

TEST(FaultsTest, DivergentShuffle) {
  ExpectFault("setp.lt.u32 %p1, %r0, 16; @%p1 bra L; shfl.sync.down.b32 %r1, %r0, 1, 31, -1; L:",
              CUDA_ERROR_LAUNCH_FAILED, "which does not execute it: the warp has diverged");
  ExpectFault("shfl.sync.down.b32 %r1, %r0, 1, 31, 0xFFFF;", CUDA_ERROR_LAUNCH_FAILED, "its mask does not name");
  ExpectFault("shl.b32 %r2, 1, %r0; shfl.sync.down.b32 %r1, %r0, 1, 31, %r2;", CUDA_ERROR_LAUNCH_FAILED,
              "different masks");
}

constexpr char kToShared[] = "mov.u64 %d2, sm; add.s64 %d3, %d2, %d0;";

TEST(FaultsTest, RaceBetweenWarps) {
  const std::string write = std::string(kToShared) + "st.shared.u32 [%d3], %r0;";
  const std::string read =
      "xor.b32 %r2, %r0, 32; mul.wide.u32 %d4, %r2, 4; add.s64 %d5, %d2, %d4; ld.shared.u32 %r3, [%d5];";
  ExpectFault(write + read, CUDA_ERROR_LAUNCH_FAILED, "race: ", 64, 1, kShared);
  ExpectRuns(write + "bar.sync 0;" + read, 64, 1, kShared);
  // A read, and a write that does not wait for it.
  ExpectFault(write + "bar.sync 0;" + read + "st.shared.u32 [%d3], %r3;", CUDA_ERROR_LAUNCH_FAILED, "race: ", 64, 1,
              kShared);
  ExpectRuns(write + "bar.sync 0;" + read + "bar.sync 0; st.shared.u32 [%d3], %r3;", 64, 1, kShared);
}

TEST(FaultsTest, RaceWithinAWarp) {
  const std::string write = std::string(kToShared) + "st.shared.u32 [%d3], %r0;";
  const std::string read =
      "xor.b32 %r2, %r0, 1; mul.wide.u32 %d4, %r2, 4; add.s64 %d5, %d2, %d4; ld.shared.u32 %r3, [%d5];";
  ExpectFault(write + read, CUDA_ERROR_LAUNCH_FAILED, "race: reads", 32, 1, kShared);
  ExpectRuns(write + "bar.warp.sync -1;" + read, 32, 1, kShared);
}

TEST(FaultsTest, LanesThatWriteOnePlace) {
  ExpectFault("mov.u64 %d2, sm; st.shared.u32 [%d2], %r0;", CUDA_ERROR_LAUNCH_FAILED, "race: writes", 32, 1, kShared);
  ExpectRuns("mov.u64 %d2, sm; st.shared.u32 [%d2], 5;", 32, 1, kShared);
  ExpectFault("st.global.u32 [%out], %r0;", CUDA_ERROR_LAUNCH_FAILED, "race: writes");
}

TEST(FaultsTest, RaceBetweenBlocks) {
  ExpectFault("mov.u32 %r1, %ctaid.x; st.global.u32 [%d1], %r1;", CUDA_ERROR_LAUNCH_FAILED, "race: writes", 32, 2);
  ExpectFault("ld.global.u32 %r2, [%d1]; add.u32 %r2, %r2, 1; st.global.u32 [%d1], %r2;", CUDA_ERROR_LAUNCH_FAILED,
              "race: ", 32, 2);
  ExpectRuns("atom.global.add.u32 %r2, [%d1], 1;", 32, 2);
  ExpectRuns("red.global.add.u32 [%out], 1;", 32, 2);
}

TEST(FaultsTest, Trap) { ExpectFault("trap;", CUDA_ERROR_LAUNCH_FAILED, "the kernel trapped"); }

TEST(FaultsTest, BadPtxIsRefusedWithItsLine) {
  const auto load = [](const std::string& body) {
    std::vector<uint8_t> out(128);
    return RunPtx(Kernel(body), "k", {}, {32}, {&out});
  };
  Outcome outcome = load("frobnicate.u32 %r1, %r2;");
  EXPECT_EQ(outcome.error, cuda::CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(outcome.text.find("unknown instruction: frobnicate.u32"), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find("PTX line "), std::string::npos) << outcome.text;
  EXPECT_EQ(load("add.u32 %r1, %r2;").error, cuda::CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(load("add.u32 %r1, %r2, %d3;").error, cuda::CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(load("bra NOWHERE;").error, cuda::CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(load("add.u32 %r1, %r2, %nothing;").error, cuda::CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(load("ld.global.u32 %r1, [%d1").error, cuda::CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(load("call nowhere;").error, cuda::CUDA_ERROR_INVALID_PTX);
}

}  // namespace
}  // namespace xc::emulator
