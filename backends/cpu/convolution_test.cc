// Convolutions with constant weights and what follows them, against the interpreter. All numbers are small and whole:
// sums in any order are equal.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "backends/cpu/testing/run_both.h"

namespace xc::cpu {
namespace {

// `name` = a constant of small whole numbers.
std::string Whole(absl::string_view name, absl::string_view type, const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (int64_t d : dims) count *= d;
  return absl::Substitute(R"(
  $0.i = s32[$1] iota(), iota_dimension=0
  $0.n = s32[] constant(7)
  $0.d = s32[$1] broadcast($0.n), dimensions={}
  $0.r = s32[$1] remainder($0.i, $0.d)
  $0.t = s32[] constant(3)
  $0.u = s32[$1] broadcast($0.t), dimensions={}
  $0.s = s32[$1] subtract($0.r, $0.u)
  $0.c = $2[$1] convert($0.s)
  $0 = $2[$3] reshape($0.c))",
                          name, count, type, absl::StrJoin(dims, ","));
}

// Whole numbers in the place of what a parameter brings.
std::string Input(absl::string_view name, absl::string_view type, absl::string_view dims) {
  return absl::Substitute(R"(
  $0.p = s32[$2] parameter(0)
  $0 = $1[$2] convert($0.p))",
                          name, type, dims);
}

struct Sizes {
  int64_t size, in, out;
};

// conv: a 3x3 convolution of `x` with constant weights; then `rest`, in which $0 is the type and $1 the shape.
std::string Module(absl::string_view type, const Sizes& s, absl::string_view rest) {
  const std::string shape = absl::StrCat("2,", s.size, ",", s.size, ",", s.out);
  return absl::StrCat(
      "HloModule m\nENTRY e {", Input("x", type, absl::StrCat("2,", s.size, ",", s.size, ",", s.in)),
      Whole("w", type, {3, 3, s.in, s.out}), Whole("b", type, {s.out}), "\n",
      absl::Substitute("  zero = $0[] constant(0)\n  zeros = $0[$1] broadcast(zero), dimensions={}\n"
                       "  conv = $0[$1] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f\n",
                       type, shape),
      absl::Substitute(rest, type, shape), "}\n");
}

constexpr absl::string_view kRests[] = {
    // A bias and an activation, as a network has them.
    "  bias = $0[$1] broadcast(b), dimensions={3}\n  sum = $0[$1] add(conv, bias)\n"
    "  ROOT r = $0[$1] maximum(sum, zeros)\n",
    // In the order of memory.
    "  n = $0[$1] negate(conv)\n  ROOT r = $0[$1] multiply(n, conv)\n",
    // Two results.
    "  n = $0[$1] negate(conv)\n  m = $0[$1] maximum(conv, zeros)\n  ROOT r = ($0[$1], $0[$1]) tuple(n, m)\n",
    // The convolution's own result is one as well.
    "  n = $0[$1] negate(conv)\n  ROOT r = ($0[$1], $0[$1]) tuple(n, conv)\n",
    // Read at other positions, too.
    "  back = $0[$1] reverse(conv), dimensions={1}\n  ROOT r = $0[$1] subtract(back, conv)\n",
    "  turned = $0[$1] transpose(conv), dimensions={0,2,1,3}\n  ROOT r = $0[$1] subtract(turned, conv)\n",
    // A sum of two uses.
    "  high = $0[$1] maximum(conv, zeros)\n  ROOT r = $0[$1] add(high, high)\n",
};

TEST(ConvolutionTest, WhatFollowsConvolutions) {
  for (const char* type : {"f32", "f64"}) {
    for (const Sizes& sizes : {Sizes{12, 16, 32}, {7, 3, 33}, {20, 5, 24}, {6, 40, 20}}) {
      for (absl::string_view rest : kRests) ExpectSame(Module(type, sizes, rest));
    }
  }
}

// Each convolution's input is free for the result of what follows it, and the residual is read meanwhile.
TEST(ConvolutionTest, BlocksOfResidualNetworks) {
  std::vector<int> numbers(64);
  for (int i = 0; i < 64; ++i) numbers[i] = i % 7 - 3;
  std::string body = Input("x0", "f32", "1,16,16,64");
  for (int i = 0; i < 3; ++i) {
    absl::StrAppend(&body, Whole(absl::StrCat("w", i), "f32", {1, 1, 64, 64}), "\n",
                    absl::Substitute(R"(
  g$0 = f32[64] constant({$2})
  k$0 = f32[1,16,16,64] broadcast(g$0), dimensions={3}
  c$0 = f32[1,16,16,64] convolution(x$0, w$0), window={size=1x1}, dim_labels=b01f_01io->b01f
  s$0 = f32[1,16,16,64] add(c$0, k$0)
  a$0 = f32[1,16,16,64] add(s$0, x$0)
  m$0 = f32[] constant(4)
  l$0 = f32[] constant(-4)
  x$1 = f32[1,16,16,64] clamp(l$0, a$0, m$0)
)",
                                     i, i + 1, absl::StrJoin(numbers, ",")));
  }
  ExpectSame(absl::StrCat("HloModule m\nENTRY e {", body, "  ROOT r = f32[1,16,16,64] negate(x3)\n}\n"));
}

TEST(ConvolutionTest, GroupsOfOneFeatureAndOfSeveral) {
  for (const auto& [groups, features] : {std::pair<int, int>{40, 40}, {4, 64}, {2, 36}}) {
    ExpectSame(absl::StrCat("HloModule m\nENTRY e {", Input("x", "f32", absl::StrCat("1,14,14,", features)),
                            Whole("w", "f32", {3, 3, features / groups, features}),
                            absl::Substitute(R"(
  zero = f32[] constant(0)
  six = f32[] constant(6)
  conv = f32[1,7,7,$0] convolution(x, w), window={size=3x3 stride=2x2 pad=1_0x1_0}, dim_labels=b01f_01io->b01f, feature_group_count=$1
  ROOT r = f32[1,7,7,$0] clamp(zero, conv, six)
}
)",
                                             features, groups)));
  }
}

// One constant in two orders, and as an array of its own.
TEST(ConvolutionTest, WeightsOfSeveralConvolutions) {
  ExpectSame(
      absl::StrCat("HloModule m\nENTRY e {", Input("x", "f32", "1,10,10,16"), Whole("w", "f32", {3, 3, 16, 16}), R"(
  a = f32[1,10,10,16] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  b = f32[1,10,10,16] convolution(x, w), window={size=3x3 pad=1_1x1_1 rhs_reversal=1x1}, dim_labels=b01f_01oi->b01f
  s = f32[1,10,10,16] add(a, b)
  ROOT r = (f32[1,10,10,16], f32[3,3,16,16]) tuple(s, w)
}
)"));
}

}  // namespace
}  // namespace xc::cpu
