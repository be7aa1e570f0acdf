// Ops that TensorFlow's graph optimizers make of several.
#ifndef XC_JIT_GRAPH_FUSED_H_
#define XC_JIT_GRAPH_FUSED_H_

#include <string>
#include <vector>

#include "jit/graph/graph.h"

namespace xc {

// The ops that the node stands for, as programs have them, in their order; its own op for a node that is not fused.
std::vector<std::string> OpsOf(const Node& node);

}  // namespace xc

#endif  // XC_JIT_GRAPH_FUSED_H_
