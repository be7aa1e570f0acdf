// The graph that runs in a cluster's place: as it is, and clustered again without a node that does not compile.
#include "jit/plugin/fallback_graph.h"

#include <gtest/gtest.h>

#include <set>

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

}  // namespace
}  // namespace xc
