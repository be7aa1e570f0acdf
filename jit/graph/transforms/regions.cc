// Which nodes are alive together: conditions are followed from Switches to Merges, along the order of the graph.
#include "jit/graph/transforms/regions.h"

#include "hlo/base/status.h"
#include "jit/graph/transforms/frames.h"
#include "jit/graph/transforms/functionalize.h"

namespace xc {

absl::Status AssignRegions(Graph& graph) {
  XC_ASSIGN_OR_RETURN(Frames frames, FindFrames(graph));
  XC_ASSIGN_OR_RETURN(std::vector<int> order, graph.TopologicalOrder());
  using Tokens = std::set<std::pair<OutputRef, int>>;  // selectors with the side taken
  std::vector<Tokens> alive(graph.size()), entered(frames.all.size());
  std::map<std::pair<int, Tokens>, int> numbers = {{{0, {}}, 0}};
  for (int id : order) {
    Node& n = graph.node(id);
    Tokens& own = alive[id];
    bool first = true;
    for (const OutputRef& in : n.inputs) {
      const Node& src = graph.node(in.node);
      if (IsBackEdge(src, n)) continue;
      Tokens tokens = alive[in.node];
      if (IsV1Op(src, "Switch") || src.op == "_SwitchN") tokens.emplace(SkipIdentities(graph, src.inputs[1]), in.index);
      if (IsV1Op(n, "Merge") && !first) {
        Tokens shared;
        for (const auto& token : tokens) {
          if (own.count(token)) shared.insert(token);
        }
        own = shared;
      } else {
        own.insert(tokens.begin(), tokens.end());
      }
      first = false;
    }
    for (int c : n.control_inputs) own.insert(alive[c].begin(), alive[c].end());
    if (IsV1Op(n, "Enter")) entered[frames.of[id]].insert(own.begin(), own.end());
    if (IsV1Op(n, "Exit")) own = entered[frames.of[id]];
    if (IsV1ControlFlow(n.op)) {
      if (n.pinned.empty()) n.pinned = "part of control flow that was not turned into loops and branches";
      continue;
    }
    if (n.def != nullptr) n.pinned.clear();
    if (n.op == "ControlTrigger" && !own.empty()) {
      n.pinned = "runs even if what it waits for does not";
      own.clear();
    }
    auto [it, fresh] = numbers.emplace(std::make_pair(frames.of[id], own), static_cast<int>(numbers.size()));
    n.region = it->second;
  }
  return absl::OkStatus();
}

}  // namespace xc
