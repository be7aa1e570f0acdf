// GraphDefs with launch nodes: what is kept under its name, that clusters come back from their attribute, idempotence.
#include "jit/mark/rewrite.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "jit/graph/serialize.h"
#include "jit/mark/encapsulate.h"

namespace xc {
namespace {

constexpr char kFloat[] = "attr { key: 'T' value { type: DT_FLOAT } }";

GraphDef Parse(const std::string& text) {
  auto def = ParseGraphDef(text, true);
  EXPECT_TRUE(def.ok()) << def.status();
  return *def;
}

std::string N(const std::string& name, const std::string& op, const std::string& inputs, const std::string& attrs) {
  return "node { name: '" + name + "' op: '" + op + "' " + inputs + " " + attrs + " } ";
}

const NodeDef* Find(const GraphDef& def, const std::string& name) {
  for (const NodeDef& n : def.node()) {
    if (n.name() == name) return &n;
  }
  return nullptr;
}

TEST(Rewrite, PreservedNodesKeepTheirNames) {
  GraphDef def = Parse(N("x", "Placeholder", "", "attr { key: 'dtype' value { type: DT_FLOAT } }") +
                       N("a", "Exp", "input: 'x'", kFloat) + N("b", "Neg", "input: 'a'", kFloat) +
                       N("h", "UnknownOp", "input: 'b'", "") + N("c", "Neg", "input: 'b'", kFloat));
  RewriteOptions options;
  options.preserve = {"x", "c", "h"};
  auto out = RewriteGraphDef(def, options);
  ASSERT_TRUE(out.ok()) << out.status();
  ASSERT_EQ(out->clusters.size(), 1u);
  EXPECT_EQ(out->clusters[0].nodes, (std::vector<std::string>{"a", "b", "c"}));
  const NodeDef* launch = Find(out->graph, out->clusters[0].launch);
  ASSERT_NE(launch, nullptr);
  EXPECT_EQ(launch->op(), kLaunchOp);
  EXPECT_EQ(launch->input(0), "x");
  ASSERT_NE(Find(out->graph, "c"), nullptr);
  EXPECT_EQ(Find(out->graph, "c")->op(), "Identity");
  EXPECT_EQ(Find(out->graph, "a"), nullptr);
  EXPECT_EQ(Find(out->graph, "h")->input(0).rfind(launch->name(), 0), 0u);
  auto cluster = ParseSerializedGraph(launch->attr().at("cluster").s());
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  EXPECT_EQ((*cluster)->Args().size(), 1u);
  EXPECT_EQ((*cluster)->Retvals().size(), 2u);
  ASSERT_EQ(out->left_out.size(), 2u);
  EXPECT_EQ(out->left_out[1].node, "h");
  EXPECT_EQ(out->left_out[1].reason, "unknown operation UnknownOp");
  // A second pass finds nothing more to do.
  auto again = RewriteGraphDef(out->graph, options);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->clusters.empty());
  EXPECT_EQ(again->graph.SerializeAsString().size(), out->graph.SerializeAsString().size());
}

TEST(Rewrite, FedNodesGiveTheCallersValue) {
  // x -> a -> b -> c -> d with b fed: nothing of what leads to b is left, d takes b.
  GraphDef def = Parse(N("x", "Placeholder", "", "attr { key: 'dtype' value { type: DT_FLOAT } }") +
                       N("a", "Exp", "input: 'x'", kFloat) + N("b", "Neg", "input: 'a'", kFloat) +
                       N("c", "Exp", "input: 'b'", kFloat) + N("d", "Neg", "input: 'c'", kFloat));
  RewriteOptions options;
  options.preserve = {"b", "d"};
  options.fed = {"b"};
  auto out = RewriteGraphDef(def, options);
  ASSERT_TRUE(out.ok()) << out.status();
  ASSERT_EQ(out->clusters.size(), 1u);
  EXPECT_EQ(out->clusters[0].nodes, (std::vector<std::string>{"c", "d"}));
  const NodeDef* launch = Find(out->graph, out->clusters[0].launch);
  ASSERT_NE(launch, nullptr);
  EXPECT_EQ(launch->input(0), "b");
  EXPECT_EQ(Find(out->graph, "b")->op(), "Placeholder");
  EXPECT_EQ(Find(out->graph, "b")->attr().at("dtype").type(), DT_FLOAT);
  EXPECT_EQ(Find(out->graph, "a"), nullptr);
  // A fed argument is what it was.
  options.fed = {"x"};
  out = RewriteGraphDef(def, options);
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(out->clusters.at(0).nodes.size(), 4u);
  *def.add_node() = Parse(N("h", "UnknownOp", "input: 'x'", "")).node(0);
  options.preserve.insert("h");
  options.fed = {"h"};
  EXPECT_EQ(RewriteGraphDef(def, options).status().message(), "'h' (UnknownOp) is fed");
}

TEST(Rewrite, OneOutputOfANodeIsFed) {
  // s = Split(exp(x)) with s:1 fed: s:0 is computed only where it is wanted.
  GraphDef def = Parse(
      N("x", "Placeholder", "", "attr { key: 'dtype' value { type: DT_FLOAT } }") +
      N("a", "Exp", "input: 'x'", kFloat) +
      N("d", "Const", "",
        "attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'value' value { tensor { dtype: "
        "DT_INT32 tensor_shape { } int_val: 0 } } }") +
      N("s", "Split", "input: 'd' input: 'a'", std::string(kFloat) + " attr { key: 'num_split' value { i: 2 } }") +
      N("b", "Neg", "input: 's'", kFloat) + N("c", "Exp", "input: 's:1'", kFloat) +
      N("e", "Neg", "input: 'c'", kFloat));
  RewriteOptions options;
  options.preserve = {"s", "e"};
  options.fed = {"s:1"};
  auto out = RewriteGraphDef(def, options);
  ASSERT_TRUE(out.ok()) << out.status();
  ASSERT_EQ(out->clusters.size(), 1u);
  EXPECT_EQ(out->clusters[0].nodes, (std::vector<std::string>{"c", "e"}));
  EXPECT_EQ(Find(out->graph, out->clusters[0].launch)->input(0), "s:1");
  EXPECT_EQ(Find(out->graph, "s")->op(), "IdentityN");
  EXPECT_EQ(Find(out->graph, "a"), nullptr);
  options.preserve.insert("b");
  out = RewriteGraphDef(def, options);
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(out->clusters.size(), 1u);
  EXPECT_EQ(Find(out->graph, "s")->op(), "Split");
  EXPECT_NE(Find(out->graph, "a"), nullptr);
  options.preserve = {"s", "s:0"};
  out = RewriteGraphDef(def, options);
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_TRUE(out->clusters.empty());
  EXPECT_EQ(Find(out->graph, "s")->op(), "Split");
  EXPECT_EQ(Find(out->graph, "e"), nullptr);
}

TEST(Rewrite, WhatOneFeedGivesDoesNotWaitForAnother) {
  const std::string kPlaceholder = "attr { key: 'dtype' value { type: DT_FLOAT } }";
  GraphDef def = Parse(N("x", "Placeholder", "", kPlaceholder) + N("y", "Placeholder", "", kPlaceholder) +
                       N("a", "Exp", "input: 'x'", kFloat) + N("b", "Neg", "input: 'a'", kFloat) +
                       N("c", "Mul", "input: 'b' input: 'y'", kFloat) + N("d", "Exp", "input: 'c'", kFloat));
  RewriteOptions options;
  options.fed = {"x:0", "y:0"};
  options.preserve = {"x", "y", "b", "d"};
  auto out = RewriteGraphDef(def, options);
  ASSERT_TRUE(out.ok()) << out.status();
  ASSERT_EQ(out->clusters.size(), 2u);
  EXPECT_EQ(out->clusters[0].nodes, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(out->clusters[1].nodes, (std::vector<std::string>{"c", "d"}));
  options.preserve.erase("b");
  out = RewriteGraphDef(def, options);
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(out->clusters.size(), 1u);
}

TEST(Rewrite, WhatOnlyChecksStaysWithTheHost) {
  GraphDef def =
      Parse(N("x", "_Arg", "", "attr { key: 'T' value { type: DT_FLOAT } } attr { key: 'index' value { i: 0 } }") +
            N("a", "Exp", "input: 'x'", kFloat) + N("c", "CheckNumerics", "input: 'a'", kFloat) +
            N("r", "_Retval", "input: 'x' input: '^c'",
              "attr { key: 'T' value { type: DT_FLOAT } } attr { key: 'index' value { i: 0 } }"));
  RewriteOptions options;
  options.mark.resources = false;
  auto out = RewriteGraphDef(def, options);
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_TRUE(out->clusters.empty());
  ASSERT_FALSE(out->left_out.empty());
  EXPECT_EQ(std::count_if(out->left_out.begin(), out->left_out.end(),
                          [](const LeftOut& left) {
                            return left.reason ==
                                   "an assertion alone: nothing uses its results, so the host may drop it";
                          }),
            2);
  // With a result of its own the check is part of the cluster.
  def.mutable_node(3)->set_input(0, "a");
  out = RewriteGraphDef(def, options);
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(out->clusters.size(), 1u);
}

TEST(Rewrite, VariablesAssignedInPlaceShareNoMemoryWithResults) {
  GraphDef def = Parse(N("v", "VariableV2", "",
                         "attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { shape { } } }") +
                       N("a", "Exp", "input: 'v'", kFloat) + N("b", "Neg", "input: 'a'", kFloat));
  RewriteOptions options;
  options.preserve = {"b"};
  auto out = RewriteGraphDef(def, options);
  ASSERT_TRUE(out.ok()) << out.status();
  ASSERT_EQ(out->clusters.size(), 1u);
  EXPECT_TRUE(Find(out->graph, out->clusters[0].launch)->attr().at("own_results").b());
}

TEST(Rewrite, FunctionsTravelWithTheirCluster) {
  std::string body =
      "library { function { signature { name: 'twice' input_arg { name: 'v' type: DT_FLOAT } "
      "output_arg { name: 'r' type: DT_FLOAT } } node_def { name: 's' op: 'AddV2' input: 'v' input: 'v' " +
      std::string(kFloat) + " } ret { key: 'r' value: 's:z:0' } } } ";
  GraphDef def = Parse(N("x", "Placeholder", "", "attr { key: 'dtype' value { type: DT_FLOAT } }") +
                       N("a", "Exp", "input: 'x'", kFloat) +
                       N("call", "PartitionedCall", "input: 'a'",
                         "attr { key: 'f' value { func { name: 'twice' } } } attr { key: 'Tin' value { list { type: "
                         "DT_FLOAT } } } attr { key: 'Tout' value { list { type: DT_FLOAT } } }") +
                       N("b", "Neg", "input: 'call'", kFloat) + body);
  RewriteOptions options;
  options.preserve = {"b"};
  auto out = RewriteGraphDef(def, options);
  ASSERT_TRUE(out.ok()) << out.status();
  ASSERT_EQ(out->clusters.size(), 1u);
  auto cluster = ParseSerializedGraph(Find(out->graph, out->clusters[0].launch)->attr().at("cluster").s());
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  NameAttrList call;
  call.set_name("twice");
  auto function = (*cluster)->library()->Instantiate(call, (*cluster)->library());
  ASSERT_TRUE(function.ok()) << function.status();
  EXPECT_NE((*function)->FindNode("s"), nullptr);
  EXPECT_EQ((*function)->Retvals().size(), 1u);
}

TEST(Rewrite, AVariableThatALoopOnlyReadsIsReadBeforeIt) {
  const std::string kInt = "attr { key: 'T' value { type: DT_INT32 } }",
                    kFrame = "attr { key: 'frame_name' value { s: 'w' } }";
  auto loop = [&](const std::string& body) {
    return Parse(
        N("h", "VarHandleOp", "",
          "attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'shape' value { shape { } } }") +
        N("first", "NoOp", "", "") + N("x", "Placeholder", "", "attr { key: 'dtype' value { type: DT_INT32 } }") +
        N("ei", "Enter", "input: 'x' input: '^first'", kInt + kFrame) +
        N("eh", "Enter", "input: 'h'",
          "attr { key: 'T' value { type: DT_RESOURCE } } attr { key: 'is_constant' value { b: true } }" + kFrame) +
        N("mi", "Merge", "input: 'ei' input: 'ni'", kInt + "attr { key: 'N' value { i: 2 } }") +
        N("limit", "Const", "input: '^mi'",
          "attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'value' value { tensor { dtype: DT_INT32 "
          "tensor_shape { } int_val: 9 } } }") +
        N("lt", "Less", "input: 'mi' input: 'limit'", kInt) + N("c", "LoopCond", "input: 'lt'", "") +
        N("si", "Switch", "input: 'mi' input: 'c'", kInt) +
        N("read", "ReadVariableOp", "input: 'eh' input: '^si'", "attr { key: 'dtype' value { type: DT_INT32 } }") +
        N("add", "AddV2", "input: 'si:1' input: 'read'", kInt) + N("twice", "Mul", "input: 'add' input: 'add'", kInt) +
        body + N("ni", "NextIteration", "input: 'twice'", kInt) + N("xi", "Exit", "input: 'si'", kInt));
  };
  RewriteOptions options;
  options.mark.resources = false;
  options.preserve = {"xi"};
  auto out = RewriteGraphDef(loop(""), options);
  ASSERT_TRUE(out.ok()) << out.status();
  ASSERT_EQ(out->clusters.size(), 1u);
  const NodeDef* launch = Find(out->graph, out->clusters[0].launch);
  ASSERT_NE(launch, nullptr);
  EXPECT_EQ(Find(out->graph, "read"), nullptr);
  EXPECT_EQ(std::count(launch->input().begin(), launch->input().end(), "h"), 1);
  EXPECT_EQ(std::count(launch->input().begin(), launch->input().end(), "^first"), 1);
  EXPECT_EQ(Find(out->graph, "si"), nullptr);
  // Where the loop assigns as well, every iteration may read another value.
  auto assigns = loop(
      N("assign", "AssignVariableOp", "input: 'eh' input: 'add'", "attr { key: 'dtype' value { type: DT_INT32 } }"));
  out = RewriteGraphDef(assigns, options);
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_NE(Find(out->graph, "read"), nullptr);
  EXPECT_NE(Find(out->graph, "si"), nullptr);
}

class FoldedReads : public testing::Test {
 protected:
  // A product with a variable's value, between an assignment that the read waits for and `more`.
  absl::StatusOr<RewriteResult> Rewrite(const std::string& more, std::set<std::string> preserve = {"b"}) {
    const std::string kType = "attr { key: 'dtype' value { type: DT_FLOAT } }";
    GraphDef def =
        Parse(N("h", "VarHandleOp", "", kType + "attr { key: 'shape' value { shape { } } }") +
              N("x", "Placeholder", "", kType) + N("before", "AssignVariableOp", "input: 'h' input: 'x'", kType) +
              N("r", "ReadVariableOp", "input: 'h' input: '^before'", kType) +
              N("a", "Mul", "input: 'x' input: 'r'", kFloat) + N("b", "Exp", "input: 'a'", kFloat) +
              N("after", "AssignVariableOp", "input: 'h' input: 'x' input: '^r'", kType) + more);
    RewriteOptions options;
    options.mark.resources = false;
    options.preserve = std::move(preserve);
    options.preserve.insert("after");
    return RewriteGraphDef(def, options);
  }
};

std::vector<std::string> Inputs(const NodeDef& node) { return {node.input().begin(), node.input().end()}; }

TEST_F(FoldedReads, TheLaunchTakesTheHandleAndTheReadsPlaceInTheOrder) {
  auto out = Rewrite("");
  ASSERT_TRUE(out.ok()) << out.status();
  ASSERT_EQ(out->clusters.size(), 1u);
  EXPECT_EQ(Find(out->graph, "r"), nullptr);
  const NodeDef& launch = *Find(out->graph, out->clusters[0].launch);
  EXPECT_EQ(Inputs(launch), (std::vector<std::string>{"x", "h", "^before"}));
  EXPECT_EQ(launch.attr().at("Targs").list().type(0), DT_FLOAT);
  EXPECT_EQ(launch.attr().at("Targs").list().type(1), DT_RESOURCE);
  EXPECT_EQ(Inputs(*Find(out->graph, "after")), (std::vector<std::string>{"h", "x", "^" + launch.name()}));
  auto cluster = ParseSerializedGraph(launch.attr().at("cluster").s());
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  EXPECT_EQ((*cluster)->node((*cluster)->Args()[1]).output_types[0], DT_FLOAT);
}

TEST_F(FoldedReads, NotWhereAnotherNodeHasTheValueOrTheNodeKeepsItsName) {
  auto out = Rewrite(N("u", "UnknownOp", "input: 'r'", ""), {"b", "u"});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_NE(Find(out->graph, "r"), nullptr);
  out = Rewrite("", {"b", "r"});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_NE(Find(out->graph, "r"), nullptr);
}

TEST_F(FoldedReads, NotWhereTheLaunchWaitsForWhatWaitsForTheRead) {
  // The launch needs what a host op makes after the second assignment, which the read comes before.
  auto out =
      Rewrite(N("u", "ReadVariableOp", "input: 'h' input: '^after'", "attr { key: 'dtype' value { type: DT_FLOAT } }") +
                  N("s", "AddV2", "input: 'a' input: 'u'", kFloat),
              {"b", "s"});
  ASSERT_TRUE(out.ok()) << out.status();
  ASSERT_EQ(out->clusters.size(), 1u);
  EXPECT_NE(Find(out->graph, "r"), nullptr);
  EXPECT_EQ(Find(out->graph, "u"), nullptr);
  const NodeDef& launch = *Find(out->graph, out->clusters[0].launch);
  EXPECT_EQ(Inputs(launch), (std::vector<std::string>{"x", "r", "h", "^after"}));
}

TEST_F(FoldedReads, UnusedReadsGoToo) {
  const std::string kType = "attr { key: 'dtype' value { type: DT_FLOAT } }";
  auto out = Rewrite(N("dead", "ReadVariableOp", "input: 'h' input: '^before'", kType) +
                         N("last", "AssignVariableOp", "input: 'h' input: 'x' input: '^dead' input: '^after'", kType),
                     {"b", "last"});
  ASSERT_TRUE(out.ok()) << out.status();
  ASSERT_EQ(out->clusters.size(), 1u);
  EXPECT_EQ(Find(out->graph, "dead"), nullptr);
  EXPECT_EQ(Inputs(*Find(out->graph, "last")),
            (std::vector<std::string>{"h", "x", "^after", "^" + out->clusters[0].launch}));
}

TEST_F(FoldedReads, InAFunctionAPreservedReadIsOnlyAPlaceInTheOrder) {
  auto out = Rewrite(N("result", "_Retval", "input: 'b'", kFloat), {"result", "r", "b"});
  ASSERT_TRUE(out.ok()) << out.status();
  ASSERT_EQ(out->clusters.size(), 1u);
  for (const char* name : {"r", "b"}) {
    const NodeDef* left = Find(out->graph, name);
    ASSERT_NE(left, nullptr) << name;
    EXPECT_EQ(left->op(), "NoOp");
    EXPECT_EQ(Inputs(*left), (std::vector<std::string>{"^" + out->clusters[0].launch}));
  }
}

}  // namespace
}  // namespace xc
