// Clusters: what is merged, what is left out and with which reason, and that contraction never makes a cycle.
#include "jit/mark/mark.h"

#include <gtest/gtest.h>

#include <random>

#include "jit/graph/transforms/functionalize.h"
#include "jit/mark/cycles.h"
#include "jit/mark/encapsulate.h"

namespace xc {
namespace {

std::string N(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
              const std::string& attrs = "attr { key: 'T' value { type: DT_FLOAT } }") {
  std::string out = "node { name: '" + name + "' op: '" + op + "' ";
  for (const std::string& i : inputs) out += "input: '" + i + "' ";
  return out + attrs + " } ";
}
std::string Input(const std::string& name, const std::string& type = "DT_FLOAT") {
  return N(name, "Placeholder", {}, "attr { key: 'dtype' value { type: " + type + " } }");
}
std::string Unique(const std::string& name, const std::string& in) { return N(name, "Unique", {in}); }

struct Marked {
  std::unique_ptr<Graph> graph;
  Marking marking;
  int cluster(const std::string& name) const { return marking.nodes[graph->FindNode(name)->id].cluster; }
  std::string reason(const std::string& name) const { return marking.nodes[graph->FindNode(name)->id].reason; }
};

Marked Mark(const std::string& text, MarkOptions options = {}) {
  Marked m;
  auto def = ParseGraphDef(text, true);
  EXPECT_TRUE(def.ok()) << def.status();
  auto graph = ImportGraphDef(*def);
  EXPECT_TRUE(graph.ok()) << graph.status();
  m.graph = *std::move(graph);
  auto marking = MarkForCompilation(*m.graph, options);
  EXPECT_TRUE(marking.ok()) << marking.status();
  m.marking = *std::move(marking);
  return m;
}

TEST(Mark, NeverMakesACycle) {
  // a -> u (host) -> b, and a -> b: a and b must not share a cluster.
  Marked m = Mark(Input("x") + N("a", "Exp", {"x"}) + N("a2", "Exp", {"a"}) + Unique("u", "a2") +
                  N("b", "AddV2", {"u", "a2"}) + N("b2", "Exp", {"b"}));
  EXPECT_GE(m.cluster("a"), 0);
  EXPECT_EQ(m.cluster("a"), m.cluster("a2"));
  EXPECT_EQ(m.cluster("b"), m.cluster("b2"));
  EXPECT_NE(m.cluster("a"), m.cluster("b"));
  EXPECT_EQ(m.reason("u"), "no lowering for Unique");
  auto encapsulated = Encapsulate(*m.graph, m.marking);
  ASSERT_TRUE(encapsulated.ok()) << encapsulated.status();
  EXPECT_EQ(encapsulated->clusters.size(), 2u);
  EXPECT_TRUE(encapsulated->graph->TopologicalOrder().ok());
}

TEST(Mark, WhatUsesAConstantWaitsForWhatTheConstantWaitsFor) {
  // a -> u (host), and a constant that comes after u is added in b: as TensorFlow leaves it out where an operand has
  // it, b has no control edge of its own.
  const std::string one =
      "attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { tensor { dtype: DT_FLOAT "
      "tensor_shape "
      "{ } float_val: 1 } } }";
  Marked m = Mark(Input("x") + N("a", "Exp", {"x"}) + N("a2", "Exp", {"a"}) + Unique("u", "a2") +
                  N("one", "Const", {"^u"}, one) + N("also_one", "Const", {"^one"}, one) +
                  N("b", "AddV2", {"a2", "also_one"}) + N("b2", "Exp", {"b"}) + Unique("v", "also_one"));
  EXPECT_EQ(m.cluster("a"), m.cluster("a2"));
  EXPECT_NE(m.cluster("a"), m.cluster("b"));
  auto encapsulated = Encapsulate(*m.graph, m.marking);
  ASSERT_TRUE(encapsulated.ok()) << encapsulated.status();
  const Graph& graph = *encapsulated->graph;
  std::vector<std::string> before;
  for (int c : graph.FindNode("cluster_" + std::to_string(m.cluster("b")))->control_inputs) {
    before.push_back(graph.node(c).name);
  }
  EXPECT_EQ(before, std::vector<std::string>{"u"});
  EXPECT_EQ(graph.node(graph.FindNode("one")->control_inputs.at(0)).name, "u");
  EXPECT_EQ(graph.node(graph.FindNode("v")->control_inputs.at(0)).name, "u");
}

TEST(Mark, WhatRunsInAnyCaseIsNotPartOfWhatMayNotRun) {
  // A ControlTrigger waits for both sides of a conditional that stays as it is.
  auto def = ParseGraphDef(Input("x") + Input("p", "DT_BOOL") + N("s", "Switch", {"x", "p"}) + Unique("no", "s") +
                               N("yes", "Exp", {"s:1"}) + N("yes2", "Exp", {"yes"}) +
                               N("any", "ControlTrigger", {"^no", "^yes2"}, "") + N("y", "Exp", {"x", "^any"}) +
                               N("y2", "Exp", {"y"}),
                           true);
  ASSERT_TRUE(def.ok()) << def.status();
  auto graph = ImportGraphDef(*def);
  ASSERT_TRUE(graph.ok()) << graph.status();
  ASSERT_TRUE(FunctionalizeControlFlow(**graph).ok());
  Marked m;
  m.graph = *std::move(graph);
  auto marking = MarkForCompilation(*m.graph, {});
  ASSERT_TRUE(marking.ok()) << marking.status();
  m.marking = *std::move(marking);
  EXPECT_GE(m.cluster("yes"), 0);
  EXPECT_GE(m.cluster("y"), 0);
  EXPECT_NE(m.cluster("y"), m.cluster("yes"));
  EXPECT_EQ(m.reason("any"), "runs even if what it waits for does not");
}

TEST(Mark, NeverMakesACycleThroughTheTurnsOfALoop) {
  // a -> u (host) -> the loop's first variable, which is added to the second in every iteration; that one leaves to b.
  const std::string type = "attr { key: 'T' value { type: DT_FLOAT } }";
  const std::string frame = "attr { key: 'frame_name' value { s: 'w' } }", two = "attr { key: 'N' value { i: 2 } }";
  auto loop = [&](const std::string& first) {
    return N("ei", "Enter", {"x"}, type + frame) + N("mi", "Merge", {"ei", "ni"}, type + two) +
           N("lt", "Less", {"mi", "mi"}) + N("c", "LoopCond", {"lt"}, "") + N("si", "Switch", {"mi", "c"}) +
           N("xi", "Exit", {"si"}) + N("b", "AddV2", {"xi", "a2"}) + N("b2", "Exp", {"b"}) +
           N("ev", "Enter", {first}, type + frame) + N("mv", "Merge", {"ev", "nv"}, type + two) +
           N("sv", "Switch", {"mv", "c"}) + N("sum", "AddV2", {"si:1", "sv:1"}) + N("twice", "AddV2", {"sum", "si:1"}) +
           N("nv", "NextIteration", {"sum"}) + N("ni", "NextIteration", {"twice"});
  };
  const std::string before = Input("x") + N("a", "Exp", {"x"}) + N("a2", "Exp", {"a"});
  Marked m = Mark(before + loop("u") + Unique("u", "a2"));
  EXPECT_GE(m.cluster("a"), 0);
  EXPECT_GE(m.cluster("b"), 0);
  EXPECT_NE(m.cluster("a"), m.cluster("b"));
  // One iteration does not wait for the next.
  EXPECT_GE(m.cluster("sum"), 0);
  EXPECT_EQ(m.cluster("sum"), m.cluster("twice"));
  m = Mark(before + loop("x"));
  EXPECT_EQ(m.cluster("a"), m.cluster("b"));
}

TEST(Mark, ControlEdgesKeepTheirOrder) {
  Marked m = Mark(Input("x") + N("a", "Exp", {"x"}) + N("a2", "Neg", {"a"}) + Unique("u", "x") +
                  "node { name: 'g' op: 'NoOp' input: '^a2' input: '^u' } " + N("b", "Exp", {"a2", "^u"}) +
                  N("b2", "Neg", {"b"}));
  EXPECT_EQ(m.cluster("a"), m.cluster("b"));  // the host node only comes before
}

TEST(Mark, ReasonsNameWhatIsWrong) {
  MarkOptions options;
  options.deny = {"Neg"};
  Marked m = Mark(Input("x") + Input("s", "DT_STRING") + N("n", "Neg", {"x"}) + N("l", "StringLower", {"s"}, "") +
                      N("e", "Exp", {"x"}),
                  options);
  EXPECT_EQ(m.reason("n"), "on the deny list");
  EXPECT_EQ(m.reason("l"), "StringLower works on strings");
  EXPECT_EQ(m.reason("e"), "too few ops to compile together: 1 (min_cluster_size is 2)");
  EXPECT_EQ(m.reason("x"), "argument of the graph");
}

TEST(Mark, ConstantOperandsMustNotComeFromData) {
  std::string attrs = "attr { key: 'T' value { type: DT_FLOAT } } attr { key: 'Tshape' value { type: DT_INT32 } }";
  std::string argmax =
      "attr { key: 'T' value { type: DT_FLOAT } } attr { key: 'output_type' value { type: DT_INT32 } }";
  Marked m = Mark(Input("x") + Input("axis", "DT_INT32") + N("d", "ArgMax", {"x", "axis"}, argmax) +
                  N("r", "Reshape", {"x", "d"}, attrs) + N("e", "Exp", {"r"}) + N("f", "Neg", {"e"}));
  EXPECT_NE(m.reason("r").find("comes from 'd' (ArgMax)"), std::string::npos) << m.reason("r");
  EXPECT_GE(m.cluster("e"), 0);
}

TEST(Mark, DevicesAreNotMixed) {
  std::string there = "attr { key: 'T' value { type: DT_FLOAT } } device: '/device:CPU:1'";
  Marked m = Mark(Input("x") + N("a", "Exp", {"x"}) + N("a2", "Exp", {"a"}) + N("b", "Exp", {"a2"}, there) +
                  N("b2", "Exp", {"b"}, there));
  EXPECT_EQ(m.cluster("a"), m.cluster("a2"));
  EXPECT_EQ(m.cluster("b"), m.cluster("b2"));
  EXPECT_NE(m.cluster("a2"), m.cluster("b"));
}

TEST(Mark, TensorListsStayInsideOneCluster) {
  std::string from =
      "attr { key: 'element_dtype' value { type: DT_FLOAT } } attr { key: 'shape_type' value { type: "
      "DT_INT32 } }";
  std::string element = "attr { key: 'element_dtype' value { type: DT_FLOAT } }";
  // A list that a host op looks at falls out together with who made it.
  Marked m =
      Mark(Input("x") + Input("s", "DT_INT32") + N("l", "TensorListFromTensor", {"x", "s"}, from) +
           N("r", "TensorListPushBackBatch", {"l", "x"}, element) + N("y", "TensorListStack", {"l", "s"}, element));
  EXPECT_EQ(m.cluster("l"), -1);
  EXPECT_NE(m.reason("l").find("a TensorList would cross"), std::string::npos) << m.reason("l");
  EXPECT_EQ(m.cluster("y"), -1);
}

TEST(ContractibleDag, AgreesWithSearchOnRandomGraphs) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    int n = 4 + static_cast<int>(random() % 20);
    std::vector<int> order(n);
    for (int i = 0; i < n; ++i) order[i] = i;
    ContractibleDag dag(n, order);
    std::vector<std::pair<int, int>> edges;
    for (int i = 0; i < n; ++i) {
      for (int j = i + 1; j < n; ++j) {
        if (random() % 4 == 0) {
          dag.AddEdge(i, j);
          edges.emplace_back(i, j);
        }
      }
    }
    std::shuffle(edges.begin(), edges.end(), random);
    for (auto [a, b] : edges) {
      int from = dag.Representative(a), to = dag.Representative(b);
      if (from == to) continue;
      // Another path between the two by search over the contracted edges.
      std::vector<std::vector<int>> out(n);
      for (auto [x, y] : edges) {
        int u = dag.Representative(x), v = dag.Representative(y);
        if (u != v && !(u == from && v == to)) out[u].push_back(v);
      }
      std::vector<bool> seen(n, false);
      std::vector<int> todo = {from};
      bool other_path = false;
      while (!todo.empty()) {
        int node = todo.back();
        todo.pop_back();
        if (seen[node]) continue;
        seen[node] = true;
        other_path |= node == to;
        for (int next : out[node]) todo.push_back(next);
      }
      EXPECT_EQ(dag.Contract(from, to), !other_path);
    }
  }
}

}  // namespace
}  // namespace xc
