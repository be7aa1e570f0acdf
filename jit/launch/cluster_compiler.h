// What makes code of clusters: lowering and compilation behind two functions, so that launching can be tested without
// either.
#ifndef XC_JIT_LAUNCH_CLUSTER_COMPILER_H_
#define XC_JIT_LAUNCH_CLUSTER_COMPILER_H_

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "jit/lowering/graph_lowering.h"
#include "service/client.h"
#include "service/general_code.h"

namespace xc {

// Thread-safe.
class ClusterCompiler {
 public:
  virtual ~ClusterCompiler() = default;
  // See LowerCluster.
  virtual absl::StatusOr<LoweredCluster> Lower(const Graph& graph, const std::vector<ClusterArg>& args,
                                               std::set<int>* needed, std::string* failed_node) = 0;
  // See Client::Compile.
  virtual absl::StatusOr<std::shared_ptr<const Executable>> Compile(std::unique_ptr<HloModule> module,
                                                                    const CompileOptions& options) = 0;
  // See GeneralCode. Null: there is none.
  virtual std::unique_ptr<GeneralCode> MakeGeneral(GeneralCode::Sample sample) { return nullptr; }
};

// Lowers by jit/lowering; compiles by `client`, which must outlive it, for `platform` or its emulator.
std::shared_ptr<ClusterCompiler> MakeClusterCompiler(Client* client, std::string platform, bool emulate = false);

}  // namespace xc

#endif  // XC_JIT_LAUNCH_CLUSTER_COMPILER_H_
