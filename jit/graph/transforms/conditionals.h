// Conditionals of Switch and Merge turned into If and Case nodes; the part of FunctionalizeControlFlow without loops.
#ifndef XC_JIT_GRAPH_TRANSFORMS_CONDITIONALS_H_
#define XC_JIT_GRAPH_TRANSFORMS_CONDITIONALS_H_

#include "jit/graph/transforms/functionalize.h"

namespace xc {

// `graph` has no frames, or those that it has are pinned already.
absl::Status FunctionalizeConditionals(Graph& graph, const FunctionalizeOptions& options, FunctionalizeResult* result);

}  // namespace xc

#endif  // XC_JIT_GRAPH_TRANSFORMS_CONDITIONALS_H_
