#include "jit/tensorflow/optimizer.h"

#include <string>
#include <unordered_set>
#include <vector>

#include "tensorflow/core/grappler/grappler_item.h"
#include "tensorflow/core/grappler/optimizers/custom_graph_optimizer_registry.h"
#include "tensorflow/core/grappler/utils.h"

namespace xc_tensorflow {
namespace {

namespace grappler = tensorflow::grappler;

// "NODE:OUTPUT".
std::string TensorName(const std::string& name) {
  int output = 0;
  std::string node = grappler::ParseNodeName(name, &output);
  return node + ":" + std::to_string(output);
}

// The graph goes to the core library, which gives it back with launch nodes.
class Clustering : public grappler::CustomGraphOptimizer {
 public:
  explicit Clustering(const Core* core) : core_(*core) {}

  absl::Status Init(const tensorflow::RewriterConfig_CustomGraphOptimizer*) override { return absl::OkStatus(); }
  std::string name() const override { return "xla_clustering"; }
  // With the bodies of functions, so that functional loops and branches can be taken whole.
  bool UsesFunctionLibrary() const override { return true; }

  absl::Status Optimize(grappler::Cluster*, const grappler::GrapplerItem& item, tensorflow::GraphDef* out) override {
    std::string bytes = item.graph.SerializeAsString();
    const std::unordered_set<std::string> names = item.NodesToPreserve();
    std::vector<std::string> feeds, fetches;
    for (const auto& feed : item.feed) feeds.push_back(TensorName(feed.first));
    for (const std::string& fetch : item.fetch) fetches.push_back(TensorName(fetch));
    std::vector<const char*> preserve, fed;
    for (const std::string& name : names) preserve.push_back(name.c_str());
    for (const std::string& name : fetches) preserve.push_back(name.c_str());
    for (const std::string& name : feeds) fed.push_back(name.c_str());
    char* rewritten = nullptr;
    size_t size = 0;
    std::string error = core_.TakeMessage(core_.rewrite(bytes.data(), bytes.size(), preserve.data(), preserve.size(),
                                                        fed.data(), fed.size(), &rewritten, &size));
    bool changed = error.empty() && rewritten != nullptr;
    if (changed && !out->ParseFromString(std::string(rewritten, size))) {
      error = "what was made of it is not a GraphDef";
      changed = false;
    }
    if (rewritten != nullptr) core_.string_free(rewritten);
    if (!error.empty()) core_.log(("a graph is left as it is: " + error).c_str());
    if (!changed) *out = item.graph;
    return absl::OkStatus();
  }

 private:
  const Core& core_;
};

}  // namespace

void RegisterOptimizer(const Core* core) {
  grappler::ConfigList others;
  others.disable_model_pruning = false;
  for (const char* name :
       {"implementation_selector", "function_optimization", "common_subgraph_elimination", "arithmetic_optimization",
        "debug_stripper", "constant_folding", "shape_optimization", "auto_mixed_precision",
        "auto_mixed_precision_onednn_bfloat16", "auto_mixed_precision_mkl", "pin_to_host_optimization",
        "layout_optimizer", "loop_optimization", "dependency_optimization", "auto_parallel", "memory_optimization",
        "scoped_allocator_optimization"}) {
    others.toggle_config[name] = tensorflow::RewriterConfig::ON;
  }
  // The remapper makes fused ops that would stay outside clusters; the host's own runs of a cluster have it on.
  others.toggle_config["remapping"] = tensorflow::RewriterConfig::OFF;
  grappler::PluginGraphOptimizerRegistry::RegisterPluginOptimizerOrDie([core] { return new Clustering(core); }, "CPU",
                                                                       others);
}

}  // namespace xc_tensorflow
