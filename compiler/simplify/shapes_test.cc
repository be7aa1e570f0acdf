// Rewrite rows of ops that move elements, and of ops with called computations: before and after.
#include "absl/strings/str_cat.h"
#include "compiler/pass_test_support.h"
#include "compiler/simplify/simplify.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace xc {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Check(const std::string& instructions) {
  return Simplified({SimplifyAlgebra}, "    x = f32[4,6] parameter(0)\n    i = s32[] parameter(1)\n" + instructions,
                    R"(
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }
max { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] maximum(a, b) }
square { a = f32[] parameter(0)
  ROOT r = f32[] multiply(a, a) }
less { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=LT }
)");
}

TEST(Shapes, Reshapes) {
  EXPECT_EQ(Check("r1 = f32[24] reshape(x)\n ROOT r = f32[2,12] reshape(r1)"), "root = f32[2,12] reshape(p0)\n");
  EXPECT_EQ(Check("r1 = f32[24] reshape(x)\n ROOT r = f32[4,6] reshape(r1)"), "root = p0\n");
  EXPECT_EQ(Check("s = f32[] parameter(2)\n b = f32[24] broadcast(s), dimensions={}\n ROOT r = f32[4,6] reshape(b)"),
            "root = f32[4,6] broadcast(p2), dimensions={}\n");
  EXPECT_EQ(Check("b = f32[3,4,6] broadcast(x), dimensions={1,2}\n ROOT r = f32[3,1,4,6] reshape(b)"),
            "root = f32[3,1,4,6] broadcast(p0), dimensions={2,3}\n");
  EXPECT_EQ(Check("k = s32[1,8] iota(), iota_dimension=1\n ROOT r = s32[8] reshape(k)"),
            "root = s32[8] iota(), iota_dimension=0\n");
  EXPECT_EQ(Check("c = f32[2,2] constant({{1,2},{3,4}})\n ROOT r = f32[4] reshape(c)"),
            "root = f32[4] constant({1, 2, 3, 4})\n");
}

TEST(Shapes, Transposes) {
  EXPECT_EQ(Check("t = f32[6,4] transpose(x), dimensions={1,0}\n ROOT r = f32[4,6] transpose(t), dimensions={1,0}"),
            "root = p0\n");
  EXPECT_EQ(Check("a = f32[4,1,6] parameter(2)\n ROOT r = f32[1,4,6] transpose(a), dimensions={1,0,2}"),
            "root = f32[1,4,6] reshape(p2)\n");
  EXPECT_EQ(Check("b = f32[3,4,6] broadcast(x), dimensions={1,2}\n"
                  "ROOT r = f32[4,3,6] transpose(b), dimensions={1,0,2}"),
            "root = f32[4,3,6] broadcast(p0), dimensions={0,2}\n");
  EXPECT_EQ(Check("k = s32[2,8] iota(), iota_dimension=1\n ROOT r = s32[8,2] transpose(k), dimensions={1,0}"),
            "root = s32[8,2] iota(), iota_dimension=0\n");
  EXPECT_EQ(Check("y = f32[4,6] parameter(2)\n a = f32[6,4] transpose(x), dimensions={1,0}\n"
                  "b = f32[6,4] transpose(y), dimensions={1,0}\n ROOT r = f32[6,4] add(a, b)"),
            "t0 = f32[4,6] add(p0, p2)\nroot = f32[6,4] transpose(t0), dimensions={1,0}\n");
}

TEST(Shapes, Broadcasts) {
  EXPECT_EQ(Check("ROOT r = f32[4,6] broadcast(x), dimensions={0,1}"), "root = p0\n");
  EXPECT_EQ(Check("ROOT r = f32[1,4,6] broadcast(x), dimensions={1,2}"), "root = f32[1,4,6] reshape(p0)\n");
  EXPECT_EQ(Check("b = f32[2,4,6] broadcast(x), dimensions={1,2}\n"
                  "ROOT r = f32[2,3,4,6] broadcast(b), dimensions={0,2,3}"),
            "root = f32[2,3,4,6] broadcast(p0), dimensions={2,3}\n");
  EXPECT_EQ(Check("a = f32[4,1,6] reshape(x)\n ROOT r = f32[2,4,1,6] broadcast(a), dimensions={1,2,3}"),
            "root = f32[2,4,1,6] broadcast(p0), dimensions={1,3}\n");
  EXPECT_EQ(Check("ROOT r = f32[3] constant({2,2,2})"),
            "t0 = f32[] constant(2)\nroot = f32[3] broadcast(t0), dimensions={}\n");
}

