// Encapsulate: every cluster becomes a function of the graph's library and one launch node.
#ifndef XC_JIT_MARK_ENCAPSULATE_H_
#define XC_JIT_MARK_ENCAPSULATE_H_

#include <memory>
#include <string>
#include <vector>

#include "jit/mark/mark.h"

namespace xc {

inline constexpr char kLaunchOp[] = "XlaJitLaunch";

struct Encapsulated {
  std::unique_ptr<Graph> graph;
  std::vector<std::shared_ptr<const Graph>> clusters;  // by cluster number
};

// `graph` with the clusters of `marking` replaced. Launch nodes carry the number of their cluster as text in the
// attribute "cluster". The order of data, control and side effects is kept.
absl::StatusOr<Encapsulated> Encapsulate(const Graph& graph, const Marking& marking);

// A function graph that holds only a copy of `node`: argument i is input i, result i output i.
std::unique_ptr<Graph> SingleNodeGraph(const Graph& graph, const Node& node);

}  // namespace xc

#endif  // XC_JIT_MARK_ENCAPSULATE_H_
