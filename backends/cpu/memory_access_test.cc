// How fused code reads and writes: elements a few places apart, arrays that alternate, places that are not wanted.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "backends/cpu/testing/run_both.h"

namespace xc::cpu {
namespace {

// The instructions of an entry computation, T standing for each of some types.
void Same(const std::string& body, std::vector<std::string> types = {"f32", "bf16", "u8", "f64", "c64", "pred"},
          double tolerance = 0) {
  for (const std::string& type : types) {
    for (const char* cpu : {"", "x86-64-v2"}) {
      BothOptions options;
      options.cpu = cpu;
      options.tolerance = tolerance;
      ExpectSame(absl::StrReplaceAll(absl::StrCat("HloModule m\nENTRY e {\n", body, "\n}\n"),
                                     {{"T[", absl::StrCat(type, "[")}}),
                 options);
    }
  }
}

TEST(MemoryAccess, StridedReads) {
  for (int stride : {2, 3, 4, 7, 13}) {
    for (int first : {0, 1}) {
      const int size = 67 * stride, of = (size - first - 1) / stride + 1;
      const std::string slice = absl::StrCat("slice={[0:9], [", first, ":", size, ":", stride, "]}");
      Same(absl::StrCat("x = T[9,", size, "] parameter(0) s = T[9,", of, "] slice(x), ", slice, " y = T[9,", of,
                        "] parameter(1) c = pred[9,", of, "] compare(s, y), direction=EQ ROOT r = T[9,", of,
                        "] select(c, y, s)"));
    }
  }
  // The last element read is the array's last.
  Same("x = T[63] parameter(0) s = T[32] slice(x), slice={[0:63:2]} ROOT r = T[32] copy(s)");
  Same(
      "x = T[32,3] parameter(0) s = T[32,1] slice(x), slice={[0:32], [2:3]} y = T[32] reshape(s)\n"
      "ROOT r = (T[32], T[32,1]) tuple(y, s)");
}

// All places in rows of a few elements, whose vectors are read once; rows of parts of arrays, which share none.
TEST(MemoryAccess, ShortRowsInVectors) {
  for (int row : {5, 8, 11}) {
    const std::string body = absl::StrReplaceAll(R"(
x = T[ROWS,ROW] parameter(0) worst = T[] constant(WORST) zero = s32[] constant(0)
i = s32[ROWS,ROW] iota(), iota_dimension=1
b = (T[ROWS], s32[ROWS]) reduce(x, i, worst, zero), dimensions={1}, to_apply=best
m = T[ROWS] reduce(x, worst), dimensions={1}, to_apply=most
part = T[ROWS,4] slice(x), slice={[0:ROWS], [1:5]} p = T[ROWS] reduce(part, worst), dimensions={1}, to_apply=most
ROOT r = ((T[ROWS], s32[ROWS]), T[ROWS], T[ROWS]) tuple(b, m, p))",
                                                 {{"ROWS", "69"}, {"ROW", absl::StrCat(row)}});
    for (const char* type : {"f32", "f64", "bf16", "s32", "u8"}) {
      const char* worst = type[0] == 's' ? "-100" : type[0] == 'u' ? "0" : "-inf";
      ExpectSame(absl::StrReplaceAll(absl::StrCat(R"(HloModule m
best { a = T[] parameter(0) i = s32[] parameter(1) b = T[] parameter(2) j = s32[] parameter(3)
  p = pred[] compare(a, b), direction=GT e = pred[] compare(a, b), direction=EQ
  l = pred[] compare(i, j), direction=LT el = pred[] and(e, l) t = pred[] or(p, el) v = T[] select(p, a, b)
  n = s32[] select(t, i, j) ROOT r = (T[], s32[]) tuple(v, n) }
most { a = T[] parameter(0) b = T[] parameter(1) ROOT r = T[] maximum(a, b) }
ENTRY e {)",
                                                  body, "\n}\n"),
                                     {{"T[", absl::StrCat(type, "[")}, {"WORST", worst}}));
    }
  }
}

TEST(MemoryAccess, ArraysThatAlternate) {
  for (int parts : {2, 3, 4, 7}) {
    for (int rows : {64, 69}) {
      std::string body, list;
      for (int i = 0; i < parts; ++i) {
        absl::StrAppend(&body, "x", i, " = T[5,", rows, ",1] parameter(", i, ")\n");
        absl::StrAppend(&list, i == 0 ? "" : ", ", "x", i);
      }
      Same(absl::StrCat(body, "ROOT r = T[5,", rows, ",", parts, "] concatenate(", list, "), dimensions={2}"));
      // Of computed values; the result is used once more.
      Same(absl::StrCat(body, "n = T[5,", rows, ",1] add(x0, x1) m = T[5,", rows, ",1] maximum(x0, x1) c = T[5,", rows,
                        ",2] concatenate(n, m), dimensions={2} ROOT r = T[5,", rows * 2, "] reshape(c)"),
           {"f32", "bf16", "s8", "f64"});
    }
  }
  // A column of a transposed array, and a broadcast one.
  Same(
      "x = T[300,70] parameter(0) t = T[70,300] transpose(x), dimensions={1,0} a = T[70,300,1] reshape(t)\n"
      "y = T[300] parameter(1) b = T[70,300,1] broadcast(y), dimensions={1}\n"
      "ROOT r = T[70,300,2] concatenate(a, b), dimensions={2}");
}

// Squares that are turned in registers, and parts of them where the sides are no multiples; by themselves and below
// other operations.
TEST(MemoryAccess, TransposedArrays) {
  const std::vector<std::string> types = {"f32", "f64", "bf16", "s8", "pred", "c64", "c128"};
  const std::vector<std::pair<int, int>> sizes = {{16, 32}, {9, 75}, {40, 17}, {130, 100}};
  for (const auto& [rows, columns] : sizes) {
    const auto shape = [](std::initializer_list<int> dims) {
      return absl::StrCat("T[", absl::StrJoin(dims, ","), "]");
    };
    const std::string x = absl::StrCat("x = ", shape({3, rows, columns}), " parameter(0)\n");
    const std::string t = absl::StrCat("t = ", shape({3, columns, rows}), " transpose(x), dimensions={0,2,1}\n");
    Same(absl::StrCat(x, t, "ROOT r = (", shape({3, columns, rows}), ") tuple(t)"), types);
    Same(absl::StrCat(x, "ROOT r = ", shape({columns, rows, 3}), " transpose(x), dimensions={2,1,0}"), types);
    Same(absl::StrCat(x, "ROOT r = ", shape({columns, 3, rows}), " transpose(x), dimensions={2,0,1}"), types);
    Same(absl::StrCat(x, "ROOT r = ", shape({rows, columns, 3}), " transpose(x), dimensions={1,2,0}"), types);
    Same(absl::StrCat(x, t, "y = ", shape({3, columns, rows}),
                      " parameter(1) two = T[] constant(2) twos = ", shape({3, columns, rows}),
                      " broadcast(two), dimensions={} u = ", shape({3, columns, rows}), " multiply(t, twos) ROOT r = (",
                      shape({3, columns, rows}), ", ", shape({3, columns, rows}), ") tuple(u, y)"),
         {"f32", "bf16"});
  }
  // Complex numbers of real ones that are turned, and the real part of what is turned, beside what is not.
  const std::string made =
      "x = T[40,40] parameter(0) t = T[40,40] transpose(x), dimensions={1,0} c = c64[40,40] complex(x, t) ";
  Same(made + "ROOT n = c64[40,40] negate(c)", {"f32"});
  Same(made + "n = c64[40,40] negate(c) ROOT a = T[40,40] abs(n)", {"f32"});
  Same(
      "x = c64[40,33] parameter(0) y = f32[33,40] parameter(1) t = c64[33,40] transpose(x), dimensions={1,0}\n"
      "r = f32[33,40] real(t) ROOT s = f32[33,40] add(r, y)",
      {"f32"});
}

// Rows of a few elements, which a kernel writes as a whole for several positions of the dimension before.
TEST(MemoryAccess, ShortRows) {
  const std::vector<std::string> types = {"f32", "bf16", "u8"};
  for (int row : {2, 3, 4}) {
    for (int width : {7, 69}) {
      const auto shape = [&](int high, int wide) { return absl::StrCat("T[2,", high, ",", wide, ",", row, "]"); };
      const std::string x = absl::StrCat("x = ", shape(5, width), " parameter(0)\n");
      const std::string whole = absl::StrCat("[0:", row, "]");
      // Cut, turned around, and chosen from by the element's place in its row.
      Same(absl::StrCat(x, "s = ", shape(4, width - 3), " slice(x), slice={[0:2], [1:5], [2:", width - 1, "], ", whole,
                        "} r = ", shape(4, width - 3), " reverse(s), dimensions={2} m = pred[", row,
                        "] parameter(1) mb = pred[2,4,", width - 3, ",", row,
                        "] broadcast(m), dimensions={3} ROOT q = ", shape(4, width - 3), " select(mb, r, s)"),
           types);
      // Around the array, between its elements, and less than it has.
      struct Padding {
        const char* text;
        int high, wide;
      };
      for (const Padding& p : {Padding{"0_0x2_1x3_2x0_0", 8, width + 5}, Padding{"0_0x0_0x1_0_1x0_0", 5, 2 * width},
                               Padding{"0_0x-1_1x-2_3x0_0", 5, width + 1}, Padding{"0_0x1_0_2x0_0x0_0", 14, width}}) {
        Same(absl::StrCat(x, "z = T[] parameter(1) ROOT r = ", shape(p.high, p.wide), " pad(x, z), padding=", p.text),
             types);
      }
      // From columns, and by index.
      Same(absl::StrCat("x = T[2,", row, ",5,", width, "] parameter(0) ROOT t = ", shape(5, width),
                        " transpose(x), dimensions={0,2,3,1}"),
           types);
      Same(absl::StrCat(x, "i = s32[2] parameter(1) ROOT g = ", shape(2, width),
                        " gather(x, i), offset_dims={0,2,3}, collapsed_slice_dims={1}, start_index_map={1}, "
                        "index_vector_dim=1, slice_sizes={2,1,",
                        width, ",", row, "}"),
           types);
      // Parts side by side, as they lie and turned around.
      for (int d : {1, 2}) {
        const std::string joined = d == 1 ? shape(15, width) : shape(5, 3 * width);
        Same(absl::StrCat(x, "r = ", shape(5, width), " reverse(x), dimensions={", d, "} y = ", shape(5, width),
                          " parameter(1) ROOT c = ", joined, " concatenate(r, x, y), dimensions={", d, "}"),
             types);
      }
    }
  }
}

// Room of any width between the elements of rows, in front of them and behind; with less than all of them, and as part
// of what reads it under a condition.
TEST(MemoryAccess, RoomBetweenElements) {
  for (int interior = 1; interior <= 8; ++interior) {
    for (int width : {3, 50}) {
      for (int low : {0, 5, -2}) {
        const int wide = low + (width - 1) * (interior + 1) + 1 + 1;
        const std::string shape = absl::StrCat("T[6,", wide, "]");
        Same(absl::StrCat("x = T[6,", width, "] parameter(0) z = T[] parameter(1) n = T[6,", width,
                          "] multiply(x, x) p = ", shape, " pad(n, z), padding=0_0x", low, "_1_", interior,
                          " y = ", shape, " parameter(2) c = pred[", wide, "] parameter(3) cb = pred[6,", wide,
                          "] broadcast(c), dimensions={1} ROOT r = ", shape, " select(cb, p, y)"),
             {"f32", "f64", "s8", "c64"});
      }
    }
    // A vector begins in one of two such pads, and ends in the other.
    const int wide = 1 + 2 * (interior + 1) + 1;
    const std::string shape = absl::StrCat("T[6,", wide, "]");
    Same(absl::StrCat("x = T[6,3] parameter(0) z = T[] parameter(1) p = ", shape, " pad(x, z), padding=0_0x1_0_",
                      interior, " q = ", shape, " pad(x, z), padding=0_0x0_1_", interior, " c = T[6,", 2 * wide,
                      "] concatenate(p, q), dimensions={1} ROOT r = T[6,", 2 * wide, "] multiply(c, c)"),
         {"f32", "s8"});
  }
}

TEST(MemoryAccess, RowsKeptBetweenStages) {
  // What the variance and the result both subtract or scale, rounded to a narrow type each time; rows of vectors, with
  // a rest, and of a rest alone.
  for (const char* type : {"bf16", "f16"}) {
    for (const char* width : {"128", "77", "5"}) {
      for (const char* cpu : {"", "x86-64-v2"}) {
        BothOptions options;
        options.cpu = cpu;
        options.tolerance = 2e-2;  // sums are taken in another order, before they are rounded
        ExpectSame(absl::StrReplaceAll(R"(HloModule m
add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT r = f32[] add(x, y) }
ENTRY e {
  x = T[40,N] parameter(0)
  w = T[N] parameter(1)
  wb = T[40,N] broadcast(w), dimensions={1}
  xw = T[40,N] multiply(x, wb)
  f = f32[40,N] convert(xw)
  zero = f32[] constant(0)
  s = f32[40] reduce(f, zero), dimensions={1}, to_apply=add
  n = f32[] constant(N)
  nb = f32[40] broadcast(n), dimensions={}
  mean = f32[40] divide(s, nb)
  m = T[40] convert(mean)
  mb = T[40,N] broadcast(m), dimensions={0}
  d = T[40,N] subtract(xw, mb)
  dd = T[40,N] multiply(d, d)
  ddf = f32[40,N] convert(dd)
  v = f32[40] reduce(ddf, zero), dimensions={1}, to_apply=add
  vn = f32[40] divide(v, nb)
  sd = f32[40] sqrt(vn)
  q = T[40] convert(sd)
  qb = T[40,N] broadcast(q), dimensions={0}
  ROOT r = T[40,N] divide(d, qb)
})",
                                       {{"T[", absl::StrCat(type, "[")},
                                        {",N]", absl::StrCat(",", width, "]")},
                                        {"T[N]", absl::StrCat(type, "[", width, "]")},
                                        {"constant(N)", absl::StrCat("constant(", width, ")")}}),
                   options);
      }
    }
  }
}

