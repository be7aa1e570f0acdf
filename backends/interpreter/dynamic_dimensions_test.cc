// Arrays of bounded sizes: every op gives what it gives for an array that has just the valid elements.
#include "backends/interpreter/op_test_util.h"

namespace xc::interp {
namespace {

constexpr char kAdd[] = R"(
add { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = s32[] add(a, b) })";

// `before` and `body`, with x, s32[<=4] of size 3: {1, 2, 3}; and y, s32[2,<=4] of 3 columns: {{1, 2, 3}, {5, 6, 7}}.
std::string With(const std::string& body, const std::string& before = "") {
  return R"(
    xs = s32[4] constant({1, 2, 3, 4})
    ys = s32[2,4] constant({{1, 2, 3, 4}, {5, 6, 7, 8}})
    zero = s32[] constant(0)
    three = s32[] constant(3)
    x = s32[<=4] set-dimension-size(xs, three), dimensions={0}
    y = s32[2,<=4] set-dimension-size(ys, three), dimensions={1}
)" + before +
         "\n" + body;
}

// The sum and the size of dimension `dim` of `v`, whose shape is `shape` of the given rank.
std::string Sum(const std::string& v, int dim, int rank) {
  std::string dims;
  for (int d = 0; d < rank; ++d) dims += (d ? "," : "") + std::to_string(d);
  return "\n sum = s32[] reduce(" + v + ", zero), dimensions={" + dims + "}, to_apply=add\n size = s32[] " +
         "get-dimension-size(" + v + "), dimensions={" + std::to_string(dim) +
         "}\n ROOT r = (s32[], s32[]) tuple(sum, size)";
}

TEST(DynamicDimensions, ShapesThatChange) {
  Expect(With("t = s32[<=4,2] transpose(y), dimensions={1,0}" + Sum("t", 0, 2)), {"24", "3"}, kAdd);
  Expect(With("b = s32[2,<=4] broadcast(x), dimensions={1}" + Sum("b", 1, 2)), {"12", "3"}, kAdd);
  Expect(With("v = s32[<=4] reverse(x), dimensions={0}\n"
              " w = s32[2] slice(v), slice={[0:2]}\n ROOT r = s32[2] copy(w)"),
         "{3, 2}");
  Expect(With("c = s32[<=6] concatenate(x, two), dimensions={0}\n d = s32[5] slice(c), slice={[0:5]}\n"
              " ROOT r = s32[5] copy(d)",
              "two = s32[2] constant({8, 9})"),
         "{1, 2, 3, 8, 9}");
  Expect(With("p = s32[<=7] pad(x, zero), padding=1_2" + Sum("p", 0, 1)), {"6", "6"}, kAdd);
}

TEST(DynamicDimensions, Reshapes) {
  // An outer size, an inner one (whose rows move together), and a dimension of size 1.
  Expect(With("a = s32[<=8] reshape(y)\n b = s32[6] slice(a), slice={[0:6]}\n ROOT r = s32[6] copy(b)"),
         "{1, 2, 3, 5, 6, 7}");
  Expect(With("a = s32[<=4,1] reshape(x)" + Sum("a", 0, 2)), {"6", "3"}, kAdd);
  Expect(With("t = s32[<=4,2] transpose(y), dimensions={1,0}\n a = s32[<=8] reshape(t)" + Sum("a", 0, 1)), {"24", "6"},
         kAdd);
  Expect(With("a = s32[<=8] reshape(y)\n b = s32[<=4,2] reshape(a)" + Sum("b", 0, 2)), {"24", "3"}, kAdd);
  ExpectError(With("a = s32[2,<=2] reshape(x)\n ROOT r = s32[2,<=2] negate(a)"),
              "3 elements do not fill dimension 1 of s32[2,<=2]");
}

TEST(DynamicDimensions, ReductionsAndProducts) {
  // Where one side has its bound only, the other's size counts.
  Expect(With("d = s32[2] dot(y, xs), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n ROOT r = s32[2] copy(d)"),
         "{14, 38}");
  Expect(With("a = s32[<=4] add(xs, x)" + Sum("a", 0, 1)), {"12", "3"}, kAdd);
  Expect(With("w = s32[<=3] reduce-window(x, zero), window={size=2}, to_apply=add" + Sum("w", 0, 1)), {"8", "2"}, kAdd);
  Expect(With("s = s32[<=4] sort(n), dimensions={0}, to_apply=less\n f = s32[1] slice(s), slice={[0:1]}\n"
              " ROOT r = s32[1] copy(f)",
              "n = s32[<=4] negate(x)"),
         "{-3}", R"(
less { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = pred[] compare(a, b), direction=LT })");
}

TEST(DynamicDimensions, GathersAndUpdates) {
  Expect(With("g = s32[<=4] gather(table, x), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, "
              "index_vector_dim=1, slice_sizes={1}" +
                  Sum("g", 0, 1),
              "table = s32[5] constant({10, 20, 30, 40, 50})"),
         {"90", "3"}, kAdd);
  // Whole rows have the rows' size; updates that are not there change nothing.
  Expect(With("g = s32[1,<=4] gather(y, one), offset_dims={0,1}, collapsed_slice_dims={}, start_index_map={0}, "
              "index_vector_dim=0, slice_sizes={1,4}" +
                  Sum("g", 1, 2),
              "one = s32[1] constant({1})"),
         {"18", "3"}, kAdd);
  Expect(
      With("i = s32[4,1] reshape(xs)\n s = s32[5] scatter(z, i, x), update_window_dims={}, inserted_window_dims={0}, "
           "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add\n ROOT r = s32[5] copy(s)",
           "z = s32[5] constant({0, 0, 0, 0, 0})"),
      "{0, 1, 2, 3, 0}", kAdd);
  Expect(With("u = s32[4] dynamic-update-slice(nines, x, zero)\n ROOT r = s32[4] copy(u)",
              "nines = s32[4] constant({9, 9, 9, 9})"),
         "{1, 2, 3, 9}");
  Expect(With("d = s32[1,<=4] dynamic-slice(y, one, zero), dynamic_slice_sizes={1,4}" + Sum("d", 1, 2),
              "one = s32[] constant(1)"),
         {"18", "3"}, kAdd);
}

}  // namespace
}  // namespace xc::interp