TEST(Shapes, TransposesAreUndoneThroughElementwiseOps) {
  EXPECT_EQ(Check("a = f32[6,4] transpose(x), dimensions={1,0}\n b = f32[6,4] parameter(2)\n"
                  "c = f32[6,4] add(a, b)\n ROOT r = f32[4,6] transpose(c), dimensions={1,0}"),
            "t0 = f32[4,6] transpose(p2), dimensions={1,0}\nroot = f32[4,6] add(p0, t0)\n");
  // Two new ones for one that goes would not be fewer.
  EXPECT_EQ(Check("a = f32[6,4] transpose(x), dimensions={1,0}\n b = f32[6,4] parameter(2)\n"
                  "p = pred[6,4] parameter(3)\n c = f32[6,4] select(p, a, b)\n"
                  "ROOT r = f32[4,6] transpose(c), dimensions={1,0}"),
            "t0 = f32[6,4] transpose(p0), dimensions={1,0}\nt1 = f32[6,4] select(p3, t0, p2)\n"
            "root = f32[4,6] transpose(t1), dimensions={1,0}\n");
}

TEST(Shapes, UnitDimensionsGoBeforeATranspose) {
  EXPECT_EQ(Check("a = f32[1,4,1,6] parameter(2)\n b = f32[1,6,1,4] transpose(a), dimensions={0,3,2,1}\n"
                  "ROOT r = f32[6,4] reshape(b)"),
            "t0 = f32[4,6] reshape(p2)\nroot = f32[6,4] transpose(t0), dimensions={1,0}\n");
  EXPECT_EQ(Check("a = f32[1,4,1,6] parameter(2)\n b = f32[1,6,1,4] transpose(a), dimensions={0,3,2,1}\n"
                  "ROOT r = f32[6,1,4] reshape(b)"),
            "t0 = f32[4,1,6] reshape(p2)\nroot = f32[6,1,4] transpose(t0), dimensions={2,1,0}\n");
  EXPECT_EQ(Check("a = f32[6,4] transpose(x), dimensions={1,0}\n ROOT r = f32[3,8] reshape(a)"),
            "t0 = f32[6,4] transpose(p0), dimensions={1,0}\nroot = f32[3,8] reshape(t0)\n");
}

TEST(Shapes, AddedUnitDimensionsMoveBehindElementwiseOps) {
  EXPECT_EQ(Check("a = f32[4,1,6] reshape(x)\n c = f32[] constant(2)\n d = f32[4,1,6] broadcast(c), dimensions={}\n"
                  "ROOT r = f32[4,1,6] divide(d, a)"),
            "t0 = f32[] constant(2)\nt1 = f32[4,6] broadcast(t0), dimensions={}\nt2 = f32[4,6] divide(t1, p0)\n"
            "root = f32[4,1,6] reshape(t2)\n");
}

TEST(Shapes, CopiesReversesAndSizes) {
  EXPECT_EQ(Check("ROOT r = f32[4,6] copy(x)"), "root = p0\n");
  EXPECT_EQ(Check("a = f32[4,6] reverse(x), dimensions={0}\n ROOT r = f32[4,6] reverse(a), dimensions={0}"),
            "root = p0\n");
  EXPECT_EQ(Check("a = f32[1,6] parameter(2)\n ROOT r = f32[1,6] reverse(a), dimensions={0}"), "root = p2\n");
  EXPECT_EQ(Check("ROOT r = s32[] get-dimension-size(x), dimensions={1}"), "root = s32[] constant(6)\n");
  EXPECT_EQ(Check("ROOT r = s32[1,5] iota(), iota_dimension=0"),
            "t0 = s32[] constant(0)\nroot = s32[1,5] broadcast(t0), dimensions={}\n");
}

