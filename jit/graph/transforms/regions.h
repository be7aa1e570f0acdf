// Which nodes are alive together where v1 control flow stays.
#ifndef XC_JIT_GRAPH_TRANSFORMS_REGIONS_H_
#define XC_JIT_GRAPH_TRANSFORMS_REGIONS_H_

#include "jit/graph/graph.h"

namespace xc {

// Numbers the parts of what is left of v1 control flow, in `region`: nodes of one frame that are alive under the same
// conditions. The ops of that control flow say in `pinned` that they are part of it.
absl::Status AssignRegions(Graph& graph);

}  // namespace xc

#endif  // XC_JIT_GRAPH_TRANSFORMS_REGIONS_H_