TEST(MemoryAccess, IndicesFromSeveralArrays) {
  Same(
      "x = T[20,30] parameter(0) i = s32[40,50] parameter(1) j = s32[50] parameter(2)\n"
      "a = s32[40,50,1] reshape(i) b = s32[40,50,1] broadcast(j), dimensions={1}\n"
      "k = s32[40,50,2] concatenate(a, b), dimensions={2}\n"
      "g = T[40,50] gather(x, k), offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={0,1}, "
      "index_vector_dim=2, slice_sizes={1,1} ROOT r = (T[40,50], s32[40,50,2]) tuple(g, k)");
}

// Parts along outer and inner dimensions, one of them short, and under other operations.
TEST(MemoryAccess, RotatedArrays) {
  for (const char* dims : {"[70,90]", "[9,3]", "[130,4]"}) {
    const std::string shape = absl::StrCat("T", dims);
    const int rows = atoi(dims + 1), columns = atoi(strchr(dims, ',') + 1);
    Same(absl::StrCat("x = ", shape, " parameter(0) a = T[1,", columns, "] slice(x), slice={[", rows - 1, ":", rows,
                      "], [0:", columns, "]} b = T[", rows - 1, ",", columns, "] slice(x), slice={[0:", rows - 1,
                      "], [0:", columns, "]} c = ", shape, " concatenate(a, b), dimensions={0} d = T[", rows,
                      ",1] slice(x), slice={[0:", rows, "], [0:1]} e = T[", rows, ",", columns - 1,
                      "] slice(x), slice={[0:", rows, "], [1:", columns, "]} f = ", shape,
                      " concatenate(e, d), dimensions={1} g = ", shape, " concatenate(d, e), dimensions={1} h = ",
                      shape, " add(c, f) ROOT r = (", shape, ", ", shape, ") tuple(h, g)"),
         {"f32", "bf16", "s8", "f64", "c64"});
  }
}

