// A cluster whose launch node another framework runs: compiled per argument shapes under a policy, run on the host's
// buffers, and given back to the host's own kernels where it cannot be compiled, fails, or is slower.
#ifndef XC_JIT_PLUGIN_HOSTED_CLUSTER_H_
#define XC_JIT_PLUGIN_HOSTED_CLUSTER_H_

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "jit/capi/xc_plugin.h"
#include "jit/host/row_buckets.h"
#include "jit/host/served_code.h"
#include "jit/plugin/fallback_graph.h"
#include "jit/plugin/settings.h"

namespace xc {

// Totals over the process.
struct PluginCounters {
  std::atomic<int64_t> graphs{0}, clusters{0}, launches{0}, host_runs{0}, compilations{0}, failures{0};
  std::atomic<int64_t> ops{0}, clustered_ops{0}, given_back{0}, launch_arguments{0};
  std::atomic<int64_t> shared_launches{0}, own_codes{0};  // with code for more rows; code that took its place
  std::atomic<int64_t> launch_ns{0}, compiled_ns{0}, compile_ns{0};
};
PluginCounters& Counters();

// Writes the line to standard error, each text once and only if the settings say so.
void LogOnce(const std::string& line);

class HostedCluster : public std::enable_shared_from_this<HostedCluster> {
 public:
  // The shared object for these bytes.
  static absl::StatusOr<std::shared_ptr<HostedCluster>> FindOrCreate(const std::string& bytes, const std::string& name);
  // All that are alive.
  static std::vector<std::shared_ptr<HostedCluster>> All();

  // See xc_cluster_host_graph.
  const std::string& HostGraph();

  // See xc_cluster_run; the result is one of the outcomes there.
  absl::StatusOr<int> Run(absl::Span<const xc_tensor> args, const xc_cluster_results& results, int threads,
                          void** ticket);
  void HostRan(void* ticket, int64_t nanoseconds);

  // What is known about one set of shapes.
  struct ShapeReport {
    std::string shapes, state;
    double compile_seconds = 0;
    int64_t runs = 0, best_ns = 0, host_runs = 0, host_best_ns = 0, temp_bytes = 0;
  };
  std::vector<ShapeReport> Report() const;
  const std::string& name() const { return name_; }
  const Graph& graph() const { return *graph_; }

 private:
  using Signature = absl::InlinedVector<int64_t, 96>;
  enum State { kNew, kQueued, kReady, kHost };
  struct Entry {
    std::atomic<int> state{kNew};
    std::vector<int64_t> signature;
    std::vector<ClusterArg> args;
    RowBuckets::Siblings siblings;  // in whose place code for more rows may serve
    ServedCode code;                // set before the state becomes kReady
    std::string reason;             // of kHost, or why code is not shared; under mutex_
    std::mutex compiling;
    std::atomic<bool> own_under_way{false};  // code of its own in the place of shared code
    std::atomic<bool> judged{false};         // by the cost gate
    std::atomic<int64_t> host_runs{0}, host_best_ns{INT64_MAX};
  };
  struct SignatureHash {
    using is_transparent = void;
    size_t operator()(absl::Span<const int64_t> s) const { return absl::Hash<absl::Span<const int64_t>>()(s); }
  };
  struct SignatureEq {
    using is_transparent = void;
    bool operator()(absl::Span<const int64_t> a, absl::Span<const int64_t> b) const { return a == b; }
  };

  HostedCluster(std::string bytes, std::string name, std::unique_ptr<Graph> graph);
  // The entry for the arguments, made if there is none; null if there are too many.
  Entry* Find(absl::Span<const xc_tensor> args, const PluginSettings& settings);
  bool MakeSignature(absl::Span<const xc_tensor> args, Signature* signature) const;
  // Code that is compiled for the entry.
  absl::StatusOr<ClusterCode> CompileOwn(const Entry& entry, const CompileOptions& options, std::set<int>* needed,
                                         std::string* failed_node);
  // The code for the entry, from a bucket or for itself; null if the host runs it, as there is too much code.
  absl::StatusOr<ClusterCode> MakeCode(Entry& entry, const CompileOptions& options, std::set<int>* needed,
                                       std::string* failed_node);
  // Entries that wait for their turn, but whose code is there by now, get it; mutex_ is held.
  void ServeWaiting();
  // Code for `size` rows, which serves the entry, gets ready for its siblings.
  void PrepareSiblings(const Entry& entry, int64_t size);
  // The entry, which shared code serves, gets its own in the background; false if there is enough code already.
  bool AskForOwnCode(Entry& entry);
  // Compiles the entry if nobody has; true if the lowering asked for values of arguments, so that entries are others.
  bool Compile(Entry& entry, int compile_threads);
  // Whether what calls have made of the code so far speaks for code for the entry, too.
  bool WorthCode(const Entry& entry) const;
  std::string WhyNotInSignature(const Entry& entry, const std::set<int>& needed) const;
  // Writes the module that the entry is compiled from, for `xla replay`, if there is a dump directory.
  void Dump(const Entry& entry) const;
  // The cost gate: whether the host should run the entry this time to be timed, and what follows from the timings.
  bool WantsHostTiming(const Entry& entry) const;
  // Whether the choice can be taken to be quicker than the host's kernels, from its siblings' timings.
  static bool LikeQuickerSiblings(const Entry& entry, const ServedCode::Choice& choice);
  void Judge(Entry& entry, const ServedCode::Choice& choice);
  std::string TooManyShapes(int compiled) const;
  void GiveBack(Entry& entry, const std::string& reason);
  absl::StatusOr<int> RunCode(const CompiledCluster& code, absl::Span<const xc_tensor> args,
                              const xc_cluster_results& results, int threads, int64_t* compiled_ns);

  const std::string bytes_;
  const std::string name_;
  const std::unique_ptr<Graph> graph_;
  std::vector<DataType> arg_types_;
  FallbackGraph host_graph_;
  mutable std::shared_mutex mutex_;
  std::condition_variable_any compiled_;
  std::vector<int> constant_args_;  // whose values are part of the signature; grows
  absl::flat_hash_map<std::vector<int64_t>, Entry*, SignatureHash, SignatureEq> entries_;
  std::vector<std::unique_ptr<Entry>> all_;    // entries live as long as the cluster
  int num_compiled_ = 0;                       // entries with code of their own
  int own_codes_ = 0;                          // of these: after shared code
  std::atomic<int64_t> codes_{0}, served_{0};  // made in the background, and calls that code has served
  RowBuckets buckets_;
};

}  // namespace xc

#endif  // XC_JIT_PLUGIN_HOSTED_CLUSTER_H_
