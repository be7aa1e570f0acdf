// What random modules have found, cut down: each program once gave different results on the interpreter and the CPU, or
// did not survive its own text or message. All are exact.
#include "gtest/gtest.h"
#include "hlo/text/parser.h"
#include "hlo/verifier/verifier.h"
#include "tests/fuzz/random_module.h"
#include "tests/fuzz/random_values.h"

namespace xc {
namespace {

struct Found {
  const char* name;
  const char* text;
};

void PrintTo(const Found& found, std::ostream* out) { *out << found.name; }

class FoundModules : public testing::TestWithParam<Found> {};

TEST_P(FoundModules, PlatformsAgree) {
  auto module = ParseModule(GetParam().text);
  ASSERT_TRUE(module.ok()) << module.status();
  ASSERT_TRUE(VerifyModule(**module).ok()) << VerifyModule(**module);
  Random values(7);
  for (int run = 0; run < 4; ++run) {
    RandomModule random;
    random.module = (*module)->Clone();
    for (const HloInstruction* parameter : random.module->entry()->parameters()) {
      random.inputs.push_back(RandomLiteral(WithoutLayout(parameter->shape()), LiteralStyle::kSmallIntegers, values));
    }
    random.bounds.resize(Leaves(random.module->entry()->root()->shape()).size());
    EXPECT_EQ(CheckRandomModule(random), "");
  }
}

constexpr Found kFound[] = {
    {"BytesTimesVector", R"(HloModule m
ENTRY main {
  a = s8[3,33] parameter(0)
  b = s8[33] parameter(1)
  c = s8[7,8] parameter(2)
  d = s8[7,1] parameter(3)
  x = s32[3] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  y = s32[8,1] dot(c, d), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  ROOT r = (s32[3], s32[8,1]) tuple(x, y)
})"},
    {"UpperHalfOfNarrowProducts", R"(HloModule m
ENTRY main {
  a = s2[16] parameter(0)
  b = s4[16] parameter(1)
  c = u4[16] parameter(2)
  x = s2[16] mulhi(a, a)
  y = s4[16] mulhi(b, b)
  z = u4[16] mulhi(c, c)
  ROOT r = (s2[16], s4[16], u4[16]) tuple(x, y, z)
})"},
    {"BatchGroupsOfOneFeature", R"(HloModule m
ENTRY main {
  a = f32[6,1,9] parameter(0)
  b = f32[1,6,3] parameter(1)
  c = f16[4,1] parameter(2)
  d = f16[1,6] parameter(3)
  x = f32[2,6,7] convolution(a, b), window={size=3}, dim_labels=bf0_io0->bf0, batch_group_count=3
  y = f32[2,6] convolution(c, d), window={}, dim_labels=bf_io->bf, batch_group_count=2
  ROOT r = (f32[2,6,7], f32[2,6]) tuple(x, y)
})"},
    {"ReductionAlongBoundedSize", R"(HloModule m
add { x = s32[] parameter(0) y = s32[] parameter(1) ROOT s = s32[] add(x, y) }
ENTRY main {
  a = s32[3,5] parameter(0)
  three = s32[] constant(3)
  zero = s32[] constant(0)
  b = s32[3,<=5] set-dimension-size(a, three), dimensions={1}
  c = s32[3,<=5] not(b)
  n = s32[] get-dimension-size(c), dimensions={1}
  s = s32[3] reduce(c, zero), dimensions={1}, to_apply=add
  ROOT r = (s32[], s32[3]) tuple(n, s)
})"},
    {"NegativePowersOfZero", R"(HloModule m
ENTRY main {
  a = s32[64] parameter(0)
  b = s32[64] parameter(1)
  c = s4[64] parameter(2)
  d = s4[64] parameter(3)
  x = s32[64] power(a, b)
  y = s4[64] power(c, d)
  ROOT r = (s32[64], s4[64]) tuple(x, y)
})"},
    {"RemaindersInTypesWithoutNegativeZero", R"(HloModule m
ENTRY main {
  a = f8e4m3b11fnuz[32] parameter(0)
  b = f8e4m3b11fnuz[32] parameter(1)
  x = f8e4m3b11fnuz[32] remainder(a, a)
  y = f8e4m3b11fnuz[32] ceil(b)
  z = f8e4m3b11fnuz[32] negate(y)
  u = f6e2m3fn[32] convert(x)
  v = f32[32] convert(z)
  w = u32[32] bitcast-convert(v)
  ROOT r = (f6e2m3fn[32], u32[32]) tuple(u, w)
})"},
    {"MapOfScalars", R"(HloModule m
f { x = s32[] parameter(0) ROOT y = s32[] negate(x) }
ENTRY main {
  a = s32[] parameter(0)
  ROOT r = s32[] map(a), dimensions={}, to_apply=f
})"},
    {"RowReductionsOfNarrowTypes", R"(HloModule m
max { x = f8e5m2fnuz[] parameter(0) y = f8e5m2fnuz[] parameter(1) ROOT m = f8e5m2fnuz[] maximum(x, y) }
min { x = f8e8m0fnu[] parameter(0) y = f8e8m0fnu[] parameter(1) ROOT m = f8e8m0fnu[] minimum(x, y) }
ENTRY main {
  a = f8e5m2fnuz[2,70] parameter(0)
  b = f8e8m0fnu[3,140] parameter(1)
  c = f8e5m2fnuz[4] parameter(2)
  d = f8e8m0fnu[3] parameter(3)
  p = f8e5m2fnuz[] constant(-3)
  q = f8e8m0fnu[] constant(16)
  x = f8e5m2fnuz[2] reduce(a, p), dimensions={1}, to_apply=max
  y = f8e8m0fnu[3] reduce(b, q), dimensions={1}, to_apply=min
  z = f8e5m2fnuz[] reduce(c, p), dimensions={0}, to_apply=max
  w = f8e8m0fnu[] reduce(d, q), dimensions={0}, to_apply=min
  ROOT r = (f8e5m2fnuz[2], f8e8m0fnu[3], f8e5m2fnuz[], f8e8m0fnu[]) tuple(x, y, z, w)
})"},
    {"IntegersBeyondTheLargestFraction", R"(HloModule m
ENTRY main {
  a = f6e2m3fn[64] parameter(0)
  b = f8e3m4[64] parameter(1)
  seven = f6e2m3fn[] constant(7.5)
  sevens = f6e2m3fn[64] broadcast(seven), dimensions={}
  fifteen = f8e3m4[] constant(15.5)
  fifteens = f8e3m4[64] broadcast(fifteen), dimensions={}
  c = f6e2m3fn[64] maximum(a, sevens)
  d = f8e3m4[64] maximum(b, fifteens)
  x = f6e2m3fn[64] round-nearest-afz(c)
  y = f8e3m4[64] ceil(d)
  z = f6e2m3fn[64] remainder(a, a)
  u = f32[64] convert(x)
  v = f32[64] convert(y)
  w = f32[64] convert(z)
  ROOT r = (f32[64], f32[64], f32[64]) tuple(u, v, w)
})"},
    {"CallThatAnotherCallDoesNotUse", R"(HloModule m
once { x = s32[4] parameter(0) ROOT y = s32[4] negate(x) }
second { x = s32[4] parameter(0) y = s32[4] parameter(1) ROOT z = s32[4] not(y) }
ENTRY main {
  a = s32[4] parameter(0)
  started = ((s32[4]), s32[4]) async-start(a), calls=once
  done = s32[4] async-done(started), calls=once
  ROOT r = s32[4] fusion(done, a), kind=kLoop, calls=second
})"},
    {"WindowsOverNothing", R"(HloModule m
xor { x = s64[] parameter(0) y = s64[] parameter(1) ROOT z = s64[] xor(x, y) }
ENTRY main {
  a = s64[33,0]{0,1} parameter(0)
  b = s64[] parameter(1)
  ROOT r = s64[36,1] reduce-window(a, b), window={size=1x3 stride=1x2 pad=2_1x1_2 lhs_dilate=1x2}, to_apply=xor
})"},
    {"AbsoluteValuesOfUnsignedNegations", R"(HloModule m
ENTRY main {
  a = u8[16] parameter(0)
  b = u8[16] negate(a)
  ROOT c = u8[16] abs(b)
})"},
    {"LeastOfNegativeZeroAndNan", R"(HloModule m
ENTRY main {
  a = f16[40] parameter(0)
  zero = f16[] constant(-0)
  zeros = f16[40] broadcast(zero), dimensions={}
  x = f16[40] multiply(a, zeros)
  y = f16[40] remainder(x, x)
  u = f16[40] minimum(x, y)
  v = f16[40] maximum(y, zeros)
  ROOT r = (f16[40], f16[40]) tuple(u, v)
})"},
    {"GreatestOfHalves", R"(HloModule m
step {
  x = f32[] parameter(0)
  c = f16[] parameter(1)
  y = f16[] convert(x)
  m = f16[] maximum(c, y)
  z = f32[] convert(m)
  ROOT r = (f32[], f16[]) tuple(z, m)
}
ENTRY main {
  a = f32[17] parameter(0)
  b = f16[] parameter(1)
  ROOT r = (f32[17], f16[]) scan(a, b), dimensions={0}, num_carries=1, to_apply=step
})"},
    {"ClampBetweenZeros", R"(HloModule m
ENTRY main {
  plus = f32[] constant(0)
  minus = f32[] constant(-0)
  a = f32[33] parameter(0)
  all = f32[33] broadcast(plus), dimensions={}
  zeros = f32[33] multiply(a, all)
  low = f32[] constant(-2)
  high = f32[] constant(2)
  x = f32[33] clamp(low, zeros, minus)
  y = f32[33] clamp(plus, zeros, high)
  ROOT r = (f32[33], f32[33]) tuple(x, y)
})"},
    // With the address and undefined-behaviour sanitizers: indices of nothing, strides whose product overflows.
    {"SlicesOfSlices", R"(HloModule m
ENTRY main {
  a = f32[2,0,7,5] parameter(0)
  b = f32[1,0,7,2] slice(a), slice={[0:1:2], [0:0], [0:7], [2:5:2]}
  c = f32[1,0,2,0] slice(b), slice={[0:1], [0:0], [0:2], [2:2]}
  d = s32[5] parameter(1)
  e = s32[1] slice(d), slice={[2:5:4000000000000000000]}
  f = s32[1] slice(e), slice={[0:1:4000000000000000000]}
  g = s32[0] slice(e), slice={[1:1]}
  ROOT r = (f32[1,0,2,0], s32[1], s32[0]) tuple(c, f, g)
})"},
    {"OneIndexBeforeTheStart", R"(HloModule m
ENTRY main {
  a = f16[11,1,9] parameter(0)
  b = f16[] parameter(1)
  ROOT c = f16[14,1,10]{0,1,2} pad(a, b), padding=2_1x1_-1_2x-1_2
})"},
    {"NoElements", R"(HloModule m
less { x = s32[] parameter(0) y = s32[] parameter(1) ROOT l = pred[] compare(x, y), direction=LT }
ENTRY main {
  a = f32[0,3] parameter(0)
  b = s32[0,3] bitcast-convert(a)
  c = s32[3,0] transpose(b), dimensions={1,0}
  d = s32[0] reshape(c)
  e = s32[4] parameter(1)
  f = s32[4] concatenate(d, e), dimensions={0}
  g = s32[0,3] negate(b)
  h = s32[0] sort(d), dimensions={0}, to_apply=less
  ROOT r = (s32[4], s32[0,3], s32[0]) tuple(f, g, h)
})"},
    // Bytes of a call's result in its own layout, not in that of the function's, and the other way round within.
    {"BytesOfCallsInOtherLayouts", R"(HloModule m
f {
  x = s8[3,4]{0,1} parameter(0)
  y = s8[6,2]{1,0} bitcast(x)
  z = s8[3,4]{1,0} abs(x)
  ROOT t = (s8[6,2]{0,1}, s8[3,4]{0,1}) tuple(y, z)
}
ENTRY main {
  a = s8[3,4]{1,0} parameter(0)
  c = (s8[6,2]{1,0}, s8[3,4]{1,0}) call(a), to_apply=f
  d = s8[6,2]{1,0} get-tuple-element(c), index=0
  e = s8[3,4]{1,0} get-tuple-element(c), index=1
  g = s8[12] bitcast(d)
  h = s8[2,6] bitcast(e)
  i = s8[3,4]{0,1} custom-call(a), custom_call_target="Sharding"
  j = s8[2,6] bitcast(i)
  ROOT r = (s8[12], s8[2,6], s8[2,6]) tuple(g, h, j)
})"},
    {"NoZeroAndNoSign", R"(HloModule m
ENTRY main {
  a = pred[33] parameter(0)
  b = f8e8m0fnu[33] convert(a)
  c = pred[33] convert(b)
  d = s2[33] parameter(1)
  e = f8e8m0fnu[33] convert(d)
  f = f32[33] convert(e)
  ROOT r = (pred[33], f32[33]) tuple(c, f)
})"},
    // A dimension of size 1 at most, and of 0 in the run, before one that stays.
    {"ReshapeOfNoRows", R"(HloModule m
ENTRY main {
  a = s32[1,3] parameter(0)
  n = s32[] constant(0)
  b = s32[<=1,3] set-dimension-size(a, n), dimensions={0}
  c = s32[<=3] reshape(b)
  d = s32[] get-dimension-size(c), dimensions={0}
  e = s32[<=1,3] reshape(c)
  f = s32[] get-dimension-size(e), dimensions={0}
  ROOT r = (s32[], s32[]) tuple(d, f)
})"},
};

INSTANTIATE_TEST_SUITE_P(All, FoundModules, testing::ValuesIn(kFound),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace xc
