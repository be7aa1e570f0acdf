// Programs of whole arrays, and what the partitioner makes of them for each device: the same results, by the
// collectives that are expected and no others.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "compiler/sharding/partition.h"
#include "compiler/sharding/unreduced.h"
#include "hlo/text/parser.h"
#include "hlo/verifier/verifier.h"
#include "service/device_program.h"

namespace xc {
namespace {

constexpr int64_t kDevices = 4;  // of each program

// `$X`: rows on devices (0, 1 | 2, 3), `$Y`: rows on (0, 2 | 1, 3), `$XY` and `$YX`: rows and columns, `$C`: columns on
// (0, 1 | 2, 3), `$A`: rows on all four devices, `$R`: rows on them in an order that no digits describe.
std::unique_ptr<HloModule> Parse(std::string body) {
  const std::pair<const char*, const char*> kShort[] = {
      {"$XY", "sharding={devices=[2,2]<=[4]}"},
      {"$YX", "sharding={devices=[2,2]<=[2,2]T(1,0)}"},
      {"$X", "sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}"},
      {"$Y", "sharding={devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}"},
      {"$C", "sharding={devices=[1,2,2]<=[4] last_tile_dim_replicate}"},
      {"$A", "sharding={devices=[4,1]<=[4]}"},
      {"$R", "sharding={devices=[4,1]0,1,3,2}"},
      {"$B", "sharding={devices=[4,1,1]<=[4]}"},
      {"$N", "sharding={replicated}"},
      {"$SHARDED", "custom_call_target=\"Sharding\""},
  };
  for (const auto& [name, text] : kShort) {
    for (size_t at; (at = body.find(name)) != std::string::npos;) body.replace(at, std::string(name).size(), text);
  }
  auto module = ParseModule(absl::StrCat(R"(HloModule m, num_partitions=4
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }
less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=LT }
twice { a = f32[8,4] parameter(0)  ROOT r = f32[8,4] add(a, a) }
)",
                                         body));
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? *std::move(module) : nullptr;
}

std::string Entry(const std::string& body) { return "ENTRY e {\n" + body + "\n}"; }

// Different numbers for each element of each leaf, equal where devices have the same part.
std::vector<std::vector<Literal>> Inputs(const DeviceProgram& program) {
  std::vector<std::vector<Literal>> inputs(kDevices);
  for (size_t i = 0; i < program.parameter_leaves().size(); ++i) {
    const Shape& leaf = program.parameter_leaves()[i];
    auto tiling = DeviceTiling::FromSharding(program.parameter_shardings()[i], leaf.rank(), kDevices);
    EXPECT_TRUE(tiling.ok());
    for (int64_t device = 0; device < kDevices; ++device) {
      Literal literal{Shape(leaf.type(), leaf.dims())};
      int64_t part = 0;
      for (int64_t d = 0; d < leaf.rank(); ++d) part = part * tiling->Tiles(d) + tiling->TileOf(device, d);
      for (int64_t n = 0; n < literal.size(); ++n) {
        literal.SetDouble(n, static_cast<double>((part * 31 + n * 7 + static_cast<int64_t>(i) * 3) % 13 - 4));
      }
      inputs[device].push_back(std::move(literal));
    }
  }
  return inputs;
}

