#include "jit/graph/transforms/functionalize.h"

#include <set>
#include <vector>

#include "hlo/base/status.h"
#include "jit/graph/transforms/conditionals.h"
#include "jit/graph/transforms/list_sums.h"
#include "jit/graph/transforms/loops.h"
#include "jit/graph/transforms/regions.h"
#include "jit/graph/transforms/tensor_arrays.h"

namespace xc {
namespace {

// The nodes of v1 control flow that a graph has left. Transforms remove nodes and add new ones, but never make one of
// another op part of v1 control flow: each node is looked at once, those of v1 control flow again.
class V1Nodes {
 public:
  bool any(const Graph& graph) {
    for (; seen_ < graph.size(); ++seen_) nodes_.push_back(seen_);
    std::erase_if(nodes_, [&](int id) { return !graph.has(id) || !IsV1ControlFlow(graph.node(id).op); });
    return !nodes_.empty();
  }

 private:
  std::vector<int> nodes_;
  int seen_ = 0;
};

}  // namespace

absl::Span<const GraphTransform> GraphTransforms() {
  static constexpr GraphTransform kTransforms[] = {
      {"tensor-arrays",
       [](Graph& g, const FunctionalizeOptions&, FunctionalizeResult*) { return ReplaceTensorArrays(g); }, false,
       "While loops are frames: an array is a handle from outside and a flow that goes around with each iteration."},
      {"list-sums", [](Graph& g, const FunctionalizeOptions&, FunctionalizeResult*) { return SimplifyListSums(g); },
       false,
       "After the arrays, which become lists; before loops, whose bodies are functions of their own afterwards."},
      {"loops", FunctionalizeLoops, true,
       "Before the conditionals of the same graph: those in a loop's frame become part of its body, and are turned "
       "there."},
      {"conditionals", FunctionalizeConditionals, true,
       "With the frames gone, a Merge belongs to a conditional and to nothing else."},
      {"regions", [](Graph& g, const FunctionalizeOptions&, FunctionalizeResult*) { return AssignRegions(g); }, true,
       "Last: numbers what stayed as it was, so that no cluster spans two sides of a branch."},
  };
  return kTransforms;
}

bool IsV1ControlFlow(const std::string& op) {
  static const std::set<std::string> kOps = {"Enter",    "Exit",    "Merge",    "Switch",    "NextIteration",
                                             "RefEnter", "RefExit", "RefMerge", "RefSwitch", "RefNextIteration",
                                             "LoopCond", "_SwitchN"};
  return kOps.count(op) != 0;
}

absl::StatusOr<FunctionalizeResult> FunctionalizeControlFlow(Graph& graph, const FunctionalizeOptions& options) {
  FunctionalizeResult result;
  V1Nodes v1;
  for (const GraphTransform& transform : GraphTransforms()) {
    if (transform.of_control_flow && !v1.any(graph)) break;
    if (graph.library() == nullptr && transform.of_control_flow) graph.set_library(std::make_shared<FunctionLibrary>());
    XC_RETURN_IF_ERROR(transform.run(graph, options, &result));
  }
  return result;
}

}  // namespace xc
