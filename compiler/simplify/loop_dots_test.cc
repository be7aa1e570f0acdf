// Products of slices before their loop: text in, text out.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler/pass_test_support.h"
#include "compiler/simplify/simplify.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/text/parser.h"

namespace xc {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A loop over h = h * U + what `body` computes as `p`, of `xs` (element 2) and `w` (element 3) with index `i`.
std::string Loop(const std::string& body, const std::string& xs = "f32[50,16,64]", const std::string& w = "f32[64,32]",
                 const std::string& bound = "50",
                 const std::string& root = "ROOT r = pred[] compare(i, n), direction=LT") {
  return absl::StrReplaceAll(
      R"(HloModule m
cond { s = (s32[], f32[16,32], XS, W, pred[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  stop = pred[] get-tuple-element(s), index=4
  n = s32[] constant(BOUND)
  ROOT_LINE }
body { s = (s32[], f32[16,32], XS, W, pred[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  h = f32[16,32] get-tuple-element(s), index=1
  xs = XS get-tuple-element(s), index=2
  w = W get-tuple-element(s), index=3
  stop = pred[] get-tuple-element(s), index=4
  z = s32[] constant(0)
  one = s32[] constant(1)
  ni = s32[] add(i, one)
  BODY
  nh = f32[16,32] add(h, p)
  nstop = pred[] compare(ni, z), direction=LT
  ROOT r = (s32[], f32[16,32], XS, W, pred[]) tuple(ni, nh, xs, w, nstop) }
ENTRY e { h = f32[16,32] parameter(0)
  xs = XS parameter(1)
  w = W parameter(2)
  z = s32[] constant(0)
  f = pred[] constant(false)
  t = (s32[], f32[16,32], XS, W, pred[]) tuple(z, h, xs, w, f)
  l = (s32[], f32[16,32], XS, W, pred[]) while(t), condition=cond, body=body
  ROOT r = f32[16,32] get-tuple-element(l), index=1 })",
      {{"XS", xs}, {"W", w}, {"BOUND", bound}, {"BODY", body}, {"ROOT_LINE", root}});
}

constexpr char kSlice[] = R"(d = f32[1,16,64] dynamic-slice(xs, i, z, z), dynamic_slice_sizes={1,16,64}
  x = f32[16,64] reshape(d)
)";
constexpr char kDot[] = "p = f32[16,32] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}";

std::string Hoisted(const std::string& text) { return RunPasses({SimplifyLoops, EliminateDeadCode}, text); }

TEST(HoistDots, OneDotBeforeTheLoop) {
  const std::string out = Hoisted(Loop(absl::StrCat(kSlice, kDot)));
  EXPECT_THAT(out, HasSubstr("f32[50,16,32] dot("));
  EXPECT_THAT(out, HasSubstr("lhs_contracting_dims={2}, rhs_contracting_dims={0}"));
  EXPECT_THAT(out, HasSubstr("dynamic_slice_sizes={1,16,32}"));
  EXPECT_THAT(out.substr(0, out.find("ENTRY")), Not(HasSubstr("dot(")));
}

TEST(HoistDots, AnyIndexAndAConditionWithOtherTerms) {
  const std::string reversed = R"(k = s32[] constant(49)
  back = s32[] subtract(k, i)
  d = f32[1,16,64] dynamic-slice(xs, back, z, z), dynamic_slice_sizes={1,16,64}
  x = f32[16,64] reshape(d)
)";
  const std::string out =
      Hoisted(Loop(absl::StrCat(reversed, kDot), "f32[50,16,64]", "f32[64,32]", "50", R"(go = pred[] not(stop)
  more = pred[] compare(i, n), direction=LT
  both = pred[] and(more, go)
  ROOT r = pred[] xor(both, stop))"));
  // The root is not the conjunction itself: how often the loop runs is not known.
  EXPECT_THAT(out, Not(HasSubstr("f32[50,16,32]")));
  EXPECT_THAT(Hoisted(Loop(absl::StrCat(reversed, kDot), "f32[50,16,64]", "f32[64,32]", "50", R"(go = pred[] not(stop)
  more = pred[] compare(i, n), direction=LT
  ROOT r = pred[] and(more, go))")),
              HasSubstr("f32[50,16,32] dot("));
}

TEST(HoistDots, ConvertedSliceAndVectorOnTheRight) {
  const std::string out = Hoisted(Loop(R"(d = bf16[1,64] dynamic-slice(xs, i, z), dynamic_slice_sizes={1,64}
  y = bf16[64] reshape(d)
  x = f32[64] convert(y)
  v = f32[512] dot(w, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  p = f32[16,32] reshape(v))",
                                       "bf16[50,64]", "f32[64,512]"));
  EXPECT_THAT(out, HasSubstr("f32[50,64] convert("));
  EXPECT_THAT(out, HasSubstr("f32[50,512] dot("));
  EXPECT_THAT(out, HasSubstr("lhs_contracting_dims={1}, rhs_contracting_dims={0}"));
}

TEST(HoistDots, MemoryByRows) {
  const auto looped = [](int64_t slices, int64_t rows) {
    const std::string x = absl::StrCat(rows, ",64");
    return Hoisted(Loop(absl::StrCat("d = f32[1,", x, "] dynamic-slice(xs, i, z, z), dynamic_slice_sizes={1,", x, R"(}
  x = f32[)",
                                     x, R"(] reshape(d)
  v = f32[)",
                                     rows, R"(,512] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  q = f32[)",
                                     rows, R"(,32] slice(v), slice={[0:)", rows, R"(], [0:32]}
  o = f32[] constant(0)
  p = f32[16,32] pad(q, o), padding=0_)",
                                     16 - rows, "x0_0"),
                        absl::StrCat("f32[", slices, ",", x, "]"), "f32[64,512]", absl::StrCat(slices)));
  };
  EXPECT_THAT(looped(100, 16), HasSubstr("f32[100,16,512] dot("));
  EXPECT_THAT(looped(200, 16), Not(HasSubstr("f32[200,16,512]")));  // 6.6 MB
  EXPECT_THAT(looped(1000, 4), HasSubstr("f32[1000,4,512] dot("));  // 8.2 MB
  EXPECT_THAT(looped(10000, 4), Not(HasSubstr("f32[10000,4,512]")));
}

TEST(HoistDots, UnrolledIterationsShareTheDot) {
  const std::string out = Hoisted(Loop(R"(d = f32[1,16,64] dynamic-slice(xs, i, z, z), dynamic_slice_sizes={1,16,64}
  x = f32[16,64] reshape(d)
  a = f32[16,32] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c = s32[] constant(20)
  j = s32[] add(i, c)
  d2 = f32[1,16,64] dynamic-slice(xs, j, z, z), dynamic_slice_sizes={1,16,64}
  x2 = f32[16,64] reshape(d2)
  b = f32[16,32] dot(x2, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  p = f32[16,32] add(a, b))",
                                       "f32[50,16,64]", "f32[64,32]", "20"));
  EXPECT_EQ(out.find(" dot("), out.rfind(" dot("));
  EXPECT_THAT(out, HasSubstr("f32[50,16,32] dot("));
}

TEST(HoistDots, WhatStays) {
  const auto stays = [](const std::string& text) {
    const std::string out = Hoisted(text);
    EXPECT_THAT(out, Not(HasSubstr("error")));
    EXPECT_THAT(out.substr(0, out.find("ENTRY")), HasSubstr("dot("));
  };
  // Few of the slices are used.
  stays(Loop(absl::StrCat(kSlice, kDot), "f32[50,16,64]", "f32[64,32]", "12"));
  // A slice of two.
  stays(Loop(R"(d = f32[2,8,64] dynamic-slice(xs, i, z, z), dynamic_slice_sizes={2,8,64}
  x = f32[16,64] reshape(d)
  p = f32[16,32] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0})",
             "f32[50,8,64]"));
  // A slice of part of the rows.
  stays(Loop(absl::StrCat(kSlice, kDot), "f32[50,17,64]"));
  // Short sums.
  stays(Loop(R"(d = f32[1,16,8] dynamic-slice(xs, i, z, z), dynamic_slice_sizes={1,16,8}
  x = f32[16,8] reshape(d)
  p = f32[16,32] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0})",
             "f32[50,16,8]", "f32[8,32]"));
  // More memory than allowed.
  stays(Loop(absl::StrCat(kSlice, kDot), "f32[100000,16,64]", "f32[64,32]", "100000"));
  // The other operand changes.
  stays(Loop(absl::StrCat(kSlice, R"(c = f32[64,32] dot(x, h), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  p = f32[16,32] dot(x, c), lhs_contracting_dims={1}, rhs_contracting_dims={0})")));
}

TEST(MaxTripCount, LeastOfTheTerms) {
  auto module = ParseModule(R"(HloModule m
cond { s = (s32[], s32[], pred[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  j = s32[] get-tuple-element(s), index=1
  go = pred[] get-tuple-element(s), index=2
  n = s32[] constant(10)
  a = pred[] compare(i, n), direction=LT
  b = pred[] compare(j, n), direction=LT
  ab = pred[] and(a, b)
  ROOT r = pred[] and(ab, go) }
body { s = (s32[], s32[], pred[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  j = s32[] get-tuple-element(s), index=1
  go = pred[] get-tuple-element(s), index=2
  k = s32[] constant(3)
  ni = s32[] add(i, k)
  nj = s32[] add(j, i)
  ROOT r = (s32[], s32[], pred[]) tuple(ni, nj, go) }
ENTRY e { z = s32[] constant(0)
  g = pred[] parameter(0)
  t = (s32[], s32[], pred[]) tuple(z, z, g)
  ROOT w = (s32[], s32[], pred[]) while(t), condition=cond, body=body })");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(MaxTripCount((*module)->entry()->root()), 4);
  EXPECT_EQ(TripCount((*module)->entry()->root()), std::nullopt);
}

}  // namespace
}  // namespace xc
