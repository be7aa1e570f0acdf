// Instructions on numbers: each on a few operands, with results that are known or computed in another way.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "backends/gpu/emulator/testing.h"

namespace xc::emulator {
namespace {

using Row = std::vector<uint64_t>;  // a, b, c

uint64_t Bits(float a) {
  uint32_t bits;
  std::memcpy(&bits, &a, 4);
  return bits;
}
uint64_t Bits(double a) {
  uint64_t bits;
  std::memcpy(&bits, &a, 8);
  return bits;
}
uint64_t Bits(int64_t a) { return static_cast<uint64_t>(a); }
uint64_t Bits32(int32_t a) { return static_cast<uint32_t>(a); }

// Each row in a lane: runs `body`, in which the operands are in %a, %b, %c (b64), %ra … (b32), %fa … (f32), %ga … (f64)
// and %ha … (b16), and which leaves its result in %d (b64), %r (b32), %f, %g or %h, as `result` says.
std::vector<uint64_t> Results(const std::string& body, const std::string& result, const std::vector<Row>& rows) {
  const std::string ptx = R"(.version 8.3
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_out, .param .u64 k_in)
{
  .reg .pred %p<9>;
  .reg .b16 %h, %ha, %hb, %hc, %h<9>;
  .reg .b32 %r, %ra, %rb, %rc, %tid, %r<9>;
  .reg .b64 %d, %a, %b, %c, %in, %out, %o, %d<9>;
  .reg .f32 %f, %fa, %fb, %fc;
  .reg .f64 %g, %ga, %gb, %gc;
  ld.param.u64 %out, [k_out];
  ld.param.u64 %in, [k_in];
  mov.u32 %tid, %tid.x;
  mad.wide.u32 %in, %tid, 24, %in;
  mad.wide.u32 %out, %tid, 8, %out;
  ld.global.b64 %a, [%in]; ld.global.b64 %b, [%in+8]; ld.global.b64 %c, [%in+16];
  ld.global.b32 %ra, [%in]; ld.global.b32 %rb, [%in+8]; ld.global.b32 %rc, [%in+16];
  ld.global.f32 %fa, [%in]; ld.global.f32 %fb, [%in+8]; ld.global.f32 %fc, [%in+16];
  ld.global.f64 %ga, [%in]; ld.global.f64 %gb, [%in+8]; ld.global.f64 %gc, [%in+16];
  ld.global.b16 %ha, [%in]; ld.global.b16 %hb, [%in+8]; ld.global.b16 %hc, [%in+16];
)" + body + "\n" +
                          (result == "d"   ? "mov.b64 %o, %d;"
                           : result == "g" ? "mov.b64 %o, %g;"
                           : result == "h" ? "cvt.u64.u16 %o, %h;"
                           : result == "f" ? "mov.b32 %r, %f; cvt.u64.u32 %o, %r;"
                                           : "cvt.u64.u32 %o, %r;") +
                          "\n  st.global.b64 [%out], %o;\n  ret;\n}\n";
  std::vector<uint64_t> in(96, 0);
  for (size_t n = 0; n < rows.size(); ++n) {
    for (size_t k = 0; k < rows[n].size(); ++k) in[3 * n + k] = rows[n][k];
  }
  std::vector<uint8_t> out(256), in_bytes = Bytes(in);
  const Outcome outcome = RunPtx(ptx, "k", {}, {32}, {&out, &in_bytes});
  EXPECT_EQ(outcome.error, 0) << outcome.text << "\n" << body;
  std::vector<uint64_t> results = As<uint64_t>(out);
  results.resize(rows.size());
  return results;
}

TEST(ArithmeticTest, IntegersWrap) {
  const uint64_t most = 0x7FFFFFFF, least = 0x80000000;
  EXPECT_EQ(Results("add.s32 %r, %ra, %rb;", "r", {{most, 1}, {5, Bits32(-7)}}), (Row{least, Bits32(-2)}));
  EXPECT_EQ(Results("add.sat.s32 %r, %ra, %rb;", "r", {{most, 1}, {least, Bits32(-1)}}), (Row{most, least}));
  EXPECT_EQ(Results("sub.u32 %r, %ra, %rb;", "r", {{0, 1}}), (Row{0xFFFFFFFF}));
  EXPECT_EQ(Results("mul.lo.u64 %d, %a, %b;", "d", {{0x123456789, 0x987654321}}),
            (Row{0x123456789ull * 0x987654321ull}));
  EXPECT_EQ(Results("mul.hi.u64 %d, %a, %b;", "d", {{~0ull, ~0ull}}), (Row{~0ull - 1}));
  EXPECT_EQ(Results("mul.hi.s64 %d, %a, %b;", "d", {{~0ull, ~0ull}, {Bits(int64_t{-2}), 5}}), (Row{0, ~0ull}));
  EXPECT_EQ(Results("mul.wide.s32 %d, %ra, %rb;", "d", {{Bits32(-3), 7}}), (Row{Bits(int64_t{-21})}));
  EXPECT_EQ(Results("mul.wide.u32 %d, %ra, %rb;", "d", {{0xFFFFFFFF, 2}}), (Row{0x1FFFFFFFE}));
  EXPECT_EQ(Results("mad.hi.u32 %r, %ra, %rb, %rc;", "r", {{0xFFFFFFFF, 2, 5}}), (Row{6}));
  EXPECT_EQ(Results("mul24.lo.s32 %r, %ra, %rb;", "r", {{0x1FFFFFF, 3}}), (Row{Bits32(-3)}));
  EXPECT_EQ(Results("abs.s32 %r, %ra;", "r", {{Bits32(-5)}, {least}}), (Row{5, least}));
  EXPECT_EQ(Results("neg.s64 %d, %a;", "d", {{5}}), (Row{Bits(int64_t{-5})}));
  EXPECT_EQ(Results("min.s32 %r, %ra, %rb;", "r", {{Bits32(-5), 3}}), (Row{Bits32(-5)}));
  EXPECT_EQ(Results("min.u32 %r, %ra, %rb;", "r", {{Bits32(-5), 3}}), (Row{3}));
  EXPECT_EQ(Results("add.s16 %h, %ha, %hb;", "h", {{0x7FFF, 1}}), (Row{0x8000}));
}

TEST(ArithmeticTest, Division) {
  EXPECT_EQ(Results("div.s32 %r, %ra, %rb;", "r", {{Bits32(-7), 2}, {7, 0}, {0x80000000, Bits32(-1)}}),
            (Row{Bits32(-3), 0xFFFFFFFF, 0x80000000}));
  EXPECT_EQ(Results("rem.s32 %r, %ra, %rb;", "r", {{Bits32(-7), 2}, {7, 0}, {0x80000000, Bits32(-1)}}),
            (Row{Bits32(-1), 7, 0}));
  EXPECT_EQ(Results("div.u64 %d, %a, %b;", "d", {{~0ull, 3}}), (Row{~0ull / 3}));
}

TEST(ArithmeticTest, Carries) {
  const std::string sum =
      "mov.b64 {%r1, %r2}, %a; mov.b64 {%r3, %r4}, %b;"
      "add.cc.u32 %r5, %r1, %r3; addc.u32 %r6, %r2, %r4; mov.b64 %d, {%r5, %r6};";
  const std::string difference =
      "mov.b64 {%r1, %r2}, %a; mov.b64 {%r3, %r4}, %b;"
      "sub.cc.u32 %r5, %r1, %r3; subc.u32 %r6, %r2, %r4; mov.b64 %d, {%r5, %r6};";
  const std::vector<Row> rows = {{0xFFFFFFFF, 1}, {0x123456789ABCDEF0, 0xFEDCBA9876543210}, {0, 1}};
  EXPECT_EQ(Results(sum, "d", rows), (Row{0x100000000, 0x123456789ABCDEF0 + 0xFEDCBA9876543210, 1}));
  EXPECT_EQ(Results(difference, "d", rows), (Row{0xFFFFFFFE, 0x123456789ABCDEF0 - 0xFEDCBA9876543210, ~0ull}));
  EXPECT_EQ(Results("mad.lo.cc.u32 %r1, %ra, %rb, %rc; madc.hi.u32 %r2, %ra, %rb, 0; mov.b64 %d, {%r1, %r2};", "d",
                    {{0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}}),
            (Row{0xFFFFFFFFull * 0xFFFFFFFFull + 0xFFFFFFFFull}));
}

TEST(ArithmeticTest, Bits) {
  EXPECT_EQ(Results("shl.b32 %r, %ra, %rb;", "r", {{1, 31}, {1, 32}, {1, 200}}), (Row{0x80000000, 0, 0}));
  EXPECT_EQ(Results("shr.s32 %r, %ra, %rb;", "r", {{0x80000000, 4}, {0x80000000, 99}}), (Row{0xF8000000, 0xFFFFFFFF}));
  EXPECT_EQ(Results("shr.u64 %d, %a, %rb;", "d", {{1ull << 63, 63}, {~0ull, 64}}), (Row{1, 0}));
  EXPECT_EQ(Results("shf.l.wrap.b32 %r, %ra, %rb, %rc;", "r", {{0x80000000, 1, 33}}), (Row{3}));
  EXPECT_EQ(Results("shf.r.clamp.b32 %r, %ra, %rb, %rc;", "r", {{5, 7, 40}}), (Row{7}));
  EXPECT_EQ(Results("popc.b64 %r, %a;", "r", {{~0ull}, {5}}), (Row{64, 2}));
  EXPECT_EQ(Results("clz.b32 %r, %ra;", "r", {{0}, {1}}), (Row{32, 31}));
  EXPECT_EQ(Results("brev.b32 %r, %ra;", "r", {{1}, {0xF0}}), (Row{0x80000000, 0x0F000000}));
  EXPECT_EQ(Results("bfind.s32 %r, %ra;", "r", {{Bits32(-1)}, {Bits32(-5)}, {8}}), (Row{0xFFFFFFFF, 2, 3}));
  EXPECT_EQ(Results("bfind.shiftamt.u32 %r, %ra;", "r", {{0}, {8}}), (Row{0xFFFFFFFF, 28}));
  EXPECT_EQ(Results("bfe.u32 %r, %ra, %rb, %rc;", "r", {{0xABCD1234, 8, 8}, {1, 0, 0}, {~0ull, 28, 16}}),
            (Row{0x12, 0, 0xF}));
  EXPECT_EQ(Results("bfe.s32 %r, %ra, %rb, %rc;", "r", {{0x0000F000, 12, 4}, {0x80000000, 28, 16}}),
            (Row{0xFFFFFFFF, 0xFFFFFFF8}));
  EXPECT_EQ(Results("bfi.b32 %r, %ra, %rb, 4, 8;", "r", {{0xFF, 0}, {0x12, 0xFFFFFFFF}}), (Row{0xFF0, 0xFFFFF12F}));
  EXPECT_EQ(Results("lop3.b32 %r, %ra, %rb, %rc, 0x96;", "r", {{0xF0F0, 0xFF00, 0xAAAA}}),
            (Row{0xF0F0 ^ 0xFF00 ^ 0xAAAA}));
  EXPECT_EQ(Results("lop3.b32 %r, %ra, %rb, %rc, 0xCA;", "r", {{0xFF00, 0x1234, 0x5678}}), (Row{0x1278}));
  EXPECT_EQ(Results("prmt.b32 %r, %ra, %rb, 0x7150;", "r", {{0x33221100, 0x77665544}}), (Row{0x77115500}));
  EXPECT_EQ(Results("prmt.b32 %r, %ra, %rb, 0x8;", "r", {{0x80, 0}}), (Row{0x808080FF}));
  EXPECT_EQ(Results("cnot.b32 %r, %ra;", "r", {{0}, {7}}), (Row{1, 0}));
  EXPECT_EQ(Results("bmsk.clamp.b32 %r, %ra, %rb;", "r", {{4, 8}, {30, 8}}), (Row{0xFF0, 0xC0000000}));
  EXPECT_EQ(Results("dp4a.s32.s32 %r, %ra, %rb, %rc;", "r", {{0x01FF0203, 0x02030405, 10}}),
            (Row{10 + 2 - 3 + 8 + 15}));
}

TEST(ArithmeticTest, FloatsRoundOnce) {
  const float tiny = std::ldexp(1.0f, -24), one = 1.0f;
  const std::vector<Row> rows = {
      {Bits(one), Bits(tiny)}, {Bits(-one), Bits(-tiny)}, {Bits(one), Bits(std::ldexp(1.5f, -24))}};
  const uint64_t above = Bits(std::nextafter(1.0f, 2.0f)), below = Bits(-std::nextafter(1.0f, 2.0f));
  EXPECT_EQ(Results("add.rn.f32 %f, %fa, %fb;", "f", rows), (Row{Bits(1.0f), Bits(-1.0f), above}));
  EXPECT_EQ(Results("add.rz.f32 %f, %fa, %fb;", "f", rows), (Row{Bits(1.0f), Bits(-1.0f), Bits(1.0f)}));
  EXPECT_EQ(Results("add.rp.f32 %f, %fa, %fb;", "f", rows), (Row{above, Bits(-1.0f), above}));
  EXPECT_EQ(Results("add.rm.f32 %f, %fa, %fb;", "f", rows), (Row{Bits(1.0f), below, Bits(1.0f)}));
  const float x = 1.0f + std::ldexp(1.0f, -12);
  EXPECT_EQ(Results("fma.rn.f32 %f, %fa, %fb, %fc;", "f", {{Bits(x), Bits(x), Bits(-1.0f)}}),
            (Row{Bits(std::fma(x, x, -1.0f))}));
  EXPECT_NE(Bits(std::fma(x, x, -1.0f)), Bits(x * x - 1.0f));
  EXPECT_EQ(Results("mul.rn.f32 %f, %fa, %fb; sub.rn.f32 %f, %f, %fc;", "f", {{Bits(x), Bits(x), Bits(1.0f)}}),
            (Row{Bits(x * x - 1.0f)}));
  EXPECT_EQ(Results("div.rn.f64 %g, %ga, %gb;", "g", {{Bits(1.0), Bits(3.0)}}), (Row{Bits(1.0 / 3.0)}));
  EXPECT_EQ(Results("sqrt.rn.f32 %f, %fa;", "f", {{Bits(2.0f)}, {Bits(-1.0f)}}),
            (Row{Bits(std::sqrt(2.0f)), 0x7FFFFFFF}));
  EXPECT_EQ(Results("div.rz.f32 %f, %fa, %fb;", "f", {{Bits(2.0f), Bits(3.0f)}}), (Row{0x3F2AAAAA}));
}

TEST(ArithmeticTest, SpecialFloats) {
  const float nan = NAN, inf = INFINITY, small = 1e-40f;
  EXPECT_EQ(Results("add.rn.f32 %f, %fa, %fb;", "f", {{Bits(inf), Bits(-inf)}, {Bits(nan), Bits(1.0f)}}),
            (Row{0x7FFFFFFF, 0x7FFFFFFF}));
  EXPECT_EQ(
      Results("min.f32 %f, %fa, %fb;", "f", {{Bits(nan), Bits(1.0f)}, {Bits(0.0f), Bits(-0.0f)}, {Bits(-0.0f), 0}}),
      (Row{Bits(1.0f), Bits(-0.0f), Bits(-0.0f)}));
  EXPECT_EQ(Results("max.NaN.f32 %f, %fa, %fb;", "f", {{Bits(nan), Bits(1.0f)}, {Bits(0.0f), Bits(-0.0f)}}),
            (Row{0x7FFFFFFF, Bits(0.0f)}));
  EXPECT_EQ(Results("add.rn.f32 %f, %fa, 0f00000000;", "f", {{Bits(small)}}), (Row{Bits(small)}));
  EXPECT_EQ(Results("add.rn.ftz.f32 %f, %fa, 0f00000000;", "f", {{Bits(small)}}), (Row{0}));
  EXPECT_EQ(Results("add.sat.f32 %f, %fa, %fb;", "f", {{Bits(3.0f), Bits(1.0f)}, {Bits(-3.0f), 0}, {Bits(nan), 0}}),
            (Row{Bits(1.0f), 0, 0}));
  EXPECT_EQ(Results("neg.f32 %f, %fa;", "f", {{Bits(0.0f)}}), (Row{Bits(-0.0f)}));
  EXPECT_EQ(Results("copysign.f32 %f, %fa, %fb;", "f", {{Bits(-1.0f), Bits(3.0f)}}), (Row{Bits(-3.0f)}));
  EXPECT_EQ(Results("rcp.approx.ftz.f64 %g, %ga;", "g", {{Bits(3.0)}})[0] & 0xFFFFFFFF, 0);
  EXPECT_EQ(Results("ex2.approx.f32 %f, %fa;", "f", {{Bits(10.0f)}, {Bits(-inf)}}), (Row{Bits(1024.0f), 0}));
}

TEST(ArithmeticTest, Comparisons) {
  const uint64_t nan = Bits(NAN), one = Bits(1.0f), two = Bits(2.0f);
  const std::vector<Row> rows = {{one, two}, {two, one}, {one, one}, {nan, one}};
  const auto compare = [&](const std::string& how) {
    return Results("setp." + how + ".f32 %p1, %fa, %fb; selp.u32 %r, 1, 0, %p1;", "r", rows);
  };
  EXPECT_EQ(compare("lt"), (Row{1, 0, 0, 0}));
  EXPECT_EQ(compare("ltu"), (Row{1, 0, 0, 1}));
  EXPECT_EQ(compare("ne"), (Row{1, 1, 0, 0}));
  EXPECT_EQ(compare("neu"), (Row{1, 1, 0, 1}));
  EXPECT_EQ(compare("equ"), (Row{0, 0, 1, 1}));
  EXPECT_EQ(compare("num"), (Row{1, 1, 1, 0}));
  EXPECT_EQ(compare("nan"), (Row{0, 0, 0, 1}));
  EXPECT_EQ(Results("setp.lt.s32 %p1|%p2, %ra, %rb; selp.u32 %r1, 1, 0, %p1; selp.u32 %r, 2, %r1, %p2;", "r",
                    {{Bits32(-1), 0}, {0, Bits32(-1)}}),
            (Row{1, 2}));
  EXPECT_EQ(Results("setp.eq.u32 %p1, %rc, 0; setp.lt.and.u32 %p2, %ra, %rb, !%p1; selp.u32 %r, 1, 0, %p2;", "r",
                    {{1, 2, 0}, {1, 2, 1}, {2, 1, 1}}),
            (Row{0, 1, 0}));
  EXPECT_EQ(Results("set.gt.f32.s32 %f, %ra, %rb;", "f", {{2, 1}, {1, 2}}), (Row{one, 0}));
}

TEST(ArithmeticTest, Conversions) {
  EXPECT_EQ(Results("cvt.rzi.s32.f32 %r, %fa;", "r", {{Bits(-2.7f)}, {Bits(3e9f)}, {Bits(NAN)}, {Bits(-INFINITY)}}),
            (Row{Bits32(-2), 0x7FFFFFFF, 0, 0x80000000}));
  EXPECT_EQ(Results("cvt.rni.s32.f32 %r, %fa;", "r", {{Bits(2.5f)}, {Bits(3.5f)}}), (Row{2, 4}));
  EXPECT_EQ(Results("cvt.rzi.u64.f64 %d, %ga;", "d", {{Bits(1.8e19)}, {Bits(-1.0)}, {Bits(2e19)}}),
            (Row{18000000000000000000ull, 0, ~0ull}));
  EXPECT_EQ(Results("cvt.rzi.u8.f32 %r, %fa;", "r", {{Bits(300.0f)}, {Bits(7.9f)}}), (Row{255, 7}));
  EXPECT_EQ(Results("cvt.rn.f32.s64 %f, %a;", "f", {{Bits(int64_t{-5})}, {0x4000002000000001}}),
            (Row{Bits(-5.0f), Bits(static_cast<float>(0x4000002000000001))}));
  EXPECT_EQ(Results("cvt.rn.f32.u64 %f, %a;", "f", {{~0ull}, {0x8000008000000001}}),
            (Row{Bits(18446744073709551616.0f), Bits(0x1.000002p63f)}));
  EXPECT_EQ(Results("cvt.rz.f32.f64 %f, %ga;", "f", {{Bits(0.1)}}), (Row{0x3DCCCCCC}));
  EXPECT_EQ(Results("cvt.s32.s8 %r, %ra;", "r", {{0x80}, {0x17F}}), (Row{Bits32(-128), 127}));
  EXPECT_EQ(Results("cvt.u8.u32 %r, %ra;", "r", {{0x1234}}), (Row{0x34}));
  EXPECT_EQ(Results("cvt.sat.s8.s32 %r, %ra;", "r", {{1000}, {Bits32(-1000)}, {5}}), (Row{127, Bits32(-128), 5}));
  EXPECT_EQ(Results("cvt.rmi.f32.f32 %f, %fa;", "f", {{Bits(-1.5f)}, {Bits(1.5f)}}), (Row{Bits(-2.0f), Bits(1.0f)}));
  EXPECT_EQ(Results("cvt.rna.tf32.f32 %r, %fa;", "r", {{0x3F801000}, {0x3F800FFF}}), (Row{0x3F802000, 0x3F800000}));
}

TEST(ArithmeticTest, SixteenBits) {
  // 1 + 2^-11 is halfway between two of f16, 1 + 2^-8 of bf16.
  EXPECT_EQ(Results("cvt.rn.f16.f32 %h, %fa;", "h",
                    {{Bits(1.0f + 0x1p-11f)}, {Bits(1.0f + 0x1p-11f + 0x1p-20f)}, {Bits(70000.0f)}, {Bits(NAN)}}),
            (Row{0x3C00, 0x3C01, 0x7C00, 0x7FFF}));
  EXPECT_EQ(Results("cvt.rn.bf16.f32 %h, %fa;", "h", {{Bits(1.0f + 0x1p-8f)}, {Bits(1.0f + 0x1.8p-7f)}, {Bits(NAN)}}),
            (Row{0x3F80, 0x3F82, 0x7FFF}));
  EXPECT_EQ(Results("cvt.rz.f16.f32 %h, %fa;", "h", {{Bits(1.0f + 0x1p-10f - 0x1p-20f)}}), (Row{0x3C00}));
  EXPECT_EQ(Results("cvt.f32.bf16 %f, %ha;", "f", {{0x4049}}), (Row{0x40490000}));
  EXPECT_EQ(Results("cvt.rn.bf16x2.f32 %r, %fa, %fb;", "r", {{Bits(1.0f), Bits(2.0f)}}), (Row{0x3F804000}));
  EXPECT_EQ(Results("cvt.rn.relu.f16x2.f32 %r, %fa, %fb;", "r", {{Bits(-1.0f), Bits(2.0f)}}), (Row{0x00004000}));
  EXPECT_EQ(Results("add.f16 %h, %ha, %hb;", "h", {{0x3C00, 0x3C01}}), (Row{0x4000}));
  EXPECT_EQ(Results("add.rn.bf16 %h, %ha, %hb;", "h", {{0x3F80, 0x3B80}, {0x3F80, 0x3B81}}), (Row{0x3F80, 0x3F81}));
  EXPECT_EQ(Results("mul.bf16x2 %r, %ra, %rb;", "r", {{0x3F804000, 0x40004000}}), (Row{0x40004080}));
  // 1.5 * (2^-10 + 2^-20) + 1 lies just above a halfway point: two roundings would give the even neighbour.
  EXPECT_EQ(Results("fma.rn.f16 %h, %ha, %hb, %hc;", "h", {{0x3C01, 0x3C01, 0x1400}, {0x3C01, 0x0C00, 0x3C00}}),
            (Row{0x3C03, 0x3C00}));
  EXPECT_EQ(Results("fma.rn.bf16 %h, %ha, %hb, %hc;", "h", {{0x3F80, 0x3B80, 0x3F80}, {0x3F81, 0x3B80, 0x3F80}}),
            (Row{0x3F80, 0x3F81}));
  EXPECT_EQ(Results("cvt.rn.satfinite.e4m3x2.f32 %h, %fa, %fb;", "h",
                    {{Bits(1.0f), Bits(-1000.0f)}, {Bits(0x1p-9f), Bits(NAN)}}),
            (Row{0x38FE, 0x017F}));
  EXPECT_EQ(Results("cvt.rn.f16x2.e5m2x2 %r, %ha;", "r", {{0x3C7B}}), (Row{0x3C007B00}));
  EXPECT_EQ(Results("setp.gt.bf16 %p1, %ha, %hb; selp.u32 %r, 1, 0, %p1;", "r", {{0x4000, 0x3F80}}), (Row{1}));
}

TEST(ArithmeticTest, WarpsTogether) {
  const std::vector<Row> rows = {{10}, {20}, {30}, {40}};
  std::vector<uint64_t> r = Results("shfl.sync.bfly.b32 %r, %ra, 1, 31, -1;", "r", rows);
  EXPECT_EQ(r, (Row{20, 10, 40, 30}));
  r = Results("shfl.sync.up.b32 %r|%p1, %ra, 1, 0, -1; selp.u32 %r, %r, 7, %p1;", "r", rows);
  EXPECT_EQ(r, (Row{7, 10, 20, 30}));
  // In segments of two lanes.
  r = Results("shfl.sync.down.b32 %r|%p1, %ra, 1, 0x1E1F, -1; selp.u32 %r, %r, 7, %p1;", "r", rows);
  EXPECT_EQ(r, (Row{20, 7, 40, 7}));
  r = Results("shfl.sync.idx.b32 %r, %ra, 2, 31, -1;", "r", rows);
  EXPECT_EQ(r, (Row{30, 30, 30, 30}));
  EXPECT_EQ(Results("redux.sync.add.s32 %r, %ra, -1;", "r", rows)[3], 100);
  EXPECT_EQ(Results("setp.gt.u32 %p1, %ra, 15; vote.sync.ballot.b32 %r, %p1, -1;", "r", rows)[0], 0b1110);
  EXPECT_EQ(Results("setp.gt.u32 %p1, %ra, 15; vote.sync.any.pred %p2, %p1, -1; selp.u32 %r, 1, 0, %p2;", "r", rows)[0],
            1);
  EXPECT_EQ(Results("match.any.sync.b32 %r, %ra, -1;", "r", {{1}, {2}, {1}, {2}})[2], 0b0101);
  EXPECT_EQ(Results("setp.gt.u32 %p1, %ra, 15; bar.red.popc.u32 %r, 0, %p1;", "r", rows)[0], 3);
}

}  // namespace
}  // namespace xc::emulator
