// A graph together with every function that it calls as one string: how a cluster travels inside its launch node.
#ifndef XC_JIT_GRAPH_SERIALIZE_H_
#define XC_JIT_GRAPH_SERIALIZE_H_

#include <memory>
#include <string>

#include "jit/graph/graph.h"

namespace xc {

// The body of a function (its _Arg and _Retval nodes included) as a definition that ImportFunction turns into the same
// graph.
FunctionDef ToFunctionDef(const Graph& body, const std::string& name);

// A binary GraphDef; equal graphs give equal strings. The functions reached must exist in the graph's library.
absl::StatusOr<std::string> SerializeGraph(const Graph& graph);

// The graph, validated like any other import, with a library of its own.
absl::StatusOr<std::unique_ptr<Graph>> ParseSerializedGraph(const std::string& bytes);

}  // namespace xc

#endif  // XC_JIT_GRAPH_SERIALIZE_H_
