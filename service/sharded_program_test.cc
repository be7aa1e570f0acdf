// Programs of whole arrays with shardings: devices give and get parts.
#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "hlo/text/parser.h"
#include "service/device_program.h"

namespace xc {
namespace {

using Values = std::vector<double>;

Literal Make(const Shape& shape, const Values& values) {
  Literal literal{Shape(shape.type(), shape.dims())};
  for (int64_t i = 0; i < literal.size(); ++i) literal.SetDouble(i, values[i]);
  return literal;
}

Values All(const Literal& literal) {
  Values values;
  for (int64_t i = 0; i < literal.size(); ++i) values.push_back(literal.GetDouble(i));
  return values;
}

// inputs[device][leaf], and what each device should get.
void Check(const std::string& text, bool whole, const std::vector<std::vector<Values>>& inputs,
           const std::vector<std::vector<Values>>& expected) {
  for (const char* platform : {"interpreter", "cpu"}) {
    SCOPED_TRACE(platform);
    auto module = ParseModule(text);
    ASSERT_TRUE(module.ok()) << module.status();
    auto program =
        DeviceProgram::Compile(Client::Default(), *std::move(module), platform, DeviceProgram::Form::kWholeArrays);
    ASSERT_TRUE(program.ok()) << program.status();
    EXPECT_EQ((*program)->runs_whole(), whole);
    std::vector<std::vector<Literal>> literals(inputs.size());
    for (size_t d = 0; d < inputs.size(); ++d) {
      for (size_t i = 0; i < inputs[d].size(); ++i) {
        const Shape& leaf = (*program)->parameter_leaves()[i];
        ASSERT_EQ(leaf.ElementCount(), inputs[d][i].size());
        literals[d].push_back(Make(leaf, inputs[d][i]));
      }
    }
    auto results = RunOnDevices(**program, literals);
    ASSERT_TRUE(results.ok()) << results.status();
    for (size_t d = 0; d < inputs.size(); ++d) {
      for (size_t i = 0; i < expected[d].size(); ++i) {
        EXPECT_EQ(All((*results)[d][i]), expected[d][i]) << "device " << d << ", result " << i;
      }
    }
  }
}

TEST(ShardedProgram, RunsWholeWherePartsNeedNoDevice) {
  // Rows of a on the devices; the product's rows lie there too, the sum everywhere.
  Check(R"(HloModule m, num_partitions=2
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
ENTRY e {
  a = f32[2,2] parameter(0), sharding={devices=[2,1]<=[2]}
  b = f32[2,2] parameter(1), sharding={replicated}
  c = f32[2,2] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  z = f32[] constant(0)
  s = f32[] reduce(c, z), dimensions={0,1}, to_apply=add
  ROOT t = (f32[2,2], f32[]) tuple(c, s)
})",
        true, {{{1, 2}, {1, 0, 0, 10}}, {{3, 4}, {1, 0, 0, 10}}}, {{{1, 20}, {64}}, {{3, 40}, {64}}});
}

TEST(ShardedProgram, AnyTiling) {
  // Columns over the first axis of a 2x2 mesh in, both axes swapped out.
  Check(R"(HloModule m, num_partitions=4
ENTRY e {
  a = f32[2,4] parameter(0), sharding={devices=[1,2,2]<=[4] last_tile_dim_replicate}
  b = f32[2,4] negate(a)
  ROOT r = f32[2,4] custom-call(b), custom_call_target="Sharding", sharding={devices=[2,2]<=[2,2]T(1,0)}
})",
        true, {{{0, 1, 4, 5}}, {{0, 1, 4, 5}}, {{2, 3, 6, 7}}, {{2, 3, 6, 7}}},
        {{{0, -1}}, {{-4, -5}}, {{-2, -3}}, {{-6, -7}}});
}

TEST(ShardedProgram, Summands) {
  // Each device has a summand of a; of such a result, the first gets all, the other zeros.
  Check(R"(HloModule m, num_partitions=2
ENTRY e {
  a = f32[2] parameter(0), sharding={devices=[1,2]<=[2] last_tile_dims={unreduced}}
  b = f32[2] add(a, a)
  s = f32[2] custom-call(b), custom_call_target="Sharding", sharding={replicated}
  t = f32[2] custom-call(b), custom_call_target="Sharding", sharding={unreduced}
  ROOT r = (f32[2], f32[2]) tuple(s, t)
})",
        true, {{{1, 2}}, {{10, 20}}}, {{{22, 44}, {22, 44}}, {{22, 44}, {0, 0}}});
}

