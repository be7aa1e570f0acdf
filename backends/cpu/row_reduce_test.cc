// Reductions of rows: the largest and smallest numbers of all kinds. Columns whose rows are put together first.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backends/cpu/testing/run_both.h"

namespace xc::cpu {
namespace {

// NaN, both zeros, and rows that fill vectors or not.
TEST(RowReduce, Extremes) {
  for (const char* type : {"f32", "f64", "bf16", "f16"}) {
    for (const char* op : {"maximum", "minimum"}) {
      // Other types than f32 have nothing of their own but their widths.
      const bool most = std::string(type) == "f32";
      for (const int columns : most ? std::vector<int>{5, 31, 128, 300} : std::vector<int>{31, 300}) {
        for (const char* cpu : most ? std::vector<const char*>{"", "x86-64-v2"} : std::vector<const char*>{""}) {
          BothOptions options;
          options.cpu = cpu;
          const std::string text = absl::StrReplaceAll(R"(HloModule m
f { a = T[] parameter(0) b = T[] parameter(1) ROOT r = T[] OP(a, b) }
ENTRY e { x = T[12,N] parameter(0) y = T[12,N] parameter(1)
  i = T[] constant(INF) h = T[] constant(0.98) big = T[12,N] broadcast(h), dimensions={}
  plain = T[12] reduce(x, i), dimensions={1}, to_apply=f
  zero = T[] constant(0) zeros = T[12,N] broadcast(zero), dimensions={}
  signed = T[12,N] multiply(x, zeros) z = T[12] reduce(signed, i), dimensions={1}, to_apply=f
  one = T[] constant(1) ones = T[12] broadcast(one), dimensions={} side = T[12] divide(ones, z)
  some = T[12,N] multiply(signed, signed) CUT = T[12,N] OPPOSITE(x, some) c = T[12] reduce(CUT, i), dimensions={1}, to_apply=f
  d = T[12] divide(ones, c)
  p = pred[12,N] compare(x, big), direction=GT nans = T[12,N] divide(signed, zeros)
  mixed = T[12,N] select(p, nans, y) n = T[12] reduce(mixed, i), dimensions={1}, to_apply=f
  from = T[12] reduce(x, one), dimensions={1}, to_apply=f
  all = T[] reduce(mixed, i), dimensions={0,1}, to_apply=f
  ROOT r = (T[12], T[12], T[12], T[12], T[12], T[12], T[12], T[]) tuple(plain, z, side, c, d, n, from, all) })",
                                                       {{"T[", absl::StrCat(type, "[")},
                                                        {"OPPOSITE", op[1] == 'a' ? "minimum" : "maximum"},
                                                        {"OP(", absl::StrCat(op, "(")},
                                                        {"INF", op[1] == 'a' ? "-inf" : "inf"},
                                                        {"N]", absl::StrCat(columns, "]")}});
          ExpectSame(text, options);
        }
      }
    }
  }
}

// Rows of bf16 are read in pairs where all that is read is such rows, in any part of an array and of any length.
TEST(RowReduce, RowsOfBf16) {
  for (const int columns : {64, 130, 1000}) {
    BothOptions options;
    options.tolerance = 2e-3;
    ExpectSame(absl::StrReplaceAll(R"(HloModule m
f { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
ENTRY e { x = bf16[7,N] parameter(0) y = bf16[7,N] parameter(1) z = f32[7,N] parameter(2) k = f32[] constant(1)
  cx = f32[7,N] convert(x) cy = f32[7,N] convert(y) s = f32[7] reduce(cx, k), dimensions={1}, to_apply=f
  xy = f32[7,N] multiply(cx, cy) p = f32[7] reduce(xy, k), dimensions={1}, to_apply=f
  xz = f32[7,N] multiply(cx, z) q = f32[7] reduce(xz, k), dimensions={1}, to_apply=f
  h = bf16[] constant(3) hs = bf16[7,N] broadcast(h), dimensions={} sum = bf16[7,N] add(x, hs)
  sums = f32[7,N] convert(sum) t = f32[7] reduce(sums, k), dimensions={1}, to_apply=f
  part = bf16[5,N] slice(x), slice={[1:6], [0:N]} cpart = f32[5,N] convert(part)
  u = f32[5] reduce(cpart, k), dimensions={1}, to_apply=f all = f32[] reduce(cx, k), dimensions={0,1}, to_apply=f
  i = s32[7,N] iota(), iota_dimension=1 fi = f32[7,N] convert(i) three = f32[] constant(0.001)
  scale = f32[7,N] broadcast(three), dimensions={} w = f32[7,N] multiply(fi, scale) wx = f32[7,N] multiply(w, cx)
  v = f32[7] reduce(wx, k), dimensions={1}, to_apply=f
  ROOT r = (f32[7], f32[7], f32[7], f32[7], f32[5], f32[], f32[7]) tuple(s, p, q, t, u, all, v) })",
                                   {{"N]", absl::StrCat(columns, "]")}}),
               options);
  }
}

// The row of differences is kept between its sum and the product; the row that the mean is of is read in pairs beside.
TEST(RowReduce, RowsOfBf16BesideOneThatIsKept) {
  const std::string text = R"(HloModule m
f { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
ENTRY e { x = bf16[64,256] parameter(0) z = f32[] constant(0) part = f32[] constant(0.00390625)
  parts = f32[64] broadcast(part), dimensions={} cx = f32[64,256] convert(x)
  s = f32[64] reduce(cx, z), dimensions={1}, to_apply=f mean = f32[64] multiply(s, parts) m = bf16[64] convert(mean)
  ms = bf16[64,256] broadcast(m), dimensions={0} d = bf16[64,256] subtract(x, ms) cd = f32[64,256] convert(d)
  sq = f32[64,256] multiply(cd, cd) v = f32[64] reduce(sq, z), dimensions={1}, to_apply=f w = bf16[64] convert(v)
  ws = bf16[64,256] broadcast(w), dimensions={0} ROOT r = bf16[64,256] multiply(d, ws) })";
  BothOptions both;
  both.tolerance = 1e-2;
  ExpectSame(text, both);
  const absl::StatusOr<std::string> code = TextForV4(text, "llvm_ir");
  if (!code.ok()) GTEST_SKIP() << code.status();
  EXPECT_NE(code->find("store <16 x float>"), std::string::npos) << *code;
  EXPECT_NE(code->find("load <16 x i32>"), std::string::npos) << *code;
}

// Rows of a few vectors are reduced together, and sums of short rows, several of which fill a vector: of all lengths,
// and less of them than a vector has lanes; by themselves, of products, and with arithmetic that follows.
TEST(RowReduce, SeveralRowsTogether) {
  for (const char* type : {"f32", "f64", "bf16", "f16", "s32", "s8"}) {
    const bool floats = type[0] == 'f' || type[0] == 'b';
    const bool most = std::string(type) == "f32";
    for (const int columns : most ? std::vector<int>{5, 6, 7, 8, 11, 12, 16, 64, 100} : std::vector<int>{5, 7, 33}) {
      for (const int rows : {3, 21}) {
        BothOptions options;
        options.tolerance = std::string(type) == "f64" ? 1e-12 : std::string(type) == "f32" ? 1e-5 : floats ? 0.03 : 0;
        ExpectSame(absl::StrReplaceAll(R"(HloModule m
f { a = T[] parameter(0) b = T[] parameter(1) ROOT r = T[] add(a, b) }
g { a = T[] parameter(0) b = T[] parameter(1) ROOT r = T[] maximum(a, b) }
ENTRY e { x = T[R,N] parameter(0) y = T[3,R,N] parameter(1) z = T[3,N] parameter(2) k = T[] constant(2) w = T[R] parameter(3)
  plain = T[R] reduce(x, k), dimensions={1}, to_apply=f
  most = T[R] reduce(x, k), dimensions={1}, to_apply=g
  zs = T[3,R,N] broadcast(z), dimensions={0,2} yz = T[3,R,N] multiply(y, zs)
  sums = T[3,R] reduce(yz, k), dimensions={2}, to_apply=f
  half = T[R,N] add(x, x) h = T[R] reduce(half, k), dimensions={1}, to_apply=f
  squares = T[R,N] multiply(x, x) q = T[R] reduce(squares, k), dimensions={1}, to_apply=g
  hq = T[R] subtract(h, q) end = T[R] multiply(hq, w)
  ROOT r = (T[R], T[R], T[3,R], T[R]) tuple(plain, most, sums, end) })",
                                       {{"T[", absl::StrCat(type, "[")},
                                        {"N]", absl::StrCat(columns, "]")},
                                        {"R,", absl::StrCat(rows, ",")},
                                        {"R]", absl::StrCat(rows, "]")}}),
                   options);
      }
    }
  }
}

