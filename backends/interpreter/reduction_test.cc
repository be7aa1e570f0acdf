// Reductions, windows, sorts, products: orders, roundings, computations of any kind.
#include "backends/interpreter/op_test_util.h"

namespace xc::interp {
namespace {

constexpr char kAdd[] = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }";
constexpr char kArgMax[] = R"(
argmax {
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  gt = pred[] compare(a, b), direction=GT
  eq = pred[] compare(a, b), direction=EQ
  lt = pred[] compare(i, j), direction=LT
  first = pred[] and(eq, lt)
  keep = pred[] or(gt, first)
  v = f32[] select(keep, a, b)
  k = s32[] select(keep, i, j)
  ROOT r = (f32[], s32[]) tuple(v, k)
})";

TEST(ReductionTest, SumsRoundOnce) {
  // 2^24 + 64 ones, along the last and along the first dimension.
  Expect(R"(one = f32[] constant(1)
            ones = f32[64,2] broadcast(one), dimensions={}
            big = f32[] constant(16777216)
            x = f32[2] reduce(ones, big), dimensions={0}, to_apply=add
            t = f32[2,64] transpose(ones), dimensions={1,0}
            y = f32[2] reduce(t, big), dimensions={1}, to_apply=add
            ROOT r = (f32[2], f32[2]) tuple(x, y))",
         {"{16777280, 16777280}", "{16777280, 16777280}"}, kAdd);
}

TEST(ReductionTest, EmptyAndWhole) {
  Expect(R"(x = f32[0,2] constant({})
            i = f32[] constant(7)
            ROOT r = f32[2] reduce(x, i), dimensions={0}, to_apply=add)",
         "{7, 7}", kAdd);
  Expect(R"(x = f32[3000] iota(), iota_dimension=0
            i = f32[] constant(0)
            ROOT r = f32[] reduce(x, i), dimensions={0}, to_apply=add)",
         "4498500", kAdd);
}

TEST(ReductionTest, NoDimensions) {
  Expect(R"(x = f32[2] constant({1, 2})
            i = f32[] constant(7)
            ROOT r = f32[2] reduce(x, i), dimensions={}, to_apply=add)",
         "{8, 9}", kAdd);
}

TEST(ReductionTest, ArgMaxOfSeveralArrays) {
  Expect(R"(x = f32[2,4] constant({{1, 9, 3, 9}, {-1, -2, -1, -5}})
            i = s32[2,4] iota(), iota_dimension=1
            lowest = f32[] constant(-inf)
            zero = s32[] constant(0)
            ROOT r = (f32[2], s32[2]) reduce(x, i, lowest, zero), dimensions={1}, to_apply=argmax)",
         {"{9, -1}", "{1, 0}"}, kArgMax);
}

// A computation with a conditional runs by calls.
TEST(ReductionTest, ComputationsWithControlFlow) {
  Expect(R"(x = f32[3] constant({1, -2, 3})
            i = f32[] constant(0)
            ROOT r = f32[] reduce(x, i), dimensions={0}, to_apply=positive)",
         "4", R"(
keep { p = (f32[], f32[]) parameter(0) a = f32[] get-tuple-element(p), index=0 b = f32[] get-tuple-element(p), index=1 ROOT r = f32[] add(a, b) }
drop { p = (f32[], f32[]) parameter(0) ROOT a = f32[] get-tuple-element(p), index=0 }
positive {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  zero = f32[] constant(0)
  p = pred[] compare(b, zero), direction=GT
  t = (f32[], f32[]) tuple(a, b)
  ROOT r = f32[] conditional(p, t, t), true_computation=keep, false_computation=drop
})");
}

TEST(ReductionTest, Windows) {
  // A running sum.
  Expect(R"(x = f32[4] constant({1, 2, 3, 4})
            i = f32[] constant(0)
            ROOT r = f32[4] reduce-window(x, i), window={size=4 pad=3_0}, to_apply=add)",
         "{1, 3, 6, 10}", kAdd);
  // Holes in the window and in the base: elements 1, 2, 3 stand at 0, 2, 4; places 0 and 2 of each window count.
  Expect(R"(x = f32[3] constant({1, 2, 3})
            i = f32[] constant(0)
            ROOT r = f32[3] reduce-window(x, i), window={size=2 rhs_dilate=2 lhs_dilate=2}, to_apply=add)",
         "{3, 0, 5}", kAdd);
}

