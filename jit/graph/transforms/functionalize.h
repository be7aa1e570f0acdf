// The table of graph transforms, which turn structured v1 control flow (frames of Enter, Merge, Switch, NextIteration
// and Exit; conditionals of Switch and Merge) back into While, If and Case nodes that call functions and so can be
// compiled whole.
#ifndef XC_JIT_GRAPH_TRANSFORMS_FUNCTIONALIZE_H_
#define XC_JIT_GRAPH_TRANSFORMS_FUNCTIONALIZE_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jit/graph/graph.h"

namespace xc {

struct FunctionalizeOptions {
  // Loops (by frame name) and conditionals (by the name of a Merge) that stay as they are, with the reason.
  std::map<std::string, std::string> keep;
};

struct FunctionalizeResult {
  // Functional nodes that were made, with the name that would keep their control flow in its v1 form.
  std::map<std::string, std::string> made;
  int irregular = 0;  // loops and conditionals that could not be turned
};

struct GraphTransform {
  const char* name;
  absl::Status (*run)(Graph& graph, const FunctionalizeOptions& options, FunctionalizeResult* result);
  bool of_control_flow;  // runs only while there is v1 control flow in the graph
  const char* reason;    // why at this place
};

// All of them, in their order.
absl::Span<const GraphTransform> GraphTransforms();

// Runs them: rewrites `graph` in place; bodies go to its library under new names. Control flow that is not structured,
// or is to be kept, stays: its Switches, Merges and frame ops say why in `pinned`, the others get regions. A
// conditional or loop around such control flow stays as well.
absl::StatusOr<FunctionalizeResult> FunctionalizeControlFlow(Graph& graph, const FunctionalizeOptions& options = {});

// Whether the op belongs to v1 control flow.
bool IsV1ControlFlow(const std::string& op);

}  // namespace xc

#endif  // XC_JIT_GRAPH_TRANSFORMS_FUNCTIONALIZE_H_
