// Which programs a batch may be padded for: pairs of HLO texts that differ in the batch size only.
#include "hlo/analysis/padding_safety.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "hlo/text/parser.h"

namespace xc {
namespace {

using ::testing::HasSubstr;

// `body` is the entry; $B stands for the batch size, $2B and $4B for multiples of them.
std::unique_ptr<HloModule> Program(absl::string_view body, int64_t batch) {
  const std::string text = absl::StrReplaceAll(
      absl::StrCat(R"(HloModule m
sum { a = f32[] parameter(0)
      b = f32[] parameter(1)
      ROOT r = f32[] add(a, b) }
max { a = f32[] parameter(0)
      b = f32[] parameter(1)
      ROOT r = f32[] maximum(a, b) }
)",
                   body),
      {{"$B", absl::StrCat(batch)}, {"$2B", absl::StrCat(2 * batch)}, {"$4B", absl::StrCat(4 * batch)}});
  auto module = ParseModule(text);
  EXPECT_TRUE(module.ok()) << module.status() << text;
  return *std::move(module);
}

absl::Status Verdict(absl::string_view body, int64_t small = 4, int64_t large = 8) {
  return CheckPaddingSafety(*Program(body, small), *Program(body, large));
}

TEST(PaddingSafety, ALayerKeepsBatchElementsApart) {
  EXPECT_EQ(Verdict(R"(ENTRY e {
      x = f32[$B,3] parameter(0)
      w = f32[3,5] parameter(1)
      d = f32[$B,5] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      z = f32[] constant(0)
      zs = f32[$B,5] broadcast(z), dimensions={}
      r = f32[$B,5] maximum(d, zs)
      s = f32[$B] reduce(r, z), dimensions={1}, to_apply=sum
      t = f32[5,$B] transpose(r), dimensions={1,0}
      ROOT out = (f32[$B], f32[5,$B]) tuple(s, t) })"),
            absl::OkStatus());
}

TEST(PaddingSafety, BatchDimensionsMayBeMergedAndSplit) {
  EXPECT_EQ(Verdict(R"(ENTRY e {
      x = f32[$B,4,2] parameter(0)
      m = f32[$4B,2] reshape(x)
      n = f32[$4B,2] negate(m)
      b = f32[$B,4,2] reshape(n)
      z = f32[] constant(-1)
      ROOT top = f32[4,2] reduce(b, z), dimensions={0}, to_apply=max })"),
            absl::OkStatus());
  EXPECT_THAT(Verdict(R"(ENTRY e {
      x = f32[4,$B] parameter(0)
      t = f32[$B,4] transpose(x), dimensions={1,0}
      ROOT m = f32[$4B] reshape(x) })")
                  .message(),
              HasSubstr("differ in more than their batch size"));
  EXPECT_THAT(Verdict(R"(ENTRY e {
      x = f32[$B,4] parameter(0)
      t = f32[4,$B] transpose(x), dimensions={1,0}
      ROOT m = f32[$4B] reshape(t) })")
                  .message(),
              HasSubstr("reshape 'm' mixes elements of the batch"));
}

TEST(PaddingSafety, PairsOfElementsAreNoCopies) {
  // Elements 2 and 3 make the last pair of four; of eight, the pairs of padding are (3, 3).
  EXPECT_THAT(Verdict(R"(ENTRY e {
      x = f32[$2B] parameter(0)
      m = f32[$B,2] reshape(x)
      z = f32[] constant(0)
      s = f32[$B] reduce(m, z), dimensions={1}, to_apply=sum
      ROOT t = f32[] reduce(s, z), dimensions={0}, to_apply=max })")
                  .message(),
              HasSubstr("reduce 't' combines elements of the batch"));
}

TEST(PaddingSafety, WhatCombinesABatchIsRefusedUnlessCopiesDoNotCount) {
  const char* body = R"(ENTRY e {
      x = f32[$B,3] parameter(0)
      z = f32[] constant(-1)
      ROOT s = f32[3] reduce(x, z), dimensions={0}, to_apply=%s })";
  EXPECT_EQ(Verdict(absl::StrReplaceAll(body, {{"%s", "max"}})), absl::OkStatus());
  EXPECT_THAT(Verdict(absl::StrReplaceAll(body, {{"%s", "sum"}})).message(),
              HasSubstr("reduce 's' combines elements of the batch"));
  // The numbers of the padding are no copies.
  EXPECT_THAT(Verdict(R"(ENTRY e {
      x = f32[$B] parameter(0)
      n = f32[$B] iota(), iota_dimension=0
      y = f32[$B] multiply(x, n)
      z = f32[] constant(-1)
      ROOT s = f32[] reduce(y, z), dimensions={0}, to_apply=max })")
                  .message(),
              HasSubstr("combines elements of the batch"));
  EXPECT_THAT(Verdict(R"(ENTRY e {
      x = f32[$B,3] parameter(0)
      ROOT d = f32[3,3] dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0} })")
                  .message(),
              HasSubstr("contracts the batch dimension"));
  EXPECT_THAT(Verdict(R"(ENTRY e {
      x = f32[$B,3] parameter(0)
      ROOT d = f32[$B,$B] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={1} })")
                  .message(),
              HasSubstr("is f32[4,4] and f32[8,8]"));
}

