// Tensor cores: a product of tiles that come by cp.async and ldmatrix, and what goes wrong on that way.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "backends/gpu/emulator/testing.h"

namespace xc::emulator {
namespace {

uint16_t Bf16(float a) {
  uint32_t bits;
  std::memcpy(&bits, &a, 4);
  return static_cast<uint16_t>(bits >> 16);
}

// out[16, 8] = a[16, 16] * b[16, 8], bf16 to f32, in one warp. `wait` stands between copies and loads.
std::string Product(const std::string& wait) {
  return R"(.version 8.3
.target sm_80
.address_size 64
.visible .entry k(.param .u64 k_out, .param .u64 k_a, .param .u64 k_b)
{
  .reg .pred %p<3>;
  .reg .b32 %r<30>;
  .reg .b64 %d<12>;
  .reg .f32 %f<9>;
  .shared .align 16 .b8 sm[768];
  ld.param.u64 %d1, [k_out];
  ld.param.u64 %d2, [k_a];
  ld.param.u64 %d3, [k_b];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, sm;
  shl.b32 %r3, %r1, 4;
  cvt.u64.u32 %d4, %r3;
  add.s64 %d5, %d2, %d4;
  add.s64 %d6, %d3, %d4;
  add.u32 %r4, %r2, %r3;
  setp.lt.u32 %p1, %r1, 16;
  cp.async.cg.shared.global [%r4], [%d5], 16;
  @%p1 cp.async.ca.shared.global [%r4+512], [%d6], 16;
)" + wait +
         R"(
  and.b32 %r5, %r1, 15;
  shl.b32 %r6, %r5, 5;
  shr.u32 %r7, %r1, 4;
  shl.b32 %r8, %r7, 4;
  add.u32 %r9, %r6, %r8;
  add.u32 %r10, %r2, %r9;
  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r11, %r12, %r13, %r14}, [%r10];
  shl.b32 %r15, %r5, 4;
  add.u32 %r16, %r2, %r15;
  ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r17, %r18}, [%r16+512];
  mov.f32 %f0, 0f00000000;
  mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, {%r11, %r12, %r13, %r14}, {%r17, %r18},
      {%f0, %f0, %f0, %f0};
  shr.u32 %r19, %r1, 2;
  and.b32 %r20, %r1, 3;
  mad.lo.u32 %r21, %r19, 32, 0;
  mad.lo.u32 %r22, %r20, 8, %r21;
  cvt.u64.u32 %d7, %r22;
  add.s64 %d8, %d1, %d7;
  st.global.v2.f32 [%d8], {%f1, %f2};
  st.global.v2.f32 [%d8+256], {%f3, %f4};
  ret;
}
)";
}

Outcome RunProduct(const std::string& wait, std::vector<float>* result, std::vector<float>* expected) {
  std::vector<uint16_t> a(256), b(128);
  std::vector<float> x(256), y(128);
  for (int n = 0; n < 256; ++n) a[n] = Bf16(x[n] = static_cast<float>(n * 7 % 23 - 11));
  for (int n = 0; n < 128; ++n) b[n] = Bf16(y[n] = static_cast<float>(n * 5 % 19 - 9) / 4);
  expected->assign(128, 0);
  for (int m = 0; m < 16; ++m) {
    for (int n = 0; n < 8; ++n) {
      for (int k = 0; k < 16; ++k) (*expected)[m * 8 + n] += x[m * 16 + k] * y[k * 8 + n];
    }
  }
  std::vector<uint8_t> out(512), a_bytes = Bytes(a), b_bytes = Bytes(b);
  const Outcome outcome = RunPtx(Product(wait), "k", {}, {32}, {&out, &a_bytes, &b_bytes});
  *result = As<float>(out);
  return outcome;
}

TEST(MatrixTest, ProductOfTiles) {
  for (const char* wait :
       {"cp.async.commit_group; cp.async.wait_group 0; bar.warp.sync -1;", "cp.async.wait_all; bar.sync 0;"}) {
    std::vector<float> result, expected;
    const Outcome outcome = RunProduct(wait, &result, &expected);
    EXPECT_EQ(outcome.error, 0) << outcome.text;
    EXPECT_EQ(result, expected);
  }
}

TEST(MatrixTest, CopiesThatNobodyWaitsFor) {
  std::vector<float> result, expected;
  // One group may be open still: the result is made of what is not there.
  const Outcome outcome =
      RunProduct("cp.async.commit_group; cp.async.wait_group 1; bar.warp.sync -1;", &result, &expected);
  EXPECT_EQ(outcome.error, cuda::CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_NE(outcome.text.find("stores a value that was not written"), std::string::npos) << outcome.text;
}

TEST(MatrixTest, CopiesOfOtherLanes) {
  std::vector<float> result, expected;
  const Outcome outcome = RunProduct("cp.async.wait_all;", &result, &expected);
  EXPECT_EQ(outcome.error, cuda::CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_NE(outcome.text.find("race: reads"), std::string::npos) << outcome.text;
}

TEST(MatrixTest, IntegersAndHalves) {
  // a is the identity in its first 8 columns: lane l holds row l / 4, columns l modulo 4 * 4 on.
  const std::string integers = Kernel(R"(
  shr.u32 %r1, %r0, 2; and.b32 %r2, %r0, 3; shl.b32 %r3, %r2, 2;
  sub.u32 %r4, %r1, %r3; shl.b32 %r5, %r4, 3; setp.lt.u32 %p1, %r4, 4;
  shl.b32 %r6, 1, %r5; selp.b32 %r7, %r6, 0, %p1; mov.u32 %r8, 0;
  mov.u32 %r9, 0x04030201;
  mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%r10, %r11, %r12, %r13}, {%r7, %r8}, {%r9}, {%r8, %r8, 5, %r8};
  shl.b32 %r14, %r12, 8; or.b32 %r15, %r10, %r14; st.global.u32 [%d1], %r15;)");
  std::vector<uint8_t> out(128);
  Outcome outcome = RunPtx(integers, "k", {}, {32}, {&out});
  EXPECT_EQ(outcome.error, 0) << outcome.text;
  const std::vector<uint32_t> result = As<uint32_t>(out);
  // Column k of the identity's row meets b's k-th number: 1, 2, 3, 4, again from 1.
  for (uint32_t l = 0; l < 32; ++l) EXPECT_EQ(result[l], (l / 4 % 4 + 1) | 5 << 8) << l;
  const std::string halves = Kernel(R"(
  mov.u32 %r1, 0x3C003C00; mov.u32 %r2, 0;
  mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r3, %r4}, {%r1, %r2}, {%r1}, {%r1, %r1};
  xor.b32 %r5, %r3, %r4; st.global.u32 [%d1], %r5;)");
  outcome = RunPtx(halves, "k", {}, {32}, {&out});
  EXPECT_EQ(outcome.error, 0) << outcome.text;
  for (uint32_t bits : As<uint32_t>(out)) EXPECT_EQ(bits, 0x48804880u ^ 0x3C003C00u);
}

TEST(MatrixTest, DivergedWarp) {
  std::vector<uint8_t> out(128);
  const Outcome outcome = RunPtx(Kernel(R"(
  mov.u32 %r1, 0; setp.lt.u32 %p1, %r0, 16;
  @%p1 mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r3, %r4}, {%r1, %r1}, {%r1}, {%r1, %r1};)"),
                                 "k", {}, {32}, {&out});
  EXPECT_EQ(outcome.error, cuda::CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_NE(outcome.text.find("needs all 32 lanes"), std::string::npos) << outcome.text;
}

}  // namespace
}  // namespace xc::emulator
