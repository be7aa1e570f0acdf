// Reductions of rows: the largest and smallest numbers of all kinds.
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
      for (const int columns : most ? std::vector<int>{5, 31, 128, 300} : std::vector<int>{31}) {
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

}  // namespace
}  // namespace xc::cpu
