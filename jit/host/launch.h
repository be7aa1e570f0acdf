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

#include "jit/host/compile_queue.h"
#include "jit/host/row_buckets.h"
#include "jit/host/served_code.h"

namespace xc {

struct LaunchStats {
  int64_t compilations = 0;
  int64_t cache_hits = 0;
  int64_t fallbacks = 0;   // runs that the host had to do instead
  int64_t deferred = 0;    // of these: while a compilation was put off or under way
  int64_t given_back = 0;  // of these: because the cluster did not pay
  double compile_seconds = 0;

  void Add(const LaunchStats& other);
};

// When a cluster is compiled for a signature (argument shapes and values that must be constant).
enum class CompilePolicy {
  kAtOnce,      // at its first call
  kLazy,        // once it was called `lazy_runs` times; until then the host's kernels serve
  kBackground,  // at its first call, by another thread; until it is ready the host's kernels serve
};

// What all launches of a session share.
struct LaunchOptions {
  Client* client = nullptr;
  std::string platform = "cpu";
  Executor* executor = nullptr;
  int thread_limit = 0;
  CompilePolicy policy = CompilePolicy::kAtOnce;
  int lazy_runs = 2;
  // A cluster that was compiled for so many signatures, most of which hardly came again, is given back to the host for
  // all further ones.
  int max_signatures = 64;
  bool buckets = true;                  // code for more rows may serve calls of fewer (row_buckets.h)
  std::shared_ptr<CompileQueue> queue;  // for kBackground
};

// One signature of a cluster, for explanations.
struct SignatureReport {
  std::string arguments;
  std::string problem;  // why it was not compiled, or runs on the host; empty if it is in use
  bool compiled = false;
  int64_t rows = 0;  // of the code, where it is for more rows than the arguments have
  double compile_ms = 0;
  int64_t runs = 0, host_runs = 0;
  double best_ms = 0, host_best_ms = 0;  // 0 where there was no run
  int64_t temp_bytes = 0, code_bytes = 0;
};

class ClusterLaunch {
 public:
  ClusterLaunch(std::shared_ptr<const Graph> graph, LaunchOptions options);
  ~ClusterLaunch();

  const Graph& graph() const { return *graph_; }

  // Why the host must run the ops instead.
  struct Fallback {
    // Set by the caller: there is none. The cluster is compiled at once then, whatever the policy is and for as many
    // signatures as there are.
    bool missing = false;
    bool needed = false;
    // The node that does not compile, when it is known: the others may be tried without it.
    std::string failed_node;
    // Opaque; HostRan takes it.
    std::shared_ptr<void> signature;
  };

  // Runs the cluster. If it cannot be compiled for these arguments, is not yet, does not pay, or a check found that an
  // op fails, `fallback->needed` is set with the reason in the status, nothing has been changed, and the host must run
  // the ops. Unavailable stands for "not yet" and "does not pay".
  absl::Status Run(const std::vector<Tensor>& inputs, std::vector<Tensor>* outputs, Fallback* fallback);
  // The host ran in the place of the cluster: what it took is compared with the cluster's own time.
  void HostRan(const Fallback& fallback, double seconds);

  LaunchStats stats() const;
  // Signatures seen so far.
  std::vector<SignatureReport> Report() const;
  // Why the cluster is left to the host for further signatures; empty if it is not.
  std::string given_back() const;

 private:
  struct Compiled {
    std::once_flag once;
    std::atomic<bool> ready{false}, queued{false};
    std::atomic<bool> outdated{false};  // keys have another form now
    bool required = false;              // the host has no other way
    absl::Status status;
    std::string failed_node;
    ServedCode code;
    RowBuckets::Siblings siblings;  // in whose place code for more rows may serve
    std::vector<ClusterArg> args;
    std::atomic<int64_t> calls{0}, host_runs{0}, host_best_ns{INT64_MAX};
  };

  std::string Key(const std::vector<Tensor>& inputs, const std::set<int>& constants) const;
  std::vector<ClusterArg> Args(const std::vector<Tensor>& inputs, const std::set<int>& constants) const;
  void Compile(const std::shared_ptr<Compiled>& entry, std::set<int>* needed);
  absl::StatusOr<ClusterCode> CompileOwn(Compiled& entry, std::set<int>* needed);
  // The entry, which shared code serves, gets its own in the background, as far as there may be more.
  void AskForOwnCode(const std::shared_ptr<Compiled>& entry);
  // Compiles what the entry stands for, unless that is done. False: keys have another form now, look it up again.
  bool Settle(const std::shared_ptr<Compiled>& entry);
  absl::StatusOr<std::shared_ptr<Compiled>> FindOrCompile(const std::vector<Tensor>& inputs, Fallback* fallback);
  // Whether the host's kernels were found to be quicker.
  static bool Slower(const Compiled& entry);

  std::shared_ptr<const Graph> graph_;
  LaunchOptions options_;
  std::set<int> variable_args_;
  mutable std::shared_mutex mutex_;
  std::set<int> constant_args_;  // grows as lowerings ask for values
  std::unordered_map<std::string, std::shared_ptr<Compiled>> cache_;
  std::string given_back_;
  int64_t own_ = 0;        // entries with code of their own
  int64_t own_later_ = 0;  // of these: after shared code
  RowBuckets buckets_;
  std::atomic<int64_t> compilations_{0}, hits_{0}, fallbacks_{0}, compile_nanos_{0}, deferred_{0}, returned_{0};
};

}  // namespace xc

#endif  // XC_JIT_HOST_LAUNCH_H_