// Functions of sums are computed in vectors over the rows.
TEST(RowReduce, FunctionsOfSums) {
  for (const char* type : {"f32", "f64", "bf16", "c64"}) {
    for (const char* cpu : {"", "x86-64-v2"}) {
      BothOptions options;
      options.cpu = cpu;
      options.tolerance = type[0] == 'b' ? 0.05 : 1e-4;
      ExpectSame(absl::StrReplaceAll(R"(HloModule m
f { a = T[] parameter(0) b = T[] parameter(1) ROOT r = T[] add(a, b) }
ENTRY e { x = T[37,50] parameter(0) y = T[5,37] parameter(1) z = T[5,37,20] parameter(2) k = T[] constant(BIG)
  s = T[37] reduce(x, k), dimensions={1}, to_apply=f a = T[37] log(s)
  t = T[5,37] reduce(z, k), dimensions={2}, to_apply=f u = T[5,37] divide(y, t) b = T[5,37] tanh(u)
  sq = T[37,50] multiply(x, x) v = T[37] reduce(sq, k), dimensions={1}, to_apply=f c = T[37] sqrt(v)
  ROOT r = (T[37], T[5,37], T[37]) tuple(a, b, c) })",
                                     {{"T[", absl::StrCat(type, "[")}, {"BIG", type[0] == 'c' ? "(40, 1)" : "40"}}),
                 options);
    }
  }
}

