// Ops that move elements: placement, clamping, skipping, dynamic sizes.
#include "backends/interpreter/op_test_util.h"

namespace xc::interp {
namespace {

constexpr char kAdd[] = R"(
add { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = s32[] add(a, b) }
)";
constexpr char kAssign[] = R"(
assign { a = s32[] parameter(0) ROOT b = s32[] parameter(1) }
)";
constexpr char kGrid[] = "x = s32[2,3] constant({{1, 2, 3}, {4, 5, 6}})\n";

TEST(DataTest, BroadcastTransposeReverseReshape) {
  Expect(R"(x = s32[2] constant({1, 2})
            ROOT r = s32[2,3] broadcast(x), dimensions={0})",
         "{{1, 1, 1}, {2, 2, 2}}");
  Expect(absl::StrCat(kGrid, "ROOT r = s32[3,2] transpose(x), dimensions={1,0}"), "{{1, 4}, {2, 5}, {3, 6}}");
  Expect(absl::StrCat(kGrid, "ROOT r = s32[2,3] reverse(x), dimensions={0,1}"), "{{6, 5, 4}, {3, 2, 1}}");
  Expect(absl::StrCat(kGrid, "ROOT r = s32[3,2] reshape(x)"), "{{1, 2}, {3, 4}, {5, 6}}");
  Expect("ROOT r = u8[2,3] iota(), iota_dimension=1", "{{0, 1, 2}, {0, 1, 2}}");
}

// The tiled path of transposes.
TEST(DataTest, LargeTranspose) {
  Expect(R"(x = s32[40,50] iota(), iota_dimension=0
            y = s32[50,40] transpose(x), dimensions={1,0}
            z = s32[50,40] iota(), iota_dimension=1
            e = pred[50,40] compare(y, z), direction=EQ
            t = pred[] constant(true)
            ROOT r = pred[] reduce(e, t), dimensions={0,1}, to_apply=all)",
         "true", "all { a = pred[] parameter(0) b = pred[] parameter(1) ROOT r = pred[] and(a, b) }");
}

// A bitcast keeps memory, not positions: the column-major 2x3 array is the row-major 3x2 one.
TEST(DataTest, BitcastFollowsLayouts) {
  Expect("x = s32[2,3]{0,1} constant({{1, 2, 3}, {4, 5, 6}})\nROOT r = s32[3,2]{1,0} bitcast(x)",
         "{{1, 4}, {2, 5}, {3, 6}}");
  Expect("x = s32[2,3]{1,0} constant({{1, 2, 3}, {4, 5, 6}})\nROOT r = s32[6]{0} bitcast(x)", "{1, 2, 3, 4, 5, 6}");
}

TEST(DataTest, SlicesAndPads) {
  Expect(R"(x = s32[7] constant({0, 1, 2, 3, 4, 5, 6})
            ROOT r = s32[2] slice(x), slice={[1:6:3]})",
         "{1, 4}");
  Expect(R"(x = s32[3] constant({1, 2, 3})
            p = s32[] constant(9)
            ROOT r = s32[6] pad(x, p), padding=2_-1_1)",
         "{9, 9, 1, 9, 2, 9}");
  Expect(R"(x = s32[3] constant({1, 2, 3})
            p = s32[] constant(9)
            ROOT r = s32[3] pad(x, p), padding=-3_1_1)",
         "{9, 3, 9}");
  Expect(R"(x = s32[3] constant({1, 2, 3})
            p = s32[] constant(9)
            ROOT r = s32[0] pad(x, p), padding=-2_-1)",
         "{}");
  Expect(absl::StrCat(kGrid, R"(y = s32[2,1] constant({{7}, {8}})
            ROOT r = s32[2,4] concatenate(x, y), dimensions={1})"),
         "{{1, 2, 3, 7}, {4, 5, 6, 8}}");
}

TEST(DataTest, DynamicSlicesAreClamped) {
  for (const auto& [start, expected] :
       std::vector<std::pair<std::string, std::string>>{{"s32[] constant(1)", "{1, 2}"},
                                                        {"s32[] constant(9)", "{2, 3}"},
                                                        {"s32[] constant(-9)", "{0, 1}"},
                                                        {"u64[] constant(18446744073709551615)", "{2, 3}"},
                                                        {"u8[] constant(255)", "{2, 3}"}}) {
    Expect(absl::StrCat("x = s32[4] constant({0, 1, 2, 3})\ni = ", start,
                        "\nROOT r = s32[2] dynamic-slice(x, i), dynamic_slice_sizes={2}"),
           expected);
  }
  Expect(R"(x = s32[4] constant({0, 1, 2, 3})
            u = s32[2] constant({8, 9})
            i = s32[] constant(3)
            y = s32[4] dynamic-update-slice(x, u, i)
            ROOT r = (s32[4], s32[4]) tuple(x, y))",
         {"{0, 1, 2, 3}", "{0, 1, 8, 9}"});
}

