// Frames of v1 control flow become While nodes.
#ifndef XC_JIT_GRAPH_TRANSFORMS_LOOPS_H_
#define XC_JIT_GRAPH_TRANSFORMS_LOOPS_H_

#include "jit/graph/transforms/functionalize.h"

namespace xc {

// Frames that are not structured, or are to be kept, stay; their nodes say why in `pinned`.
absl::Status FunctionalizeLoops(Graph& graph, const FunctionalizeOptions& options, FunctionalizeResult* result);

}  // namespace xc

#endif  // XC_JIT_GRAPH_TRANSFORMS_LOOPS_H_
