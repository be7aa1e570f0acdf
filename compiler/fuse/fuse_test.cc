// Fusion decisions: text in, text out.
#include "compiler/fuse/fuse.h"

#include "absl/strings/str_cat.h"
#include "compiler/pass_test_support.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace xc {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Fuse(const char* text, const char* computations = "") {
  return Simplified({FuseInstructions}, text, computations);
}

constexpr char kAdd[] = R"(
add { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT r = f32[] add(x, y) }
)";

TEST(Fuse, ElementwiseChainIsOneLoop) {
  EXPECT_EQ(Fuse(R"(
    a = f32[1000] parameter(0)
    b = f32[1000] parameter(1)
    c = f32[1000] add(a, b)
    d = f32[1000] tanh(c)
    ROOT e = f32[1000] multiply(d, b))"),
            "root = f32[1000] fusion(p0, p1), kind=kLoop, calls=fused_multiply\n");
}

TEST(Fuse, ProducersOfAReductionAreInputFusion) {
  EXPECT_EQ(Fuse(R"(
    a = f32[100,1000] parameter(0)
    b = f32[100,1000] multiply(a, a)
    z = f32[] constant(0)
    s = f32[100] reduce(b, z), dimensions={1}, to_apply=add
    ROOT r = f32[100] sqrt(s))",
                 kAdd),
            "root = f32[100] fusion(p0), kind=kInput, calls=fused_sqrt\n");
}

// What a reduction reads is turned first: it would read across rows.
TEST(Fuse, ReductionsReadNothingAcrossRows) {
  EXPECT_EQ(Fuse(R"(
    a = f32[128,64,128] parameter(0)
    t = f32[128,64,128] transpose(a), dimensions={2,1,0}
    d = f32[128,64,128] divide(t, a)
    z = f32[] constant(0)
    ROOT s = f32[128,128] reduce(d, z), dimensions={1}, to_apply=add)",
                 kAdd),
            "t0 = f32[128,64,128] transpose(p0), dimensions={2,1,0}\n"
            "root = f32[128,128] fusion(t0, p0), kind=kInput, calls=fused_reduce\n");
}

TEST(Fuse, ReductionIsNotRecomputedForEveryElement) {
  EXPECT_EQ(Fuse(R"(
    a = f32[100,1000] parameter(0)
    z = f32[] constant(0)
    s = f32[100] reduce(a, z), dimensions={1}, to_apply=add
    b = f32[100,1000] broadcast(s), dimensions={0}
    ROOT r = f32[100,1000] subtract(a, b))",
                 kAdd),
            "t0 = f32[100] fusion(p0), kind=kInput, calls=fused_reduce\n"
            "root = f32[100,1000] fusion(t0, p0), kind=kLoop, calls=fused_subtract\n");
}

// Nearest neighbours along two dimensions: no image enlarged along one of them only.
TEST(Fuse, GathersOfRowsAreReadByOthers) {
  EXPECT_EQ(Fuse(R"(
    a = f32[16,16,64] parameter(0)
    i = s32[32,1] parameter(1)
    g = f32[32,16,64] gather(a, i), offset_dims={1,2}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1,
      slice_sizes={1,16,64}
    ROOT r = f32[32,32,64] gather(g, i), offset_dims={0,2}, collapsed_slice_dims={1}, start_index_map={1},
      index_vector_dim=1, slice_sizes={32,1,64})"),
            "root = f32[32,32,64] fusion(p0, p1), kind=kLoop, calls=fused_gather\n");
}

TEST(Fuse, ArraysThatAlternateAreStoredTogether) {
  EXPECT_EQ(Fuse(R"(
    a = f32[1000,1] parameter(0)
    b = f32[1000,1] parameter(1)
    n = f32[1000,1] negate(a)
    c = f32[1000,2] concatenate(n, b), dimensions={1}
    ROOT r = f32[1000,2] tanh(c))"),
            "t0 = f32[1000,2] fusion(p0, p1), kind=kLoop, calls=fused_concatenate\n"
            "root = f32[1000,2] tanh(t0)\n");
}

