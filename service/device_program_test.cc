// Collectives in HLO text, on 1 to 8 devices, on both platforms, with one and two threads.
#include "service/device_program.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "hlo/text/parser.h"

namespace xc {
namespace {

using Values = std::vector<double>;

constexpr char kComputations[] = R"(
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
mul { a = s32[] parameter(0)  b = s32[] parameter(1)  ROOT r = s32[] multiply(a, b) }
max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }
minus { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] subtract(a, b) }
)";

using Form = DeviceProgram::Form;

absl::StatusOr<std::shared_ptr<const DeviceProgram>> Compile(const std::string& text, const std::string& platform,
                                                             Form form = Form::kOfDevices) {
  auto module = ParseModule(text);
  if (!module.ok()) return module.status();
  return DeviceProgram::Compile(Client::Default(), *std::move(module), platform, form);
}

std::string Module(int replicas, int partitions, const std::string& body) {
  return absl::StrCat("HloModule m, replica_count=", replicas, ", num_partitions=", partitions, "\n", kComputations,
                      "ENTRY e {\n", body, "\n}\n");
}

Literal Make(const Shape& shape, const std::function<double(int64_t)>& at) {
  Literal literal{Shape(shape.type(), shape.dims())};
  for (int64_t i = 0; i < literal.size(); ++i) literal.SetDouble(i, at(i));
  return literal;
}

Values All(const Literal& literal) {
  Values values;
  for (int64_t i = 0; i < literal.size(); ++i) values.push_back(literal.GetComplex(i).real());
  return values;
}

// Runs with input(device, leaf, i) for element i of each input; calls check(device, results).
void RunAll(const std::string& text, const std::function<double(int64_t, int64_t, int64_t)>& input,
            const std::function<void(int64_t, const std::vector<Literal>&)>& check) {
  SCOPED_TRACE(text);
  for (const char* platform : {"interpreter", "cpu"}) {
    SCOPED_TRACE(platform);
    auto program = Compile(text, platform);
    ASSERT_TRUE(program.ok()) << program.status();
    EXPECT_EQ((*program)->executable().evaluated().size(), 0);
    std::vector<std::vector<Literal>> inputs((*program)->devices());
    for (size_t d = 0; d < inputs.size(); ++d) {
      for (const Shape& leaf : (*program)->parameter_leaves()) {
        inputs[d].push_back(
            Make(leaf, [&, l = inputs[d].size()](int64_t i) { return input(static_cast<int64_t>(d), l, i); }));
      }
    }
    for (int threads : {1, 2}) {
      RunOptions options;
      options.executor = DefaultExecutor();
      options.thread_limit = threads;
      auto results = RunOnDevices(**program, inputs, options, absl::Seconds(100));
      ASSERT_TRUE(results.ok()) << results.status();
      for (size_t d = 0; d < inputs.size(); ++d) check(static_cast<int64_t>(d), (*results)[d]);
    }
  }
}

double DeviceAndIndex(int64_t device, int64_t, int64_t i) { return static_cast<double>(10 * device + i); }

TEST(DeviceProgram, AllReduce) {
  for (int n : {1, 2, 4, 8}) {
    RunAll(Module(n, 1, "p = f32[3] parameter(0)\nROOT r = f32[3] all-reduce(p), replica_groups={}, to_apply=add"),
           DeviceAndIndex, [&](int64_t, const std::vector<Literal>& out) {
             const double sum = 10.0 * n * (n - 1) / 2;
             EXPECT_EQ(All(out[0]), (Values{sum, sum + n, sum + 2 * n}));
           });
  }
}

