// The graph that runs a cluster by the host's own kernels, and, without the nodes that were found not to compile, in
// clusters again.
#ifndef XC_JIT_PLUGIN_FALLBACK_GRAPH_H_
#define XC_JIT_PLUGIN_FALLBACK_GRAPH_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace xc {

// Thread-safe.
class FallbackGraph {
 public:
  // `cluster`: the serialized cluster, which outlives this.
  explicit FallbackGraph(const std::string& cluster) : cluster_(cluster) {}

  // See xc_cluster_host_graph. What it gives lives as long as this; another text after LeaveOut.
  const std::string& Get();
  // The node does not compile, for this reason: the others may without it.
  void LeaveOut(const std::string& node, const std::string& why);

 private:
  const std::string& cluster_;
  std::mutex mutex_;
  std::map<std::string, std::string> left_out_;  // nodes with the reasons
  bool outdated_ = true;                         // the last of made_ is not what Get should give
  std::vector<std::unique_ptr<const std::string>> made_;
};

}  // namespace xc

#endif  // XC_JIT_PLUGIN_FALLBACK_GRAPH_H_
