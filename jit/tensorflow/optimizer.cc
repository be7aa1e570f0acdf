#include "jit/tensorflow/optimizer.h"

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "tensorflow/core/common_runtime/graph_constructor.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/protobuf/rewriter_config.pb.h"
#include "tensorflow/core/public/session_options.h"

namespace xc_tensorflow {
namespace {

namespace tf = tensorflow;

// Sessions that optimize nothing, or nothing by plugins, as the one that runs a cluster's own kernels.
bool IsSwitchedOff(const tf::GraphOptimizationPassOptions& options) {
  if (options.session_options == nullptr) return false;
  const tf::RewriterConfig& rewrites = options.session_options->config.graph_options().rewrite_options();
  return rewrites.disable_meta_optimizer() || rewrites.use_plugin_optimizers() == tf::RewriterConfig::OFF;
}

// What TensorFlow wraps an op in that a program calls outside of functions.
bool IsSingleOp(const tf::FunctionDef* function) {
  return function != nullptr && absl::StartsWith(function->signature().name(), "__wrapped__");
}

// Nodes that somebody may ask for by name: a function's control results, and those that nothing uses.
std::set<std::string> NodesToPreserve(const tf::Graph& graph, const tf::FunctionDef* function) {
  std::set<std::string> names;
  if (function != nullptr) {
    for (const auto& result : function->control_ret()) names.insert(result.second);
  }
  for (const tf::Node* node : graph.op_nodes()) {
    bool used = node->IsRetval();
    for (const tf::Edge* edge : node->out_edges()) used |= !edge->dst()->IsSink();
    if (!used) names.insert(node->name());
  }
  return names;
}

// Where a session's graph gets values that may come one after the other, as in partial runs: "NODE:OUTPUT".
std::vector<std::string> Feeds(const tf::Graph& graph) {
  std::vector<std::string> names;
  for (const tf::Node* node : graph.op_nodes()) {
    if (node->IsRecv()) names.push_back(node->name() + ":0");
  }
  return names;
}

std::vector<const char*> Pointers(const std::vector<std::string>& names) {
  std::vector<const char*> out;
  for (const std::string& name : names) out.push_back(name.c_str());
  return out;
}

// Runs after all that TensorFlow does to a graph as a whole: what stays outside of clusters, and what is inside, is
// what TensorFlow would run. There is room for any number of such passes, while a second plugin with an optimizer for
// the same type of device ends the process.
class Clustering : public tf::GraphOptimizationPass {
 public:
  explicit Clustering(const Core* core) : core_(*core) {}

  // The graph goes to the core library, which gives it back with launch nodes. A failure leaves the graph as it is.
  absl::Status Run(const tf::GraphOptimizationPassOptions& options) override {
    if (options.graph == nullptr || *options.graph == nullptr || IsSwitchedOff(options) ||
        IsSingleOp(options.function_def)) {
      return absl::OkStatus();
    }
    absl::Status status = Rewrite(options);
    if (!status.ok()) core_.log(("a graph is left as it is: " + std::string(status.message())).c_str());
    return absl::OkStatus();
  }

 private:
  absl::Status Rewrite(const tf::GraphOptimizationPassOptions& options) {
    const tf::Graph& graph = **options.graph;
    tf::GraphDef def;
    graph.ToGraphDef(&def);
    // The bodies of functions, so that functional loops and branches can be taken whole.
    if (options.flib_def != nullptr) *def.mutable_library() = options.flib_def->ReachableDefinitions(def).ToProto();
    const std::set<std::string> names = NodesToPreserve(graph, options.function_def);
    const std::vector<std::string> preserved(names.begin(), names.end()), feeds = Feeds(graph);
    const std::vector<const char*> preserve = Pointers(preserved), fed = Pointers(feeds);
    const std::string bytes = def.SerializeAsString();
    char* rewritten = nullptr;
    size_t size = 0;
    std::string error = core_.TakeMessage(core_.rewrite(bytes.data(), bytes.size(), preserve.data(), preserve.size(),
                                                        fed.data(), fed.size(), &rewritten, &size));
    if (!error.empty()) return absl::InternalError(error);
    if (rewritten == nullptr) return absl::OkStatus();
    const bool parsed = def.ParseFromString(std::string(rewritten, size));
    core_.string_free(rewritten);
    if (!parsed) return absl::InternalError("what was made of it is not a GraphDef");
    return Replace(std::move(def), options.graph);
  }

  // The graph is placed already: every node says its device.
  static absl::Status Replace(tf::GraphDef def, std::unique_ptr<tf::Graph>* graph) {
    auto made = std::make_unique<tf::Graph>(tf::OpRegistry::Global());
    tf::GraphConstructorOptions construct;
    construct.allow_internal_ops = true;
    absl::Status status = tf::ConvertGraphDefToGraph(construct, std::move(def), made.get());
    if (!status.ok()) return status;
    for (tf::Node* node : made->op_nodes()) node->set_assigned_device_name(node->requested_device());
    *graph = std::move(made);
    return absl::OkStatus();
  }

  const Core& core_;
};

}  // namespace

void RegisterOptimizer(const Core* core) {
  // Before the passes that cluster for TensorFlow's own compiler, which may take what is left.
  constexpr int kPhase = 1;
  auto pass = std::make_unique<Clustering>(core);
  pass->set_name("XlaClustering");
  tf::OptimizationPassRegistry::Global()->Register(tf::OptimizationPassRegistry::POST_REWRITE_FOR_EXEC, kPhase,
                                                   std::move(pass));
}

}  // namespace xc_tensorflow
