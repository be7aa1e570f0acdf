// Mark for compilation: which nodes of a host graph form clusters, and for every other node the reason why not.
#ifndef XC_JIT_MARK_MARK_H_
#define XC_JIT_MARK_MARK_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/graph/graph.h"

namespace xc {

struct MarkOptions {
  // Clusters with fewer ops that compute something stay with the host; one matrix product, convolution or loop is
  // enough by itself.
  int min_cluster_size = 2;
  std::set<std::string> allow;  // if not empty, only these ops
  std::set<std::string> deny;
  // Whether clusters may take resource handles (variables) as arguments and assign to them.
  bool resources = true;
};

struct NodeMark {
  int cluster = -1;
  std::string reason;  // why it is in no cluster
};

struct Marking {
  std::vector<NodeMark> nodes;  // by node id
  int num_clusters = 0;
  // Nodes of functions: see IterationShapes::nodes.
  std::set<std::string> iteration_nodes;
};

// Whether the node is a constant outside v1 control flow, which clusters copy.
bool IsFreeConstant(const Node& node);

// What each node, by id, waits for besides its operands: its control inputs, with those of the free constants among all
// of its inputs in place of the constants, which have no part in the order.
absl::StatusOr<std::vector<std::vector<int>>> WaitsFor(const Graph& graph);

// `groups` gives a number for each node, by id: nodes of different numbers go into different clusters. Empty: no limit.
absl::StatusOr<Marking> MarkForCompilation(const Graph& graph, const MarkOptions& options,
                                           const std::vector<int>& groups = {});

// Empty if the op of `node` can be compiled whatever stands around it, else the reason. Bodies of control flow are
// looked into.
std::string WhyNotCompilable(const Graph& graph, const Node& node, const MarkOptions& options);

// How many ops `node` stands for that compute something: for control flow those of its bodies; none for constants,
// arguments, ops that only look at a shape, and those that read or assign a variable and do nothing else.
int OpsThatCompute(const Graph& graph, const Node& node);

}  // namespace xc

#endif  // XC_JIT_MARK_MARK_H_