// `collectives`: of which kinds there are some in the partitioned program, sorted.
void Check(const std::string& body, const std::string& collectives) {
  SCOPED_TRACE(body);
  std::unique_ptr<HloModule> module = Parse(body);
  ASSERT_NE(module, nullptr);
  std::unique_ptr<HloModule> parts = module->Clone();
  auto whole =
      DeviceProgram::Compile(Client::Default(), std::move(module), "interpreter", DeviceProgram::Form::kWholeArrays);
  ASSERT_TRUE(whole.ok()) << whole.status();
  ASSERT_TRUE((*whole)->runs_whole());
  auto tilings = PropagateShardings(*parts, kDevices);
  ASSERT_TRUE(tilings.ok()) << tilings.status();
  const EntryTilings as_given = *tilings;
  ASSERT_TRUE(StackUnreduced(parts.get(), &*tilings).ok());
  const absl::Status status = PartitionModule(parts.get(), *tilings);
  ASSERT_TRUE(status.ok()) << status;
  DropStacks(parts.get(), as_given);
  const absl::Status verified = VerifyModule(*parts);
  ASSERT_TRUE(verified.ok()) << verified << parts->ToString();
  std::set<std::string> kinds;
  for (const HloComputation* computation : parts->ComputationPostOrder()) {
    for (const auto& i : computation->instructions()) {
      if (IsCollective(i->opcode())) kinds.insert(std::string(OpcodeName(i->opcode())));
    }
  }
  std::string found;
  for (const std::string& kind : kinds) absl::StrAppend(&found, found.empty() ? "" : " ", kind);
  EXPECT_EQ(found, collectives) << parts->ToString();
  const std::string text = parts->ToString();
  auto cut =
      DeviceProgram::Compile(Client::Default(), std::move(parts), "interpreter", DeviceProgram::Form::kOfDevices);
  ASSERT_TRUE(cut.ok()) << cut.status() << text;
  const std::vector<std::vector<Literal>> inputs = Inputs(**whole);
  auto expected = RunOnDevices(**whole, inputs);
  auto actual = RunOnDevices(**cut, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_TRUE(actual.ok()) << actual.status() << text;
  for (int64_t device = 0; device < kDevices; ++device) {
    ASSERT_EQ((*actual)[device].size(), (*expected)[device].size());
    for (size_t i = 0; i < (*expected)[device].size(); ++i) {
      const Literal &a = (*actual)[device][i], &e = (*expected)[device][i];
      ASSERT_TRUE(Compatible(a.shape(), e.shape())) << a.shape().ToString() << e.shape().ToString() << text;
      for (int64_t n = 0; n < e.size(); ++n) {
        EXPECT_EQ(a.GetDouble(n), e.GetDouble(n)) << "device " << device << " at " << n << "\n" << text;
      }
    }
  }
}

TEST(PartitionedProgram, Elementwise) {
  Check(Entry("a = f32[8,4] parameter(0), $X\nROOT r = f32[8,4] negate(a)"), "");
  Check(Entry("a = f32[8,4] parameter(0), $X\nb = f32[8,4] parameter(1), $N\nROOT r = f32[8,4] add(a, b)"), "");
  Check(Entry("a = f32[8,4] parameter(0), $X\nb = f32[8,4] parameter(1), $Y\nROOT r = f32[8,4] add(a, b)"),
        "all-gather");
  Check(Entry("a = f32[8,4] parameter(0), $XY\nc = f32[] constant(3)\nb = f32[8,4] broadcast(c), dimensions={}\n"
              "ROOT r = f32[8,4] clamp(c, a, b)"),
        "");
}

TEST(PartitionedProgram, OtherTilings) {
  const std::string kKinds[] = {"$X", "$Y", "$XY", "$YX", "$C", "$A", "$R", "$N"};
  // By what each of them becomes: `.` nothing, g all-gather, p collective-permute, t all-to-all.
  const std::string kExpected[] = {// from $X, $Y, …
                                   ". p . p t . . g",  "p . p . tp p p g",  "g gp . p gp t tp g", "gp g p . g tp tp g",
                                   "t tp p . . t t g", "g gp t tp g . p g", "g gp tp tp g p . g", ". . . . . . . ."};
  for (size_t f = 0; f < std::size(kKinds); ++f) {
    const std::vector<std::string> row = absl::StrSplit(kExpected[f], ' ');
    for (size_t t = 0; t < std::size(kKinds); ++t) {
      std::string kinds = absl::StrReplaceAll(
          row[t], {{".", ""}, {"g", "all-gather "}, {"p", "collective-permute "}, {"t", "all-to-all "}});
      absl::StripTrailingAsciiWhitespace(&kinds);
      Check(Entry("a = f32[8,4] parameter(0), " + kKinds[f] + "\nROOT r = f32[8,4] custom-call(a), $SHARDED, " +
                  kKinds[t]),
            kinds);
    }
  }
}

TEST(PartitionedProgram, Dots) {
  const auto dot = [](const std::string& a, const std::string& b, const std::string& collectives) {
    Check(Entry("a = f32[8,4] parameter(0), " + a + "\nb = f32[4,8] parameter(1), " + b +
                "\nROOT r = f32[8,8] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
          collectives);
  };
  dot("$X", "$N", "");
  dot("$X", "$X", "all-gather");
  dot("$N", "$X", "all-reduce");
  dot("$XY", "$Y", "all-reduce");
  dot("$C", "$X", "all-reduce");
  dot("$C", "$C", "all-gather");
  dot("$R", "$N", "");
  dot("$X", "$R", "all-gather");
  Check(Entry("a = f32[2,8,4] parameter(0), sharding={devices=[2,2,1]<=[4]}\n"
              "b = f32[2,4,2] parameter(1), sharding={devices=[2,1,1,2]<=[4] last_tile_dim_replicate}\n"
              "ROOT r = f32[2,8,2] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
              "rhs_contracting_dims={1}"),
        "");
}

TEST(PartitionedProgram, Reductions) {
  const auto reduce = [](const std::string& a, const std::string& dims, const std::string& result,
                         const std::string& start, const std::string& by, const std::string& collectives) {
    Check(Entry("a = f32[8,4] parameter(0), " + a + "\nz = f32[] constant(" + start + ")\nROOT r = " + result +
                " reduce(a, z), dimensions={" + dims + "}, to_apply=" + by),
          collectives);
  };
  reduce("$X", "1", "f32[8]", "0", "add", "");
  reduce("$X", "0", "f32[4]", "0", "add", "all-reduce");
  reduce("$XY", "0,1", "f32[]", "0", "add", "all-reduce");
  reduce("$XY", "0", "f32[4]", "2", "max", "all-reduce");
  reduce("$A", "0", "f32[4]", "1", "add", "all-gather");
}

TEST(PartitionedProgram, Shapes) {
  Check(Entry("a = f32[8,4] parameter(0), $XY\nROOT r = f32[4,8] transpose(a), dimensions={1,0}"), "");
  Check(Entry("a = f32[8,4] parameter(0), $XY\nROOT r = f32[3,8,4] broadcast(a), dimensions={1,2}"), "");
  Check(Entry("a = f32[8,4] parameter(0), $X\nROOT r = f32[32] reshape(a)"), "");
  Check(Entry("a = f32[8,4] parameter(0), $XY\nROOT r = f32[32] reshape(a)"), "all-gather");
  Check(Entry("a = f32[8,4] parameter(0), $A\nr = f32[2,4,1,4] reshape(a)\n"
              "ROOT s = f32[2,4,1,4] custom-call(r), $SHARDED, sharding={devices=[2,2,1,1]<=[4]}"),
        "");
  Check(Entry("a = f32[4,8] parameter(0), $A\nr = f32[2,16] reshape(a)\n"
              "ROOT s = f32[2,16] custom-call(r), $SHARDED, sharding={devices=[2,2]<=[4]}"),
        "");
  Check(Entry("a = f32[8,4] parameter(0), $XY\nROOT r = f32[2,4,2,2] reshape(a)"), "");
  Check(Entry("a = f32[8,4] parameter(0), $X\nROOT r = f32[8,2] slice(a), slice={[0:8],[1:3]}"), "");
  Check(Entry("a = f32[8,4] parameter(0), $XY\nROOT r = f32[4,4] slice(a), slice={[2:6],[0:4]}"), "all-gather");
  Check(Entry("a = f32[8,4] parameter(0), $X\nz = f32[] constant(5)\nROOT r = f32[8,7] pad(a, z), padding=0_0x1_2"),
        "");
  Check(Entry("a = f32[8,4] parameter(0), $X\nROOT r = f32[8,4] reverse(a), dimensions={0}"), "collective-permute");
  Check(Entry("a = f32[8,4] parameter(0), $R\nROOT r = f32[8,4] reverse(a), dimensions={0,1}"), "collective-permute");
  Check(Entry("a = f32[8,4] parameter(0), $X\nROOT r = f32[4,4] slice(a), slice={[1:8:2],[0:4]}"), "");
  Check(Entry("a = f32[8,4] parameter(0), $A\nROOT r = f32[2,4] slice(a), slice={[1:8:4],[0:4]}"), "all-gather");
  Check(Entry("a = f32[8,4] parameter(0), $X\nb = f32[8,2] parameter(1), $N\n"
              "ROOT r = f32[8,6] concatenate(a, b), dimensions={1}"),
        "");
  Check(Entry("a = f32[8,4] parameter(0), $X\nROOT r = f32[8,4] sort(a), dimensions={1}, to_apply=less"), "");
  Check(Entry("a = f32[8,4] parameter(0), $X\ni = s32[] constant(1)\nz = s32[] constant(0)\n"
              "ROOT r = f32[8,2] dynamic-slice(a, z, i), dynamic_slice_sizes={8,2}"),
        "");
  Check(Entry("a = f32[8,4] parameter(0), $X\nb = f32[8,2] parameter(1), $Y\ni = s32[] constant(1)\n"
              "z = s32[] constant(0)\nROOT r = f32[8,4] dynamic-update-slice(a, b, z, i)"),
        "collective-permute");
  Check(Entry("a = f32[8,4] parameter(0), $X\nz = f32[] constant(0)\n"
              "ROOT r = f32[8,4] reduce-window(a, z), window={size=1x4 pad=0_0x3_0}, to_apply=add"),
        "");
}

// What is sorted or joined along a dimension that is cut is cut along another one meanwhile.
TEST(PartitionedProgram, OtherDimensionsMeanwhile) {
  const std::string sort = "\nROOT r = f32[8,4] sort(a), dimensions={0}, to_apply=less";
  Check(Entry("a = f32[8,4] parameter(0), $X" + sort), "all-to-all");
  Check(Entry("a = f32[8,4] parameter(0), $A" + sort), "all-to-all");
  Check(Entry("a = f32[8,4] parameter(0), $XY" + sort), "all-to-all");
  Check(Entry("a = f32[8,4] parameter(0), $X\nb = f32[8,4] parameter(1), $X\n"
              "ROOT r = f32[16,4] concatenate(a, b), dimensions={0}"),
        "all-to-all");
  Check(Entry("a = f32[8,3] parameter(0), $X\nROOT r = f32[8,3] sort(a), dimensions={0}, to_apply=less"), "all-gather");
}

TEST(PartitionedProgram, Rotations) {
  const auto rotate = [](const std::string& a, int by, const std::string& collectives) {
    Check(Entry(absl::StrCat("a = f32[8,4] parameter(0), ", a, "\nx = f32[", 8 - by, ",4] slice(a), slice={[", by,
                             ":8],[0:4]}\ny = f32[", by, ",4] slice(a), slice={[0:", by,
                             "],[0:4]}\nROOT r = f32[8,4] concatenate(x, y), dimensions={0}")),
          collectives);
  };
  for (const int by : {1, 2, 3, 4, 7}) {
    rotate("$A", by, "collective-permute");
    rotate("$XY", by, "collective-permute");
    rotate("$R", by, "collective-permute");
    rotate("$C", by, "");
  }
  // Parts of two arrays are no rotation.
  Check(Entry("a = f32[8,4] parameter(0), $A\nb = f32[8,4] parameter(1), $A\nx = f32[6,4] slice(a), "
              "slice={[2:8],[0:4]}\ny = f32[2,4] slice(b), slice={[0:2],[0:4]}\n"
              "ROOT r = f32[8,4] concatenate(x, y), dimensions={0}"),
        "all-gather all-reduce");
}

TEST(PartitionedProgram, Batches) {
  const std::string matrices =
      "a = f32[4,2,2] parameter(0), $B\n"
      "d = f32[2,2] constant({{90,0},{0,90}})\nb = f32[4,2,2] broadcast(d), dimensions={1,2}\n"
      "m = f32[4,2,2] add(a, b)\n";
  Check(Entry(matrices + "ROOT r = f32[4,2,2] cholesky(m), lower=true"), "");
  Check(Entry(matrices + "x = f32[4,2,3] parameter(1), $N\n"
                         "ROOT r = f32[4,2,3] triangular-solve(m, x), left_side=true, lower=true"),
        "");
  Check(Entry(matrices + "c = c64[4,2,2] fft(m), fft_type=RFFT, fft_length={2}\n"
                         "ROOT r = f32[4,2,2] real(c)"),
        "");
  Check(Entry("a = f32[8,4] parameter(0), $XY\nROOT r = (f32[8,2], s32[8,2]) topk(a), k=2, largest=true"),
        "all-gather");
  Check(Entry("a = f32[8,4] parameter(0), $X\ns = f32[8,2] parameter(1), $X\nz = f32[] constant(0)\n"
              "ROOT r = f32[8,4] select-and-scatter(a, s, z), window={size=1x2 stride=1x2}, select=less, scatter=add"),
        "");
}

// No instruction has the whole arrays, s32[8,4].
void ExpectParts(const std::string& body) {
  std::unique_ptr<HloModule> module = Parse(body);
  const auto tilings = PropagateShardings(*module, kDevices);
  ASSERT_TRUE(tilings.ok());
  ASSERT_TRUE(PartitionModule(module.get(), *tilings).ok());
  for (HloComputation* computation : module->ComputationPostOrder()) computation->RemoveDead();
  EXPECT_EQ(module->ToString().find("[8,4]"), std::string::npos) << module->ToString();
}

// Devices make their own parts of what follows from no parameter.
TEST(PartitionedProgram, Sources) {
  Check(Entry("i = s32[8,4] iota(), iota_dimension=0\nn = s32[8,4] negate(i)\n"
              "ROOT s = s32[8,4] custom-call(n), $SHARDED, $XY"),
        "");
  const std::string body =
      "a = f32[8,4] parameter(0), $A\ni = u8[8,4] iota(), iota_dimension=0\nj = s32[4,8] iota(), iota_dimension=0\n"
      "t = s32[8,4] transpose(j), dimensions={1,0}\nc = s32[8,4] convert(i)\nd = s32[8,4] multiply(c, t)\n"
      "k = s32[] constant(5)\nb = s32[8,4] broadcast(k), dimensions={}\ne = s32[8,4] add(d, b)\n"
      "f = f32[8,4] convert(e)\nROOT r = f32[8,4] add(a, f)";
  Check(Entry(body), "");
  ExpectParts(Entry(body));
  ExpectParts(Entry("i = s32[8,4] iota(), iota_dimension=0\nROOT s = s32[8,4] custom-call(i), $SHARDED, $XY"));
  const std::string loop = R"(
below { s = (s32[], s32[8,4]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(3)
  ROOT r = pred[] compare(i, n), direction=LT }
more { s = (s32[], s32[8,4]) parameter(0)  i = s32[] get-tuple-element(s), index=0  one = s32[] constant(1)
  j = s32[] add(i, one)  x = s32[8,4] get-tuple-element(s), index=1  y = s32[8,4] multiply(x, x)
  b = s32[8,4] broadcast(i), dimensions={}  v = s32[8,4] add(y, b)
  ROOT r = (s32[], s32[8,4]) tuple(j, v) }
ENTRY e {
  a = s32[8,4] parameter(0), $C
  z = s32[] constant(0)
  i = s32[8,4] iota(), iota_dimension=1
  s = (s32[], s32[8,4]) tuple(z, i)
  w = (s32[], s32[8,4]) while(s), condition=below, body=more
  x = s32[8,4] get-tuple-element(w), index=1
  ROOT r = s32[8,4] add(a, x)
})";
  Check(loop, "");
  ExpectParts(loop);
}

TEST(PartitionedProgram, Gathers) {
  // Whole slices; positions of indices; batches.
  Check(Entry("a = f32[4,8] parameter(0), $C\ni = s32[3,1] constant({{1},{7},{1}})\n"
              "ROOT r = f32[3,8] gather(a, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
              "index_vector_dim=1, slice_sizes={1,8}"),
        "");
  Check(Entry("a = f32[8,4] parameter(0), $N\ni = s32[8,1] parameter(1), $X\n"
              "ROOT r = f32[8,4] gather(a, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
              "index_vector_dim=1, slice_sizes={1,4}"),
        "");
  Check(Entry("a = f32[8,4] parameter(0), $A\ni = s32[8,3] parameter(1), $X\n"
              "ROOT r = f32[8,3] gather(a, i), offset_dims={}, collapsed_slice_dims={1}, start_index_map={1}, "
              "operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=2, slice_sizes={1,1}"),
        "");
}

// What one device has of a dimension that is cut.
TEST(PartitionedProgram, SlicesWithinOnePart) {
  const auto slice = [](const std::string& a, const std::string& shape, const std::string& at,
                        const std::string& collectives) {
    Check(Entry("a = f32[8,4] parameter(0), " + a + "\nROOT r = " + shape + " slice(a), slice={" + at + "}"),
          collectives);
  };
  slice("$A", "f32[1,4]", "[5:6],[0:4]", "all-reduce");
  slice("$XY", "f32[1,4]", "[0:1],[0:4]", "all-reduce");
  slice("$XY", "f32[1,1]", "[6:7],[3:4]", "all-reduce");
  slice("$XY", "f32[3,4]", "[4:7],[0:4]", "all-reduce");
  slice("$X", "f32[3,2]", "[1:4],[1:3]", "all-reduce");
  slice("$R", "f32[1,4]", "[6:7],[0:4]", "all-reduce");
  slice("$X", "f32[3,4]", "[2:5],[0:4]", "all-gather");  // of two devices
  slice("$X", "f32[0,4]", "[2:2],[0:4]", "all-gather");
}

// Single elements along dimensions that are cut: each device takes what it has.
TEST(PartitionedProgram, GathersFromParts) {
  const auto rows = [](const std::string& a, const std::string& i, const std::string& collectives) {
    Check(Entry("a = f32[8,4] parameter(0), " + a + "\ni = s32[6,1] " + i +
                "\nROOT r = f32[6,4] gather(a, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
                "index_vector_dim=1, slice_sizes={1,4}"),
          collectives);
  };
  const std::string constant = "constant({{1},{7},{1},{-3},{40},{0}})";
  rows("$A", constant, "all-reduce");
  rows("$XY", constant, "all-reduce");
  rows("$R", constant, "all-reduce");
  rows("$X", "parameter(1), $Y", "all-reduce");
  rows("$X", "parameter(1), $X", "all-gather");  // the result is cut by what cuts the array
  Check(Entry("a = pred[8,4] parameter(0), $A\ni = s64[2,5] parameter(1), $N\n"
              "ROOT r = pred[5] gather(a, i), offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={1,0}, "
              "index_vector_dim=0, slice_sizes={1,1}"),
        "all-reduce");
  Check(Entry("a = f64[8,4] parameter(0), $XY\ni = u8[5] parameter(1), $N\n"
              "ROOT r = f64[5,2,3] gather(a, i), offset_dims={1,2}, collapsed_slice_dims={}, start_index_map={0}, "
              "index_vector_dim=1, slice_sizes={2,3}"),
        "all-gather");
}

// Updates that are cut where the array is not: sums of devices' sums.
TEST(PartitionedProgram, ScattersOfParts) {
  const auto add = [](const std::string& i, const std::string& u, const std::string& by,
                      const std::string& collectives) {
    Check(Entry("a = f32[5,4] parameter(0), $N\ni = s32[8,1] parameter(1), " + i + "\nu = f32[8,4] parameter(2), " + u +
                "\nROOT r = f32[5,4] scatter(a, i, u), update_window_dims={1}, inserted_window_dims={0}, "
                "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=" +
                by),
          collectives);
  };
  add("$N", "$X", "add", "all-reduce");
  add("$A", "$A", "add", "all-reduce");
  add("$X", "$C", "add", "all-gather");  // the result is cut by what cuts the indices
  add("$Y", "$C", "add", "all-reduce");
  add("$N", "$XY", "add", "all-reduce");
  add("$X", "$X", "max", "all-gather");
}

// Numbers of an index that count along the indices, as those of `x[arange(n), j]`.
TEST(PartitionedProgram, CountedIndices) {
  const std::string indices =
      "a = f32[8,4] parameter(0), $A\nj = s32[8] parameter(1), sharding={devices=[4]<=[4]}\ni = s32[8] iota(), "
      "iota_dimension=0\n"
      "z = s32[] constant(0)\nzs = s32[8] broadcast(z), dimensions={}\nless = pred[8] compare(i, zs), direction=LT\n"
      "n = s32[] constant(8)\nns = s32[8] broadcast(n), dimensions={}\nend = s32[8] add(i, ns)\n"
      "at = s32[8] select(less, end, i)\nx = s32[8,1] reshape(at)\ny = s32[8,1] reshape(j)\n"
      "k = s32[8,2] concatenate(x, y), dimensions={1}\n";
  Check(Entry(indices + "ROOT r = f32[8] gather(a, k), offset_dims={}, collapsed_slice_dims={0,1}, "
                        "start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,1}"),
        "");
  Check(Entry(indices + "u = f32[8] parameter(2), sharding={devices=[4]<=[4]}\n"
                        "ROOT r = f32[8,4] scatter(a, k, u), update_window_dims={}, inserted_window_dims={0,1}, "
                        "scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=add"),
        "");
  // Into an array that lies whole on each device.
  Check(Entry(indices + "u = f32[8] parameter(2), sharding={devices=[4]<=[4]}\nzero = f32[] constant(0)\n"
                        "b = f32[8,4] broadcast(zero), dimensions={}\n"
                        "ROOT r = f32[8,4] scatter(b, k, u), update_window_dims={}, inserted_window_dims={0,1}, "
                        "scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=add"),
        "");
}

TEST(PartitionedProgram, Scatters) {
  // Rows that lie on other devices; whole windows; batches; windows that are shorter than what is cut.
  for (const char* type : {"s32", "u8", "s8", "u64"}) {
    Check(Entry(absl::StrCat("a = f32[8,4] parameter(0), $A\ni = ", type, "[3,1] constant({{1},{7},{1}})\n",
                             "u = f32[3,4] parameter(1), $N\n"
                             "ROOT r = f32[8,4] scatter(a, i, u), update_window_dims={1}, inserted_window_dims={0}, "
                             "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add")),
          "");
  }
  Check(Entry("a = f32[8,4] parameter(0), $XY\ni = s32[6,2] constant({{1,0},{3,7},{2,6},{-1,0},{0,8},{3,4}})\n"
              "u = f32[6] parameter(1), $N\n"
              "ROOT r = f32[8,4] scatter(a, i, u), update_window_dims={}, inserted_window_dims={0,1}, "
              "scatter_dims_to_operand_dims={1,0}, index_vector_dim=1, to_apply=add"),
        "");
  Check(Entry("a = f32[4,8] parameter(0), $C\ni = s32[3] constant({1,9,1})\nu = f32[3,8] parameter(1), $C\n"
              "ROOT r = f32[4,8] scatter(a, i, u), update_window_dims={1}, inserted_window_dims={0}, "
              "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add"),
        "");
  Check(Entry("a = f32[8,4] parameter(0), $A\ni = s32[8,3] parameter(1), $X\nu = f32[8,3] parameter(2), $X\n"
              "ROOT r = f32[8,4] scatter(a, i, u), update_window_dims={}, inserted_window_dims={1}, "
              "scatter_dims_to_operand_dims={1}, input_batching_dims={0}, scatter_indices_batching_dims={0}, "
              "index_vector_dim=2, to_apply=add"),
        "");
  Check(Entry("a = f32[8,4] parameter(0), $A\ni = s32[1,1] constant({{5}})\nu = f32[1,2,4] parameter(1), $N\n"
              "ROOT r = f32[8,4] scatter(a, i, u), update_window_dims={1,2}, inserted_window_dims={}, "
              "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add"),
        "all-gather");
}

TEST(PartitionedProgram, TheRestIsComputedWhole) {
  Check(Entry("a = f32[8,4] parameter(0), $A\nn = s32[] constant(0)\nROOT r = f32[8,4] call(a), to_apply=twice"), "");
  Check(Entry("a = f32[8,4] parameter(0), $A\ni = f32[8,4] iota(), iota_dimension=0\nb = f32[8,4] add(a, i)\n"
              "t = (f32[8,4], f32[8,4]) tuple(a, b)\no = (f32[8,4], f32[8,4]) opt-barrier(t)\n"
              "x = f32[8,4] get-tuple-element(o), index=1\nROOT r = (f32[8,4], f32[8,4]) tuple(x, a)"),
        "");
  Check(R"(
below { s = (s32[], f32[8,4]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(3)
  ROOT r = pred[] compare(i, n), direction=LT }
more { s = (s32[], f32[8,4]) parameter(0)  i = s32[] get-tuple-element(s), index=0  one = s32[] constant(1)
  j = s32[] add(i, one)  x = f32[8,4] get-tuple-element(s), index=1  y = f32[8,4] add(x, x)
  ROOT r = (s32[], f32[8,4]) tuple(j, y) }
ENTRY e {
  a = f32[8,4] parameter(0), $X
  z = s32[] constant(0)
  s = (s32[], f32[8,4]) tuple(z, a)
  w = (s32[], f32[8,4]) while(s), condition=below, body=more
  x = f32[8,4] get-tuple-element(w), index=1
  ROOT r = (f32[8,4], s32[]) tuple(x, z)
})",
        "");
  // The sum over rows is one over devices; columns are sorted by devices that have them whole.
  Check(R"(
yes { a = f32[8,4] parameter(0)  z = f32[] constant(0)  s = f32[4] reduce(a, z), dimensions={0}, to_apply=add
  b = f32[8,4] broadcast(s), dimensions={1}  ROOT r = f32[8,4] add(a, b) }
no { a = f32[8,4] parameter(0)  ROOT r = f32[8,4] sort(a), dimensions={0}, to_apply=less }
ENTRY e {
  a = f32[8,4] parameter(0), $X
  b = f32[8,4] parameter(1), $XY
  p = pred[] parameter(2), $N
  ROOT r = f32[8,4] conditional(p, a, b), true_computation=yes, false_computation=no
})",
        "all-reduce all-to-all");
}

TEST(PartitionedProgram, Summands) {
  const std::string rows_of_summands = "sharding={devices=[2,1,2]<=[4] last_tile_dims={unreduced}}";
  Check(Entry("a = f32[8,4] parameter(0), $XY\nb = f32[4,8] parameter(1), $Y\n"
              "p = f32[8,8] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
              "ROOT r = f32[8,8] custom-call(p), $SHARDED, " +
              rows_of_summands),
        "");
  Check(Entry("a = f32[8,4] parameter(0), " + rows_of_summands + "\nn = f32[8,4] negate(a)\n" +
              "ROOT r = (f32[8,4], f32[8,4]) tuple(n, a)"),
        "all-reduce");
}

TEST(PartitionedProgram, Convolutions) {
  Check(Entry("a = f32[8,4,3] parameter(0), sharding={devices=[2,1,1,2]<=[4] last_tile_dim_replicate}\n"
              "k = f32[2,3,4] parameter(1), sharding={devices=[1,1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}\n"
              "ROOT r = f32[8,3,4] convolution(a, k), window={size=2}, dim_labels=b0f_0io->b0f"),
        "");
}

}  // namespace
}  // namespace xc
