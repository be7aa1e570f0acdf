#include "jit/capi/xc_plugin.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <string>

#include "hlo/base/status.h"
#include "jit/plugin/background.h"
#include "jit/plugin/hosted_cluster.h"
#include "jit/plugin/report.h"
#include "jit/plugin/rewritten_graphs.h"
#include "jit/plugin/settings.h"
#include "service/c_status.h"
#include "service/recorder.h"

struct xc_cluster {
  std::shared_ptr<xc::HostedCluster> hosted;
};

namespace xc {
namespace {

absl::Status Rewrite(const char* graph_def, size_t size, const char* const* preserve, size_t num_preserve,
                     const char* const* fed, size_t num_fed, char** out, size_t* out_size) {
  if (graph_def == nullptr || out == nullptr || out_size == nullptr || (num_preserve > 0 && preserve == nullptr) ||
      (num_fed > 0 && fed == nullptr)) {
    return absl::InvalidArgumentError("null argument");
  }
  *out = nullptr;
  *out_size = 0;
  XC_ASSIGN_OR_RETURN(
      std::string rewritten,
      RewriteHostGraph(std::string(graph_def, size), {preserve, preserve + num_preserve}, {fed, fed + num_fed}));
  if (rewritten.empty()) return absl::OkStatus();
  *out = static_cast<char*>(std::malloc(rewritten.size()));
  if (*out == nullptr) return absl::ResourceExhaustedError("no memory for the rewritten graph");
  std::memcpy(*out, rewritten.data(), rewritten.size());
  *out_size = rewritten.size();
  return absl::OkStatus();
}

absl::Status Create(const char* bytes, size_t size, const char* name, xc_cluster** out) {
  if (bytes == nullptr || out == nullptr) return absl::InvalidArgumentError("null argument");
  XC_ASSIGN_OR_RETURN(auto hosted,
                      HostedCluster::FindOrCreate(std::string(bytes, size), name == nullptr ? "cluster" : name));
  *out = new xc_cluster{std::move(hosted)};
  return absl::OkStatus();
}

absl::Status HostGraph(xc_cluster* cluster, const char** bytes, size_t* size) {
  if (cluster == nullptr || bytes == nullptr || size == nullptr) return absl::InvalidArgumentError("null argument");
  const std::string& graph = cluster->hosted->HostGraph();
  if (graph.empty()) return absl::InternalError("the cluster cannot be written as a graph");
  *bytes = graph.data();
  *size = graph.size();
  return absl::OkStatus();
}

absl::Status RunCluster(xc_cluster* cluster, const xc_tensor* args, size_t num_args, const xc_cluster_results* results,
                        int threads, int* outcome, void** ticket) {
  XC_ASSIGN_OR_RETURN(*outcome, cluster->hosted->Run(absl::MakeConstSpan(args, num_args), *results, threads, ticket));
  return absl::OkStatus();
}

}  // namespace
}  // namespace xc

extern "C" {

xc_status* xc_plugin_configure(const char* settings) {
  return xc::CallC([&] { return xc::ConfigurePlugin(settings == nullptr ? "" : settings); });
}

void xc_plugin_on_configure(void (*changed)(void)) {
  xc_status_free(xc::CallC([&]() -> absl::Status {
    xc::OnConfigurePlugin(changed);
    return absl::OkStatus();
  }));
}

char* xc_plugin_settings(void) {
  return xc::CallC([] { return xc::CopyString(xc::DescribePluginSettings()); }, static_cast<char*>(nullptr));
}

xc_status* xc_plugin_rewrite(const char* graph_def, size_t size, const char* const* preserve, size_t num_preserve,
                             const char* const* fed, size_t num_fed, char** out, size_t* out_size) {
  return xc::CallC([&] { return xc::Rewrite(graph_def, size, preserve, num_preserve, fed, num_fed, out, out_size); });
}

xc_status* xc_cluster_create(const char* bytes, size_t size, const char* name, xc_cluster** out) {
  return xc::CallC([&] { return xc::Create(bytes, size, name, out); });
}

void xc_cluster_free(xc_cluster* cluster) { delete cluster; }

xc_status* xc_cluster_host_graph(xc_cluster* cluster, const char** bytes, size_t* size) {
  return xc::CallC([&] { return xc::HostGraph(cluster, bytes, size); });
}

xc_status* xc_cluster_run(xc_cluster* cluster, const xc_tensor* args, size_t num_args,
                          const xc_cluster_results* results, int threads, int* outcome, void** ticket) {
  return xc::CallC([&] { return xc::RunCluster(cluster, args, num_args, results, threads, outcome, ticket); });
}

void xc_cluster_host_ran(xc_cluster* cluster, void* ticket, int64_t nanoseconds) {
  // A time that cannot be noted is one that was not taken.
  xc_status_free(xc::CallC([&]() -> absl::Status {
    cluster->hosted->HostRan(ticket, nanoseconds);
    return absl::OkStatus();
  }));
}

void xc_plugin_log(const char* message) {
  xc_status_free(xc::CallC([&]() -> absl::Status {
    xc::LogOnce(message);
    return absl::OkStatus();
  }));
}

int xc_plugin_caller_thread(void) {
  return xc::CallC([] { return static_cast<int>(xc::PluginCallerThread()); }, 0);
}

xc_plugin_stats xc_plugin_get_stats(void) {
  return xc::CallC(
      []() -> xc_plugin_stats {
        const xc::PluginCounters& c = xc::Counters();
        const xc::LaunchCounters& l = c.launch;
        return {c.graphs,
                c.clusters,
                l.launches,
                l.host_runs,
                l.compilations,
                l.failures,
                c.ops,
                c.clustered_ops,
                l.slower_signatures,
                l.arguments,
                l.launch_ns,
                l.compiled_ns,
                static_cast<double>(l.compile_ns) * 1e-9,
                xc::PendingCompilations(),
                l.shared_launches,
                l.exact_later};
      },
      xc_plugin_stats{});
}

int xc_plugin_wait(double seconds) {
  return xc::CallC([&] { return xc::WaitForCompilations(seconds) ? 1 : 0; }, 0);
}

void xc_plugin_profile_start(void) {
  xc_status_free(xc::CallC([]() -> absl::Status {
    xc::Recorder::Get().Start();
    return absl::OkStatus();
  }));
}

char* xc_plugin_profile_stop(void) {
  return xc::CallC([] { return xc::CopyString(xc::Recorder::Get().Stop()); }, static_cast<char*>(nullptr));
}

char* xc_plugin_report(const char* format) {
  return xc::CallC(
      [&] { return xc::CopyString(xc::PluginReport(format != nullptr && std::strcmp(format, "html") == 0)); },
      static_cast<char*>(nullptr));
}

}  // extern "C"