// Two arrays whose elements alternate, as scans by halves put them together.
std::string Interleaved(int size, int low) {
  return absl::StrCat("x = f32[5,", size, "] parameter(0) y = f32[5,", size, "] parameter(1) z = f32[] constant(0)\n",
                      "a = f32[5,", 2 * size, "] pad(x, z), padding=0_0x", low, "_", 1 - low, "_1 b = f32[5,", 2 * size,
                      "] pad(y, z), padding=0_0x", 1 - low, "_", low, "_1\nROOT r = f32[5,", 2 * size, "] add(a, b)");
}

TEST(MemoryAccess, PadsBetweenElements) {
  for (int step : {2, 3, 4}) {
    for (int low : {-5, 0, 3}) {
      for (int high : {-2, 30}) {
        const int size = 45, to = (size - 1) * step + 1 + low + high;
        const std::string pad = absl::StrCat("padding=1_0x", low, "_", high, "_", step - 1);
        Same(absl::StrCat("x = T[4,", size, "] parameter(0) z = T[] parameter(1) ROOT r = T[5,", to, "] pad(x, z), ",
                          pad),
             {"f32", "u8", "c64"});
        // Of a part of a computed array, behind another one: lanes begin anywhere.
        Same(absl::StrCat("x = T[4,", size, "] parameter(0) z = T[] parameter(1) n = T[4,", size,
                          "] add(x, x) p = T[4,", to, "] pad(n, z), padding=0_0x", low, "_", high, "_", step - 1,
                          " s = T[4,", to - 7, "] slice(p), slice={[0:4], [3:", to - 4,
                          "]} h = T[4,3] slice(x), slice={[0:4], [0:3]} ROOT r = ", "T[4,", to - 4,
                          "] concatenate(h, s), dimensions={1}"),
             {"f32", "f64"});
      }
    }
  }
  for (int low : {0, 1}) Same(Interleaved(77, low), {"f32"});
}