TEST(PaddingSafety, ConstantsOfTheBatchSizeAreSeen) {
  EXPECT_THAT(Verdict(R"(ENTRY e {
      x = f32[$B] parameter(0)
      n = f32[] constant($B)
      b = f32[$B] broadcast(n), dimensions={}
      ROOT d = f32[$B] divide(x, b) })")
                  .message(),
              HasSubstr("constant 'n' has another value for a larger batch"));
  EXPECT_THAT(Verdict(R"(ENTRY e {
      x = f32[$B,3] parameter(0)
      ROOT last = f32[1,3] slice(x), slice={[3:4], [0:3]} })"),
              absl::OkStatus());
  EXPECT_THAT(CheckPaddingSafety(*Program("ENTRY e { ROOT c = s32[2] constant({1, 2}) }", 1),
                                 *Program("ENTRY e { ROOT c = s32[3] constant({1, 2, 3}) }", 1)),
              absl::OkStatus());
  EXPECT_THAT(CheckPaddingSafety(*Program("ENTRY e { ROOT c = s32[2] constant({1, 2}) }", 1),
                                 *Program("ENTRY e { ROOT c = s32[3] constant({1, 4, 9}) }", 1))
                  .message(),
              HasSubstr("other values for a larger batch"));
}

TEST(PaddingSafety, TablesAreReadByBatchElements) {
  const char* body = R"(ENTRY e {
      t = f32[10,3] parameter(0)
      i = s32[$B,2] parameter(1)
      ROOT g = f32[$B,2,3] gather(t, i), offset_dims={2}, collapsed_slice_dims={0}, start_index_map={0},
          index_vector_dim=2, slice_sizes={1,3} })";
  EXPECT_EQ(Verdict(body), absl::OkStatus());
  // Indices are clamped to the size of the table, which is another one.
  EXPECT_THAT(Verdict(R"(ENTRY e {
      t = f32[$B,3] parameter(0)
      i = s32[2] parameter(1)
      ROOT g = f32[2,3] gather(t, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},
          index_vector_dim=1, slice_sizes={1,3} })")
                  .message(),
              HasSubstr("takes a part of the batch"));
}

