// Loops whose state changes its shape from iteration to iteration, and branches that give different shapes, as far as a
// graph tells before any shape is known. Neither compiles as a whole.
#ifndef XC_JIT_SHAPES_ITERATION_SHAPES_H_
#define XC_JIT_SHAPES_ITERATION_SHAPES_H_

#include <map>
#include <set>
#include <string>

#include "jit/graph/graph.h"

namespace xc {

struct IterationShapes {
  // Nodes of the graph, by id, that do not compile as a whole, with the reason.
  std::map<int, std::string> changing;
  // Nodes of functions by name, of all loops: those that take or give another shape on each iteration, or values that
  // would have to be known while compiling.
  std::set<std::string> nodes;
};

IterationShapes FindIterationShapes(const Graph& graph);

}  // namespace xc

#endif  // XC_JIT_SHAPES_ITERATION_SHAPES_H_