TEST(DataTest, Gather) {
  // Rows 1 and (clamped) 1.
  Expect(absl::StrCat(kGrid, R"(i = s32[2] constant({1, 7})
            ROOT r = s32[2,3] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},
              index_vector_dim=1, slice_sizes={1,3})"),
         "{{4, 5, 6}, {4, 5, 6}}");
  // One element of each row: the row is a batching dimension.
  Expect(absl::StrCat(kGrid, R"(i = s32[2,1] constant({{2}, {-4}})
            ROOT r = s32[2] gather(x, i), offset_dims={}, collapsed_slice_dims={1}, start_index_map={1},
              operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=1, slice_sizes={1,1})"),
         "{3, 4}");
}

TEST(DataTest, Scatter) {
  // Updates add up; one outside is skipped.
  Expect(R"(x = s32[4] constant({0, 0, 0, 0})
            i = s32[4,1] constant({{1}, {3}, {1}, {4}})
            u = s32[4] constant({1, 2, 3, 4})
            ROOT r = s32[4] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0},
              scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add)",
         "{0, 4, 0, 2}", kAdd);
  // Windows of two: the one that would stick out is skipped as a whole.
  Expect(R"(x = s32[4] constant({0, 0, 0, 0})
            i = s32[2,1] constant({{3}, {1}})
            u = s32[2,2] constant({{1, 2}, {3, 4}})
            ROOT r = s32[4] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={},
              scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=assign)",
         "{0, 3, 4, 0}", kAssign);
  // Two arrays at a time.
  Expect(R"(x = s32[2] constant({1, 2})
            y = f32[2] constant({1, 2})
            i = s32[1,1] constant({{1}})
            u = s32[1] constant({5})
            v = f32[1] constant({7})
            ROOT r = (s32[2], f32[2]) scatter(x, y, i, u, v), update_window_dims={}, inserted_window_dims={0},
              scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=both)",
         {"{1, 5}", "{1, 14}"}, R"(
both {
  a = s32[] parameter(0)
  b = f32[] parameter(1)
  c = s32[] parameter(2)
  d = f32[] parameter(3)
  m = f32[] multiply(b, d)
  ROOT r = (s32[], f32[]) tuple(c, m)
})");
}

TEST(DataTest, DynamicSizes) {
  Expect(R"(x = s32[4] constant({1, 2, 3, 4})
            n = s32[] constant(3)
            y = s32[<=4] set-dimension-size(x, n), dimensions={0}
            z = s32[<=4] negate(y)
            s = s32[] get-dimension-size(z), dimensions={0}
            zero = s32[] constant(0)
            sum = s32[] reduce(z, zero), dimensions={0}, to_apply=add
            ROOT r = (s32[], s32[]) tuple(s, sum))",
         {"3", "-6"}, kAdd);
  ExpectError(R"(x = s32[4] constant({1, 2, 3, 4})
                 n = s32[] constant(5)
                 ROOT y = s32[<=4] set-dimension-size(x, n), dimensions={0})",
              "size 5 of dimension 0 does not lie between 0 and its bound, 4");
}

TEST(DataTest, DynamicSizesByCustomCalls) {
  Expect(R"(x = s32[2,4] constant({{1, 2, 3, 4}, {5, 6, 7, 8}})
            two = s32[] constant(2)
            n = s32[] constant(3)
            y = s32[2,<=4] custom-call(x, two, n), custom_call_target="SliceToDynamic"
            zero = s32[] constant(0)
            sums = s32[2] reduce(y, zero), dimensions={1}, to_apply=add
            p = (s32[2,4], s32[], s32[]) custom-call(y), custom_call_target="PadToStatic"
            rows = s32[] get-tuple-element(p), index=1
            columns = s32[] get-tuple-element(p), index=2
            ROOT r = (s32[2], s32[], s32[]) tuple(sums, rows, columns))",
         {"{6, 18}", "2", "3"}, kAdd);
  ExpectError(R"(x = s32[4] constant({1, 2, 3, 4})
                 n = s32[] constant(5)
                 ROOT y = s32[<=4] custom-call(x, n), custom_call_target="SliceToDynamic")",
              "size 5 of dimension 0 does not fit s32[<=4]");
  ExpectError(R"(x = s32[4] constant({1, 2, 3, 4})
                 ROOT y = s32[<=4] custom-call(x), custom_call_target="SliceToDynamic")",
              "takes an array of the result's bounds and a size per dimension");
  ExpectError(R"(x = s32[4] constant({1, 2, 3, 4})
                 ROOT y = (s32[4]) custom-call(x), custom_call_target="PadToStatic")",
              "gives its array and the s32 size of each of the array's dimensions");
}

TEST(DataTest, MapRunsAnyComputation) {
  Expect(R"(x = s32[3] constant({1, 2, 3})
            y = s32[3] constant({10, 20, 30})
            ROOT r = s32[3] map(x, y), dimensions={0}, to_apply=f)",
         "{21, 42, 63}", R"(
f { a = s32[] parameter(0) b = s32[] parameter(1) s = s32[] add(b, b) ROOT r = s32[] add(s, a) })");
}

}  // namespace
}  // namespace xc::interp