TEST(Slices, Slices) {
  EXPECT_EQ(Check("ROOT r = f32[4,6] slice(x), slice={[0:4], [0:6]}"), "root = p0\n");
  EXPECT_EQ(Check("a = f32[2,6] slice(x), slice={[0:4:2], [0:6]}\n ROOT r = f32[1,3] slice(a), slice={[1:2], [3:6]}"),
            "root = f32[1,3] slice(p0), slice={[2:3], [3:6]}\n");
  // The place of nothing may be beyond the end, and the product of strides that are not used beyond all numbers.
  EXPECT_EQ(
      Check("a = f32[2,2] slice(x), slice={[0:4:3], [2:6:3]}\n ROOT r = f32[1,0] slice(a), slice={[1:2:5], [2:2]}"),
      "root = f32[1,0] slice(p0), slice={[3:4], [0:0]}\n");
  EXPECT_EQ(Check("b = f32[3,4,6] broadcast(x), dimensions={1,2}\n"
                  "ROOT r = f32[2,4,1] slice(b), slice={[0:2], [0:4], [5:6]}"),
            "t0 = f32[4,1] slice(p0), slice={[0:4], [5:6]}\nroot = f32[2,4,1] broadcast(t0), dimensions={1,2}\n");
  EXPECT_EQ(Check("c = f32[8,6] concatenate(x, x), dimensions={0}\n ROOT r = f32[2,6] slice(c), slice={[5:7], [0:6]}"),
            "root = f32[2,6] slice(p0), slice={[1:3], [0:6]}\n");
  EXPECT_EQ(Check("z = f32[] constant(0)\n d = f32[6,6] pad(x, z), padding=1_1x0_0\n"
                  "ROOT r = f32[2,6] slice(d), slice={[2:4], [0:6]}"),
            "root = f32[2,6] slice(p0), slice={[1:3], [0:6]}\n");
}

// Of what only a slice reads, the rest is neither transposed nor summed up.
TEST(Slices, OfTransposesAndReductions) {
  EXPECT_EQ(Check("t = f32[6,4] transpose(x), dimensions={1,0}\n ROOT r = f32[2,3] slice(t), slice={[4:6], [1:4]}"),
            "t0 = f32[3,2] slice(p0), slice={[1:4], [4:6]}\nroot = f32[2,3] transpose(t0), dimensions={1,0}\n");
  EXPECT_EQ(Check("z = f32[] constant(0)\n a = f32[6] reduce(x, z), dimensions={0}, to_apply=add\n"
                  "ROOT r = f32[2] slice(a), slice={[3:5]}"),
            "t0 = f32[] constant(0)\nt1 = f32[4,2] slice(p0), slice={[0:4], [3:5]}\n"
            "root = f32[2] reduce(t1, t0), dimensions={0}, to_apply=add\n");
  EXPECT_THAT(Check("z = f32[] constant(0)\n a = f32[6] reduce(x, z), dimensions={0}, to_apply=add\n"
                    "s = f32[2] slice(a), slice={[3:5]}\n u = f32[5] slice(a), slice={[0:5]}\n"
                    "ROOT r = (f32[2], f32[5]) tuple(s, u)"),
              HasSubstr("reduce(p0, "));
  EXPECT_THAT(Check("t = f32[6,4] transpose(x), dimensions={1,0}\n ROOT r = f32[6,2] slice(t), slice={[0:6], [0:4:2]}"),
              HasSubstr("transpose(p0)"));
}