TEST(DeviceProgram, LargeSumsAreMadeInParts) {
  for (int n : {3, 4, 8}) {
    RunAll(Module(n, 1, R"(p = f32[30001] parameter(0)
q = f32[5] parameter(1)
t = (f32[30001], f32[5]) all-reduce(p, q), replica_groups={}, to_apply=add
a = f32[30001] get-tuple-element(t), index=0
b = f32[5] get-tuple-element(t), index=1
ROOT r = (f32[30001], f32[5]) tuple(a, b))"),
           DeviceAndIndex, [&](int64_t, const std::vector<Literal>& out) {
             const double sum = 10.0 * n * (n - 1) / 2;
             for (int64_t i : {0, 7500, 15000, 30000}) EXPECT_EQ(out[0].GetDouble(i), sum + n * i);
             EXPECT_EQ(out[1].GetDouble(4), sum + 4 * n);
           });
  }
}

// Groups in every way of writing them, over replicas, partitions and devices.
TEST(DeviceProgram, Groups) {
  const auto sum_of = [](const std::string& groups, int replicas, int partitions) {
    std::vector<double> sums;
    RunAll(
        Module(replicas, partitions,
               absl::StrCat("p = f32[1] parameter(0)\nROOT r = f32[1] all-reduce(p), to_apply=add, ", groups)),
        [](int64_t device, int64_t, int64_t) { return static_cast<double>(1 << device); },
        [&](int64_t device, const std::vector<Literal>& out) {
          sums.resize(replicas * partitions);
          if (sums[device] != 0) {
            EXPECT_EQ(sums[device], out[0].GetDouble(0));
          }
          sums[device] = out[0].GetDouble(0);
        });
    return sums;
  };
  EXPECT_EQ(sum_of("replica_groups={{0,2},{1,3}}", 4, 1), (Values{5, 10, 5, 10}));
  EXPECT_EQ(sum_of("replica_groups=[2,2]<=[4]", 4, 1), (Values{3, 3, 12, 12}));
  EXPECT_EQ(sum_of("replica_groups=[2,2]<=[2,2]T(1,0)", 4, 1), (Values{5, 10, 5, 10}));
  // Replicas of the same partition; replicas with all partitions; devices.
  EXPECT_EQ(sum_of("replica_groups={{0,1}}", 2, 2), (Values{5, 10, 5, 10}));
  EXPECT_EQ(sum_of("replica_groups={{0},{1}}, channel_id=1", 2, 2), (Values{3, 3, 12, 12}));
  EXPECT_EQ(sum_of("replica_groups={{0,3},{1,2}}, channel_id=1, use_global_device_ids=true", 2, 2),
            (Values{9, 6, 6, 9}));
  EXPECT_EQ(sum_of("replica_groups=[2,4]<=[8], channel_id=1, use_global_device_ids=true", 1, 8),
            (Values{15, 15, 15, 15, 240, 240, 240, 240}));
}

TEST(DeviceProgram, ReductionsAndTypes) {
  RunAll(
      Module(4, 1, "p = s32[1] parameter(0)\nROOT r = s32[1] all-reduce(p), replica_groups={}, to_apply=mul"),
      [](int64_t d, int64_t, int64_t) { return d + 1.0; },
      [](int64_t, const std::vector<Literal>& out) { EXPECT_EQ(All(out[0]), (Values{24})); });
  RunAll(
      Module(4, 1, "p = f32[2] parameter(0)\nROOT r = f32[2] all-reduce(p), replica_groups={}, to_apply=max"),
      [](int64_t d, int64_t, int64_t i) { return i == 0 ? -d - 1.0 : d; },
      [](int64_t, const std::vector<Literal>& out) {
        EXPECT_EQ(All(out[0]), (Values{-1, 3}));
      });
  // A combiner that the runtime does not have: in the order of ranks.
  RunAll(Module(3, 1, "p = f32[2] parameter(0)\nROOT r = f32[2] all-reduce(p), replica_groups={}, to_apply=minus"),
         DeviceAndIndex, [](int64_t, const std::vector<Literal>& out) {
           EXPECT_EQ(All(out[0]), (Values{-30, -31}));
         });
  RunAll(Module(2, 1,
                "p = f32[4] parameter(0)\nROOT r = f32[2] reduce-scatter(p), replica_groups={}, dimensions={0}, "
                "to_apply=minus"),
         DeviceAndIndex, [](int64_t, const std::vector<Literal>& out) {
           EXPECT_EQ(All(out[0]), (Values{-10, -10}));
         });
}

