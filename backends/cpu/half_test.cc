// Operations on f16 that machines with arithmetic of that type do in it (there, with the CPU "" only): the bits are the
// interpreter's, whose operations go through f64.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "backends/cpu/testing/run_both.h"

namespace xc::cpu {
namespace {

// x has all bits that a number can have, y nearly any beside each, and d those of y which lie in 32 places.
constexpr char kOperands[] = R"(
  i = u32[N] iota(), iota_dimension=0
  k = u32[] constant(2654435769) kb = u32[N] broadcast(k), dimensions={} m = u32[N] multiply(i, kb)
  s = u32[] constant(16) sb = u32[N] broadcast(s), dimensions={} j = u32[N] shift-right-logical(m, sb)
  ib = u16[N] convert(i) jb = u16[N] convert(j)
  xs = f16[N] bitcast-convert(ib) ys = f16[N] bitcast-convert(jb)
  barrier = (f16[N], f16[N]) tuple(xs, ys) b = (f16[N], f16[N]) opt-barrier(barrier)
  x = f16[N] get-tuple-element(b), index=0 y = f16[N] get-tuple-element(b), index=1
)";

// Results of the lines `ops`, each "NAME = TYPE[N] …", one after the other or at once.
void Check(const std::vector<std::string>& ops, int size) {
  std::vector<std::string> names, shapes;
  for (const std::string& op : ops) {
    names.push_back(op.substr(0, op.find(' ')));
    shapes.push_back(op.substr(op.find('=') + 2, op.find(']') - op.find('=') - 1));
  }
  const std::string text = absl::StrCat("HloModule m\nENTRY e {", kOperands,
                                        "  f = f16[] parameter(0) fb = f16[N] broadcast(f), dimensions={}", "\n  ",
                                        absl::StrJoin(ops, "\n  "), "\n  ROOT r = (", absl::StrJoin(shapes, ", "),
                                        ") tuple(", absl::StrJoin(names, ", "), ")\n}\n");
  for (const char* cpu : {"", "x86-64-v2"}) {
    BothOptions options;
    options.cpu = cpu;
    ExpectSame(absl::StrReplaceAll(text, {{"[N]", absl::StrCat("[", size, "]")}}), options);
  }
}

TEST(Half, EachOpHasTheBitsOfRoundingOnce) {
  std::vector<std::string> ops;
  for (const char* op : {"add", "subtract", "multiply", "divide", "maximum", "minimum"}) {
    ops.push_back(absl::StrCat(op, "1 = f16[N] ", op, "(x, y)"));
    ops.push_back(absl::StrCat(op, "2 = f16[N] ", op, "(x, fb)"));
    ops.push_back(absl::StrCat(op, "3 = f16[N] ", op, "(fb, y)"));
  }
  for (const char* op : {"abs", "ceil", "floor", "negate", "round-nearest-even", "sign", "sqrt"}) {
    ops.push_back(absl::StrCat(op, "1 = f16[N] ", op, "(x)"));
  }
  for (const char* d : {"EQ", "NE", "LT", "LE", "GT", "GE"}) {
    ops.push_back(absl::StrCat(d, "1 = pred[N] compare(x, y), direction=", d));
  }
  ops.push_back("finite = pred[N] is-finite(x)");
  ops.push_back("chosen = f16[N] select(GT1, x, y)");
  ops.push_back("clamped = f16[N] clamp(y, x, fb)");
  for (int size : {65536 + 37, 5, 1}) Check(ops, size);
}

// Quotients by divisors that all rows share are made of their reciprocals.
TEST(Half, QuotientsOfRows) {
  Check({"rows = f16[64,1025] reshape(x)", "some = f16[1017] slice(y), slice={[0:1017]}",
         "ends = f16[8] constant({0, -0, inf, -inf, nan, 6e-8, -65504, 1.5})",
         "divisors = f16[1025] concatenate(some, ends), dimensions={0}",
         "others = f16[1025] slice(y), slice={[20000:21025]}", "d = f16[64,1025] broadcast(divisors), dimensions={1}",
         "o = f16[64,1025] broadcast(others), dimensions={1}", "q = f16[64,1025] divide(rows, d)",
         "p = f16[64,1025] divide(rows, o)", "t = f16[64,1025] add(q, p)"},
        64 * 1025);
  const absl::StatusOr<std::string> code = TextForV4(R"(HloModule m
ENTRY e {
  x = f16[64,512] parameter(0)
  y = f16[512] parameter(1)
  d = f16[64,512] broadcast(y), dimensions={1}
  ROOT q = f16[64,512] divide(x, d)
})",
                                                     "llvm_ir");
  if (!code.ok()) GTEST_SKIP() << code.status();
  // Of the divisors alone.
  const size_t first = code->find("fdiv");
  ASSERT_NE(first, std::string::npos) << *code;
  EXPECT_EQ(code->find("fdiv", code->find("fdiv", first + 1) + 1), std::string::npos) << *code;
}