// Steps of a sorting network: pairs of blocks are compared and put together again, and so is what came of them, in rows
// of as many blocks as fill no whole number of vectors.
std::string BlocksCompared(int rows, int block) {
  const auto step = [&](const char* from, const char* to, int n, int length) {
    return absl::StrReplaceAll(
        "Pa = T[R,2,B] reshape(FROM) Pl = T[R,1,B] slice(Pa), slice={[0:R], [0:1], [0:B]}\n"
        "Ph = T[R,1,B] slice(Pa), slice={[0:R], [1:2], [0:B]} Pn = T[R,1,B] minimum(Pl, Ph)\n"
        "Px = T[R,1,B] maximum(Pl, Ph) P = T[R,2,B] concatenate(Pn, Px), dimensions={1}\n",
        {{"P", to}, {"FROM", from}, {"R", absl::StrCat(n)}, {"B", absl::StrCat(length)}});
  };
  return absl::StrCat("x = T[", 2 * rows * block, "] parameter(0)\n", step("x", "s", rows, block),
                      step("s", "t", 2 * rows * block / 2, 1), step("t", "u", rows, block), "ROOT r = T[",
                      2 * rows * block, "] reshape(u)");
}

TEST(MemoryAccess, BlocksPutTogether) {
  for (int rows : {256, 301}) {
    for (int block : {1, 2, 3, 4, 8}) Same(BlocksCompared(rows, block), {"f32", "f64", "bf16", "u8"});
  }
  // Of three parts, complex, and with a dimension of few elements before the one of the parts.
  Same(
      "x = T[300,1,4] parameter(0) y = T[300,1,4] parameter(1) z = T[300,1,4] add(x, y)\n"
      "ROOT r = T[300,3,4] concatenate(x, z, y), dimensions={1}",
      {"f32", "c64"});
  Same(
      "x = T[100,3,1,2] parameter(0) y = T[100,3,1,2] parameter(1) z = T[100,3,1,2] add(x, y)\n"
      "ROOT r = T[100,3,2,2] concatenate(x, z), dimensions={2}",
      {"f32", "s8"});
  Same(
      "x = T[300,1,1,1] parameter(0) y = T[300,1,1,1] parameter(1) z = T[300,1,1,1] add(x, y)\n"
      "ROOT r = T[300,2,1,1] concatenate(x, z), dimensions={1}",
      {"f32", "s8"});
}

