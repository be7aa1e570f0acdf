// Runs a host graph: clusters through their launches, other nodes by host kernels or as modules of one op.
#ifndef XC_JIT_HOST_EXECUTOR_H_
#define XC_JIT_HOST_EXECUTOR_H_

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "jit/host/launch.h"
#include "jit/kernels/kernel.h"
#include "jit/mark/encapsulate.h"

namespace xc {

enum class HostMode { kJit, kHost };  // with clusters, or op by op

struct HostOptions {
  HostMode mode = HostMode::kJit;
  // Where an op has both, its host kernel rather than a module of one op, whatever its size: nothing is compiled that
  // need not be.
  bool prefer_kernels = false;
  MarkOptions mark;
  LaunchOptions launch;
};

// A graph of _Arg and _Retval nodes made ready to run. Immutable after Create but for caches; any number of threads may
// run it at once.
class GraphExecutor {
 public:
  static absl::StatusOr<std::unique_ptr<GraphExecutor>> Create(std::shared_ptr<const Graph> graph,
                                                               const HostOptions& options,
                                                               std::shared_ptr<ResourceStore> resources, int depth = 0,
                                                               std::set<std::string> iteration_nodes = {});

  absl::StatusOr<std::vector<Tensor>> Run(const std::vector<Tensor>& args);

  // Totals over launches, functions included.
  LaunchStats stats() const;
  const Graph& original() const { return *original_; }
  const Marking& marking() const { return marking_; }
  const std::vector<std::unique_ptr<ClusterLaunch>>& clusters() const { return clusters_; }
  // Executors of function bodies that were run so far, by name.
  std::vector<const GraphExecutor*> functions() const;

 private:
  struct Step {
    enum Kind { kConst, kArg, kRetval, kKernel, kCluster, kSingle, kWhile, kIf, kCase, kCall, kVariable, kPlaceholder };
    Kind kind;
    const Node* node;
    std::vector<int> inputs;  // slots
    int first_output = 0;
    std::vector<int> dead;  // slots not needed after this step
    const HostKernel* kernel = nullptr;
    int cluster = -1;
    std::unique_ptr<ClusterLaunch> single;
    std::unique_ptr<std::mutex> mutex;  // guards fallbacks
    // The cluster without it being one cluster: op by op under "", else with the node of that name left out of
    // clusters.
    std::map<std::string, std::unique_ptr<GraphExecutor>> fallbacks;
  };

  GraphExecutor() = default;
  absl::Status Plan();
  absl::Status RunStep(Step& step, const std::vector<Tensor>& args, std::vector<Tensor>& slots,
                       std::vector<Tensor>& results);
  absl::StatusOr<GraphExecutor*> Fallback(Step& step, const std::string& left_out, const std::string& why);
  absl::Status RunCluster(Step& step, const std::vector<Tensor>& inputs, std::vector<Tensor>* outputs);
  absl::Status RunOp(Step& step, const std::vector<Tensor>& inputs, std::vector<Tensor>* outputs);
  absl::Status RunWhile(const Node& node, std::vector<Tensor> state, std::vector<Tensor>* outputs);
  absl::StatusOr<std::vector<Tensor>> RunFunction(const NameAttrList& name, const std::vector<Tensor>& args);

  HostOptions options_;
  std::shared_ptr<ResourceStore> resources_;
  int depth_ = 0;
  std::set<std::string> iteration_nodes_;  // see Marking::iteration_nodes: these and the others form clusters apart
  std::shared_ptr<const Graph> original_;
  Marking marking_;
  std::unique_ptr<Graph> graph_;  // with launch nodes
  std::vector<std::shared_ptr<const Graph>> cluster_graphs_;
  std::vector<std::unique_ptr<ClusterLaunch>> clusters_;
  std::vector<Step> steps_;
  int num_slots_ = 0;
  int num_results_ = 0;
  int num_args_ = 0;
  mutable std::mutex functions_mutex_;
  std::map<std::string, std::shared_ptr<GraphExecutor>> functions_;
};

}  // namespace xc

#endif  // XC_JIT_HOST_EXECUTOR_H_
