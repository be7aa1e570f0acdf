// Nodes whose values the caller gives, wherever they stand in the graph.
#ifndef XC_JIT_MARK_FEEDS_H_
#define XC_JIT_MARK_FEEDS_H_

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "jit/graph/graph.h"

namespace xc {

// Makes each node of `fed` a placeholder: what used it takes the caller's value, and what only led to it, which may
// lack feeds of its own, goes; `preserve` names what is wanted. Unimplemented for a node of several outputs (any of
// which may be fed) or of unknown type.
absl::StatusOr<GraphDef> CutAtFeeds(const GraphDef& def, const std::set<std::string>& fed,
                                    const std::set<std::string>& preserve);

}  // namespace xc

#endif  // XC_JIT_MARK_FEEDS_H_