TEST(Fuse, IndicesAreReadWhereTheirComponentsAre) {
  EXPECT_EQ(Fuse(R"(
    x = f32[20,30] parameter(0)
    i = s32[300,300,1] parameter(1)
    j = s32[300,300,1] parameter(2)
    k = s32[300,300,2] concatenate(i, j), dimensions={2}
    ROOT r = f32[300,300] gather(x, k), offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={0,1},
      index_vector_dim=2, slice_sizes={1,1})"),
            "root = f32[300,300] fusion(p1, p2, p0), kind=kLoop, calls=fused_gather\n");
}

TEST(Fuse, ExpensiveProducerOfTwoIsComputedOnce) {
  EXPECT_THAT(Fuse(R"(
    a = f32[100000] parameter(0)
    e = f32[100000] exponential(a)
    n = f32[100000] negate(e)
    t = f32[100,1000] reshape(e)
    u = f32[1000,100] transpose(t), dimensions={1,0}
    ROOT r = (f32[100000], f32[1000,100]) tuple(n, u))"),
              HasSubstr("kind=kLoop"));
}

int CountOf(const std::string& text, const char* what) {
  int count = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++count;
  return count;
}

// Two readers that share no loop: a kernel of a few elements stands where it is called, and costs less than a second
// sine.
TEST(Fuse, FunctionsOfAFewDoublesAreComputedOnce) {
  const std::string out = RunPasses({FuseInstructions}, R"(HloModule m
ENTRY e {
  a = f64[6] parameter(0)
  s = f64[6] sine(a)
  n = f64[6] negate(s)
  t = f64[3] slice(s), slice={[0:3]}
  u = f64[3] negate(t)
  ROOT r = (f64[6], f64[3]) tuple(n, u) })");
  EXPECT_EQ(CountOf(out, "sine("), 1) << out;
}

TEST(Fuse, LongChainsPayAsAWhole) {
  const auto chain = [](int length) {
    std::string text = "HloModule m\nENTRY e {\na0 = f32[100000] parameter(0)\n";
    for (int i = 0; i < length; ++i) {
      absl::StrAppend(&text, "a", i + 1, " = f32[100000] subtract(a", i, ", a0)\n");
    }
    absl::StrAppend(&text, "n = f32[100000] negate(a", length, ")\nt = f32[99000] slice(a", length,
                    "), slice={[1000:100000]}\nu = f32[99000] negate(t)\n",
                    "ROOT r = (f32[100000], f32[99000]) tuple(n, u) }");
    return CountOf(RunPasses({FuseInstructions}, text), "subtract(");
  };
  EXPECT_EQ(chain(3), 6);  // cheaper than the memory
  EXPECT_EQ(chain(40), 40);
}

// Elements as bytes are the same memory, for which there is no code.
TEST(Fuse, BitsOfOtherWidthsStayOutside) {
  EXPECT_EQ(Fuse(R"(
    a = s32[1000] parameter(0)
    b = s32[1000] add(a, a)
    c = s8[1000,4] bitcast-convert(b)
    d = s8[1000,4] negate(c)
    ROOT e = s8[1000,4] abs(d))"),
            "t0 = s32[1000] add(p0, p0)\n"
            "t1 = s8[1000,4] bitcast-convert(t0)\n"
            "root = s8[1000,4] fusion(t1), kind=kLoop, calls=fused_abs\n");
}

// Each value has two readers: computed again in each of them, they would be copied without end.
TEST(Fuse, CopiesAreLimited) {
  std::string text = "v0 = f32[1000] parameter(0)\n v1 = f32[1000] parameter(1)\n";
  constexpr int kCount = 1000;
  for (int i = 2; i < kCount; ++i) {
    absl::StrAppend(&text, i + 1 == kCount ? "ROOT " : "", "v", i, " = f32[1000] add(v", i - 1, ", v",
                    i - (i * 7) % 97 % i - 1, ")\n");
  }
  const std::string out = RunPasses({FuseInstructions}, absl::StrCat("HloModule m\nENTRY e {\n", text, "}\n"));
  int copies = 0;
  for (size_t at = 0; (at = out.find(" add(", at)) != std::string::npos; ++at) ++copies;
  EXPECT_GE(copies, kCount - 2) << out;
  EXPECT_LE(copies, 3 * kCount);
}

