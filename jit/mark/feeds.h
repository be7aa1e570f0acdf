// Nodes whose values the caller gives, wherever they stand in the graph.
#ifndef XC_JIT_MARK_FEEDS_H_
#define XC_JIT_MARK_FEEDS_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/graph/graph.h"

namespace xc {

// Outputs by their node's name.
using OutputsOfNodes = std::map<std::string, std::set<int>>;

// Of names of tensors ("NODE" or "NODE:OUTPUT").
absl::StatusOr<OutputsOfNodes> ParseTensorNames(const std::set<std::string>& names);

// What uses an output of `fed` takes the caller's value, and what only led to it, which may lack feeds of its own,
// goes; `wanted` names nodes and tensors that are wanted. A node of one output becomes a placeholder, one of several
// an IdentityN of placeholders, or stays if an output of it that is not fed is wanted: the host then replaces only what
// is fed. Unimplemented for a node of unknown type.
absl::StatusOr<GraphDef> CutAtFeeds(const GraphDef& def, const OutputsOfNodes& fed,
                                    const std::set<std::string>& wanted);

// A number for each node, by id: what leads to results of the same feeds has one number. A caller may feed a part, ask
// for what that part gives, and only then feed the rest; for nodes of several numbers in one cluster it would wait
// forever. Empty for fewer than two feeds.
absl::StatusOr<std::vector<int>> GroupByFeeds(const Graph& graph, const OutputsOfNodes& fed,
                                              const std::set<std::string>& wanted);

}  // namespace xc

#endif  // XC_JIT_MARK_FEEDS_H_