// As jax.numpy.cross and stack make them: what interleaves is stored so at once.
TEST(Shapes, TransposedStack) {
  EXPECT_EQ(Check("a = f32[1,9] parameter(2)\n b = f32[1,9] parameter(3)\n"
                  "c = f32[2,9] concatenate(a, b), dimensions={0}\n ROOT r = f32[9,2] transpose(c), dimensions={1,0}"),
            "t0 = f32[9,1] reshape(p2)\nt1 = f32[9,1] reshape(p3)\n"
            "root = f32[9,2] concatenate(t0, t1), dimensions={1}\n");
  EXPECT_EQ(Check("a = f32[2,9] parameter(2)\n b = f32[1,9] parameter(3)\n"
                  "c = f32[3,9] concatenate(a, b), dimensions={0}\n ROOT r = f32[9,3] transpose(c), dimensions={1,0}"),
            "t0 = f32[3,9] concatenate(p2, p3), dimensions={0}\nroot = f32[9,3] transpose(t0), dimensions={1,0}\n");
}

// Halves that are spread and added, as associative scans have them, are taken in turn.
TEST(Slices, SpreadHalves) {
  const std::string head = "a = s32[300] parameter(2)\n b = s32[299] parameter(3)\n z = s32[] constant(0)\n";
  EXPECT_EQ(Check(head + "p = s32[600] pad(a, z), padding=0_1_1\n q = s32[600] pad(a, z), padding=1_0_1\n"
                         "ROOT r = s32[600] add(q, p)"),
            "t0 = s32[300,1] reshape(p2)\nt1 = s32[300,1] reshape(p2)\n"
            "t2 = s32[300,2] concatenate(t0, t1), dimensions={1}\nroot = s32[600] reshape(t2)\n");
  EXPECT_EQ(Check(head + "p = s32[599] pad(a, z), padding=0_0_1\n q = s32[599] pad(b, z), padding=1_1_1\n"
                         "ROOT r = s32[599] add(p, q)"),
            "t0 = s32[] constant(0)\nt1 = s32[300] pad(p3, t0), padding=0_1\nt2 = s32[300,1] reshape(p2)\n"
            "t3 = s32[300,1] reshape(t1)\nt4 = s32[300,2] concatenate(t2, t3), dimensions={1}\n"
            "t5 = s32[600] reshape(t4)\nroot = s32[599] slice(t5), slice={[0:599]}\n");
  // Zeros of either sign stay what the sum makes of them.
  EXPECT_EQ(Check("v = f32[300] parameter(2)\n z = f32[] constant(0)\n p = f32[600] pad(v, z), padding=0_1_1\n"
                  "q = f32[600] pad(v, z), padding=1_0_1\n ROOT r = f32[600] add(p, q)"),
            "t0 = f32[] constant(0)\nt1 = f32[300] broadcast(t0), dimensions={}\nt2 = f32[300] add(p2, t1)\n"
            "t3 = f32[300,1] reshape(t2)\nt4 = f32[300] broadcast(t0), dimensions={}\nt5 = f32[300] add(p2, t4)\n"
            "t6 = f32[300,1] reshape(t5)\nt7 = f32[300,2] concatenate(t3, t6), dimensions={1}\n"
            "root = f32[600] reshape(t7)\n");
  // Both begin with an element.
  EXPECT_EQ(Check(head + "p = s32[599] pad(a, z), padding=0_0_1\n ROOT r = s32[599] add(p, p)"),
            "t0 = s32[] constant(0)\nt1 = s32[599] pad(p2, t0), padding=0_0_1\nroot = s32[599] add(t1, t1)\n");
}

TEST(Slices, Pads) {
  EXPECT_EQ(Check("z = f32[] constant(0)\n ROOT r = f32[4,6] pad(x, z), padding=0_0x0_0"), "root = p0\n");
  EXPECT_EQ(Check("z = f32[] constant(0)\n ROOT r = f32[2,6] pad(x, z), padding=-1_-1x0_0"),
            "root = f32[2,6] slice(p0), slice={[1:3], [0:6]}\n");
  EXPECT_EQ(Check("z = f32[] constant(7)\n b = f32[2] broadcast(z), dimensions={}\n ROOT r = f32[5] pad(b, z), "
                  "padding=1_2"),
            "t0 = f32[] constant(7)\nroot = f32[5] broadcast(t0), dimensions={}\n");
}

