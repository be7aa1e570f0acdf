#include "jit/launch/cluster_compiler.h"

#include <utility>

#include "service/recorder.h"

namespace xc {
namespace {

class ClientCompiler : public ClusterCompiler {
 public:
  ClientCompiler(Client* client, std::string platform, bool emulate)
      : client_(client), platform_(std::move(platform)), emulate_(emulate) {}

  absl::StatusOr<LoweredCluster> Lower(const Graph& graph, const std::vector<ClusterArg>& args, std::set<int>* needed,
                                       std::string* failed_node) override {
    return LowerCluster(graph, args, needed, failed_node);
  }
  absl::StatusOr<std::shared_ptr<const Executable>> Compile(std::unique_ptr<HloModule> module,
                                                            const CompileOptions& options) override {
    CompileOptions own = options;
    own.emulate |= emulate_;
    own.profile |= Recorder::Get().on();
    return client_->Compile(std::move(module), platform_, own);
  }
  std::unique_ptr<GeneralCode> MakeGeneral(GeneralCode::Sample sample) override {
    return std::make_unique<GeneralCode>(client_, platform_, std::move(sample));
  }

 private:
  Client* const client_;
  const std::string platform_;
  const bool emulate_;
};

}  // namespace

std::shared_ptr<ClusterCompiler> MakeClusterCompiler(Client* client, std::string platform, bool emulate) {
  return std::make_shared<ClientCompiler>(client, std::move(platform), emulate);
}

}  // namespace xc