TEST(ReductionTest, SelectAndScatterTakesTheFirstOfEquals) {
  Expect(
      R"(x = f32[6] constant({1, 5, 5, 2, 2, 1})
            s = f32[3] constant({10, 20, 30})
            i = f32[] constant(0)
            ROOT r = f32[6] select-and-scatter(x, s, i), window={size=2 stride=2}, select=ge, scatter=add)",
      "{0, 10, 20, 0, 30, 0}",
      absl::StrCat("ge { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = pred[] compare(a, b), direction=GE }\n",
                   kAdd));
}

TEST(ReductionTest, SortIsStable) {
  const std::string comparator = R"(
by_first {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  c = s32[] parameter(2)
  d = s32[] parameter(3)
  ROOT r = pred[] compare(a, b), direction=GT
})";
  Expect(R"(x = s32[6] constant({1, 3, 2, 3, 1, 2})
            i = s32[6] iota(), iota_dimension=0
            ROOT r = (s32[6], s32[6]) sort(x, i), dimensions={0}, to_apply=by_first)",
         {"{3, 3, 2, 2, 1, 1}", "{1, 3, 2, 5, 0, 4}"}, comparator);
  // By the second array, then by the first, along the major dimension.
  Expect(R"(x = s32[3,2] constant({{3, 1}, {1, 2}, {2, 3}})
            y = s32[3,2] constant({{1, 0}, {1, 0}, {0, 0}})
            ROOT r = (s32[3,2], s32[3,2]) sort(x, y), dimensions={0}, to_apply=two)",
         {"{{2, 1}, {1, 2}, {3, 3}}", "{{0, 0}, {1, 0}, {1, 0}}"}, R"(
two {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  c = s32[] parameter(2)
  d = s32[] parameter(3)
  less = pred[] compare(c, d), direction=LT
  same = pred[] compare(c, d), direction=EQ
  first = pred[] compare(a, b), direction=LT
  tie = pred[] and(same, first)
  ROOT r = pred[] or(less, tie)
})");
}

TEST(ReductionTest, TopK) {
  Expect(R"(x = f32[2,4] constant({{1, 3, 3, -inf}, {0, -0, 5, 2}})
            ROOT r = (f32[2,2], s32[2,2]) topk(x), k=2, largest=true)",
         {"{{3, 3}, {5, 2}}", "{{1, 2}, {2, 3}}"});
  Expect(R"(x = u8[3] constant({200, 7, 9})
            ROOT r = (u8[2], s32[2]) topk(x), k=2, largest=false)",
         {"{7, 9}", "{1, 2}"});
}

TEST(ReductionTest, Scan) {
  const std::string body = R"(
step { x = f32[2] parameter(0) c = f32[2] parameter(1) s = f32[2] add(x, c) ROOT r = (f32[2], f32[2]) tuple(s, s) })";
  Expect(R"(x = f32[3,2] constant({{1, 2}, {3, 4}, {5, 6}})
            i = f32[2] constant({0, 10})
            ROOT r = (f32[3,2], f32[2]) scan(x, i), dimensions={0}, num_carries=1, to_apply=step)",
         {"{{1, 12}, {4, 16}, {9, 22}}", "{9, 22}"}, body);
  Expect(R"(x = f32[3,2] constant({{1, 2}, {3, 4}, {5, 6}})
            i = f32[2] constant({0, 10})
            ROOT r = (f32[3,2], f32[2]) scan(x, i), dimensions={0}, is_reverse=true, num_carries=1, to_apply=step)",
         {"{{9, 22}, {8, 20}, {5, 16}}", "{9, 22}"}, body);
}

TEST(ProductTest, DotOfManyTypes) {
  Expect(R"(x = s8[2,2] constant({{100, 100}, {1, 2}})
            y = s8[2,2] constant({{100, 1}, {100, 1}})
            ROOT r = s32[2,2] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0})",
         "{{20000, 200}, {300, 3}}");
  Expect(R"(x = s32[2] constant({2147483647, 2})
            y = s32[2] constant({2, 3})
            ROOT r = s32[] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0})",
         "4");
  Expect(R"(x = c64[2] constant({(1, 2), (0, 1)})
            y = c64[2] constant({(3, -1), (0, 1)})
            ROOT r = c64[] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0})",
         "(4, 5)");
  // Batches; and a sum that bf16 or f16 steps would lose.
  Expect(R"(x = bf16[2,3] constant({{256, 1, 1}, {1, 2, 3}})
            y = bf16[2,3] constant({{1, 1, 1}, {1, 1, 1}})
            ROOT r = bf16[2] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_contracting_dims={1})",
         "{258, 6}");
}

