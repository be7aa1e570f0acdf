// Rewrites of the host's graphs, with what was clustered and left out kept for reports.
#ifndef XC_JIT_PLUGIN_REWRITTEN_GRAPHS_H_
#define XC_JIT_PLUGIN_REWRITTEN_GRAPHS_H_

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/mark/rewrite.h"

namespace xc {

// The serialized GraphDef with launch nodes, or "" if nothing changes. For `preserve` and `fed` see RewriteOptions.
absl::StatusOr<std::string> RewriteHostGraph(const std::string& graph_def, std::set<std::string> preserve,
                                             std::set<std::string> fed);

// What became of one graph.
struct GraphSummary {
  struct Reason {
    int count = 0;
    std::string example;  // a node, with its source line where the graph has one
  };
  int number = 0, nodes = 0;
  std::vector<RewrittenCluster> clusters;
  std::map<std::pair<std::string, std::string>, Reason> left_out;  // by op and reason
};

// The latest graphs, oldest first.
std::vector<GraphSummary> RewrittenGraphs();

}  // namespace xc

#endif  // XC_JIT_PLUGIN_REWRITTEN_GRAPHS_H_
