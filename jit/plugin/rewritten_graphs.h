// Rewrites of the host's graphs, with what was clustered and left out kept for reports.
#ifndef XC_JIT_PLUGIN_REWRITTEN_GRAPHS_H_
#define XC_JIT_PLUGIN_REWRITTEN_GRAPHS_H_

#include <set>
#include <string>

#include "absl/status/statusor.h"

namespace xc {

// The serialized GraphDef with launch nodes, or "" if nothing changes. For `preserve` and `fed` see RewriteOptions.
absl::StatusOr<std::string> RewriteHostGraph(const std::string& graph_def, std::set<std::string> preserve,
                                             std::set<std::string> fed);

// What was clustered, compiled and left out.
std::string PluginReport(bool html);

}  // namespace xc

#endif  // XC_JIT_PLUGIN_REWRITTEN_GRAPHS_H_
