// GraphDef in, GraphDef with launch nodes out: clustering for a host that runs the rest of the graph itself.
#ifndef XC_JIT_MARK_REWRITE_H_
#define XC_JIT_MARK_REWRITE_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/mark/mark.h"

namespace xc {

struct RewriteOptions {
  MarkOptions mark;
  // Nodes whose outputs must still be found under their name. One that goes into a cluster leaves an Identity behind.
  // The name of a tensor ("NODE:OUTPUT") adds that this output is wanted of a node of which others are fed.
  std::set<std::string> preserve;
  // Tensors of theirs whose values the caller gives. What only leads to them goes.
  std::set<std::string> fed;
  // Nodes that were found not to compile, with the reason.
  std::map<std::string, std::string> left_out;
};

struct LeftOut {
  std::string node, op, reason;
  std::string source;  // the program's source line, if the graph has it
};

struct RewrittenCluster {
  std::string launch;  // the launch node
  std::vector<std::string> nodes;
};

struct RewriteResult {
  GraphDef graph;
  std::vector<RewrittenCluster> clusters;
  std::vector<LeftOut> left_out;
  int64_t ops_inside = 0, ops_outside = 0;  // OpsThatCompute in clusters, and elsewhere
};

// Clusters `def`, whose ops need not all be known. Each cluster becomes a node of op kLaunchOp with the attributes
// Targs, Tresults and cluster (the serialized function: ParseSerializedGraph), on the device of the nodes it replaces.
// Nodes outside clusters keep their definition but for inputs; the function library stays as it is. Launch nodes that
// are there already are left alone, so that a second rewrite changes nothing.
absl::StatusOr<RewriteResult> RewriteGraphDef(const GraphDef& def, const RewriteOptions& options);

}  // namespace xc

#endif  // XC_JIT_MARK_REWRITE_H_