TEST(MemoryAccess, BlocksWithoutElementsPutTogether) {
  for (const char* dims : {"[1,0]", "[1,0,1]", "[1,1,0]"}) {
    const std::string both = absl::StrReplaceAll(dims, {{"[1,", "[2,"}});
    Same(absl::StrCat("x = T", dims, " parameter(0) y = T", dims, " parameter(1)\nROOT r = T", both,
                      " concatenate(x, y), dimensions={0}"),
         {"f32", "s32"});
  }
}

// What is put together from small blocks has a kernel of its own: it is not computed again for each block of the next
// step, nor element by element.
TEST(MemoryAccess, BlocksPutTogetherAreStoredInVectors) {
  const std::string body = absl::StrReplaceAll(BlocksCompared(256, 2), {{"T[", "f32["}});
  const absl::StatusOr<std::string> code =
      TextForV4(absl::StrCat("HloModule m\nENTRY e {\n", body, "\n}\n"), "llvm_ir");
  if (!code.ok()) GTEST_SKIP() << code.status();
  EXPECT_EQ(code->find("@llvm.masked.gather"), std::string::npos) << *code;
  EXPECT_EQ(code->find("extractelement"), std::string::npos) << *code;
}

TEST(MemoryAccess, InterleavingDividesNoPlaces) {
  auto module = ParseModule(absl::StrCat("HloModule m\nENTRY e {\n", Interleaved(512, 0), "\n}\n"));
  ASSERT_TRUE(module.ok()) << module.status();
  CompileOptions options;
  options.keep_texts = true;
  auto executable = CpuBackend()->Compile(*std::move(module), options);
  ASSERT_TRUE(executable.ok()) << executable.status();
  const std::string code = (*executable)->Text("llvm_ir");
  EXPECT_EQ(code.find("urem <"), std::string::npos) << code;
  EXPECT_EQ(code.find("@llvm.masked.gather"), std::string::npos) << code;
}