// Larger than the blocks of the product, with odd sizes: row sums of a matrix of ones.
TEST(ProductTest, LargeProduct) {
  Expect(R"(one = f32[] constant(1)
            x = f32[101,301] broadcast(one), dimensions={}
            y = f32[301,529] broadcast(one), dimensions={}
            z = f32[101,529] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
            zero = f32[] constant(0)
            ROOT r = f32[] reduce(z, zero), dimensions={0,1}, to_apply=add)",
         "16082129", kAdd);
}

TEST(ProductTest, RaggedDot) {
  // Rows 0 and 1 meet group 0, row 2 group 1, row 3 none.
  Expect(R"(x = f32[4,2] constant({{1, 2}, {3, 4}, {5, 6}, {7, 8}})
            y = f32[2,2,1] constant({{{1}, {10}}, {{100}, {1000}}})
            g = s32[2] constant({2, 1})
            ROOT r = f32[4,1] ragged-dot(x, y, g), lhs_contracting_dims={1}, rhs_contracting_dims={1},
              lhs_ragged_dims={0}, rhs_group_dims={0})",
         "{{21}, {43}, {6500}, {0}}");
  Expect(R"(x = f32[1,3] constant({{1, 2, 3}})
            y = f32[3,1] constant({{1}, {10}, {100}})
            g = s32[2] constant({2, 1})
            ROOT r = f32[2,1,1] ragged-dot(x, y, g), lhs_contracting_dims={1}, rhs_contracting_dims={0},
              lhs_ragged_dims={1})",
         "{{{21}}, {{300}}}");
}

TEST(ProductTest, ScaledDot) {
  Expect(R"(x = f8e4m3fn[1,4] constant({{1, 2, 3, 4}})
            y = f8e4m3fn[4,1] constant({{1}, {1}, {1}, {1}})
            s = f8e8m0fnu[1,2] constant({{2, 8}})
            t = f8e8m0fnu[1,1] constant({{0.5}})
            ROOT r = f32[1,1] scaled-dot(x, y, s, t), lhs_contracting_dims={1}, rhs_contracting_dims={0})",
         "{{31}}");
}

TEST(ProductTest, Convolutions) {
  // Padding, stride, both dilations.
  Expect(R"(x = f32[1,4,1] constant({{{1}, {2}, {3}, {4}}})
            k = f32[2,1,1] constant({{{1}}, {{10}}})
            a = f32[1,2,1] convolution(x, k), window={size=2 stride=2 pad=1_0}, dim_labels=b0f_0io->b0f
            b = f32[1,2,1] convolution(x, k), window={size=2 rhs_dilate=2}, dim_labels=b0f_0io->b0f
            c = f32[1,6,1] convolution(x, k), window={size=2 lhs_dilate=2}, dim_labels=b0f_0io->b0f
            d = f32[1,3,1] convolution(x, k), window={size=2 rhs_reversal=1}, dim_labels=b0f_0io->b0f
            ROOT r = (f32[1,2,1], f32[1,2,1], f32[1,6,1], f32[1,3,1]) tuple(a, b, c, d))",
         {"{{{10}, {32}}}", "{{{31}, {42}}}", "{{{1}, {20}, {2}, {30}, {3}, {40}}}", "{{{12}, {23}, {34}}}"});
  // Each feature by itself; features first.
  Expect(R"(x = f32[1,2,2] constant({{{1, 2}, {3, 4}}})
            k = f32[2,1,1] constant({{{10}}, {{100}}})
            ROOT r = f32[1,2,2] convolution(x, k), window={size=1}, dim_labels=bf0_oi0->bf0, feature_group_count=2)",
         "{{{10, 20}, {300, 400}}}");
  // Batch groups: output feature 0 from the first half of the batch, 1 from the second.
  Expect(R"(x = s32[2,1,1] constant({{{1}}, {{2}}})
            k = s32[1,1,2] constant({{{10, 100}}})
            ROOT r = s32[1,1,2] convolution(x, k), window={size=1}, dim_labels=b0f_0io->b0f, batch_group_count=2)",
         "{{{10, 200}}}");
  // More output features than the direct loops take.
  Expect(R"(x = f32[1,3,1] constant({{{1}, {2}, {3}}})
            k = f32[2,1,5] constant({{{1, 2, 3, 4, 5}}, {{0, 0, 0, 0, 1}}})
            ROOT r = f32[1,2,5] convolution(x, k), window={size=2}, dim_labels=b0f_0io->b0f)",
         "{{{1, 2, 3, 4, 7}, {2, 4, 6, 8, 13}}}");
}

}  // namespace
}  // namespace xc::interp
