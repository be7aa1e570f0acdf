#include "jit/graph/transforms/frames.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"

namespace xc {

absl::StatusOr<Frames> FindFrames(const Graph& graph) {
  Frames frames;
  frames.all.resize(1);
  frames.of.assign(graph.size(), 0);
  std::map<std::pair<int, std::string>, int> by_name;
  XC_ASSIGN_OR_RETURN(std::vector<int> order, graph.TopologicalOrder());
  for (int id : order) {
    const Node& n = graph.node(id);
    int frame = -1;
    bool mixed = false;
    for (const OutputRef& in : n.inputs) {
      const Node& src = graph.node(in.node);
      if (IsBackEdge(src, n)) continue;
      int f = frames.OfOutput(src);
      if (frame >= 0 && f != frame) mixed = true;
      if (frame < 0 || frames.all[f].depth > frames.all[frame].depth) frame = f;
    }
    for (int c : n.control_inputs) {
      if (!n.inputs.empty()) break;
      int f = frames.OfOutput(graph.node(c));
      if (frame < 0 || frames.all[f].depth > frames.all[frame].depth) frame = f;
    }
    frame = std::max(frame, 0);
    if (mixed) frames.all[frame].irregular = absl::StrCat("node '", n.name, "' takes values of two frames");
    if (IsV1Op(n, "Enter")) {
      XC_ASSIGN_OR_RETURN(std::string name, n.String("frame_name"));
      auto [it, fresh] = by_name.emplace(std::make_pair(frame, name), static_cast<int>(frames.all.size()));
      if (fresh) {
        Frame f;
        f.name = name;
        f.parent = frame;
        f.depth = frames.all[frame].depth + 1;
        frames.all.push_back(std::move(f));
      }
      frame = it->second;
    } else if (IsV1Op(n, "Exit") && frame == 0) {
      return absl::InvalidArgumentError(absl::StrCat("node '", n.name, "' leaves a frame that was not entered"));
    }
    frames.of[id] = frame;
    frames.all[frame].nodes.push_back(id);
  }
  return frames;
}

absl::StatusOr<LoopOrder> OrderAroundLoops(const Graph& graph) {
  XC_ASSIGN_OR_RETURN(Frames frames, FindFrames(graph));
  LoopOrder out;
  out.size = graph.size() + static_cast<int>(frames.all.size());
  for (int id = 0; id < graph.size(); ++id) {
    if (!graph.has(id)) continue;
    const int frame = graph.size() + frames.of[id];
    if (IsV1Op(graph.node(id), "Enter")) out.edges.emplace_back(id, frame);
    if (IsV1Op(graph.node(id), "Exit")) out.edges.emplace_back(frame, id);
  }
  XC_ASSIGN_OR_RETURN(out.order, graph.TopologicalOrder(static_cast<int>(frames.all.size()), out.edges));
  return out;
}

OutputRef SkipIdentities(const Graph& graph, OutputRef ref) {
  while (graph.node(ref.node).op == "Identity") ref = graph.node(ref.node).inputs[0];
  return ref;
}

}  // namespace xc