TEST(DeviceProgram, GatherAndScatter) {
  RunAll(Module(2, 1, "p = f32[2,2] parameter(0)\nROOT r = f32[2,4] all-gather(p), replica_groups={}, dimensions={1}"),
         DeviceAndIndex, [](int64_t, const std::vector<Literal>& out) {
           EXPECT_EQ(All(out[0]), (Values{0, 1, 10, 11, 2, 3, 12, 13}));
         });
  RunAll(
      Module(1, 4,
             "p = u4[1] parameter(0)\nROOT r = u4[2] all-gather(p), replica_groups={{0,1},{2,3}}, "
             "dimensions={0}, channel_id=1, use_global_device_ids=true"),
      [](int64_t d, int64_t, int64_t) { return static_cast<double>(d); },
      [](int64_t d, const std::vector<Literal>& out) {
        EXPECT_EQ(All(out[0]), d < 2 ? (Values{0, 1}) : (Values{2, 3}));
      });
  RunAll(Module(2, 1,
                "p = f32[2,4] parameter(0)\nROOT r = f32[2,2] reduce-scatter(p), replica_groups={}, "
                "dimensions={1}, to_apply=add"),
         DeviceAndIndex, [](int64_t d, const std::vector<Literal>& out) {
           EXPECT_EQ(All(out[0]), d == 0 ? (Values{10, 12, 18, 20}) : (Values{14, 16, 22, 24}));
         });
}

TEST(DeviceProgram, AllToAll) {
  RunAll(Module(2, 1, "p = f32[2,2] parameter(0)\nROOT r = f32[2,2] all-to-all(p), replica_groups={}, dimensions={1}"),
         DeviceAndIndex, [](int64_t d, const std::vector<Literal>& out) {
           EXPECT_EQ(All(out[0]), d == 0 ? (Values{0, 10, 2, 12}) : (Values{1, 11, 3, 13}));
         });
  RunAll(
      Module(1, 2,
             "p = f32[1] parameter(0)\nq = f32[1] parameter(1)\n"
             "ROOT r = (f32[1], f32[1]) all-to-all(p, q), replica_groups={{0,1}}, channel_id=1"),
      [](int64_t d, int64_t leaf, int64_t) { return 10.0 * d + leaf; },
      [](int64_t d, const std::vector<Literal>& out) {
        EXPECT_EQ(out[0].GetDouble(0), d);
        EXPECT_EQ(out[1].GetDouble(0), 10 + d);
      });
}

TEST(DeviceProgram, PermuteAndBroadcast) {
  RunAll(
      Module(4, 1,
             "p = f32[1] parameter(0)\nROOT r = f32[1] collective-permute(p), source_target_pairs={{0,1},{1,2},{3,0}}"),
      [](int64_t d, int64_t, int64_t) { return d + 1.0; },
      [](int64_t d, const std::vector<Literal>& out) {
        EXPECT_EQ(out[0].GetDouble(0), (Values{4, 1, 2, 0}[d]));
      });
  RunAll(
      Module(2, 2,
             "p = f32[1] parameter(0)\nROOT r = f32[1] collective-permute(p), channel_id=1, "
             "source_target_pairs={{0,1}}"),
      [](int64_t d, int64_t, int64_t) { return d + 1.0; },
      [](int64_t d, const std::vector<Literal>& out) {
        EXPECT_EQ(out[0].GetDouble(0), (Values{0, 1, 0, 3}[d]));
      });
  RunAll(
      Module(4, 1, "p = f32[1] parameter(0)\nROOT r = f32[1] collective-broadcast(p), replica_groups={{2,1},{3}}"),
      [](int64_t d, int64_t, int64_t) { return d + 1.0; },
      [](int64_t d, const std::vector<Literal>& out) {
        EXPECT_EQ(out[0].GetDouble(0), (Values{0, 3, 3, 4}[d]));
      });
}