// A reduction of columns whose vectors cross from one row of columns into the next; of what is computed, and with more
// computed from it.
std::string ColumnsOfSeveralDimensions(const char* type, int batch) {
  return absl::StrReplaceAll(
      absl::StrCat(
          "HloModule m\ns { a = T[] parameter(0) b = T[] parameter(1) ROOT c = T[] maximum(a, b) }\nENTRY e {\n",
          "x = T[", batch, ",20,37,19] parameter(0) z = T[] parameter(1) k = T[37] parameter(2) b = T[", batch,
          ",20,37,19] broadcast(k), dimensions={2} y = T[", batch, ",20,37,19] add(x, b) m = T[", batch,
          ",37,19] reduce(y, z), dimensions={1}, to_apply=s ROOT r = T[", batch, ",37,19] add(m, m) }\n"),
      {{"T[", absl::StrCat(type, "[")}});
}

TEST(MemoryAccess, ColumnsOfSeveralDimensions) {
  for (const char* type : {"f32", "f64", "bf16", "s8"}) {
    for (const char* cpu : {"", "x86-64-v2"}) {
      BothOptions options;
      options.cpu = cpu;
      for (int batch : {1, 3}) ExpectSame(ColumnsOfSeveralDimensions(type, batch), options);
    }
  }
  auto module = ParseModule(
      "HloModule m\ns { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\nENTRY e { x = "
      "f32[40,30,30] parameter(0) z = f32[] constant(0) ROOT r = f32[30,30] reduce(x, z), dimensions={0}, to_apply=s "
      "}");
  ASSERT_TRUE(module.ok()) << module.status();
  CompileOptions options;
  options.keep_texts = true;
  auto executable = CpuBackend()->Compile(*std::move(module), options);
  ASSERT_TRUE(executable.ok()) << executable.status();
  const std::string code = (*executable)->Text("llvm_ir");
  EXPECT_EQ(code.find("div <"), std::string::npos) << code;
}

