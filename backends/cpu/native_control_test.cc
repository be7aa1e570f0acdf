// Reducers, comparators and map bodies with loops and branches, and convolutions of any rank, run natively.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "backends/cpu/testing/run_both.h"

namespace xc::cpu {
namespace {

// `halve` halves its operand until it is below 1 in magnitude, and counts; `pick` negates or doubles; `red` has both.
constexpr char kComputations[] = R"(
more { s = (f32[], (s32[], f32[])) parameter(0) x = f32[] get-tuple-element(s), index=0 a = f32[] abs(x)
  one = f32[] constant(0.25) ROOT r = pred[] compare(a, one), direction=GE }
step { s = (f32[], (s32[], f32[])) parameter(0) x = f32[] get-tuple-element(s), index=0
  t = (s32[], f32[]) get-tuple-element(s), index=1 n = s32[] get-tuple-element(t), index=0
  f = f32[] get-tuple-element(t), index=1 h = f32[] constant(0.5) y = f32[] multiply(x, h) g = f32[] add(f, y)
  one = s32[] constant(1) m = s32[] add(n, one) u = (s32[], f32[]) tuple(m, g)
  ROOT r = (f32[], (s32[], f32[])) tuple(y, u) }
halve { x = f32[] parameter(0) z = s32[] constant(0) w = f32[] constant(0) t = (s32[], f32[]) tuple(z, w)
  s = (f32[], (s32[], f32[])) tuple(x, t) l = (f32[], (s32[], f32[])) while(s), condition=more, body=step
  u = (s32[], f32[]) get-tuple-element(l), index=1 n = s32[] get-tuple-element(u), index=0 c = f32[] convert(n)
  g = f32[] get-tuple-element(u), index=1 ROOT r = f32[] add(c, g) }
same { ROOT x = f32[] parameter(0) }
flip { x = f32[] parameter(0) ROOT r = f32[] negate(x) }
looped { x = f32[] parameter(0) ROOT r = f32[] call(x), to_apply=halve }
red { a = f32[] parameter(0) b = f32[] parameter(1) c = f32[] add(a, b) p = pred[] compare(a, b), direction=LT
  ROOT r = f32[] conditional(p, c, b), branch_computations={looped, flip} }
pick { a = f32[] parameter(0) k = f32[] constant(3) m = f32[] multiply(a, k) i = s32[] convert(m)
  ROOT r = f32[] conditional(i, a, m, a), branch_computations={same, looped, flip} }
less { a = f32[] parameter(0) b = f32[] parameter(1) c = f32[] call(a), to_apply=halve d = f32[] call(b), to_apply=halve
  ROOT r = pred[] compare(c, d), direction=LT }
ge { a = f32[] parameter(0) b = f32[] parameter(1) p = pred[] compare(a, b), direction=GE
  ROOT r = pred[] conditional(p, a, b), branch_computations={yes, no} }
yes { x = f32[] parameter(0) ROOT r = pred[] constant(true) }
no { x = f32[] parameter(0) ROOT r = pred[] constant(false) }
)";

// The instructions of an entry computation.
void Same(absl::string_view body, double tolerance = 1e-6) {
  for (bool passes : {true, false}) {
    BothOptions options;
    options.tolerance = tolerance;
    options.passes = passes;
    options.native = passes;
    ExpectSame(absl::StrCat("HloModule m\n", kComputations, "ENTRY e {\n", body, "\n}\n"), options);
  }
}

TEST(NativeControl, Reducers) {
  Same(
      "x = f32[7,37] parameter(0) i = f32[] constant(0.5)\nROOT r = f32[7] reduce(x, i), dimensions={1}, to_apply=red");
  Same(
      "x = f32[7,37] parameter(0) i = f32[] constant(0.5)\n"
      "y = f32[7,37] multiply(x, x) r = f32[37] reduce(y, i), dimensions={0}, to_apply=red ROOT n = f32[37] negate(r)");
  Same(
      "x = f32[9,21] parameter(0) i = f32[] constant(2)\n"
      "ROOT r = f32[9,11] reduce-window(x, i), window={size=2x3 stride=1x2 pad=1_0x1_1}, to_apply=red");
}

TEST(NativeControl, MapsScattersSortsAndSelections) {
  Same("x = f32[5,23] parameter(0)\nROOT r = f32[5,23] map(x), dimensions={0,1}, to_apply=pick");
  Same(
      "x = f32[6,19] parameter(0) i = s32[4,1] constant({{1},{5},{1},{9}}) u = f32[4,19] parameter(1)\n"
      "ROOT r = f32[6,19] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, "
      "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=red");
  Same("x = f32[40] parameter(0)\nROOT r = f32[40] sort(x), dimensions={0}, to_apply=less");
  Same(
      "x = f32[6,8] parameter(0) s = f32[3,4] parameter(1) z = f32[] constant(0)\n"
      "ROOT r = f32[6,8] select-and-scatter(x, s, z), window={size=2x2 stride=2x2}, select=ge, scatter=red");
}

// Branches that update the state of a loop in place, and one that passes it on; then the state is needed after them.
TEST(NativeControl, BranchesThatUpdateAState) {
  for (const char* after : {"y", "z"}) {
    const std::string text = absl::StrCat(R"(HloModule m
set { t = (s32[], f32[50]) parameter(0) i = s32[] get-tuple-element(t), index=0 x = f32[50] get-tuple-element(t), index=1
  o = f32[1] dynamic-slice(x, i), dynamic_slice_sizes={1} c = f32[1] constant({2}) u = f32[1] multiply(o, c)
  ROOT r = f32[50] dynamic-update-slice(x, u, i) }
next { t = (s32[], f32[50]) parameter(0) i = s32[] get-tuple-element(t), index=0
  x = f32[50] get-tuple-element(t), index=1 k = s32[] constant(7) j = s32[] add(i, k)
  o = f32[1] dynamic-slice(x, j), dynamic_slice_sizes={1} n = f32[1] negate(o)
  ROOT r = f32[50] dynamic-update-slice(x, n, i) }
pass { t = (s32[], f32[50]) parameter(0) ROOT x = f32[50] get-tuple-element(t), index=1 }
body { s = (s32[], f32[50]) parameter(0) i = s32[] get-tuple-element(s), index=0
  x = f32[50] get-tuple-element(s), index=1 three = s32[] constant(3) b = s32[] remainder(i, three)
  a = (s32[], f32[50]) tuple(i, x) y = f32[50] conditional(b, a, a, a), branch_computations={set, next, pass}
  z = f32[50] add(y, x) one = s32[] constant(1) j = s32[] add(i, one)
  ROOT r = (s32[], f32[50]) tuple(j, )",
                                          after, R"() }
cond { s = (s32[], f32[50]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(40)
  ROOT l = pred[] compare(i, n), direction=LT }
ENTRY e { x = f32[50] parameter(0) z = s32[] constant(0) t = (s32[], f32[50]) tuple(z, x)
  w = (s32[], f32[50]) while(t), condition=cond, body=body ROOT o = f32[50] get-tuple-element(w), index=1 })");
    ExpectSame(text);
  }
}

TEST(NativeControl, ConvolutionsOfManyDimensions) {
  Same(
      "x = f32[2,5,4,3,4,2] parameter(0) k = f32[2,3,2,2,2,4] parameter(1)\n"
      "ROOT r = f32[2,5,4,3,4,4] convolution(x, k), window={size=2x3x2x2 pad=1_0x1_1x0_1x1_0}, "
      "dim_labels=b0123f_0123io->b0123f",
      1e-5);
  // Dimensions in other orders, strides, dilations, negative padding, reversal and groups.
  Same(
      "x = f32[3,2,3,4,2,3,2] parameter(0) k = f32[2,2,2,6,1,1,2] parameter(1)\n"
      "ROOT r = f32[2,6,2,2,3,2,3] convolution(x, k), window={size=2x2x1x1x2 stride=1x2x1x1x1 lhs_dilate=2x1x1x1x2 "
      "rhs_dilate=1x2x1x1x1 rhs_reversal=1x0x0x0x1 pad=0_-1x1_1x0_0x0_0x1_-1}, "
      "dim_labels=0b1f234_01io234->4f123b0, feature_group_count=2",
      1e-5);
  Same(
      "x = f32[4,3,3,3,3,2] parameter(0) k = f32[2,2,2,2,2,6] parameter(1)\n"
      "ROOT r = f32[2,2,2,2,2,6] convolution(x, k), window={size=2x2x2x2}, dim_labels=b0123f_0123io->b0123f, "
      "batch_group_count=2",
      1e-5);
}

}  // namespace
}  // namespace xc::cpu