TEST(DeviceProgram, RaggedAllToAll) {
  // Device 0 sends row 0 to itself and rows 1, 2 to device 1; device 1 its row 0 to device 0.
  RunAll(
      Module(2, 1, R"(in = f32[3] parameter(0)
out = f32[4] parameter(1)
from = s32[2] parameter(2)
rows = s32[2] parameter(3)
to = s32[2] parameter(4)
come = s32[2] parameter(5)
ROOT r = f32[4] ragged-all-to-all(in, out, from, rows, to, come), replica_groups={{0,1}})"),
      [](int64_t d, int64_t leaf, int64_t i) {
        const double tables[2][4][2] = {{{0, 1}, {1, 2}, {0, 2}, {1, 1}}, {{0, 1}, {1, 0}, {3, 0}, {2, 0}}};
        return leaf == 0 ? 10.0 * d + i : leaf == 1 ? -1.0 : tables[d][leaf - 2][i];
      },
      [](int64_t d, const std::vector<Literal>& out) {
        EXPECT_EQ(All(out[0]), d == 0 ? (Values{0, -1, -1, 10}) : (Values{-1, -1, 1, 2}));
      });
}

TEST(DeviceProgram, IdsAndStartDone) {
  RunAll(Module(2, 2, R"(r = u32[] replica-id()
p = u32[] partition-id()
ten = u32[] constant(10)
x = u32[] multiply(r, ten)
y = u32[] add(x, p)
f = f32[] convert(y)
s = f32[] all-reduce-start(f), replica_groups={}, channel_id=1, to_apply=add
d = f32[] all-reduce-done(s)
v = f32[1] reshape(f)
g = (f32[1], f32[2]) all-gather-start(v), replica_groups={{0,1},{2,3}}, channel_id=2, use_global_device_ids=true, dimensions={0}
h = f32[2] all-gather-done(g)
c = (f32[1], f32[1]) collective-permute-start(v), channel_id=3, source_target_pairs={{0,1},{1,0}}
e = f32[1] collective-permute-done(c)
ROOT t = (f32[], f32[2], f32[1]) tuple(d, h, e))"),
         DeviceAndIndex, [](int64_t d, const std::vector<Literal>& out) {
           EXPECT_EQ(out[0].GetDouble(0), 22);
           EXPECT_EQ(All(out[1]), d < 2 ? (Values{0, 1}) : (Values{10, 11}));
           EXPECT_EQ(All(out[2]), (Values{(Values{1, 0, 11, 10}[d])}));
         });
}

// A ring of permutations in a loop, as pipelines and ring attention have it.
TEST(DeviceProgram, CollectivesInLoops) {
  const std::string text = absl::StrCat(R"(HloModule m, num_partitions=4
)",
                                        kComputations, R"(
cond { s = (s32[], f32[2], f32[2]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(4)
  ROOT l = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[2], f32[2]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[2] get-tuple-element(s), index=1
  t = f32[2] get-tuple-element(s), index=2
  u = f32[2] add(t, x)
  y = f32[2] collective-permute(x), channel_id=1, source_target_pairs={{0,1},{1,2},{2,3},{3,0}}
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT r = (s32[], f32[2], f32[2]) tuple(j, y, u) }
ENTRY e { p = f32[2] parameter(0)
  i = s32[] constant(0)
  o = f32[] constant(0)
  z = f32[2] broadcast(o), dimensions={}
  s = (s32[], f32[2], f32[2]) tuple(i, p, z)
  w = (s32[], f32[2], f32[2]) while(s), condition=cond, body=body
  ROOT r = f32[2] get-tuple-element(w), index=2 }
)");
  RunAll(text, DeviceAndIndex, [](int64_t, const std::vector<Literal>& out) {
    EXPECT_EQ(All(out[0]), (Values{60, 64}));
  });
}