TEST(Slices, Concatenations) {
  EXPECT_EQ(Check("ROOT r = f32[4,6] concatenate(x), dimensions={0}"), "root = p0\n");
  EXPECT_EQ(Check("e = f32[0,6] parameter(2)\n ROOT r = f32[4,6] concatenate(x, e), dimensions={0}"), "root = p0\n");
  EXPECT_EQ(Check("a = f32[1,6] slice(x), slice={[0:1], [0:6]}\n b = f32[2,6] slice(x), slice={[1:3], [0:6]}\n"
                  "ROOT r = f32[3,6] concatenate(a, b), dimensions={0}"),
            "root = f32[3,6] slice(p0), slice={[0:3], [0:6]}\n");
}

TEST(Slices, DynamicOnes) {
  EXPECT_EQ(Check("ROOT r = f32[4,6] dynamic-slice(x, i, i), dynamic_slice_sizes={4,6}"), "root = p0\n");
  EXPECT_EQ(Check("a = s32[] constant(9)\n b = s32[] constant(-2)\n"
                  "ROOT r = f32[2,2] dynamic-slice(x, a, b), dynamic_slice_sizes={2,2}"),
            "root = f32[2,2] slice(p0), slice={[2:4], [0:2]}\n");
  EXPECT_EQ(Check("u = f32[4,6] parameter(2)\n ROOT r = f32[4,6] dynamic-update-slice(x, u, i, i)"), "root = p2\n");
  EXPECT_EQ(Check("s = f32[] parameter(2)\n b = f32[9] broadcast(s), dimensions={}\n"
                  "ROOT r = f32[3] dynamic-slice(b, i), dynamic_slice_sizes={3}"),
            "root = f32[3] broadcast(p2), dimensions={}\n");
}

TEST(Slices, GatherOfOneRow) {
  EXPECT_EQ(Check("k = s32[1] parameter(2)\n ROOT r = f32[6] gather(x, k), offset_dims={0}, collapsed_slice_dims={0}, "
                  "start_index_map={0}, index_vector_dim=0, slice_sizes={1,6}"),
            "t0 = s32[] reshape(p2)\nt1 = s32[] constant(0)\n"
            "t2 = f32[1,6] dynamic-slice(p0, t0, t1), dynamic_slice_sizes={1,6}\nroot = f32[6] reshape(t2)\n");
}

// The sums are moved in place of the terms, if they are few.
TEST(Reduces, Transposed) {
  EXPECT_EQ(Check("z = f32[] constant(0)\n y = f32[2,8,3] parameter(2)\n"
                  "t = f32[8,3,2] transpose(y), dimensions={1,2,0}\n"
                  "ROOT r = f32[3,2] reduce(t, z), dimensions={0}, to_apply=add"),
            "t0 = f32[] constant(0)\nt1 = f32[2,3] reduce(p2, t0), dimensions={1}, to_apply=add\n"
            "root = f32[3,2] transpose(t1), dimensions={1,0}\n");
  EXPECT_THAT(Check("z = f32[] constant(0)\n y = f32[4,3,5] parameter(2)\n"
                    "t = f32[3,5,4] transpose(y), dimensions={1,2,0}\n"
                    "ROOT r = f32[5,4] reduce(t, z), dimensions={0}, to_apply=add"),
              HasSubstr("transpose(p2)"));
}

