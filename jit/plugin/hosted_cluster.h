// A cluster whose launch node another framework runs: on the host's buffers, or by the host's own kernels where a
// launch falls back.
#ifndef XC_JIT_PLUGIN_HOSTED_CLUSTER_H_
#define XC_JIT_PLUGIN_HOSTED_CLUSTER_H_

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "jit/capi/xc_plugin.h"
#include "jit/launch/launcher.h"
#include "jit/plugin/fallback_graph.h"
#include "jit/plugin/settings.h"

namespace xc {

// Totals over the process: of all clusters' launches, and of the graphs that were rewritten.
struct PluginCounters {
  LaunchCounters launch;
  std::atomic<int64_t> graphs{0}, clusters{0}, ops{0}, clustered_ops{0};
};
PluginCounters& Counters();

// Writes the line to standard error, each text once and only if the settings say so.
void LogOnce(const std::string& line);

class HostedCluster : public std::enable_shared_from_this<HostedCluster>, private LaunchEvents {
 public:
  // The shared object for these bytes.
  static absl::StatusOr<std::shared_ptr<HostedCluster>> FindOrCreate(const std::string& bytes, const std::string& name);
  // All that are alive.
  static std::vector<std::shared_ptr<HostedCluster>> All();

  // See xc_cluster_host_graph.
  const std::string& HostGraph() { return host_graph_.Get(); }

  // See xc_cluster_run; the result is one of the outcomes there. Tickets are numbers: an old one, or one that is never
  // handed back, does no harm.
  absl::StatusOr<int> Run(absl::Span<const xc_tensor> args, const xc_cluster_results& results, int threads,
                          void** ticket);
  void HostRan(void* ticket, int64_t nanoseconds);

  std::vector<SignatureReport> Report() const { return launcher_->Report(); }
  std::vector<std::string> GeneralReport() const { return launcher_->GeneralReport(); }
  const std::string& name() const { return name_; }
  const Graph& graph() const { return launcher_->graph(); }

 private:
  HostedCluster(std::string bytes, std::string name, std::unique_ptr<Graph> graph);

  // A ticket for the entry.
  void* KeepForHost(std::shared_ptr<Launcher::Entry> entry);
  // Writes the module that is compiled, for `xla replay`, if there is a dump directory.
  void Compiling(const std::vector<ClusterArg>& args) override;
  void FallsBack(const std::string& node, const std::string& why) override;
  void TooManySignatures(int signatures) override;

  const std::string bytes_;
  const std::string name_;
  FallbackGraph host_graph_;
  std::vector<DataType> arg_types_;
  std::unique_ptr<Launcher> launcher_;
  std::mutex tickets_mutex_;
  intptr_t last_ticket_ = 0;
  std::array<std::pair<intptr_t, std::shared_ptr<Launcher::Entry>>, 64> tickets_;  // the last ones
};

}  // namespace xc

#endif  // XC_JIT_PLUGIN_HOSTED_CLUSTER_H_