// Wherever a fusion reads it, a constant of one number is part of it.
TEST(Fuse, ConstantsAreReadAtAnyNumberOfPositions) {
  std::string text =
      "x = s32[1200] parameter(0)\n c = s32[] constant(17)\n b = s32[1200] broadcast(c), dimensions={}\n"
      "q = s32[1200] remainder(x, b)\n v0 = s32[100] slice(q), slice={[0:100]}\n";
  for (int i = 1; i < 12; ++i) {
    absl::StrAppend(&text, "s", i, " = s32[100] slice(b), slice={[", i, ":", 100 + i, "]}\n", i == 11 ? "ROOT " : "",
                    "v", i, " = s32[100] add(v", i - 1, ", s", i, ")\n");
  }
  EXPECT_THAT(Fuse(text.c_str()), Not(HasSubstr("s32[1200] broadcast(")));
}

TEST(Fuse, BarrierKeepsItsSidesApart) {
  const std::string out = Fuse(R"(
    a = f32[1000] parameter(0)
    b = f32[1000] negate(a)
    c = f32[1000] opt-barrier(b)
    ROOT d = f32[1000] tanh(c))");
  EXPECT_THAT(out, HasSubstr("opt-barrier"));
  EXPECT_THAT(out, Not(HasSubstr("fusion")));
}

TEST(Fuse, SiblingsThatReadTheSameBecomeOne) {
  EXPECT_THAT(Fuse(R"(
    a = f32[100000] parameter(0)
    b = f32[100000] parameter(1)
    c = f32[100000] add(a, b)
    d = f32[100000] subtract(a, b)
    ROOT r = (f32[100000], f32[100000]) tuple(c, d))"),
              HasSubstr("(f32[100000], f32[100000]) fusion(p0, p1), kind=kLoop"));
}

// r and q become one fusion, which the sorts of a lead into and the sort of q out of: a and b stay apart, though b
// comes before both sorts of a.
TEST(Fuse, WhatLeadsThroughAFusionOfSeveralResultsKeepsItsEndsApart) {
  const std::string fused = Fuse(R"(
    y = f32[1000] parameter(0)
    x = f32[1000] parameter(1)
    q = f32[1000] negate(y)
    s = f32[1000] sort(q), dimensions={0}, to_apply=less
    b = f32[1000] add(s, x)
    a = f32[1000] tanh(x)
    v = f32[1000] sort(a), dimensions={0}, to_apply=less
    w = f32[1000] sort(v), dimensions={0}, to_apply=less
    r = f32[1000] multiply(w, y)
    ROOT t = (f32[1000], f32[1000], f32[1000]) tuple(b, r, a))",
                                 R"(
less { k = f32[] parameter(0)
  l = f32[] parameter(1)
  ROOT c = pred[] compare(k, l), direction=LT }
)");
  EXPECT_THAT(fused, HasSubstr("(f32[1000], f32[1000]) fusion("));
  EXPECT_THAT(fused, HasSubstr("tanh(p1)"));
}

// What is written over may be read where it is written, by whichever slice; not beside it.
TEST(Fuse, UpdatesReadWhatTheyWriteOver) {
  const auto fused = [](const char* start) {
    return Fuse(absl::StrCat(R"(
    a = f32[100,100] parameter(0)
    b = f32[99,99] parameter(1)
    c = f32[99,99] slice(a), slice={[1:100], )",
                             start, R"(}
    d = f32[99,99] add(c, b)
    one = s32[] constant(1)
    ROOT u = f32[100,100] dynamic-update-slice(a, d, one, one))")
                    .c_str());
  };
  EXPECT_EQ(fused("[1:100]"), "root = f32[100,100] fusion(p0, p1), kind=kLoop, calls=fused_dynamic-update-slice\n");
  EXPECT_THAT(fused("[0:99]"), HasSubstr("f32[99,99] slice(p0)"));
}