// Columns of parts of arrays, padded ones and ones that something is added to along a dimension: vectors end where rows
// do, and nothing is gathered.
TEST(MemoryAccess, ColumnsOfMovedRows) {
  const auto text = [](const char* type, int width) {
    return absl::StrReplaceAll(
        R"(HloModule m
s { a = T[] parameter(0) b = T[] parameter(1) ROOT c = T[] maximum(a, b) }
ENTRY e { x = T[20,40,70] parameter(0) z = T[] constant(1) k = T[W] parameter(1)
  p = T[18,30,W] slice(x), slice={[2:20], [5:35], [1:END]} m = T[30,W] reduce(p, z), dimensions={0}, to_apply=s
  q = T[20,42,72] pad(x, z), padding=0_0x1_1x1_1 n = T[42,72] reduce(q, z), dimensions={0}, to_apply=s
  b = T[18,30,W] broadcast(k), dimensions={2} y = T[18,30,W] add(p, b)
  o = T[30,W] reduce(y, z), dimensions={0}, to_apply=s ROOT r = (T[30,W], T[42,72], T[30,W]) tuple(m, n, o) })",
        {{"T[", absl::StrCat(type, "[")}, {"W]", absl::StrCat(width, "]")}, {"END", absl::StrCat(width + 1)}});
  };
  for (const char* type : {"f32", "f16", "s8"}) {
    for (const char* cpu : {"", "x86-64-v2"}) {
      BothOptions options;
      options.cpu = cpu;
      for (int width : {3, 27}) ExpectSame(text(type, width), options);
    }
  }
  const absl::StatusOr<std::string> code = TextForV4(text("f32", 27), "llvm_ir");
  if (!code.ok()) GTEST_SKIP() << code.status();
  EXPECT_EQ(code->find("@llvm.masked.gather"), std::string::npos);
}

// A masked read costs hundreds of cycles where its page is not there: reads that nobody wants stand at the array's
// beginning.
TEST(MemoryAccess, ReadsOfNoLaneStayInside) {
  const absl::StatusOr<std::string> code = TextForV4(R"(HloModule m
ENTRY e { x = f32[512,512] parameter(0) a = f32[1,512] slice(x), slice={[511:512], [0:512]}
  b = f32[511,512] slice(x), slice={[0:511], [0:512]} c = f32[512,512] concatenate(a, b), dimensions={0}
  ROOT r = f32[512,512] add(c, x) })",
                                                     "llvm_ir_optimized");
  if (!code.ok()) GTEST_SKIP() << code.status();
  // All lanes are wanted or none: no mask either.
  int chosen = 0;
  for (size_t at = 0; (at = code->find(", i64 0\n", at)) != std::string::npos; ++at) {
    if (code->rfind("select i1", at) > code->rfind('\n', at)) ++chosen;
  }
  EXPECT_GE(chosen, 2) << *code;
  EXPECT_EQ(code->find("@llvm.masked.load"), std::string::npos) << *code;
}