TEST(ShardedProgram, SummandsOfProducts) {
  Check(R"(HloModule m, num_partitions=2
ENTRY e {
  a = f32[2,2] parameter(0), sharding={devices=[1,2]<=[2]}
  b = f32[2,2] parameter(1), sharding={devices=[2,1]<=[2]}
  p = f32[2,2] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c = f32[2,2] custom-call(p), custom_call_target="Sharding", sharding={unreduced}
  s = f32[2,2] add(c, a)
  ROOT r = f32[2,2] custom-call(s), custom_call_target="Sharding", sharding={unreduced}
})",
        true, {{{1, 3}, {1, 10}}, {{2, 4}, {100, 1000}}}, {{{1 + 1, 10 + 2, 3 + 3, 30 + 4}}, {{200, 2000, 400, 4000}}});
}

// A manual part between arrays in its own tiling: nothing is gathered.
constexpr char kManual[] = R"(HloModule m, num_partitions=2
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
ENTRY e {
  a = f32[4] parameter(0), sharding={devices=[2]<=[2]}
  s = f32[4] custom-call(a), custom_call_target="Sharding", sharding={devices=[2]<=[2]}
  p = f32[2] custom-call(s), custom_call_target="SPMDFullToShardShape", sharding={manual}
  q = f32[2] all-reduce(p), replica_groups={{0,1}}, channel_id=1, use_global_device_ids=true, to_apply=add
  i = u32[] partition-id()
  j = f32[] convert(i)
  k = f32[2] broadcast(j), dimensions={}
  r = f32[2] add(q, k)
  m = f32[2] custom-call(r), custom_call_target="Sharding", sharding={manual}
  ROOT f = f32[4] custom-call(m), custom_call_target="SPMDShardToFullShape", sharding={devices=[2]<=[2]}
})";

TEST(ShardedProgram, ManualParts) {
  Check(kManual, false, {{{1, 2}}, {{10, 20}}}, {{{11, 22}}, {{12, 23}}});
  auto module = ParseModule(kManual);
  auto program =
      DeviceProgram::Compile(Client::Default(), *std::move(module), "interpreter", DeviceProgram::Form::kWholeArrays);
  ASSERT_TRUE(program.ok());
  const std::string text = (*program)->executable().Text("optimized_hlo");
  EXPECT_EQ(text.find("all-gather"), std::string::npos) << text;
  EXPECT_EQ((*program)->result_shardings()[0].tile_dims, (Int64List{2}));
}

TEST(ShardedProgram, ManualPartsBetweenWholeOnes) {
  // The reversed array is computed whole; the manual part gets pieces of it, and its result is summed whole.
  Check(R"(HloModule m, num_partitions=2
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
ENTRY e {
  a = f32[2,2] parameter(0), sharding={devices=[2,1]<=[2]}
  v = f32[2,2] reverse(a), dimensions={0,1}
  s = f32[2,2] custom-call(v), custom_call_target="Sharding", sharding={devices=[1,2]<=[2]}
  p = f32[2,1] custom-call(s), custom_call_target="SPMDFullToShardShape", sharding={manual}
  i = u32[] partition-id()
  j = f32[] convert(i)
  k = f32[2,1] broadcast(j), dimensions={}
  r = f32[2,1] add(p, k)
  m = f32[2,1] custom-call(r), custom_call_target="Sharding", sharding={manual}
  f = f32[2,2] custom-call(m), custom_call_target="SPMDShardToFullShape", sharding={devices=[1,2]<=[2]}
  z = f32[] constant(0)
  t = f32[2] reduce(f, z), dimensions={0}, to_apply=add
  ROOT o = (f32[2,2], f32[2]) tuple(f, t)
})",
        false, {{{1, 2}}, {{3, 4}}}, {{{4, 2}, {6}}, {{4, 2}, {6}}});
}

TEST(ShardedProgram, Refusals) {
  const auto error = [](const std::string& text) {
    auto module = ParseModule(text);
    if (!module.ok()) return module.status().ToString();
    return std::string(
        DeviceProgram::Compile(Client::Default(), *std::move(module), "cpu", DeviceProgram::Form::kWholeArrays)
            .status()
            .message());
  };
  EXPECT_EQ(error("HloModule m, replica_count=2, num_partitions=2\nENTRY e { ROOT a = f32[2] parameter(0) }"),
            "a module of whole arrays has 2 replicas, should have one");
  EXPECT_EQ(
      error("HloModule m, num_partitions=2\nENTRY e { ROOT a = f32[3] parameter(0), sharding={devices=[2]<=[2]} }"),
      "dimension 0 of f32[3] cannot be shared by 2 devices");
}

}  // namespace
}  // namespace xc