// The sum is one array beside the update; each slice would be one if they were fused.
TEST(Fuse, UpdatesBySeveralPartsOfWhatTheyUpdateAreComputedApart) {
  EXPECT_EQ(Fuse(R"(
    a = f32[100,100] parameter(0)
    b = f32[98,98] slice(a), slice={[0:98], [1:99]}
    c = f32[98,98] slice(a), slice={[2:100], [1:99]}
    d = f32[98,98] slice(a), slice={[1:99], [1:99]}
    e = f32[98,98] add(b, c)
    f = f32[98,98] subtract(e, d)
    one = s32[] constant(1)
    ROOT u = f32[100,100] dynamic-update-slice(a, f, one, one))"),
            "t0 = f32[98,98] fusion(p0), kind=kLoop, calls=fused_subtract\n"
            "root = f32[100,100] fusion(p0, t0), kind=kLoop, calls=fused_dynamic-update-slice\n");
}

TEST(Fuse, UpdateInPlaceKeepsItsTargetOutside) {
  const std::string out = Fuse(R"(
    a = f32[1000] parameter(0)
    b = f32[10] parameter(1)
    i = s32[] parameter(2)
    c = f32[10] tanh(b)
    n = f32[1000] negate(a)
    ROOT r = f32[1000] dynamic-update-slice(n, c, i))");
  EXPECT_THAT(out, HasSubstr("negate(p0)"));
  EXPECT_THAT(out, HasSubstr("fused_dynamic-update-slice"));
}

constexpr char kNormalization[] = R"(
    a = f32[100,1000] parameter(0)
    z = f32[] constant(0)
    s = f32[100] reduce(a, z), dimensions={1}, to_apply=add
    b = f32[100,1000] broadcast(s), dimensions={0}
    d = f32[100,1000] subtract(a, b)
    e = f32[100,1000] multiply(d, d)
    t = f32[100] reduce(e, z), dimensions={1}, to_apply=add
    c = f32[100,1000] broadcast(t), dimensions={0}
    q = f32[100,1000] divide(d, c)
)";

TEST(Stitch, ReductionsAndTheLoopOverTheirRowsAreOneKernel) {
  EXPECT_EQ(
      Simplified({FuseInstructions, StitchRows}, absl::StrCat(kNormalization, "ROOT r = f32[100,1000] tanh(q)"), kAdd),
      "root = f32[100,1000] fusion(p0), kind=kCustom, calls=stitched_tanh_fusion\n");
}

TEST(Stitch, RowsInAnotherOrderStayApart) {
  // Row i needs the sum of row 99 - i.
  const std::string text = Simplified({FuseInstructions, StitchRows}, R"(
    a = f32[100,1000] parameter(0)
    z = f32[] constant(0)
    s = f32[100] reduce(a, z), dimensions={1}, to_apply=add
    t = f32[100] reverse(s), dimensions={0}
    b = f32[100,1000] broadcast(t), dimensions={0}
    ROOT r = f32[100,1000] subtract(a, b))",
                                      kAdd);
  EXPECT_THAT(text, Not(HasSubstr("kCustom")));
}

TEST(Stitch, SumsThatAreAlsoNeededElsewhereStayApart) {
  const std::string text = Simplified({FuseInstructions, StitchRows}, R"(
    a = f32[100,1000] parameter(0)
    z = f32[] constant(0)
    s = f32[100] reduce(a, z), dimensions={1}, to_apply=add
    b = f32[100,1000] broadcast(s), dimensions={0}
    d = f32[100,1000] subtract(a, b)
    ROOT r = (f32[100,1000], f32[100]) tuple(d, s))",
                                      kAdd);
  EXPECT_THAT(text, Not(HasSubstr("kCustom")));
}

// Where that is cheaper than memory, a row is computed again for each reduction of it and for the result.
TEST(Stitch, RowsAreComputedAgain) {
  constexpr char kSoftmax[] = R"(
    a = f32[100,1000] parameter(0)
    z = f32[] constant(0)
    s = f32[100] reduce(a, z), dimensions={1}, to_apply=add
    b = f32[100,1000] broadcast(s), dimensions={0}
    d = f32[100,1000] subtract(a, b)
    e = f32[100,1000] exponential(d)
    t = f32[100] reduce(e, z), dimensions={1}, to_apply=add
    c = f32[100,1000] broadcast(t), dimensions={0}
    ROOT q = f32[100,1000] divide(e, c)
)";
  PassContext context;
  context.target.recomputes_rows = true;
  EXPECT_EQ(Simplified({FuseInstructions, StitchRows}, kSoftmax, kAdd, &context),
            "root = f32[100,1000] fusion(p0), kind=kCustom, calls=stitched_divide_fusion\n");
  EXPECT_THAT(Simplified({FuseInstructions, StitchRows}, kSoftmax, kAdd), HasSubstr("stitched_exponential_fusion"));
}

