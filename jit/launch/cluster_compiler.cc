#include "jit/launch/cluster_compiler.h"

#include <utility>

namespace xc {
namespace {

class ClientCompiler : public ClusterCompiler {
 public:
  ClientCompiler(Client* client, std::string platform) : client_(client), platform_(std::move(platform)) {}

  absl::StatusOr<LoweredCluster> Lower(const Graph& graph, const std::vector<ClusterArg>& args, std::set<int>* needed,
                                       std::string* failed_node) override {
    return LowerCluster(graph, args, needed, failed_node);
  }
  absl::StatusOr<std::shared_ptr<const Executable>> Compile(std::unique_ptr<HloModule> module,
                                                            const CompileOptions& options) override {
    return client_->Compile(std::move(module), platform_, options);
  }

 private:
  Client* const client_;
  const std::string platform_;
};

}  // namespace

std::shared_ptr<ClusterCompiler> MakeClusterCompiler(Client* client, std::string platform) {
  return std::make_shared<ClientCompiler>(client, std::move(platform));
}

}  // namespace xc
