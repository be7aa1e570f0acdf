// Loops that change the shape of an array on each iteration, compiled as a whole: results and shapes are those of the
// ops one by one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "jit/host/session.h"
#include "jit/lowering/graph_lowering.h"
#include "jit/mark/mark.h"

namespace xc {
namespace {

using ::testing::HasSubstr;

std::string Type(const std::string& key, const std::string& type) {
  return absl::StrCat("attr { key: '", key, "' value { type: ", type, " } } ");
}
const std::string kFloat = Type("T", "DT_FLOAT"), kInt = Type("T", "DT_INT32"), kIndex = Type("Tidx", "DT_INT32");

std::string N(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
              const std::string& attrs = kFloat, const std::string& kind = "node_def") {
  std::string out = absl::StrCat(kind, " { name: '", name, "' op: '", op, "' ");
  for (const std::string& i : inputs) absl::StrAppend(&out, "input: '", i, "' ");
  return out + attrs + " } ";
}
std::string Ints(const std::string& name, const std::vector<int>& values, bool scalar,
                 const std::string& kind = "node_def") {
  std::string tensor = "dtype: DT_INT32 tensor_shape { ";
  if (!scalar) absl::StrAppend(&tensor, "dim { size: ", values.size(), " } ");
  absl::StrAppend(&tensor, "} ");
  for (int v : values) absl::StrAppend(&tensor, "int_val: ", v, " ");
  return N(name, "Const", {}, Type("dtype", "DT_INT32") + "attr { key: 'value' value { tensor { " + tensor + "} } }",
           kind);
}
std::string Number(const std::string& name, float value) {
  return N(name, "Const", {},
           Type("dtype", "DT_FLOAT") +
               absl::StrCat("attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: ", value,
                            " } } }"));
}
std::string Input(const std::string& name, const std::string& type, const std::vector<int>& dims) {
  std::string shape;
  for (int d : dims) absl::StrAppend(&shape, "dim { size: ", d, " } ");
  return N(name, "Placeholder", {}, Type("dtype", type) + "attr { key: 'shape' value { shape { " + shape + "} } } ",
           "node");
}

const std::vector<std::string> kArgs = {"i", "n", "x", "h"};

std::string Function(const std::string& name, const std::string& nodes, const std::vector<std::string>& results) {
  auto type = [](const std::string& a) { return a == "i" || a == "n" ? "DT_INT32" : "DT_FLOAT"; };
  std::string out = absl::StrCat("function { signature { name: '", name, "' ");
  for (const std::string& a : kArgs) absl::StrAppend(&out, "input_arg { name: '", a, "' type: ", type(a), " } ");
  std::string rets;
  for (size_t k = 0; k < results.size(); ++k) {
    absl::StrAppend(&out, "output_arg { name: 'r", k, "' type: ", name == "test" ? "DT_BOOL" : type(kArgs[k]), " } ");
    absl::StrAppend(&rets, "ret { key: 'r", k, "' value: '", results[k], "' } ");
  }
  return out + "} " + nodes + rets + "} ";
}

const std::string kConcat = "attr { key: 'N' value { i: 2 } } " + kFloat + kIndex;
const std::string kCounted = N("test", "Less", {"i", "n"}, kInt);
// Less than n iterations, and as long as the sum of h is below 100.
const std::string kOpen = N("less", "Less", {"i", "n"}, kInt) + Ints("axes", {0, 1}, false) +
                          N("sum", "Sum", {"h", "axes:output:0"}, kFloat + kIndex) + Number("limit", 100) +
                          N("below", "Less", {"sum:output:0", "limit:output:0"}) +
                          N("test", "LogicalAnd", {"less:z:0", "below:z:0"}, "");
// An iteration: h doubles, and `joined`, x and a column of h, is the next x.
const std::string kIteration =
    Ints("one", {1}, true) + N("next", "AddV2", {"i", "one:output:0"}, kInt) + N("twice", "AddV2", {"h", "h"}) +
    N("column", "Sum", {"h", "one:output:0"}, kFloat + kIndex + "attr { key: 'keep_dims' value { b: true } }") +
    N("joined", "ConcatV2", {"x", "column:output:0", "one:output:0"}, kConcat);

// A loop over a counter, its limit `n`, x [2, ?] and h [2, 3]; gives x, after `more` nodes.
std::string Loop(const std::string& condition, const std::string& body, const std::string& x,
                 const std::string& more = "") {
  return Input("n", "DT_INT32", {}) + Input("x", "DT_FLOAT", {2, -1}) + Input("h", "DT_FLOAT", {2, 3}) +
         Ints("zero", {0}, true, "node") +
         N("loop", "StatelessWhile", {"zero", "n", "x", "h"},
           "attr { key: 'T' value { list { type: DT_INT32 type: DT_INT32 type: DT_FLOAT type: DT_FLOAT } } } "
           "attr { key: 'cond' value { func { name: 'test' } } } attr { key: 'body' value { func { name: 'iteration' } "
           "} }",
           "node") +
         (more.empty() ? N("y", "Identity", {"loop:2"}, kFloat, "node") : more) + "library { " +
         Function("test", condition, {"test:z:0"}) +
         Function("iteration", kIteration + body, {"next:z:0", "n", x, "twice:z:0"}) + "}";
}

Tensor Floats(const Dims& dims, const std::vector<float>& values) {
  Tensor t = Tensor::Create(DT_FLOAT, dims).value();
  std::copy(values.begin(), values.end(), t.data<float>());
  return t;
}

struct Outcome {
  std::vector<Tensor> results;
  LaunchStats stats;
};

Outcome Run(const std::string& text, HostMode mode, const std::string& platform, int iterations, const Tensor& x,
            const Tensor& h) {
  auto def = ParseGraphDef(text, true);
  EXPECT_TRUE(def.ok()) << def.status() << text;
  SessionOptions options;
  options.host.mode = mode;
  options.host.launch.platform = platform;
  options.host.mark.min_cluster_size = 1;
  auto session = Session::Create(*def, options);
  EXPECT_TRUE(session.ok()) << session.status();
  Outcome out;
  if (!session.ok()) return out;
  auto results = (*session)->Run({Tensor::Scalar<int32_t>(DT_INT32, iterations), x, h});
  EXPECT_TRUE(results.ok()) << results.status();
  if (results.ok()) out.results = *std::move(results);
  out.stats = (*session)->executor().stats();
  return out;
}

// Compiled for both platforms; `whole`: in one cluster, without the ops one by one.
Dims Check(const std::string& text, int iterations, const Tensor& x, bool whole = true, float h = 1, double error = 0) {
  const Tensor state = Floats({2, 3}, {h, 2, 3, 4, 5, 6});
  const Outcome expected = Run(text, HostMode::kHost, "interpreter", iterations, x, state);
  for (const char* platform : {"interpreter", "cpu"}) {
    const Outcome got = Run(text, HostMode::kJit, platform, iterations, x, state);
    EXPECT_EQ(got.results.size(), expected.results.size());
    for (size_t i = 0; i < std::min(got.results.size(), expected.results.size()); ++i) {
      const Tensor &a = got.results[i], &b = expected.results[i];
      EXPECT_EQ(a.ShapeString(), b.ShapeString()) << platform;
      if (a.dims() == b.dims()) {
        const std::vector<double> got_values = *a.AsDoubles(), values = *b.AsDoubles();
        for (size_t k = 0; k < values.size(); ++k) {
          if (got_values[k] == values[k]) continue;  // infinities, too
          EXPECT_NEAR(got_values[k], values[k], error * std::abs(values[k])) << platform << ", element " << k;
        }
      }
    }
    EXPECT_EQ(got.stats.fallbacks == 0 && got.stats.compilations == 1, whole) << platform;
  }
  return expected.results.empty() ? Dims() : expected.results[0].dims();
}

const Tensor kNothing = Floats({2, 0}, {}), kSome = Floats({2, 2}, {-1, -2, -3, -4});

TEST(DynamicLoops, OfAKnownTripCount) {
  const std::string text = Loop(kCounted, "", "joined:output:0");
  EXPECT_EQ(Check(text, 4, kNothing), (Dims{2, 4}));
  EXPECT_EQ(Check(text, 4, kSome), (Dims{2, 6}));
  EXPECT_EQ(Check(text, 0, kSome), (Dims{2, 2}));
  EXPECT_EQ(Check(text, 0, kNothing), (Dims{2, 0}));
}

TEST(DynamicLoops, UntilAConditionOnWhatIsComputed) {
  const std::string text = Loop(kOpen, "", "joined:output:0");
  EXPECT_EQ(Check(text, 9, kSome), (Dims{2, 5}));
  EXPECT_EQ(Check(text, 2, kSome), (Dims{2, 4}));
  EXPECT_EQ(Check(text, 9, kNothing, true, 50), (Dims{2, 1}));
  EXPECT_EQ(Check(text, 9, kNothing, true, 500), (Dims{2, 0}));
  EXPECT_EQ(Check(text, 0, kSome), (Dims{2, 2}));
}

// The last columns, and rows in another order, of what there is so far.
TEST(DynamicLoops, LastElementsAndPicksElsewhere) {
  auto slice = [](const std::string& begin, const std::string& end, int end_mask, int shrink) {
    return begin + end + Ints("ones", {1, 1}, false) +
           N("last", "StridedSlice", {"x", "begin:output:0", "end:output:0", "ones:output:0"},
             kFloat + Type("Index", "DT_INT32") + "attr { key: 'begin_mask' value { i: 1 } } " +
                 absl::StrCat("attr { key: 'end_mask' value { i: ", end_mask, " } } ",
                              "attr { key: 'shrink_axis_mask' value { i: ", shrink, " } } "));
  };
  auto from = [](int place) { return Ints("begin", {0, place}, false); };
  const std::string whole = Ints("end", {0, 0}, false), second = Ints("end", {0, -1}, false);
  auto joined = [&](const std::string& part) {
    return N("more", "ConcatV2", {"joined:output:0", part, "one:output:0"}, kConcat);
  };
  for (const std::string& condition : {kCounted, kOpen}) {
    EXPECT_EQ(Check(Loop(condition, slice(from(-2), whole, 3, 0) + joined("last:output:0"), "more:output:0"), 3, kSome),
              (Dims{2, 11}));
    EXPECT_EQ(
        Check(Loop(condition, slice(from(-2), second, 1, 0) + joined("last:output:0"), "more:output:0"), 3, kSome),
        (Dims{2, 8}));
    const std::string single =
        slice(from(-1), whole, 1, 2) +
        N("again", "ExpandDims", {"last:output:0", "one:output:0"}, kFloat + Type("Tdim", "DT_INT32"));
    EXPECT_EQ(Check(Loop(condition, single + joined("again:output:0"), "more:output:0"), 3, kSome), (Dims{2, 8}));
    const std::string picks = Ints("order", {1, 0}, false) + Ints("rows", {0}, true) +
                              N("picked", "GatherV2", {"joined:output:0", "order:output:0", "rows:output:0"},
                                Type("Tparams", "DT_FLOAT") + Type("Tindices", "DT_INT32") + Type("Taxis", "DT_INT32"));
    EXPECT_EQ(Check(Loop(condition, picks, "picked:output:0"), 3, kSome), (Dims{2, 5}));
  }
  // Of two elements there are at the start, three cannot be the last: no code serves all iterations.
  const std::string third = slice(from(-3), whole, 3, 0) + joined("last:output:0");
  EXPECT_EQ(Check(Loop(kOpen, third, "more:output:0"), 2, kSome, false), (Dims{2, 9}));
  // But each of a few iterations has its own.
  EXPECT_EQ(Check(Loop(kCounted, third, "more:output:0"), 2, kSome), (Dims{2, 9}));
}

TEST(DynamicLoops, ConditionsOnTheLength) {
  const std::string shorter =
      N("shape", "Shape", {"x"}, kFloat + Type("out_type", "DT_INT32")) + Ints("at", {1}, false) +
      Ints("to", {2}, false) +
      N("length", "StridedSlice", {"shape:output:0", "at:output:0", "to:output:0", "at:output:0"},
        kInt + Type("Index", "DT_INT32") + "attr { key: 'shrink_axis_mask' value { i: 1 } } ") +
      N("test", "Less", {"length:output:0", "n"}, kInt);
  EXPECT_EQ(Check(Loop(shorter, "", "joined:output:0"), 7, kSome), (Dims{2, 7}));
  EXPECT_EQ(Check(Loop(shorter, "", "joined:output:0"), 1, kSome), (Dims{2, 2}));
}

TEST(DynamicLoops, UsesOfTheResult) {
  const std::string more = N("y", "AddV2", {"loop:2", "loop:2"}, kFloat, "node");
  EXPECT_EQ(Check(Loop(kCounted, "", "joined:output:0", more), 3, kSome), (Dims{2, 5}));
  EXPECT_EQ(Check(Loop(kOpen, "", "joined:output:0", more), 3, kSome), (Dims{2, 5}));
  EXPECT_EQ(Check(Loop(kOpen, "", "joined:output:0", more), 9, kSome), (Dims{2, 5}));
  const std::string sums =
      Ints("last", {1}, true, "node") + N("sum", "Sum", {"loop:2", "last"}, kFloat + kIndex, "node") +
      N("gram", "MatMul", {"loop:2", "loop:2"}, kFloat + "attr { key: 'transpose_b' value { b: true } } ", "node") +
      N("y", "AddV2", {"sum", "gram"}, kFloat, "node");
  EXPECT_EQ(Check(Loop(kOpen, "", "joined:output:0", sums), 9, kSome, true, 1, 1e-5), (Dims{2, 2}));
  // There is no capacity for more: the concatenation is left out.
  const std::string longer =
      Ints("last", {1}, true, "node") + N("y", "ConcatV2", {"loop:2", "h", "last"}, kConcat, "node");
  EXPECT_EQ(Check(Loop(kOpen, "", "joined:output:0", longer), 9, kSome), (Dims{2, 8}));
}

// The next column is made of all columns so far: attention, sums, and a largest value.
TEST(DynamicLoops, ReadAsAWhole) {
  const std::string keep = kFloat + kIndex + "attr { key: 'keep_dims' value { b: true } }";
  auto turned = [](const std::string& operand) {
    return kFloat + absl::StrCat("attr { key: 'transpose_", operand, "' value { b: true } } ");
  };
  const std::string attention = Number("low", 0.01f) + N("small", "Mul", {"h", "low:output:0"}) +
                                N("scores", "MatMul", {"small:z:0", "x"}, turned("a")) +
                                N("halves", "Mul", {"scores:product:0", "low:output:0"}) +
                                N("weights", "Softmax", {"halves:z:0"}) +
                                N("mixed", "MatMul", {"x", "weights:softmax:0"}, turned("b")) +
                                N("mean", "Mean", {"mixed:product:0", "one:output:0"}, keep) +
                                N("more", "ConcatV2", {"joined:output:0", "mean:output:0", "one:output:0"}, kConcat);
  const std::string sums =
      N("squares", "Square", {"x"}) + N("both", "AddV2", {"squares:y:0", "x"}) +
      N("all", "Sum", {"both:z:0", "one:output:0"}, keep) + N("middle", "Mean", {"both:z:0", "one:output:0"}, keep) +
      N("top", "Max", {"x", "one:output:0"}, keep) + N("upper", "AddV2", {"top:output:0", "middle:output:0"}) +
      N("part", "Sub", {"all:output:0", "upper:z:0"}) +
      N("more", "ConcatV2", {"joined:output:0", "part:z:0", "one:output:0"}, kConcat);
  const std::string gram = N("gram", "MatMul", {"x", "x"}, turned("b")) +
                           N("all", "Sum", {"gram:product:0", "one:output:0"}, keep) +
                           N("more", "ConcatV2", {"joined:output:0", "all:output:0", "one:output:0"}, kConcat);
  // Along the other dimension, transposed and with one more dimension.
  const std::string rows = Ints("iteration", {1, 0}, false) + Ints("none", {0}, true) +
                           N("other", "Transpose", {"x", "iteration:output:0"}, kFloat + Type("Tperm", "DT_INT32")) +
                           N("three", "ExpandDims", {"other:y:0", "none:output:0"}, kFloat + Type("Tdim", "DT_INT32")) +
                           N("by_row", "Sum", {"three:output:0", "two:output:0"}, kFloat + kIndex) +
                           Ints("two", {2}, true) + N("all", "Sum", {"by_row:output:0", "one:output:0"}, keep) +
                           N("wide", "AddV2", {"all:output:0", "column:output:0"}) +
                           N("more", "ConcatV2", {"joined:output:0", "wide:z:0", "one:output:0"}, kConcat);
  for (const std::string& condition : {kCounted, kOpen}) {
    for (const std::string& body : {attention, sums, gram, rows}) {
      EXPECT_EQ(Check(Loop(condition, body, "more:output:0"), 3, kSome, true, 1, 1e-5), (Dims{2, 8}));
    }
    // Of nothing.
    EXPECT_EQ(Check(Loop(condition, gram, "more:output:0"), 3, kNothing, true, 1, 1e-5), (Dims{2, 6}));
    EXPECT_EQ(Check(Loop(condition, attention, "more:output:0"), 3, kNothing, true, 1, 1e-5), (Dims{2, 6}));
  }
}

// A sum of running sums, which code has no form of the growing array for.
const std::string kRunningSums =
    N("sums", "Cumsum", {"x", "one:output:0"}, kFloat + kIndex) +
    N("all", "Sum", {"sums:out:0", "one:output:0"}, kFloat + kIndex + "attr { key: 'keep_dims' value { b: true } }") +
    N("more", "ConcatV2", {"joined:output:0", "all:output:0", "one:output:0"}, kConcat);

// Iterations by a constant of the graph.
std::string Iterations(int iterations) {
  return Ints("iterations", {iterations}, true) + N("test", "Less", {"i", "iterations:output:0"}, kInt);
}

// A few of them have code each.
TEST(UnrolledLoops, ShapesThatChangeInAnyWay) {
  auto slice = [](const std::string& begin, const std::string& end, int end_mask) {
    return begin + end + Ints("ones", {1, 1}, false) +
           N("part", "StridedSlice", {"x", "begin:output:0", "end:output:0", "ones:output:0"},
             kFloat + Type("Index", "DT_INT32") +
                 absl::StrCat("attr { key: 'end_mask' value { i: ", end_mask, " } } "));
  };
  const std::string front = N("more", "ConcatV2", {"column:output:0", "x", "one:output:0"}, kConcat);
  const std::string twice = N("more", "ConcatV2", {"x", "x", "one:output:0"}, kConcat);
  const std::string shorter =
      slice(Ints("begin", {0, 1}, false), Ints("end", {0, 0}, false), 3) + N("more", "Exp", {"part:output:0"});
  EXPECT_EQ(Check(Loop(Iterations(3), front, "more:output:0"), 3, kSome), (Dims{2, 5}));
  EXPECT_EQ(Check(Loop(Iterations(3), twice, "more:output:0"), 3, kSome), (Dims{2, 16}));
  EXPECT_EQ(Check(Loop(Iterations(0), twice, "more:output:0"), 0, kSome), (Dims{2, 2}));
  EXPECT_EQ(Check(Loop(Iterations(3), shorter, "more:y:0"), 3, kSome, true, 1, 1e-5), (Dims{2, 0}));
  EXPECT_EQ(Check(Loop(Iterations(3), kRunningSums, "more:output:0"), 3, kSome), (Dims{2, 8}));
  // The shape stays, but that of a part hangs on the counter.
  const std::string stop =
      Ints("two", {2}, true) + N("stop", "Pack", {"two:output:0", "next:z:0"},
                                 kInt + "attr { key: 'N' value { i: 2 } } attr { key: 'axis' value { i: 0 } } ");
  const std::string part = Ints("begin", {0, 0}, false) + stop + Ints("ones", {1, 1}, false) +
                           N("part", "StridedSlice", {"x", "begin:output:0", "stop:output:0", "ones:output:0"},
                             kFloat + Type("Index", "DT_INT32")) +
                           N("sum", "Sum", {"part:output:0", "one:output:0"},
                             kFloat + kIndex + "attr { key: 'keep_dims' value { b: true } }") +
                           N("more", "AddV2", {"x", "sum:output:0"});
  EXPECT_EQ(Check(Loop(Iterations(3), part, "more:z:0"), 3, kSome), (Dims{2, 2}));
}

// A loop without end, whose iterations hold only constants, ends the compilation.
TEST(UnrolledLoops, WithoutEnd) {
  auto constant = [](const std::string& name, const std::string& type, const std::string& tensor) {
    return N(name, "Const", {},
             Type("dtype", type) + absl::StrCat("attr { key: 'value' value { tensor { dtype: ", type, " tensor_shape ",
                                                tensor, " } } }"));
  };
  const std::string loop = N(
      "loop", "StatelessWhile", {"i", "n", "x", "h"},
      "attr { key: 'T' value { list { type: DT_INT32 type: DT_INT32 type: DT_FLOAT type: DT_FLOAT } } } "
      "attr { key: 'cond' value { func { name: 'test' } } } attr { key: 'body' value { func { name: 'iteration' } } }");
  const std::string text =
      "library { " + Function("test", constant("always", "DT_BOOL", "{} bool_val: true"), {"always:output:0"}) +
      Function("iteration", constant("wide", "DT_FLOAT", "{ dim { size: 2 } dim { size: 9 } } float_val: 1"),
               {"i", "n", "wide:output:0", "h"}) +
      Function("whole", loop, {"loop:output:0", "loop:output:1", "loop:output:2", "loop:output:3"}) + "}";
  auto graph = ImportGraphDef(ParseGraphDef(text, true).value());
  ASSERT_TRUE(graph.ok()) << graph.status();
  NameAttrList name;
  name.set_name("whole");
  auto whole = (*graph)->library()->Instantiate(name, (*graph)->library());
  ASSERT_TRUE(whole.ok()) << whole.status();
  std::vector<ClusterArg> args(4);
  for (int i : {0, 1}) args[i].type = DT_INT32;
  for (int i : {2, 3}) args[i] = {DT_FLOAT, {2, 2 + i}};
  std::set<int> needed;
  auto lowered = LowerCluster(**whole, args, &needed);
  EXPECT_EQ(lowered.status().code(), absl::StatusCode::kUnimplemented) << lowered.status();
  EXPECT_THAT(std::string(lowered.status().message()), HasSubstr("would be too much code"));
}

// What has no code: the loop runs op by op, and the report says why.
TEST(DynamicLoops, WhatStaysWithTheHost) {
  auto graph = ImportGraphDef(ParseGraphDef(Loop(kOpen, kRunningSums, "more:output:0"), true).value()).value();
  auto marking = MarkForCompilation(*graph, {});
  ASSERT_TRUE(marking.ok()) << marking.status();
  EXPECT_THAT(marking->nodes[graph->FindNode("loop")->id].reason,
              HasSubstr("loop variable 2 changes its shape from iteration to iteration"));
  // No bound on the iterations, or one that is too large.
  EXPECT_EQ(Check(Loop(kOpen, "", "joined:output:0"), 1 << 30, kSome, false), (Dims{2, 5}));
  // More iterations than there may be code for, or a number that only the call tells.
  const std::string front = N("more", "ConcatV2", {"column:output:0", "x", "one:output:0"}, kConcat);
  EXPECT_EQ(Check(Loop(Iterations(800), front, "more:output:0"), 800, kSome, false), (Dims{2, 802}));
  EXPECT_EQ(Check(Loop(kCounted, front, "more:output:0"), 3, kSome, false), (Dims{2, 5}));
}

}  // namespace
}  // namespace xc