// Each element of a vector with all of another one: vectors lie across the rows.
TEST(RowReduce, RowsThatAreShared) {
  for (const char* type : {"f32", "f64", "s32"}) {
    ExpectSame(absl::StrReplaceAll(R"(HloModule m
any { a = pred[] parameter(0) b = pred[] parameter(1) ROOT r = pred[] or(a, b) }
most { a = T[] parameter(0) b = T[] parameter(1) ROOT r = T[] maximum(a, b) }
ENTRY e { x = T[77] parameter(0) y = T[20] parameter(1) z = T[3,77] parameter(2) no = pred[] constant(false)
  none = T[] constant(0) bx = T[77,20] broadcast(x), dimensions={0} by = T[77,20] broadcast(y), dimensions={1}
  equal = pred[77,20] compare(bx, by), direction=GT is = pred[77] reduce(equal, no), dimensions={1}, to_apply=any
  bz = T[3,77,20] broadcast(z), dimensions={0,1} wy = T[3,77,20] broadcast(y), dimensions={2}
  d = T[3,77,20] subtract(bz, wy) m = T[3,77] reduce(d, none), dimensions={2}, to_apply=most
  ROOT r = (pred[77], T[3,77]) tuple(is, m) })",
                                   {{"T[", absl::StrCat(type, "[")}}));
  }
}