TEST(OwnBroadcasts, EachUpdateWritesOverItsOwn) {
  EXPECT_EQ(Simplified({GiveUpdatesOwnBroadcasts}, R"(
    u = f32[3] parameter(0)
    i = s32[] parameter(1)
    z = f32[] constant(0)
    b = f32[100] broadcast(z), dimensions={}
    c = f32[100] dynamic-update-slice(b, u, i)
    d = f32[100] dynamic-update-slice(b, c, i)
    ROOT r = f32[100] add(c, d))"),
            "t0 = f32[] constant(0)\nt1 = f32[100] broadcast(t0), dimensions={}\n"
            "t2 = f32[100] broadcast(t0), dimensions={}\nt3 = f32[100] dynamic-update-slice(t2, p0, p1)\n"
            "t4 = f32[100] dynamic-update-slice(t1, t3, p1)\nroot = f32[100] add(t3, t4)\n");
}

TEST(Fuse, ProducersOfManyPartsAreJoinedInOneFusion) {
  std::string text = "a = f32[100] parameter(0)\n", parts;
  for (int i = 0; i < 20; ++i) {
    absl::StrAppend(&text, "s", i, " = f32[30] slice(a), slice={[", i, ":", i + 30, "]}\n", "n", i,
                    " = f32[30] negate(s", i, ")\n");
    absl::StrAppend(&parts, i == 0 ? "" : ", ", "n", i);
  }
  absl::StrAppend(&text, "ROOT c = f32[600] concatenate(", parts, "), dimensions={0}");
  EXPECT_EQ(Fuse(text.c_str()), "root = f32[600] fusion(p0), kind=kLoop, calls=fused_concatenate\n");
}

// A polynomial of 150 steps has 300 constants and broadcasts of them, which take no code.
TEST(Fuse, ConstantsDoNotCountForTheSizeOfAFusion) {
  std::string text = "a0 = f32[1000] parameter(0)\n";
  for (int i = 0; i < 150; ++i) {
    absl::StrAppend(&text, "c", i, " = f32[] constant(", i, ")\nb", i, " = f32[1000] broadcast(c", i,
                    "), dimensions={}\n", i == 149 ? "ROOT " : "", "a", i + 1, " = f32[1000] add(a", i, ", b", i,
                    ")\n");
  }
  EXPECT_EQ(Fuse(text.c_str()), "root = f32[1000] fusion(p0), kind=kLoop, calls=fused_add\n");
}

TEST(Fuse, ReasonsAreGiven) {
  auto dot = HloInstruction::Create(HloOpcode::kDot, Shape(ElementType::kF32, {2, 2}));
  EXPECT_EQ(CanBeFused(dot.get(), {}).reason, "dot is not computed per element");
  auto rng = HloInstruction::Create(HloOpcode::kRng, Shape(ElementType::kF32, {2, 2}));
  EXPECT_EQ(CanBeFused(rng.get(), {}).reason, "it has a side effect");
}

// A fusion with such an op in it would be evaluated as a whole.
TEST(Fuse, WhatHasNoCodeIsNotFused) {
  auto x = HloInstruction::CreateParameter(0, Shape(ElementType::kF32, {2}), "x");
  auto bits = HloInstruction::CreateParameter(1, Shape(ElementType::kU32, {2}), "bits");
  auto convert =
      HloInstruction::Create(HloOpcode::kStochasticConvert, Shape(ElementType::kS32, {2}), {x.get(), bits.get()});
  EXPECT_EQ(CanBeFused(convert.get(), {}).reason, "there is no code for stochastic-convert of f32");
}

}  // namespace
}  // namespace xc
