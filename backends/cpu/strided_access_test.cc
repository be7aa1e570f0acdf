// Reads of elements a few places apart beside the borders of what is joined, and rows of a few elements in vectors
// along the dimension before.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backends/cpu/testing/run_both.h"

namespace xc::cpu {
namespace {

void Same(const std::string& body, const std::vector<std::string>& types, double tolerance = 0,
          const std::string& called = "") {
  for (const std::string& type : types) {
    for (const char* cpu : {"", "x86-64-v2", "x86-64-v4"}) {
      BothOptions options;
      options.cpu = cpu;
      options.tolerance = tolerance;
      const std::string text = absl::StrCat("HloModule m\n", called, "ENTRY e {\n", body, "\n}\n");
      ExpectSame(absl::StrReplaceAll(text, {{"T[", absl::StrCat(type, "[")}}), options);
    }
  }
}

// Every row's elements but one of [rows, columns, row] numbers, each rolled along the columns by another step.
std::string RolledPlaces(int rows, int columns, int row) {
  std::string body = absl::StrCat("x = T[", rows, ",", columns, ",", row, "] parameter(0)\n");
  std::string parts;
  for (int i = 0; i < row; ++i) {
    const int step = 1 + i % (columns - 1);
    const auto part = [&](const char* name, int from, int to) {
      absl::StrAppend(&body, name, i, " = T[", rows, ",", to - from, ",1] slice(x), slice={[0:", rows, "], [", from,
                      ":", to, "], [", i, ":", i + 1, "]}\n");
    };
    part("a", columns - step, columns);
    part("b", 0, columns - step);
    absl::StrAppend(&body, "c", i, " = T[", rows, ",", columns, ",1] concatenate(a", i, ", b", i,
                    "), dimensions={1}\n");
    absl::StrAppend(&parts, i == 0 ? "" : ", ", "c", i);
  }
  return absl::StrCat(body, "ROOT r = T[", rows, ",", columns, ",", row, "] concatenate(", parts, "), dimensions={2}");
}

TEST(StridedAccess, RolledPlacesOfRows) {
  for (int row : {2, 3, 5, 9, 11, 13}) {
    for (int columns : {4, 16, 37}) {
      Same(RolledPlaces(3, columns, row), {"f32", "f64", "u8", "c64"});
    }
  }
}

// Where all lanes are on one side of a border, nothing is masked.
TEST(StridedAccess, BordersAreLookedForOnce) {
  const absl::StatusOr<std::string> code = TextForV4(
      absl::StrReplaceAll(absl::StrCat("HloModule m\nENTRY e {\n", RolledPlaces(8, 64, 9), "\n}\n"), {{"T[", "f32["}}),
      "llvm_ir_optimized");
  if (!code.ok()) GTEST_SKIP() << code.status();
  EXPECT_NE(code->find("\nall"), std::string::npos) << *code;
}

// Rows of a few elements whose expressions take more than picking their elements does, and those where they do not.
TEST(StridedAccess, ShortRowsWithBroadcasts) {
  for (int row : {5, 6, 9, 11, 12}) {
    for (int rows : {3, 8, 67}) {
      const std::string shape = absl::StrCat("T[", rows, ",", row, "]"), short_shape = absl::StrCat("T[", row, "]");
      std::string body = absl::StrCat("x = ", shape, " parameter(0) p = T[", rows, "] parameter(1) q = ", short_shape,
                                      " parameter(2) i = s32[", row, ",1] parameter(3) g = ", shape,
                                      " gather(x, i), offset_dims={0}, collapsed_slice_dims={1}, start_index_map={1}, "
                                      "index_vector_dim=1, slice_sizes={",
                                      rows, ",1}\n pb = ", shape, " broadcast(p), dimensions={0} qb = ", shape,
                                      " broadcast(q), dimensions={1}\n");
      absl::StrAppend(&body, "m = ", shape, " multiply(pb, qb) s = ", shape, " subtract(x, m) d = ", shape,
                      " divide(s, qb) e = ", shape, " divide(g, pb) l = pred[", rows, "] compare(p, p), direction=NE\n",
                      "lb = pred[", rows, ",", row, "] broadcast(l), dimensions={0} ROOT r = ", shape,
                      " select(lb, d, e)");
      Same(body, {"f32", "f64"});
      Same(absl::StrCat("x = ", shape, " parameter(0) p = T[", rows, "] parameter(1) b = ", shape,
                        " broadcast(p), dimensions={0} ROOT r = ", shape, " add(x, b)"),
           {"f32", "bf16", "s32", "u8", "c64"});
    }
  }
}

// Elements of a few bits at any places of arrays that fill a word, or do not, up to the last one.
TEST(StridedAccess, NarrowElementsAtAnyPlace) {
  for (const int size : {1, 2, 3, 4, 5, 33}) {
    const std::string body =
        absl::StrCat("x = T[", size, "] parameter(0) i = s32[70,1] iota(), iota_dimension=0 n = s32[] constant(", size,
                     ") ns = s32[70,1] broadcast(n), dimensions={} at = s32[70,1] remainder(i, ns)\n y = T[", size,
                     ",19] parameter(1)\n g = T[70] gather(x, at), offset_dims={}, collapsed_slice_dims={0}, "
                     "start_index_map={0}, index_vector_dim=1, slice_sizes={1}\n t = T[19,",
                     size, "] transpose(y), dimensions={1,0} c = T[] constant(1) p = T[21,", size + 1,
                     "] pad(t, c), padding=1_1x1_0\n ROOT r = (T[70], T[21,", size + 1, "]) tuple(g, p)");
    Same(body, {"s8", "u8", "f16", "bf16", "s16", "f8e5m2"});
  }
}

// Windows that are gathered at any places go in groups of rows, of which threads take parts.
TEST(StridedAccess, GatheredWindows) {
  for (const char* window : {"3,5", "7,4", "2,70"}) {
    const std::string body = absl::StrReplaceAll(
        "x = T[40,80] parameter(0) i = s32[300,2] parameter(1)\n ROOT g = T[300,W] gather(x, i), offset_dims={1,2}, "
        "collapsed_slice_dims={}, start_index_map={0,1}, index_vector_dim=1, slice_sizes={W}",
        {{"W", window}});
    Same(body, {"f32", "s8", "f64"});
  }
}

// Elements of a few bits a few places apart, up to the array's last one: alone, and along rows of a reduction of two
// arrays, where each lane has a row.
TEST(StridedAccess, NarrowElementsAFewPlacesApart) {
  for (const int step : {2, 3, 7, 11}) {
    const std::string body = absl::StrReplaceAll(
        "x = T[N] parameter(0) y = T[77,S] parameter(1)\n a = T[200] slice(x), slice={[3:E:S]}\n "
        "i = s32[77,S] iota(), iota_dimension=1 z = T[] constant(-1) n = s32[] constant(0)\n "
        "m = (T[77], s32[77]) reduce(y, i, z, n), dimensions={1}, to_apply=f\n u = T[77] get-tuple-element(m), index=0 "
        "v = s32[77] get-tuple-element(m), index=1\n ROOT r = (T[200], T[77], s32[77]) tuple(a, u, v)",
        {{"N]", absl::StrCat(4 + 199 * step, "]")},
         {"S]", absl::StrCat(step, "]")},
         {"E:", absl::StrCat(4 + 199 * step, ":")}});
    const std::string most =
        "f { a = T[] parameter(0) i = s32[] parameter(1) b = T[] parameter(2) j = s32[] parameter(3)\n"
        "p = pred[] compare(b, a), direction=GT c = T[] select(p, b, a) k = s32[] select(p, j, i)\n"
        "ROOT r = (T[], s32[]) tuple(c, k) }\n";
    Same(body, {"s8", "s16", "f16", "bf16", "f32"}, 0, most);
  }
}

// Rows of two or three elements along many such dimensions stand together.
TEST(StridedAccess, TinyDimensions) {
  Same(
      "x = T[2,2,2,2,2,2,2,2,2,2] parameter(0) ROOT t = T[2,2,2,2,2,2,2,2,2,2] transpose(x), "
      "dimensions={9,8,7,6,5,4,3,2,1,0}",
      {"f32", "f64", "bf16", "s8", "c64"});
  Same(
      "x = T[3,2,5,2,3,2,2] parameter(0) y = T[2,3,2,2,5,2,3] parameter(1) t = T[2,3,2,2,5,2,3] transpose(x), "
      "dimensions={6,4,3,1,2,5,0} ROOT s = T[2,3,2,2,5,2,3] subtract(t, y)",
      {"f32", "f16", "s16"});
}

// What is transposed beside borders is read where it is wanted only.
TEST(StridedAccess, TransposesInParts) {
  Same(
      "x = T[7,40,16] parameter(0) y = T[80,16,7] parameter(1) t = T[40,16,7] transpose(x), dimensions={1,2,0} "
      "n = T[40,16,7] negate(t) c = T[80,16,7] concatenate(t, n), dimensions={0} s = T[80,16,7] add(c, c) "
      "m = T[80,16,7] maximum(s, y) one = T[] constant(1) ROOT p = T[82,18,9] pad(m, one), padding=1_1x1_1x1_1",
      {"f16", "bf16", "f32", "f64", "s8"});
}

// Sums of windows along a dimension of rows, of which several share what they read.
TEST(StridedAccess, WindowsOfRows) {
  for (const int size : {4, 16, 31}) {
    const std::string body = absl::StrReplaceAll(
        "x = T[53,21] parameter(0) y = T[2,53,3,21] parameter(1) k = T[] constant(2) w = T[OUT,21] parameter(2)\n "
        "a = T[OUT,21] reduce-window(x, k), window={size=SIZEx1}, to_apply=f b = T[OUT,21] multiply(a, w)\n "
        "c = T[2,53,DIFF,21] reduce-window(y, k), window={size=1x1x2x1}, to_apply=f\n "
        "d = T[2,OUT,3,21] reduce-window(y, k), window={size=1xSIZEx1x1}, to_apply=f\n "
        "ROOT r = (T[OUT,21], T[OUT,21], T[2,53,DIFF,21], T[2,OUT,3,21]) tuple(a, b, c, d)",
        {{"SIZE", absl::StrCat(size)}, {"OUT", absl::StrCat(54 - size)}, {"DIFF", "2"}});
    const std::string add = "f { a = T[] parameter(0) b = T[] parameter(1) ROOT r = T[] add(a, b) }\n";
    Same(body, {"f32", "f64", "s32"}, 1e-5, add);
    Same(body, {"f16", "bf16"}, 0.02, add);
  }
}

}  // namespace
}  // namespace xc::cpu
