#include "jit/host/compiled_cluster.h"

#include <chrono>

#include "hlo/base/status.h"

namespace xc {

absl::StatusOr<CompiledCluster> CompileCluster(const Graph& graph, const std::vector<ClusterArg>& args, Client* client,
                                               absl::string_view platform, const CompileOptions& options,
                                               std::set<int>* needed, std::string* failed_node) {
  auto start = std::chrono::steady_clock::now();
  CompiledCluster out;
  XC_ASSIGN_OR_RETURN(out.lowered, LowerCluster(graph, args, needed, failed_node));
  needed->clear();
  if (out.lowered.module != nullptr) {
    XC_ASSIGN_OR_RETURN(out.executable, client->Compile(std::move(out.lowered.module), platform, options));
    for (const Shape& s : out.executable->result_leaves()) {
      out.result_dims.push_back(s.dims());
      out.result_types.push_back(ToDataType(s.type()));
    }
    // Several host types share an element type: the graph says which it is.
    std::vector<int> retvals = graph.Retvals();
    for (size_t i = 0; i < out.lowered.results.size(); ++i) {
      int k = out.lowered.results[i].output;
      if (k >= 0) out.result_types[k] = graph.node(retvals[i]).input_types[0];
    }
  }
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

}  // namespace xc
