// A cluster compiled for the shapes of its arguments: what a launch needs to run it.
#ifndef XC_JIT_HOST_COMPILED_CLUSTER_H_
#define XC_JIT_HOST_COMPILED_CLUSTER_H_

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "jit/lowering/graph_lowering.h"
#include "service/client.h"

namespace xc {

struct CompiledCluster {
  LoweredCluster lowered;                        // without its module
  std::shared_ptr<const Executable> executable;  // null when all results are known
  std::vector<Dims> result_dims;                 // of the module's results
  std::vector<DataType> result_types;
  double seconds = 0;
};

// Lowers and compiles `graph`. `needed` gets the arguments whose values the lowering asks for; then the status is
// FailedPrecondition. When a node could not be lowered, `failed_node` gets its name.
absl::StatusOr<CompiledCluster> CompileCluster(const Graph& graph, const std::vector<ClusterArg>& args, Client* client,
                                               absl::string_view platform, const CompileOptions& options,
                                               std::set<int>* needed, std::string* failed_node = nullptr);

}  // namespace xc

#endif  // XC_JIT_HOST_COMPILED_CLUSTER_H_