TEST(Reduces, Reductions) {
  EXPECT_EQ(Check("a = f32[1,6] parameter(2)\n z = f32[] constant(0)\n"
                  "ROOT r = f32[6] reduce(a, z), dimensions={0}, to_apply=add"),
            "t0 = f32[] constant(0)\nt1 = f32[6] reshape(p2)\nt2 = f32[6] broadcast(t0), dimensions={}\n"
            "root = f32[6] add(t2, t1)\n");
  EXPECT_EQ(Check("a = f32[0,6] parameter(2)\n z = f32[] constant(3)\n"
                  "ROOT r = f32[6] reduce(a, z), dimensions={0}, to_apply=add"),
            "t0 = f32[] constant(3)\nroot = f32[6] broadcast(t0), dimensions={}\n");
  EXPECT_EQ(Check("t = f32[6,4] transpose(x), dimensions={1,0}\n z = f32[] constant(0)\n"
                  "ROOT r = f32[4] reduce(t, z), dimensions={0}, to_apply=add"),
            "t0 = f32[] constant(0)\nroot = f32[4] reduce(p0, t0), dimensions={1}, to_apply=add\n");
  EXPECT_EQ(Check("z = f32[] constant(-inf)\n a = f32[4] reduce(x, z), dimensions={1}, to_apply=max\n"
                  "ROOT r = f32[] reduce(a, z), dimensions={0}, to_apply=max"),
            "t0 = f32[] constant(-inf)\nroot = f32[] reduce(p0, t0), dimensions={0,1}, to_apply=max\n");
  // Sums of floats are not regrouped.
  EXPECT_EQ(Check("z = f32[] constant(0)\n a = f32[4] reduce(x, z), dimensions={1}, to_apply=add\n"
                  "ROOT r = f32[] reduce(a, z), dimensions={0}, to_apply=add"),
            "t0 = f32[] constant(0)\nt1 = f32[4] reduce(p0, t0), dimensions={1}, to_apply=add\n"
            "root = f32[] reduce(t1, t0), dimensions={0}, to_apply=add\n");
}

TEST(Reduces, MapAndSort) {
  EXPECT_EQ(Check("ROOT r = f32[4,6] map(x), dimensions={0,1}, to_apply=square"), "root = f32[4,6] multiply(p0, p0)\n");
  EXPECT_EQ(Check("a = f32[1,6] parameter(2)\n ROOT r = f32[1,6] sort(a), dimensions={0}, to_apply=less"),
            "root = p2\n");
}

TEST(Reduces, ScatterOfOneRow) {
  EXPECT_EQ(Check("k = s32[1] parameter(2)\n u = f32[6] parameter(3)\n ROOT r = f32[4,6] scatter(x, k, u), "
                  "update_window_dims={0}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
                  "index_vector_dim=0, to_apply=add"),
            "t0 = s32[] reshape(p2)\nt1 = s32[] constant(0)\nt2 = pred[] compare(t0, t1), direction=GE\n"
            "t3 = s32[] constant(3)\nt4 = pred[] compare(t0, t3), direction=LE\nt5 = pred[] and(t2, t4)\n"
            "t6 = s32[] constant(0)\nt7 = f32[1,6] dynamic-slice(p0, t0, t6), dynamic_slice_sizes={1,6}\n"
            "t8 = f32[1,6] reshape(p3)\nt9 = f32[1,6] add(t7, t8)\nt10 = pred[1,6] broadcast(t5), dimensions={}\n"
            "t11 = f32[1,6] select(t10, t9, t7)\n"
            "root = f32[4,6] dynamic-update-slice(p0, t11, t0, t6)\n");
}

