// Reads of variables move out of the loops that only read them.
#ifndef XC_JIT_MARK_HOIST_READS_H_
#define XC_JIT_MARK_HOIST_READS_H_

#include <set>
#include <string>

#include "jit/graph/graph.h"

namespace xc {

// A ReadVariableOp in a frame that nothing in it assigns to gives the same value in every iteration: it is read once
// before the loop, so that the loop takes a value and not a variable, and can be compiled where variables cannot. Nodes
// named in `preserve` stay.
absl::Status HoistVariableReads(Graph& graph, const std::set<std::string>& preserve);

}  // namespace xc

#endif  // XC_JIT_MARK_HOIST_READS_H_