TEST(PaddingSafety, LoopsKeepBatchElementsApartInEveryIteration) {
  const char* body = R"(
    more { p = (s32[], f32[5,$B,3], f32[$B,3]) parameter(0)
           i = s32[] get-tuple-element(p), index=0
           n = s32[] constant(5)
           ROOT l = pred[] compare(i, n), direction=LT }
    step { p = (s32[], f32[5,$B,3], f32[$B,3]) parameter(0)
           i = s32[] get-tuple-element(p), index=0
           xs = f32[5,$B,3] get-tuple-element(p), index=1
           h = f32[$B,3] get-tuple-element(p), index=2
           z = s32[] constant(0)
           x = f32[1,$B,3] dynamic-slice(xs, i, z, z), dynamic_slice_sizes={1,$B,3}
           xr = f32[$B,3] reshape(x)
           a = f32[$B,3] add(h, xr)
           %s
           u = f32[1,$B,3] reshape(y)
           us = f32[5,$B,3] dynamic-update-slice(xs, u, i, z, z)
           one = s32[] constant(1)
           j = s32[] add(i, one)
           ROOT r = (s32[], f32[5,$B,3], f32[$B,3]) tuple(j, us, y) }
    ENTRY e { x = f32[$B,5,3] parameter(0)
              xs = f32[5,$B,3] transpose(x), dimensions={1,0,2}
              h = f32[$B,3] parameter(1)
              z = s32[] constant(0)
              s = (s32[], f32[5,$B,3], f32[$B,3]) tuple(z, xs, h)
              ROOT w = (s32[], f32[5,$B,3], f32[$B,3]) while(s), condition=more, body=step })";
  EXPECT_EQ(Verdict(absl::StrReplaceAll(body, {{"%s", "y = f32[$B,3] tanh(a)"}})), absl::OkStatus());
  EXPECT_THAT(Verdict(absl::StrReplaceAll(body, {{"%s", "y = f32[$B,3] reverse(a), dimensions={0}"}})).message(),
              HasSubstr("reverse 'y' moves elements of the batch"));
  // The padding is copies in the first iteration only: then it holds numbers of its own.
  EXPECT_THAT(Verdict(absl::StrReplaceAll(body, {{"%s", R"(m = f32[] constant(-1)
           t = f32[3] reduce(a, m), dimensions={0}, to_apply=max
           b = f32[$B,3] broadcast(t), dimensions={1}
           c = f32[$B,3] iota(), iota_dimension=0
           y = f32[$B,3] add(b, c))"}}))
                  .message(),
              HasSubstr("reduce 't' combines elements of the batch"));
}

TEST(PaddingSafety, DrawsOfManyNumbersAreOthers) {
  EXPECT_THAT(Verdict(R"(ENTRY e {
      s = u64[2] parameter(0)
      ROOT r = (u64[2], u32[$B]) rng-bit-generator(s), algorithm=rng_three_fry })")
                  .message(),
              HasSubstr("has no rule for batch dimensions"));
}

TEST(PaddingSafety, OtherProgramsAreRefused) {
  EXPECT_THAT(CheckPaddingSafety(*Program("ENTRY e { ROOT x = f32[4] parameter(0) }", 1),
                                 *Program("ENTRY e { x = f32[8] parameter(0)\n ROOT y = f32[8] negate(x) }", 1))
                  .message(),
              HasSubstr("has 1 instructions for a smaller batch and 2 for a larger one"));
  EXPECT_THAT(CheckPaddingSafety(*Program("ENTRY e { x = f32[4] parameter(0)\n ROOT y = f32[4] abs(x) }", 1),
                                 *Program("ENTRY e { x = f32[8] parameter(0)\n ROOT y = f32[8] negate(x) }", 1))
                  .message(),
              HasSubstr("abs 'y' is a negate"));
}

// Of three rows and of eight.
std::string Apart(absl::string_view body) {
  const auto dims = CheckRowsApart(*Program(body, 3), 3, *Program(body, 8), 8);
  return std::string(dims.status().message());
}

TEST(RowsApart, WhatEachRowHasForItself) {
  const char* body = R"(ENTRY e {
      x = f32[5,$B] parameter(0)
      w = f32[5,2] parameter(1)
      d = f32[$B,2] dot(x, w), lhs_contracting_dims={0}, rhs_contracting_dims={0}
      m = f32[$2B] reshape(d)
      c = f32[$2B] broadcast(f), dimensions={}
      y = f32[$2B] add(m, c)
      n = f32[2,5] transpose(w), dimensions={1,0}
      ROOT out = (f32[$2B], f32[2,5]) tuple(y, n) })";
  const std::string text =
      absl::StrReplaceAll(body, {{"broadcast(f)", "broadcast(z)"}, {"c = f32", "z = f32[] constant(2)\n c = f32"}});
  const auto dims = CheckRowsApart(*Program(text, 3), 3, *Program(text, 8), 8);
  ASSERT_TRUE(dims.ok()) << dims.status();
  EXPECT_EQ(dims->parameters, (std::vector<int64_t>{1, -1}));
  EXPECT_EQ(dims->results, (std::vector<int64_t>{0, -1}));
}

TEST(RowsApart, WhatPaddingMayDoRowsMayNot) {
  EXPECT_THAT(Apart(R"(ENTRY e { x = f32[$B] parameter(0) i = f32[$B] iota(), iota_dimension=0
      ROOT y = f32[$B] add(x, i) })"),
              HasSubstr("iota 'i' counts the elements of the batch"));
  EXPECT_THAT(Apart(R"(ENTRY e { x = f32[$B] parameter(0) z = f32[] constant(-1)
      ROOT y = f32[] reduce(x, z), dimensions={0}, to_apply=max })"),
              HasSubstr("combines elements of the batch"));
  EXPECT_THAT(Apart(R"(ENTRY e { x = f32[$B] parameter(0) ROOT y = f32[1] slice(x), slice={[0:1]} })"),
              HasSubstr("takes a part of the batch"));
  EXPECT_THAT(Apart(R"(ENTRY e { x = f32[$2B] parameter(0) ROOT y = f32[$B] slice(x), slice={[0:$B]} })"),
              HasSubstr("takes a part of the batch"));
  EXPECT_THAT(Apart("ENTRY e { x = f32[$B,2] parameter(0) s = s32[] get-dimension-size(x), dimensions={0}\n"
                    "ROOT y = s32[] negate(s) }"),
              HasSubstr("has no rule for batch dimensions"));
  // One row more in either.
  EXPECT_THAT(std::string(CheckRowsApart(*Program("ENTRY e { ROOT x = f32[$B] parameter(0) }", 4), 3,
                                         *Program("ENTRY e { ROOT x = f32[$B] parameter(0) }", 9), 8)
                              .status()
                              .message()),
              HasSubstr("has 4 elements for a batch of 3 and 9 for one of 8"));
}

}  // namespace
}  // namespace xc
