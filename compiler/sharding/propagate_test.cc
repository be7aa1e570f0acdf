// How results lie on a mesh of 2x2 devices, for one rule of propagation after the other.
#include "compiler/sharding/propagate.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hlo/text/parser.h"

namespace xc {
namespace {

// The result's parts: for each leaf and dimension the digits of devices, x (devices 0, 1 | 2, 3) and y (0, 2 | 1, 3).
// `X` and `Y` in the body are shardings of a matrix by rows, `XY` by both, `YX` the other way round.
std::string Results(std::string body) {
  const std::pair<const char*, const char*> kShort[] = {
      {"$XY", "sharding={devices=[2,2]<=[4]}"},
      {"$YX", "sharding={devices=[2,2]<=[2,2]T(1,0)}"},
      {"$X", "sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}"},
      {"$Y", "sharding={devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}"},
  };
  for (const auto& [name, text] : kShort) {
    for (size_t at; (at = body.find(name)) != std::string::npos;) body.replace(at, std::string(name).size(), text);
  }
  const char* const less =
      "less { l0 = f32[] parameter(0)  l1 = f32[] parameter(1)  l2 = s32[] parameter(2)  l3 = s32[] parameter(3)\n"
      "  ROOT l4 = pred[] compare(l0, l1), direction=LT }\n"
      "greater { g0 = f32[] parameter(0)  g1 = f32[] parameter(1)  g2 = s32[] parameter(2)  g3 = s32[] parameter(3)\n"
      "  ROOT g4 = pred[] compare(g0, g1), direction=GT }\n"
      "below { b0 = f32[] parameter(0)  b1 = f32[] parameter(1)  ROOT b2 = pred[] compare(b0, b1), direction=LT }\n";
  auto module = ParseModule(absl::StrCat("HloModule m, num_partitions=4\n", less, body));
  if (!module.ok()) return module.status().ToString();
  auto tilings = PropagateShardings(**module, 4);
  if (!tilings.ok()) return std::string(tilings.status().message());
  std::vector<std::string> leaves;
  for (const DeviceTiling& tiling : tilings->results) {
    std::vector<std::string> dims;
    for (int64_t d = 0; d < tiling.rank(); ++d) {
      std::string digits;
      for (const auto& digit : tiling.dim(d)) digits += digit.stride == 2 ? "x" : "y";
      dims.push_back(digits);
    }
    leaves.push_back(absl::StrCat("[", absl::StrJoin(dims, ","), "]"));
  }
  return absl::StrJoin(leaves, " ");
}

std::string Entry(const std::string& body) { return Results("ENTRY e {\n" + body + "\n}"); }

TEST(Propagate, Elementwise) {
  EXPECT_EQ(Entry("a = f32[8,4] parameter(0), $X\nROOT r = f32[8,4] negate(a)"), "[x,]");
  EXPECT_EQ(Entry("a = f32[8,4] parameter(0), $X\nb = f32[8,4] parameter(1), $Y\nROOT r = f32[8,4] add(a, b)"), "[,]");
  EXPECT_EQ(Entry("a = f32[8,4] parameter(0)\nb = f32[8,4] parameter(1), $XY\nROOT r = f32[8,4] add(a, b)"), "[x,y]");
  // Dimensions in which they agree; a digit that they use in several dimensions is where the one has it that is cut
  // most, else the first.
  EXPECT_EQ(Entry("a = f32[8,4] parameter(0), $Y\nb = f32[8,4] parameter(1), $XY\nROOT r = f32[8,4] add(a, b)"),
            "[,y]");
  EXPECT_EQ(Entry("a = f32[8,4] parameter(0), $XY\nb = f32[8,4] parameter(1), $YX\nROOT r = f32[8,4] add(a, b)"),
            "[,]");
  EXPECT_EQ(Entry("a = f32[8,4] parameter(0), $XY\nb = f32[8,4] parameter(1), sharding={devices=[4,1]<=[4]}\n"
                  "ROOT r = f32[8,4] add(a, b)"),
            "[xy,]");
  EXPECT_EQ(Entry("a = f32[8,8] parameter(0), $XY\nt = f32[8,8] transpose(a), dimensions={1,0}\n"
                  "b = f32[8,8] parameter(1), $Y\nROOT r = f32[8,8] subtract(b, t)"),
            "[y,x]");
}

TEST(Propagate, Together) {
  EXPECT_EQ(Entry("a = f32[8,4] parameter(0), $X\ni = s32[8,4] iota(), iota_dimension=1\n"
                  "ROOT r = (f32[8,4], s32[8,4]) sort(a, i), dimensions={1}, to_apply=less"),
            "[x,] [x,]");
  EXPECT_EQ(Entry("a = f32[8,4] parameter(0)\nb = f32[8,4] parameter(1), $XY\n"
                  "ROOT r = f32[8,8] concatenate(a, b), dimensions={1}"),
            "[x,y]");
  EXPECT_EQ(Entry("a = f32[8,4] parameter(0), $X\nb = f32[4,4] parameter(1), $YX\nz = s32[] parameter(2)\n"
                  "ROOT r = f32[8,4] dynamic-update-slice(a, b, z, z)"),
            "[,x]");
  // As in a roll: of 3 and 5 numbers, the parts are of several sizes.
  EXPECT_EQ(Entry("a = f32[8,4] parameter(0), $X\nb = f32[3,4] slice(a), slice={[5:8],[0:4]}\n"
                  "c = f32[5,4] slice(a), slice={[0:5],[0:4]}\nROOT r = f32[8,4] concatenate(b, c), dimensions={0}"),
            "[x,]");
  EXPECT_EQ(Entry("a = f32[8,4] parameter(0), $X\nROOT b = f32[5,4] slice(a), slice={[0:5],[0:4]}"), "[,]");
  EXPECT_EQ(Entry("a = c64[8,4] parameter(0), $XY\nROOT r = c64[8,4] fft(a), fft_type=FFT, fft_length={4}"), "[x,y]");
}

TEST(Propagate, Movement) {
  EXPECT_EQ(Entry("a = f32[8,4] parameter(0), $XY\nROOT r = f32[4,8] transpose(a), dimensions={1,0}"), "[y,x]");
  EXPECT_EQ(Entry("a = f32[8,4] parameter(0), $XY\nROOT r = f32[8,2,2] reshape(a)"), "[x,y,]");
  EXPECT_EQ(Entry("a = f32[8,4] parameter(0), $X\nROOT r = f32[32] reshape(a)"), "[x]");
  EXPECT_EQ(Entry("a = f32[8,4] parameter(0), $XY\nb = f32[32] reshape(a)\nROOT r = f32[8,4] reshape(b)"), "[x,y]");
  EXPECT_EQ(Entry("a = f32[8,4] parameter(0), $XY\nz = s32[] parameter(1)\nb = f32[1,4] dynamic-slice(a, z, z), "
                  "dynamic_slice_sizes={1,4}\nROOT r = f32[4] reshape(b)"),
            "[y]");
  EXPECT_EQ(Entry("a = f32[8,4] parameter(0), $XY\nz = s32[] parameter(1)\nROOT r = f32[4,4] dynamic-slice(a, z, z), "
                  "dynamic_slice_sizes={4,4}"),
            "[,y]");
  EXPECT_EQ(Entry("a = f32[8,4] parameter(0), $XY\nz = s32[] constant(1)\nROOT r = f32[4,4] dynamic-slice(a, z, z), "
                  "dynamic_slice_sizes={4,4}"),
            "[x,y]");
  EXPECT_EQ(Entry("a = f32[8,4] parameter(0), $XY\nROOT r = u8[8,4,4] bitcast-convert(a)"), "[x,y,]");
  EXPECT_EQ(Entry("a = u8[8,4] parameter(0), $XY\nROOT r = u32[8] bitcast-convert(a)"), "[x]");
  EXPECT_EQ(
      Results("most { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=GE }\n"
              "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n"
              "ENTRY e { a = f32[8,4] parameter(0), $XY\n s = f32[4,2] parameter(1)\n z = f32[] constant(0)\n"
              "ROOT r = f32[8,4] select-and-scatter(a, s, z), window={size=2x2 stride=2x2}, select=most, "
              "scatter=add }"),
      "[x,y]");
  EXPECT_EQ(Entry("a = f32[8,4] parameter(0), $XY\nROOT r = f32[3,8,4] broadcast(a), dimensions={1,2}"), "[,x,y]");
  EXPECT_EQ(Entry("a = f32[8,4] parameter(0), $XY\nROOT r = f32[8,2] slice(a), slice={[0:8],[0:2]}"), "[x,y]");
}

// Along the dimension that is ordered arrays stay cut, but where it is the only one, and where the largest are taken.
TEST(Propagate, Sorts) {
  EXPECT_EQ(Entry("a = f32[8,4] parameter(0), $XY\nROOT r = f32[8,4] sort(a), dimensions={1}, to_apply=below"),
            "[x,y]");
  EXPECT_EQ(Entry("a = f32[8] parameter(0), sharding={devices=[4]<=[4]}\n"
                  "ROOT r = f32[8] sort(a), dimensions={0}, to_apply=below"),
            "[]");
  const std::string pair =
      "a = f32[8,4] parameter(0), $XY\ni = s32[8,4] iota(), iota_dimension=1\n"
      "ROOT r = (f32[8,4], s32[8,4]) sort(a, i), dimensions={1}, to_apply=";
  EXPECT_EQ(Entry(pair + "less"), "[x,y] [x,y]");
  EXPECT_EQ(Entry(pair + "greater"), "[x,] [x,]");
  EXPECT_EQ(Entry("a = f32[8,8] parameter(0), $XY\ni = s32[8,8] iota(), iota_dimension=1\nf = f32[] constant(0)\n"
                  "s = s32[] constant(0)\nROOT r = (f32[8,2], s32[8,2]) custom-call(a, i, f, s), "
                  "custom_call_target=\"ApproxTopK\", called_computations={greater}, backend_config=\"{}\""),
            "[x,y] [x,y]");
}

// With the mesh's axes known, what a dimension is cut by goes over to others, or is dropped, axis by axis.
TEST(Propagate, WholeAxes) {
  const auto shape = [](int x, int y, const std::string& body) {
    auto module = ParseModule(absl::StrCat(
        "HloModule m, num_partitions=8, frontend_attributes={xla.sdy.meshes=\"{mesh = #sdy.mesh<[\\\"x\\\"=", x,
        ", \\\"y\\\"=", y, "]>}\"}\nENTRY e {\na = f32[24,4] parameter(0), sharding={devices=[8,1]<=[8]}\n", body,
        "\n}"));
    if (!module.ok()) return module.status().ToString();
    auto tilings = PropagateShardings(**module, 8);
    if (!tilings.ok()) return std::string(tilings.status().message());
    auto part = tilings->results[0].ShardShape((*module)->entry()->root()->shape());
    return part.ok() ? part->ToString(false) : part.status().ToString();
  };
  const std::string slice = "ROOT r = f32[6,4] slice(a), slice={[0:6],[0:4]}";
  EXPECT_EQ(shape(4, 2, slice), "f32[6,4]");
  EXPECT_EQ(shape(2, 4, slice), "f32[3,4]");
  EXPECT_EQ(shape(8, 1, slice), "f32[6,4]");
  const std::string split = "ROOT r = f32[4,6,4] reshape(a)";
  EXPECT_EQ(shape(4, 2, split), "f32[1,3,4]");
  EXPECT_EQ(shape(2, 4, split), "f32[2,6,4]");
  EXPECT_EQ(shape(2, 4, "ROOT r = f32[2,12,4] reshape(a)"), "f32[1,3,4]");
  EXPECT_EQ(shape(2, 4, "b = f32[4,6,4] reshape(a)\nc = f32[4,6,4] negate(b)\nROOT r = f32[24,4] reshape(c)"),
            "f32[12,4]");
  // Of other numbers of devices, and what is no mesh: nothing is known.
  EXPECT_EQ(shape(3, 2, slice), "f32[6,4]");
  EXPECT_EQ(shape(-2, -4, slice), "f32[6,4]");
  EXPECT_EQ(shape(100, 100, slice), "f32[6,4]");
}

TEST(Propagate, ProductsAndSums) {
  EXPECT_EQ(Entry("a = f32[8,4] parameter(0), $X\nb = f32[4,6] parameter(1)\n"
                  "ROOT r = f32[8,6] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
            "[x,]");
  EXPECT_EQ(Entry("a = f32[8,4] parameter(0), $XY\nb = f32[4,6] parameter(1), $YX\n"
                  "ROOT r = f32[8,6] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
            "[x,]");
  // Of batch dimensions, what both agree on; else the operand counts that has more elements, or is the left one, and
  // the other as far as it uses no axis twice.
  const auto product = [](const std::string& one, const std::string& other, const std::string& k = "4") {
    return Entry("a = f32[8,8,4] parameter(0), sharding={devices=" + one + "}\nb = f32[8,4," + k +
                 "] parameter(1), sharding={devices=" + other + "}\nROOT r = f32[8,8," + k +
                 "] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
                 "rhs_contracting_dims={1}");
  };
  const std::string batch_x = "[2,1,1,2]<=[4] last_tile_dim_replicate", batch_xy = "[4,1,1]<=[4]";
  const std::string batch_y = "[2,1,1,2]<=[2,2]T(1,0) last_tile_dim_replicate";
  const std::string last_x = "[1,1,2,2]<=[4] last_tile_dim_replicate", middle_y_batch_x = "[2,2,1]<=[4]";
  const std::string last_xy = "[1,1,4]<=[4]", batch_y_last_x = "[2,1,2]<=[2,2]T(1,0)";
  EXPECT_EQ(product(batch_x, batch_y), "[,,]");
  EXPECT_EQ(product(batch_x, batch_xy), "[xy,,]");
  EXPECT_EQ(product(batch_x, last_x), "[x,,]");
  EXPECT_EQ(product(batch_x, last_x, "16"), "[,,x]");
  EXPECT_EQ(product(middle_y_batch_x, last_x, "16"), "[,y,x]");
  EXPECT_EQ(product(batch_y, last_xy), "[y,,x]");
  EXPECT_EQ(product(middle_y_batch_x, batch_xy), "[x,y,]");
  EXPECT_EQ(product(middle_y_batch_x, batch_xy, "32"), "[xy,,]");
  EXPECT_EQ(product(batch_x, batch_y_last_x, "16"), "[,,x]");
  EXPECT_EQ(Results("add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }\n"
                    "ENTRY e { a = f32[8,4] parameter(0), $XY\n z = f32[] constant(0)\n"
                    "ROOT r = f32[4] reduce(a, z), dimensions={0}, to_apply=add }"),
            "[y]");
}

TEST(Propagate, AnnotationsAndTuples) {
  EXPECT_EQ(Entry("a = f32[8,4] parameter(0), $X\nb = f32[8,4] custom-call(a), custom_call_target=\"Sharding\", $Y\n"
                  "ROOT t = (f32[8,4], f32[8,4]) tuple(a, b)"),
            "[x,] [y,]");
  EXPECT_EQ(Entry("a = f32[8,4] parameter(0), $XY\nb = f32[8,4] custom-call(a), custom_call_target=\"Sharding\", $X, "
                  "backend_config=\"unspecified_dims=[1]\"\nROOT r = f32[8,4] negate(b)"),
            "[x,y]");
  // At the end, too.
  EXPECT_EQ(Entry("a = f32[8,4] parameter(0), $XY\nROOT b = f32[8,4] custom-call(a), custom_call_target=\"Sharding\", "
                  "$X, backend_config=\"unspecified_dims=[1]\""),
            "[x,y]");
}

TEST(Propagate, CallsOfOneDevice) {
  const std::string call = "a = f32[8,4] parameter(0), $X\nc = f32[8,4] custom-call(a), custom_call_target=\"f\"";
  const std::string one = call + ", sharding={maximal device=0}\n";
  EXPECT_EQ(Entry(call + "\nROOT r = f32[8,4] negate(c)"), "[x,]");
  EXPECT_EQ(Entry(one + "ROOT r = f32[8,4] negate(c)"), "[,]");
  EXPECT_EQ(Entry(one + "ROOT r = f32[8,4] add(a, c)"), "[,]");
  EXPECT_EQ(Entry(one + "n = f32[8,4] negate(c)\nROOT r = f32[8,4] add(a, n)"), "[x,]");
  EXPECT_EQ(Entry(one + "n = f32[8,4] negate(a)\nROOT r = (f32[8,4], f32[8,4]) tuple(c, n)"), "[,] [x,]");
  EXPECT_EQ(Entry(one + "ROOT r = f32[8,4] custom-call(c), custom_call_target=\"Sharding\", $Y"), "[y,]");
  EXPECT_EQ(Entry("a = f32[8,4] parameter(0), $X\nc = (f32[8,4], f32[8,4]) custom-call(a), custom_call_target=\"f\", "
                  "sharding={{maximal device=0}, {maximal device=0}}\n"
                  "g = f32[8,4] get-tuple-element(c), index=1\nROOT r = f32[8,4] multiply(a, g)"),
            "[,]");
}

TEST(Propagate, Loops) {
  EXPECT_EQ(Results(R"(
cond { s = (s32[], f32[8,4]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(3)
  ROOT l = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[8,4]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  x = f32[8,4] get-tuple-element(s), index=1  y = f32[8,4] negate(x)  one = s32[] constant(1)  j = s32[] add(i, one)
  ROOT r = (s32[], f32[8,4]) tuple(j, y) }
ENTRY e { p = f32[8,4] parameter(0), $XY
  i = s32[] constant(0)
  s = (s32[], f32[8,4]) tuple(i, p)
  ROOT w = (s32[], f32[8,4]) while(s), condition=cond, body=body })"),
            "[] [x,y]");
  // What is said in the body counts more than what comes in.
  EXPECT_EQ(Results(R"(
turn { x = f32[8,4] parameter(0)  ROOT y = f32[8,4] custom-call(x), custom_call_target="Sharding", $Y }
cond { s = (s32[], f32[8,4]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(3)
  ROOT l = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[8,4]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  x = f32[8,4] get-tuple-element(s), index=1  y = f32[8,4] call(x), to_apply=turn
  one = s32[] constant(1)  j = s32[] add(i, one)  ROOT r = (s32[], f32[8,4]) tuple(j, y) }
ENTRY e { p = f32[8,4] parameter(0), $X
  i = s32[] constant(0)
  s = (s32[], f32[8,4]) tuple(i, p)
  ROOT w = (s32[], f32[8,4]) while(s), condition=cond, body=body })"),
            "[] [y,]");
}

// Of branches that may be taken, what all agree on.
TEST(Propagate, Branches) {
  const auto branches = [](const std::string& index, const std::string& second) {
    return Results(
        "one { x = f32[8,4] parameter(0)  ROOT y = f32[8,4] negate(x) }\n"
        "two { x = f32[8,4] parameter(0)  ROOT y = f32[8,4] cosine(x) }\n"
        "ENTRY e { a = f32[8,4] parameter(0), $X\n b = f32[8,4] parameter(1), " +
        second + "\n n = s32[] parameter(2)\n i = " + index +
        "\n ROOT r = f32[8,4] conditional(i, a, b), branch_computations={one, two} }");
  };
  EXPECT_EQ(branches("s32[] negate(n)", "$Y"), "[,]");
  EXPECT_EQ(branches("s32[] negate(n)", "$XY"), "[x,y]");
  EXPECT_EQ(branches("s32[] constant(0)", "$Y"), "[x,]");
  EXPECT_EQ(branches("s32[] constant(7)", "$Y"), "[y,]");
  EXPECT_EQ(branches("pred[] constant(true)", "$Y"), "[x,]");
}

// Arrays of a group lie alike, whichever of them says how; a value says it though nobody uses the call.
TEST(Propagate, Groups) {
  const auto member = [](absl::string_view name, absl::string_view value, int group) {
    return absl::StrCat(name, " = f32[8,4] custom-call(", value,
                        "), custom_call_target=\"xla.sdy.ShardingGroup\", "
                        "frontend_attributes={xla.sdy.sharding_group_id=\"",
                        group, "\"}\n");
  };
  const std::string zeros = "z = f32[] constant(0)\nb = f32[8,4] broadcast(z), dimensions={}\n";
  EXPECT_EQ(Entry(absl::StrCat("a = f32[8,4] parameter(0), $XY\n", zeros, member("g", "a", 0), member("h", "b", 0),
                               "ROOT r = f32[8,4] negate(b)")),
            "[x,y]");
  EXPECT_EQ(Entry(absl::StrCat("a = f32[8,4] parameter(0), $XY\n", zeros, member("g", "a", 0), member("h", "b", 1),
                               "ROOT r = f32[8,4] negate(b)")),
            "[,]");
  // From a later member to an earlier one, and through a third.
  EXPECT_EQ(Entry(absl::StrCat(zeros, "c = f32[8,4] negate(b)\na = f32[8,4] parameter(0), $XY\n", member("g", "b", 0),
                               member("h", "c", 0), member("i", "c", 1), member("j", "a", 1),
                               "ROOT r = (f32[8,4], f32[8,4]) tuple(b, c)")),
            "[x,y] [x,y]");
}

TEST(Propagate, UnevenPartsAndErrors) {
  EXPECT_EQ(Entry("a = f32[8,4] parameter(0), $X\nROOT r = f32[8,4] negate(a), sharding={devices=[1,4]<=[4]}"),
            "[,xy]");
  EXPECT_EQ(Entry("a = f32[7,4] parameter(0), $X\nROOT r = f32[7,4] negate(a)"),
            "dimension 0 of f32[7,4] cannot be shared by 2 devices");
  EXPECT_EQ(Entry("a = f32[8] parameter(0), sharding={devices=[2]<=[2]}\nROOT r = f32[8] negate(a)"),
            "a: sharding devices=[2] is for 2 devices, the program for 4");
}

}  // namespace
}  // namespace xc
