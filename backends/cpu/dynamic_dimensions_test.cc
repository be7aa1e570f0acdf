// Modules whose arrays have sizes that only a run knows: native code gives what the interpreter gives, which cuts
// arrays to their sizes op by op.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backends/cpu/testing/run_both.h"

namespace xc::cpu {
namespace {

constexpr char kComputations[] = R"(
add { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = s32[] add(a, b) }
addf { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
max { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = s32[] maximum(a, b) }
other { a = s32[] parameter(0) b = s32[] parameter(1) c = s32[] subtract(a, b) ROOT r = s32[] negate(c) }
less { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = pred[] compare(a, b), direction=LT }
less2 { a = s32[] parameter(0) b = s32[] parameter(1) c = s32[] parameter(2) d = s32[] parameter(3)
  ROOT r = pred[] compare(a, b), direction=GT }
both { a = s32[] parameter(0) b = s32[] parameter(1) c = s32[] parameter(2) d = s32[] parameter(3)
  e = s32[] add(a, c) f = s32[] maximum(b, d) ROOT r = (s32[], s32[]) tuple(e, f) }
grow_more { s = (s32[], s32[<=6]) parameter(0) i = s32[] get-tuple-element(s), index=0 l = s32[] constant(3)
  ROOT r = pred[] compare(i, l), direction=LT }
grow { s = (s32[], s32[<=6]) parameter(0) i = s32[] get-tuple-element(s), index=0 one = s32[] constant(1)
  j = s32[] add(i, one) v = s32[<=6] get-tuple-element(s), index=1 n = s32[] get-dimension-size(v), dimensions={0}
  m = s32[] add(n, one) k = s32[1] broadcast(m), dimensions={} w = s32[<=6] dynamic-update-slice(v, k, n)
  u = s32[<=6] set-dimension-size(w, m), dimensions={0}
  ROOT r = (s32[], s32[<=6]) tuple(j, u) }
yes { v = s32[<=4] parameter(0) ROOT r = s32[<=4] negate(v) }
no { v = s32[<=4] parameter(0) n = s32[] constant(2) ROOT r = s32[<=4] set-dimension-size(v, n), dimensions={0} }
)";

// `body` with n (0 to 4), x: s32[<=4] of size n; y: s32[2,<=4] of n columns; z: s32[<=4,2] of n rows; f: f32[<=4,3] of
// n rows; and p: pred[].
std::string Module(const std::string& body, int n) {
  return absl::StrReplaceAll(absl::StrCat("HloModule m\n", kComputations, R"(
ENTRY main {
  n = s32[] parameter(0)
  xs = s32[4] parameter(1)
  ys = s32[2,4] parameter(2)
  zs = s32[4,2] parameter(3)
  fs = f32[4,3] parameter(4)
  p = pred[] parameter(5)
  size = s32[] constant(SIZE)
  zero = s32[] constant(0)
  one = s32[] constant(1)
  two = s32[] constant(2)
  fzero = f32[] constant(0)
  none = s32[] multiply(n, zero)
  n0 = s32[] add(none, size)
  x = s32[<=4] set-dimension-size(xs, n0), dimensions={0}
  y = s32[2,<=4] set-dimension-size(ys, n0), dimensions={1}
  z = s32[<=4,2] set-dimension-size(zs, n0), dimensions={0}
  f = f32[<=4,3] set-dimension-size(fs, n0), dimensions={0}
)",
                                          body, "\n}\n"),
                             {{"SIZE", absl::StrCat(n)}});
}

// Results and their sizes agree with the interpreter's, for every size, with the passes and without.
void Same(const std::string& body, double tolerance = 0) {
  SCOPED_TRACE(body);
  for (int n : {0, 1, 3, 4}) {
    for (bool passes : {true, false}) {
      SCOPED_TRACE(absl::StrCat("size ", n, passes ? "" : ", without passes"));
      BothOptions options;
      options.passes = options.native = passes;
      options.tolerance = tolerance;
      ExpectSame(Module(body, n), options);
    }
  }
}

// The sizes of `v` in the result too.
std::string WithSizes(const std::string& v, const std::string& shape, int rank) {
  std::string sizes = absl::StrCat("\n c = ", shape, " copy(", v, ")"), types = shape, names = "c";
  for (int d = 0; d < rank; ++d) {
    absl::StrAppend(&sizes, "\n s", d, " = s32[] get-dimension-size(", v, "), dimensions={", d, "}");
    absl::StrAppend(&types, ", s32[]");
    absl::StrAppend(&names, ", s", d);
  }
  return absl::StrCat(sizes, "\n ROOT r = (", types, ") tuple(", names, ")");
}

TEST(DynamicDimensions, Movement) {
  Same("t = s32[<=4,2] transpose(y), dimensions={1,0}" + WithSizes("t", "s32[<=4,2]", 2));
  Same("b = s32[3,<=4] broadcast(x), dimensions={1}" + WithSizes("b", "s32[3,<=4]", 2));
  Same("v = s32[<=4] reverse(x), dimensions={0}" + WithSizes("v", "s32[<=4]", 1));
  Same("v = s32[2,<=4] reverse(y), dimensions={0,1}" + WithSizes("v", "s32[2,<=4]", 2));
  Same("w = s32[2] slice(x), slice={[1:3]}\n ROOT r = s32[2] copy(w)");
  Same("w = s32[1,<=4] slice(y), slice={[1:2], [0:4]}" + WithSizes("w", "s32[1,<=4]", 2));
  Same("k = s32[2] constant({8, 9})\n c0 = s32[<=10] concatenate(x, k, x), dimensions={0}" +
       WithSizes("c0", "s32[<=10]", 1));
  Same("c0 = s32[4,<=4] concatenate(y, y), dimensions={0}" + WithSizes("c0", "s32[4,<=4]", 2));
  Same("q = s32[<=10] pad(x, one), padding=1_2_1" + WithSizes("q", "s32[<=10]", 1));
  Same("q = s32[<=4] pad(x, one), padding=-1_1" + WithSizes("q", "s32[<=4]", 1));
  Same("d = s32[1,<=4] dynamic-slice(y, one, zero), dynamic_slice_sizes={1,4}" + WithSizes("d", "s32[1,<=4]", 2));
  Same("d = s32[2,2] dynamic-slice(y, zero, n), dynamic_slice_sizes={2,2}\n ROOT r = s32[2,2] copy(d)");
}

TEST(DynamicDimensions, Reshapes) {
  Same("a = s32[<=8] reshape(y)" + WithSizes("a", "s32[<=8]", 1));
  Same("a = s32[<=8] reshape(z)" + WithSizes("a", "s32[<=8]", 1));
  Same("a = s32[<=4,1] reshape(x)" + WithSizes("a", "s32[<=4,1]", 2));
  Same("a = s32[<=8] reshape(y)\n b = s32[<=4,2] reshape(a)" + WithSizes("b", "s32[<=4,2]", 2));
  Same("a = s32[<=8] reshape(z)\n b = s32[2,<=4] reshape(a)" + WithSizes("b", "s32[2,<=4]", 2));
}

TEST(DynamicDimensions, DynamicReshapes) {
  Same("m = s32[] multiply(n0, two)\n a = s32[<=8] dynamic-reshape(y, m)" + WithSizes("a", "s32[<=8]", 1));
  Same("a = s32[<=4,<=2] dynamic-reshape(y, n0, two)" + WithSizes("a", "s32[<=4,<=2]", 2));
}

TEST(DynamicDimensions, Arithmetic) {
  Same("a = s32[<=4] add(xs, x)" + WithSizes("a", "s32[<=4]", 1));
  Same("q = pred[<=4] compare(x, xs), direction=LE\n a = s32[<=4] select(q, x, xs)" + WithSizes("a", "s32[<=4]", 1));
  Same("a = s32[<=4] clamp(zero, x, two)" + WithSizes("a", "s32[<=4]", 1));
  Same("m = s32[<=4] map(x, xs), dimensions={0}, to_apply=other" + WithSizes("m", "s32[<=4]", 1));
  Same("e = s8[<=4,4] bitcast-convert(x)" + WithSizes("e", "s8[<=4,4]", 2));
}

TEST(DynamicDimensions, Reductions) {
  Same("ROOT r = s32[] reduce(x, two), dimensions={0}, to_apply=add");
  Same("ROOT r = s32[] reduce(x, two), dimensions={0}, to_apply=other");
  Same("a = s32[<=4] reduce(y, zero), dimensions={0}, to_apply=max" + WithSizes("a", "s32[<=4]", 1));
  Same("ROOT r = s32[2] reduce(y, zero), dimensions={1}, to_apply=max");
  Same("ROOT r = (s32[], s32[]) reduce(x, xs, zero, one), dimensions={0}, to_apply=both");
  Same("ROOT r = f32[3] reduce(f, fzero), dimensions={0}, to_apply=addf", 1e-6);
  Same("w = s32[<=3] reduce-window(x, zero), window={size=2}, to_apply=add" + WithSizes("w", "s32[<=3]", 1));
  Same(
      "w = s32[<=2] reduce-window(x, zero), window={size=3 stride=2 pad=1_1}, to_apply=max\n"
      " c0 = s32[<=2] copy(w)" +
      WithSizes("c0", "s32[<=2]", 1));
}

TEST(DynamicDimensions, Products) {
  Same("d = s32[2] dot(y, xs), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n ROOT r = s32[2] copy(d)");
  Same("d = f32[3,3] dot(f, fs), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n ROOT r = f32[3,3] copy(d)", 1e-6);
  Same(
      "d = f32[<=4,4] dot(f, fs), lhs_contracting_dims={1}, rhs_contracting_dims={1}" + WithSizes("d", "f32[<=4,4]", 2),
      1e-6);
  Same(
      "i = f32[1,<=4,3] reshape(f)\n k = f32[2,3,1] constant({{{1},{2},{3}},{{4},{5},{6}}})\n"
      " v = f32[1,<=5,1] convolution(i, k), window={size=2 pad=1_1}, dim_labels=b0f_0io->b0f" +
          WithSizes("v", "f32[1,<=5,1]", 3),
      1e-6);
}

TEST(DynamicDimensions, Sorts) {
  Same("s = s32[<=4] sort(x), dimensions={0}, to_apply=less" + WithSizes("s", "s32[<=4]", 1));
  Same(
      "s = (s32[2,<=4], s32[2,<=4]) sort(y, ys), dimensions={1}, to_apply=less2\n"
      " a = s32[2,<=4] get-tuple-element(s), index=1" +
      WithSizes("a", "s32[2,<=4]", 2));
  Same("s = s32[2,<=4] sort(y), dimensions={0}, to_apply=less" + WithSizes("s", "s32[2,<=4]", 2));
}

TEST(DynamicDimensions, GathersAndUpdates) {
  Same(
      "g = s32[<=4] gather(xs, x), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, "
      "index_vector_dim=1, slice_sizes={1}" +
      WithSizes("g", "s32[<=4]", 1));
  Same(
      "i = s32[1] reshape(n)\n g = s32[1,<=4] gather(y, i), offset_dims={0,1}, collapsed_slice_dims={}, "
      "start_index_map={0}, index_vector_dim=0, slice_sizes={1,4}" +
      WithSizes("g", "s32[1,<=4]", 2));
  const std::string scatter =
      "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
      "to_apply=add";
  Same("i = s32[4,1] reshape(xs)\n t = s32[5] broadcast(two), dimensions={}\n s = s32[5] scatter(t, i, x), " + scatter +
       "\n ROOT r = s32[5] copy(s)");
  Same("t = s32[4] broadcast(one), dimensions={}\n u = s32[4] dynamic-update-slice(t, x, n)\n ROOT r = s32[4] copy(u)");
  Same("t = s32[6] broadcast(one), dimensions={}\n u = s32[6] dynamic-update-slice(t, x, n)\n ROOT r = s32[6] copy(u)");
  Same("k = s32[1] constant({9})\n u = s32[<=4] dynamic-update-slice(x, k, one)" + WithSizes("u", "s32[<=4]", 1));
}

TEST(DynamicDimensions, LoopsAndBranches) {
  Same(
      "k = s32[6] constant({1, 2, 3, 4, 5, 6})\n a = s32[<=6] set-dimension-size(k, two), dimensions={0}\n"
      " t = (s32[], s32[<=6]) tuple(zero, a)\n w = (s32[], s32[<=6]) while(t), condition=grow_more, body=grow\n"
      " v = s32[<=6] get-tuple-element(w), index=1" +
      WithSizes("v", "s32[<=6]", 1));
  Same("v = s32[<=4] conditional(p, x, x), true_computation=yes, false_computation=no" + WithSizes("v", "s32[<=4]", 1));
}

TEST(DynamicDimensions, MistakesAreErrors) {
  const auto message = [](const std::string& body, int n) {
    RunResult native = RunOn(CpuBackend(), Module(body, n), {});
    EXPECT_TRUE(native.evaluated.empty()) << native.evaluated;
    return std::string(native.status.message());
  };
  EXPECT_EQ(
      message("ROOT r = s32[<=4] negate(x)", 5),
      "custom call xc.check_size: set-dimension-size x: size 5 of dimension 0 does not lie between 0 and its bound, 4");
  EXPECT_EQ(message("rows = s32[2,<=2] reshape(x)\n ROOT r = s32[2,<=2] negate(rows)", 3),
            "custom call xc.check_size: reshape rows: 3 elements do not fill dimension 1 of s32[2,<=2]");
}

TEST(DynamicDimensions, SizesOfResults) {
  for (Backend* backend : {CpuBackend(), InterpreterBackend()}) {
    auto module = ParseModule(R"(HloModule m
ENTRY main { x = s32[2,4] parameter(0) n = s32[] parameter(1) y = s32[2,<=4] set-dimension-size(x, n), dimensions={1}
  t = s32[<=4,2] transpose(y), dimensions={1,0} ROOT r = (s32[2,4], s32[<=4,2], s32[]) tuple(x, t, n) })");
    ASSERT_TRUE(module.ok()) << module.status();
    auto executable = backend->Compile(*std::move(module), {});
    ASSERT_TRUE(executable.ok()) << executable.status();
    const int32_t x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, n = 3;
    int32_t same[8], transposed[8], size;
    void* results[] = {same, transposed, &size};
    std::vector<std::vector<int64_t>> sizes;
    ASSERT_TRUE((*executable)->Run({x, &n}, absl::MakeSpan(results), {}, &sizes).ok());
    EXPECT_EQ(sizes, (std::vector<std::vector<int64_t>>{{}, {3, 2}, {}}));
    EXPECT_EQ(std::vector<int32_t>(transposed, transposed + 8), (std::vector<int32_t>{1, 5, 2, 6, 3, 7, 0, 0}));
  }
}

TEST(DynamicDimensions, WhatHasNoFormIsEvaluated) {
  RunResult result = RunOn(CpuBackend(), Module("ROOT r = s32[2,<=4] rng(zero, one), distribution=rng_uniform", 3), {});
  EXPECT_TRUE(result.evaluated.empty()) << result.evaluated;
  result = RunOn(CpuBackend(),
                 Module("t = (s32[2,2], s32[2,2]) topk(y), k=2, largest=true\n"
                        " ROOT r = s32[2,2] get-tuple-element(t), index=0",
                        3),
                 {});
  EXPECT_NE(result.evaluated.find("topk"), std::string::npos) << result.evaluated;
}

}  // namespace
}  // namespace xc::cpu
