// The graph that runs in a cluster's place: as it is, and clustered again without a node that does not compile.
#include "jit/plugin/fallback_graph.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "jit/graph/graph.h"

namespace xc {
namespace {

constexpr char kChain[] = R"(
  node { name: "x" op: "_Arg" attr { key: "T" value { type: DT_FLOAT } } attr { key: "index" value { i: 0 } } }
  node { name: "e" op: "Exp" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "t" op: "Tanh" input: "e" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "s" op: "Sin" input: "t" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "r" op: "_Retval" input: "s" attr { key: "T" value { type: DT_FLOAT } }
         attr { key: "index" value { i: 0 } } }
)";

std::multiset<std::string> Ops(const std::string& bytes) {
  GraphDef def;
  EXPECT_TRUE(def.ParseFromString(bytes));
  std::multiset<std::string> out;
  for (const NodeDef& node : def.node()) out.insert(node.op());
  return out;
}

TEST(FallbackGraph, IsClusteredAgainWithoutANodeThatDoesNotCompile) {
  const std::string cluster = ParseGraphDef(kChain, /*text=*/true).value().SerializeAsString();
  FallbackGraph graph(cluster);
  const std::string& first = graph.Get();
  EXPECT_EQ(&first, &graph.Get());
  EXPECT_EQ(Ops(first), (std::multiset<std::string>{"Placeholder", "Exp", "Tanh", "Sin", "Identity"}));
  graph.LeaveOut("e", "for a reason");
  const std::string& second = graph.Get();
  EXPECT_EQ(Ops(second), (std::multiset<std::string>{"Placeholder", "Exp", "XlaJitLaunch", "Identity"}));
  // A second time changes nothing, and the first text is still there.
  graph.LeaveOut("e", "for another");
  EXPECT_EQ(&second, &graph.Get());
  EXPECT_EQ(Ops(first).count("Tanh"), 1u);
  // One op by itself is no cluster.
  graph.LeaveOut("t", "for a third");
  EXPECT_EQ(Ops(graph.Get()).count("XlaJitLaunch"), 0u);
}

// As in a cluster of a fallback graph: its nodes may be results of the larger cluster.
TEST(FallbackGraph, NodesMayHaveTheNamesOfArgumentsAndResults) {
  constexpr char kNested[] = R"(
    node { name: "xla_result_0" op: "_Arg" attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "xla_result_1" op: "Exp" input: "xla_result_0" attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "xla_inner/xla_result_1" op: "Tanh" input: "xla_result_1:0" input: "^xla_result_0"
           attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "b" op: "Sin" input: "xla_inner/xla_result_1" attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "xla_arg_0" op: "_Retval" input: "b" attr { key: "T" value { type: DT_FLOAT } }
           attr { key: "index" value { i: 0 } } }
    node { name: "r" op: "_Retval" input: "xla_result_1" attr { key: "T" value { type: DT_FLOAT } }
           attr { key: "index" value { i: 1 } } }
  )";
  const std::string cluster = ParseGraphDef(kNested, /*text=*/true).value().SerializeAsString();
  FallbackGraph graph(cluster);
  GraphDef def;
  ASSERT_TRUE(def.ParseFromString(graph.Get()));
  std::map<std::string, std::string> ops;
  for (const NodeDef& node : def.node()) EXPECT_TRUE(ops.emplace(node.name(), node.op()).second) << node.name();
  EXPECT_EQ(ops["xla_arg_0"], "Placeholder");
  EXPECT_EQ(ops["xla_result_0"], "Identity");
  EXPECT_EQ(ops["xla_result_1"], "Identity");
  for (const NodeDef& node : def.node()) {
    for (const std::string& input : node.input()) {
      const std::string from = input.substr(input[0] == '^', input.find(':') - (input[0] == '^'));
      EXPECT_TRUE(ops.contains(from)) << node.name() << " takes " << input;
    }
    if (node.name() == "xla_result_0") {
      EXPECT_EQ(node.input(0), "b");
    }
    if (node.name() == "xla_result_1") {
      EXPECT_EQ(ops[node.input(0)], "Exp");
    }
  }
  // A node that is left out is found under its name in the cluster.
  graph.LeaveOut("xla_result_1", "for a reason");
  const auto again = Ops(graph.Get());
  EXPECT_EQ(again.count("Exp"), 1u);
  EXPECT_EQ(again.count("XlaJitLaunch"), 1u);
}

}  // namespace
}  // namespace xc
