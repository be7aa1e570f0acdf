// Gradients of loops that read a TensorList add, in every iteration, a list of zeros with one element written to the
// list of gradients so far. Such a sum becomes a write of one element, whose cost and size do not depend on the other
// list.
#ifndef XC_JIT_GRAPH_TRANSFORMS_LIST_SUMS_H_
#define XC_JIT_GRAPH_TRANSFORMS_LIST_SUMS_H_

#include "jit/graph/graph.h"

namespace xc {

// AddN(a, TensorListSetItem(TensorListReserve(…), i, x), …) becomes TensorListSetItem(a, i, a[i] + x), ….
absl::Status SimplifyListSums(Graph& graph);

}  // namespace xc

#endif  // XC_JIT_GRAPH_TRANSFORMS_LIST_SUMS_H_