std::string ErrorOf(const std::string& text, absl::Duration patience = absl::Seconds(100)) {
  std::string message;
  for (const char* platform : {"interpreter", "cpu"}) {
    auto program = Compile(text, platform);
    if (!program.ok()) return std::string(program.status().message());
    std::vector<std::vector<Literal>> inputs((*program)->devices());
    for (auto& of_device : inputs) {
      for (const Shape& leaf : (*program)->parameter_leaves()) {
        of_device.push_back(Make(leaf, [&](int64_t i) { return static_cast<double>(&of_device - inputs.data()); }));
      }
    }
    const auto results = RunOnDevices(**program, inputs, {}, patience);
    if (results.ok()) return "no error";
    message = std::string(results.status().message());
  }
  return message;
}

// A device that takes a way without the collective is missing: the others learn at once.
TEST(DeviceProgram, AMissingDevice) {
  const std::string text = absl::StrCat("HloModule m, replica_count=3\n", kComputations, R"(
yes { x = f32[] parameter(0)  ROOT r = f32[] all-reduce(x), replica_groups={}, to_apply=add }
no { ROOT x = f32[] parameter(0) }
ENTRY e { p = f32[] parameter(0)
  two = f32[] constant(2)
  c = pred[] compare(p, two), direction=LT
  ROOT r = f32[] conditional(c, p, p), true_computation=yes, false_computation=no }
)");
  const std::string error = ErrorOf(text);
  EXPECT_NE(error.find("device 2 has ended; waiting there: 0, 1"), std::string::npos) << error;
  EXPECT_NE(error.find("all-reduce"), std::string::npos) << error;
}

TEST(DeviceProgram, DevicesAtDifferentOps) {
  const std::string text = absl::StrCat("HloModule m, replica_count=2\n", kComputations, R"(
yes { x = f32[] parameter(0)  ROOT a = f32[] all-reduce(x), replica_groups={}, to_apply=add }
no { x = f32[] parameter(0)  ROOT b = f32[] all-reduce(x), replica_groups={}, to_apply=max }
ENTRY e { p = f32[] parameter(0)
  one = f32[] constant(1)
  c = pred[] compare(p, one), direction=LT
  ROOT r = f32[] conditional(c, p, p), true_computation=yes, false_computation=no }
)");
  const std::string error = ErrorOf(text);
  EXPECT_NE(error.find("device 1 waits at all-reduce b.4 of f32[]"), std::string::npos) << error;
  EXPECT_NE(error.find("device 0 waits at all-reduce a"), std::string::npos) << error;
}

TEST(DeviceProgram, WhatTheModuleDoesNotHave) {
  EXPECT_EQ(ErrorOf(Module(2, 1,
                           "p = f32[1] parameter(0)\nROOT all = f32[1] all-reduce(p), replica_groups={{0,2}}, "
                           "to_apply=add"))
                .substr(0, 41),
            "all names replica 2; the module has 2");
  EXPECT_NE(ErrorOf(Module(3, 1,
                           "p = f32[1] parameter(0)\nROOT r = f32[1] all-reduce(p), replica_groups={{0,1}}, "
                           "to_apply=add"))
                .find("device 2 is in no replica group"),
            std::string::npos);
  EXPECT_NE(ErrorOf(Module(2, 1,
                           "p = f32[2] parameter(0)\nROOT r = f32[6] all-gather(p), replica_groups={}, "
                           "dimensions={0}"))
                .find("among 2 devices its dimension 0 becomes 4, not 6"),
            std::string::npos);
  // One device's run of a program for two.
  auto program = Compile(Module(2, 1,
                                "p = f32[1] parameter(0)\nROOT r = f32[1] all-reduce(p), replica_groups={}, "
                                "to_apply=add"),
                         "cpu");
  ASSERT_TRUE(program.ok());
  const Literal one = Make(Shape(ElementType::kF32, {1}), [](int64_t) { return 1.0; });
  EXPECT_NE(RunOnLiterals((*program)->executable(), {&one}).status().message().find("is for 2 devices; this run has 1"),
            absl::string_view::npos);
}

}  // namespace
}  // namespace xc