TEST(Dots, Transposes) {
  EXPECT_EQ(Check("y = f32[5,6] parameter(2)\n t = f32[6,5] transpose(y), dimensions={1,0}\n"
                  "ROOT r = f32[4,5] dot(x, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
            "root = f32[4,5] dot(p0, p2), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n");
  EXPECT_EQ(Check("y = f32[6,5] parameter(2)\n d = f32[4,5] dot(x, y), lhs_contracting_dims={1}, "
                  "rhs_contracting_dims={0}\n ROOT r = f32[5,4] transpose(d), dimensions={1,0}"),
            "root = f32[5,4] dot(p2, p0), lhs_contracting_dims={0}, rhs_contracting_dims={1}\n");
  EXPECT_EQ(Check("a = f32[4,0] parameter(2)\n y = f32[0,5] parameter(3)\n"
                  "ROOT r = f32[4,5] dot(a, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
            "t0 = f32[] constant(0)\nroot = f32[4,5] broadcast(t0), dimensions={}\n");
}

// Grouped queries: the keys' dimension comes last, and what is left moves whole rows.
TEST(Dots, TransposesOfSeveralFreeDimensions) {
  EXPECT_EQ(Check("a = f32[2,7,3] parameter(2)\n b = f32[2,5,4,3] parameter(3)\n d = f32[2,7,5,4] dot(a, b), "
                  "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={3}\n"
                  "ROOT r = f32[2,4,5,7] transpose(d), dimensions={0,3,2,1}"),
            "t0 = f32[2,5,4,7] dot(p3, p2), lhs_batch_dims={0}, lhs_contracting_dims={3}, rhs_batch_dims={0}, "
            "rhs_contracting_dims={2}\nroot = f32[2,4,5,7] transpose(t0), dimensions={0,2,1,3}\n");
  EXPECT_EQ(Check("a = f32[7,3] parameter(2)\n b = f32[5,4,3] parameter(3)\n d = f32[7,5,4] dot(a, b), "
                  "lhs_contracting_dims={1}, rhs_contracting_dims={2}\n"
                  "ROOT r = f32[5,7,4] transpose(d), dimensions={1,0,2}"),
            "t0 = f32[7,5,4] dot(p2, p3), lhs_contracting_dims={1}, rhs_contracting_dims={2}\n"
            "root = f32[5,7,4] transpose(t0), dimensions={1,0,2}\n");
}

TEST(Dots, OfOneProductEach) {
  EXPECT_EQ(Check("a = f32[4] parameter(2)\n b = f32[1,6] parameter(3)\n c = f32[4,1] reshape(a)\n"
                  "ROOT r = f32[4,6] dot(c, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
            "t0 = f32[4,6] broadcast(p2), dimensions={0}\nt1 = f32[6] reshape(p3)\n"
            "t2 = f32[4,6] broadcast(t1), dimensions={1}\nt3 = f32[4,6] multiply(t0, t2)\nt4 = f32[] constant(0)\n"
            "t5 = f32[4,6] broadcast(t4), dimensions={}\nroot = f32[4,6] add(t3, t5)\n");
  EXPECT_EQ(Check("a = s32[5,4] parameter(2)\n b = s32[5,6] parameter(3)\n"
                  "ROOT r = s32[5,4,6] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}"),
            "t0 = s32[5,4,6] broadcast(p2), dimensions={0,1}\nt1 = s32[5,4,6] broadcast(p3), dimensions={0,2}\n"
            "root = s32[5,4,6] multiply(t0, t1)\n");
  // Complex ones; a batch in any place of the factors, transposed with them or by what follows.
  EXPECT_THAT(Check("a = c64[4] parameter(2)\n b = c64[6] parameter(3)\n ROOT r = c64[4,6] dot(a, b)"),
              Not(HasSubstr("dot(")));
  const std::string factors = "a = f32[7,5] parameter(2)\n b = f32[5] parameter(3)\n";
  const std::string product = "d = f32[5,7] dot(a, b), lhs_batch_dims={1}, rhs_batch_dims={0}";
  EXPECT_THAT(Check(absl::StrCat(factors, "ROOT ", product)),
              AllOf(Not(HasSubstr("dot(")), HasSubstr("f32[5,7] transpose(p2), dimensions={1,0}")));
  EXPECT_THAT(Check(absl::StrCat(factors, product, "\n ROOT r = f32[7,5] transpose(d), dimensions={1,0}")),
              AllOf(Not(HasSubstr("dot(")), Not(HasSubstr("transpose")), HasSubstr("broadcast(p3), dimensions={1}")));
  EXPECT_EQ(Check("a = s32[4] parameter(2)\n b = s32[6] parameter(3)\n d = s32[4,6] dot(a, b)\n"
                  "ROOT r = s32[6,4] transpose(d), dimensions={1,0}"),
            "t0 = s32[6,4] broadcast(p2), dimensions={1}\nt1 = s32[6,4] broadcast(p3), dimensions={0}\n"
            "root = s32[6,4] multiply(t0, t1)\n");
}

}  // namespace
}  // namespace xc