// Columns of what may be put together in any order: rows that are whole steps, and with a rest.
// Rows of narrow whole numbers and flags fill vectors, where nothing wider stands beside them.
TEST(RowReduce, RowsOfNarrowNumbers) {
  for (const char* type : {"s8", "u8", "s16", "u16", "s4", "pred"}) {
    const bool flags = type[0] == 'p';
    for (const char* op : {"add", "multiply", "maximum", "minimum", "and", "or"}) {
      if (flags && op[0] == 'm') continue;
      for (const int columns : {40, 130, 512, 1000}) {
        std::string text = R"(HloModule m
f { a = T[] parameter(0) b = T[] parameter(1) ROOT r = T[] OP(a, b) }
ENTRY e { x = T[7,N] parameter(0) y = T[N] parameter(1) k = T[] constant(1) i = s32[7,N] parameter(2)
  s = T[7] reduce(x, k), dimensions={1}, to_apply=f ys = T[7,N] broadcast(y), dimensions={1}
  xy = T[7,N] PRODUCT(x, ys) p = T[7] reduce(xy, k), dimensions={1}, to_apply=f
  part = T[5,N] slice(x), slice={[1:6], [0:N]} u = T[5] reduce(part, k), dimensions={1}, to_apply=f
  c = T[7,N] convert(i) w = T[7] reduce(c, k), dimensions={1}, to_apply=f
  all = T[] reduce(xy, k), dimensions={0,1}, to_apply=f
  ROOT r = (T[7], T[7], T[5], T[7], T[]) tuple(s, p, u, w, all) })";
        ExpectSame(absl::StrReplaceAll(text, {{"T[", absl::StrCat(type, "[")},
                                              {"OP(", absl::StrCat(op, "(")},
                                              {"PRODUCT", flags ? "and" : "multiply"},
                                              {"N]", absl::StrCat(columns, "]")}}),
                   {});
      }
    }
  }
  const absl::StatusOr<std::string> code = TextForV4(
      "HloModule m\nf { a = u8[] parameter(0) b = u8[] parameter(1) ROOT r = u8[] add(a, b) }\n"
      "ENTRY e { x = u8[7,512] parameter(0) k = u8[] constant(0)\n"
      "ROOT s = u8[7] reduce(x, k), dimensions={1}, to_apply=f }",
      "llvm_ir");
  if (!code.ok()) GTEST_SKIP() << code.status();
  EXPECT_NE(code->find("load <64 x i8>"), std::string::npos) << *code;
}

// Over columns, where any order of whole numbers and flags has the same result: several are put together first.
TEST(RowReduce, SeveralAtOnceInAnyOrder) {
  for (const char* type : {"s64", "u32", "s8"}) {
    for (const char* op : {"add", "multiply", "minimum", "or"}) {
      for (const int rows : {3, 20, 34, 301}) {
        ExpectSame(absl::StrReplaceAll(R"(HloModule m
f { a = T[] parameter(0) b = T[] parameter(1) ROOT r = T[] OP(a, b) }
g { a = pred[] parameter(0) b = pred[] parameter(1) ROOT r = pred[] or(a, b) }
ENTRY e { x = T[N,7] parameter(0) k = T[] constant(3) s = T[7] reduce(x, k), dimensions={0}, to_apply=f
  y = T[N] parameter(1) v = T[300] parameter(2) no = pred[] constant(false)
  vs = T[300,N] broadcast(v), dimensions={0} ys = T[300,N] broadcast(y), dimensions={1}
  c = pred[300,N] compare(vs, ys), direction=EQ any = pred[300] reduce(c, no), dimensions={1}, to_apply=g
  i = T[N] iota(), iota_dimension=0 is = T[300,N] broadcast(i), dimensions={1}
  m = T[300,N] multiply(vs, is) p = T[300] reduce(m, k), dimensions={1}, to_apply=f
  ROOT r = (T[7], pred[300], T[300]) tuple(s, any, p) })",
                                       {{"T[", absl::StrCat(type, "[")},
                                        {"OP(", absl::StrCat(op, "(")},
                                        {"N]", absl::StrCat(rows, "]")},
                                        {"N,7]", absl::StrCat(rows, ",7]")}}),
                   {});
      }
    }
  }
}

TEST(ColumnReduce, RowsPutTogetherFirst) {
  for (const char* type : {"f16", "bf16", "f32", "s32", "u8", "s64", "pred"}) {
    for (const char* op : {"add", "multiply", "maximum", "minimum"}) {
      const bool exact = type[0] != 'f' && type[0] != 'b';
      if (!exact && (op[0] == 'a' || op[1] == 'u')) continue;
      for (int rows : {2, 5, 130}) {
        for (int columns : {7, 600}) {
          for (const char* cpu : {"", "x86-64-v2"}) {
            BothOptions options;
            options.cpu = cpu;
            ExpectSame(absl::StrReplaceAll(R"(HloModule m
r { a = T[] parameter(0) b = T[] parameter(1) ROOT r = T[] OP(a, b) }
ENTRY e {
  x = T[2,R,C] parameter(0)
  i = T[] parameter(1)
  ROOT s = T[2,C] reduce(x, i), dimensions={1}, to_apply=r
})",
                                           {{"T[", absl::StrCat(type, "[")},
                                            {"OP", op},
                                            {"R,", absl::StrCat(rows, ",")},
                                            {"C]", absl::StrCat(columns, "]")}}),
                       options);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace xc::cpu
