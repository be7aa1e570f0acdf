// v1 TensorArrays turned into TensorLists, which flow along edges and so can be compiled.
#ifndef XC_JIT_GRAPH_TRANSFORMS_TENSOR_ARRAYS_H_
#define XC_JIT_GRAPH_TRANSFORMS_TENSOR_ARRAYS_H_

#include "jit/graph/graph.h"

namespace xc {

// Replaces every TensorArrayV3 of the graph and the ops on it: the list travels where the flow value did. A graph with
// a use that lists have no counterpart of (gradients, handles in functions) is left as it is.
absl::Status ReplaceTensorArrays(Graph& graph);

}  // namespace xc

#endif  // XC_JIT_GRAPH_TRANSFORMS_TENSOR_ARRAYS_H_