TEST(Half, ChainsRoundEachResult) {
  // A product and a sum that were taken together would have other bits. Values go on to what is computed in f32.
  Check({"p = f16[N] multiply(x, y)", "q = f16[N] add(p, x)", "u = f16[N] subtract(fb, p)", "v = f16[N] divide(q, u)",
         "w = f16[N] sqrt(v)", "z = pred[N] compare(w, q), direction=LT", "o = f16[N] select(z, w, u)",
         "wide = f32[N] convert(o)", "squares = f32[N] multiply(wide, wide)", "back = f16[N] convert(squares)",
         "whole = s32[N] convert(back)", "last = f16[N] add(back, p)"},
        65536 + 37);
}

TEST(Half, Extremes) {
  for (const char* op : {"maximum", "minimum"}) {
    for (const char* values : {"x", "clean", "zeros"}) {
      for (const char* cpu : {"", "x86-64-v2"}) {
        BothOptions options;
        options.cpu = cpu;
        ExpectSame(absl::StrReplaceAll(absl::StrCat(R"(HloModule m
r { a = f16[] parameter(0) b = f16[] parameter(1) ROOT r = f16[] OP(a, b) }
ENTRY e {)",
                                                    kOperands, R"(
  zero = f16[] constant(0) none = f16[N] broadcast(zero), dimensions={}
  ordered = pred[N] compare(x, x), direction=EQ clean = f16[N] select(ordered, x, none)
  zeros = f16[N] multiply(none, y)
  rows = f16[300,219] reshape(FROM)
  narrow = f16[9,7300] reshape(FROM)
  init = f16[] constant(INIT) other = f16[] parameter(0)
  a = f16[300] reduce(rows, init), dimensions={1}, to_apply=r
  b1 = f16[219] reduce(rows, init), dimensions={0}, to_apply=r
  c = f16[300] reduce(rows, other), dimensions={1}, to_apply=r
  d = f16[9] reduce(narrow, init), dimensions={1}, to_apply=r
  e1 = f16[7300] reduce(narrow, other), dimensions={0}, to_apply=r
  g = f16[300,210] reduce-window(rows, init), window={size=1x10}, to_apply=r
  h = f16[300,110] reduce-window(rows, other), window={size=3x3 stride=1x2 pad=1_1x1_1}, to_apply=r
  ROOT t = (f16[300], f16[219], f16[300], f16[9], f16[7300], f16[300,210], f16[300,110]) tuple(a, b1, c, d, e1, g, h)
})"),
                                       {{"OP", op},
                                        {"FROM", values},
                                        {"INIT", op == std::string("maximum") ? "-inf" : "inf"},
                                        {"[N]", "[65700]"}}),
                   options);
      }
    }
  }
}

// Named levels have no such arithmetic: what they were compiled to may run on other machines.
TEST(Half, NamedLevelsComputeInFloat) {
  const absl::StatusOr<std::string> code = TextForV4(R"(HloModule m
ENTRY e {
  x = f16[1000] parameter(0)
  y = f16[1000] parameter(1)
  a = f16[1000] add(x, y)
  b = f16[1000] divide(a, y)
  ROOT m = f16[1000] maximum(b, x)
})",
                                                     "llvm_ir");
  if (!code.ok()) GTEST_SKIP() << code.status();
  for (const char* op : {"fadd <16 x half>", "fadd <32 x half>", "fdiv <16 x half>", "fdiv <32 x half>"}) {
    EXPECT_EQ(code->find(op), std::string::npos) << op;
  }
  EXPECT_NE(code->find("fadd <16 x float>"), std::string::npos) << *code;
}

}  // namespace
}  // namespace xc::cpu
