// Frames of v1 loops: which nodes run in which, and in what order nodes can run around them.
#ifndef XC_JIT_GRAPH_TRANSFORMS_FRAMES_H_
#define XC_JIT_GRAPH_TRANSFORMS_FRAMES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/graph/graph.h"

namespace xc {

// One frame; frame 0 is the graph itself.
struct Frame {
  std::string name;
  int parent = 0;
  int depth = 0;
  std::vector<int> nodes;  // everything executed inside, Enters and Exits included
  std::string irregular;   // why it cannot become a loop
};

struct Frames {
  std::vector<Frame> all;
  std::vector<int> of;  // by node id

  // The frame in which the outputs of `n` live.
  int OfOutput(const Node& n) const { return n.op == "Exit" || n.op == "RefExit" ? all[of[n.id]].parent : of[n.id]; }
};

// InvalidArgument for a cycle that is no loop, and for an Exit without an Enter.
absl::StatusOr<Frames> FindFrames(const Graph& graph);

// The edges by which a loop gives nothing before it has taken in everything. The way from a value that enters to one
// that leaves may lead back over an edge from NextIteration to Merge, which no order of the nodes has; whoever joins
// nodes outside of the loop must know of it all the same.
struct LoopOrder {
  int size = 0;                            // the graph's nodes, and one more for each frame
  std::vector<std::pair<int, int>> edges;  // from Enters to their frame, and from there to its Exits
  std::vector<int> order;                  // of all, sources first
};
// InvalidArgument where a loop waits for what it gives.
absl::StatusOr<LoopOrder> OrderAroundLoops(const Graph& graph);

// What stands before a chain of Identity nodes that ends in `ref`.
OutputRef SkipIdentities(const Graph& graph, OutputRef ref);

}  // namespace xc

#endif  // XC_JIT_GRAPH_TRANSFORMS_FRAMES_H_
