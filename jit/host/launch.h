// Launching a cluster: argument shapes and the values of arguments that must be constant select a compiled module,
// which is made at the first such call.
#ifndef XC_JIT_HOST_LAUNCH_H_
#define XC_JIT_HOST_LAUNCH_H_

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "jit/host/compiled_cluster.h"

namespace xc {

struct LaunchStats {
  int64_t compilations = 0;
  int64_t cache_hits = 0;
  int64_t fallbacks = 0;  // runs that the host had to do instead
  double compile_seconds = 0;
};

// What all launches of a session share.
struct LaunchOptions {
  Client* client = nullptr;
  std::string platform = "cpu";
  Executor* executor = nullptr;
  int thread_limit = 0;
};

class ClusterLaunch {
 public:
  ClusterLaunch(std::shared_ptr<const Graph> graph, LaunchOptions options);

  const Graph& graph() const { return *graph_; }

  // Runs the cluster. If it cannot be compiled for these arguments, or a check found that an op fails, `needs_host` is
  // set with the reason in the status, nothing has been changed, and the host must run the ops one by one.
  absl::Status Run(const std::vector<Tensor>& inputs, std::vector<Tensor>* outputs, bool* needs_host);

  LaunchStats stats() const;
  // Signatures compiled so far, with times, or errors; for explanations.
  std::vector<std::string> Report() const;

 private:
  struct Compiled {
    std::once_flag once;
    absl::Status status;
    CompiledCluster code;
    std::string signature;
  };

  std::string Key(const std::vector<Tensor>& inputs, const std::set<int>& constants) const;
  void Compile(const std::vector<Tensor>& inputs, const std::set<int>& constants, Compiled* out, std::set<int>* needed);
  absl::StatusOr<std::shared_ptr<Compiled>> FindOrCompile(const std::vector<Tensor>& inputs);

  std::shared_ptr<const Graph> graph_;
  LaunchOptions options_;
  std::set<int> variable_args_;
  mutable std::shared_mutex mutex_;
  std::set<int> constant_args_;  // grows as lowerings ask for values
  std::unordered_map<std::string, std::shared_ptr<Compiled>> cache_;
  std::atomic<int64_t> compilations_{0}, hits_{0}, fallbacks_{0}, compile_nanos_{0};
};

}  // namespace xc

#endif  // XC_JIT_HOST_LAUNCH_H_