// Concatenations of concatenations, whose parts begin within rows; transposed ones are turned in registers.
TEST(MemoryAccess, BlocksOfBlocks) {
  for (const int n : {33, 48}) {
    Same(absl::StrReplaceAll(
        R"(x = T[N,N] parameter(0) y = T[N,20] parameter(1) t = T[N,N] transpose(x), dimensions={1,0}
n = T[N,N] copy(t) a = T[N,M] concatenate(x, y, n), dimensions={1} b = T[N,M] concatenate(n, x, y), dimensions={1}
ROOT r = T[K,M] concatenate(a, b), dimensions={0})",
        {{"N", absl::StrCat(n)}, {"M", absl::StrCat(2 * n + 20)}, {"K", absl::StrCat(2 * n)}}));
  }
}

// What is costly is left out outside of pads and of a concatenation's parts.
TEST(MemoryAccess, CostlyValuesBesidePads) {
  Same(R"(x = T[5,9,40] parameter(0) e = T[5,9,40] exponential(x) one = T[] constant(1)
p = T[7,11,42] pad(e, one), padding=1_1x1_1x1_1 d = T[7,11,42] add(p, p)
ROOT q = T[9,13,44] pad(d, one), padding=1_1x1_1x1_1)",
       {"f32", "f64"}, 1e-6);
  Same(R"(x = T[6,5] parameter(0) e = T[6,5] exponential(x) t = T[6,5] tanh(x)
c = T[6,10] concatenate(e, t), dimensions={1} ROOT r = T[6,10] add(c, c))",
       {"f32", "f64"}, 1e-6);
  Same(R"(x = T[6,5] parameter(0) y = T[6,5] parameter(1) e = T[6,5] remainder(x, y) t = T[6,5] divide(x, y)
c = T[6,10] concatenate(e, t), dimensions={1} d = T[12,5] concatenate(t, e), dimensions={0}
f = T[6,10] reshape(d) ROOT r = T[6,10] add(c, f))",
       {"s32", "u8", "s64", "f32"});
}

TEST(MemoryAccess, GathersOfComplexNumbers) {
  Same(R"(x = T[9,7] parameter(0) k = s32[70] iota(), iota_dimension=0 five = s32[] constant(5)
f = s32[70] broadcast(five), dimensions={} a = s32[70] remainder(k, f) i = s32[70,1] reshape(a)
j = s32[70,1] reshape(k) both = s32[70,2] concatenate(i, j), dimensions={1}
ROOT g = T[70] gather(x, both), offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={0,1}, index_vector_dim=1,
  slice_sizes={1,1})",
       {"c64", "c128", "f32"});
}

// Functions that one side of a selection takes are in a branch; what both sides or others read is not.
TEST(MemoryAccess, SelectedFunctions) {
  const std::string head =
      "x = T[4,70] parameter(0) z = T[] constant(0.3) zs = T[4,70] broadcast(z), dimensions={}\n"
      "p = pred[4,70] compare(x, zs), direction=LT\n";
  for (const char* body :
       {"a = T[4,70] sine(x) b = T[4,70] exponential(a) ROOT r = T[4,70] select(p, b, x)",
        "a = T[4,70] sine(x) b = T[4,70] exponential(a) ROOT r = T[4,70] select(p, a, b)",
        "a = T[4,70] sine(x) b = T[4,70] cosine(x) s = T[4,70] select(p, a, b) ROOT r = T[4,70] add(s, a)",
        "a = T[4,70] abs(x) b = T[4,70] log(a) q = pred[4,70] compare(a, zs), direction=GT "
        "s = T[4,70] select(q, b, a) t = T[4,70] exponential(s) u = T[4,70] multiply(t, a) "
        "ROOT r = T[4,70] select(p, u, zs)"}) {
    Same(head + body, {"f32", "f64"}, 1e-6);
  }
}

}  // namespace
}  // namespace xc::cpu
