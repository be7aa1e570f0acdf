// Launching a cluster on host tensors, in the embedded host runtime: variables enter by value and get their new ones,
// results are tensors of their own.
#ifndef XC_JIT_HOST_LAUNCH_H_
#define XC_JIT_HOST_LAUNCH_H_

#include <memory>
#include <string>
#include <vector>

#include "backends/registry.h"
#include "jit/launch/compile_queue.h"
#include "jit/launch/launcher.h"

namespace xc {

struct LaunchStats {
  int64_t compilations = 0;
  int64_t cache_hits = 0;
  int64_t fallbacks = 0;     // runs that the host had to do instead
  int64_t deferred = 0;      // of these: while a compilation was put off or under way
  int64_t unprofitable = 0;  // of these: because code for the signature would not pay
  int64_t evaluated = 0;     // instructions of compiled programs that there is no code for
  double compile_seconds = 0;

  void Add(const LaunchStats& other);
};

// The policy of the embedded host where its user asks for none. It differs from the common defaults where the host's
// kernels do from TensorFlow's: they are there for what cannot be compiled, and slow.
LaunchPolicy EmbeddedPolicy();

// What all launches of a session share.
struct LaunchOptions {
  Client* client = nullptr;
  std::string platform = DefaultPlatform();
  bool emulate = false;  // platform gpu on the emulator
  Executor* executor = nullptr;
  int thread_limit = 0;
  LaunchPolicy policy = EmbeddedPolicy();
  std::shared_ptr<CompileQueue> queue;  // for CompileWhen::kBackground
};

// Thread-safe.
class ClusterLaunch {
 public:
  ClusterLaunch(std::shared_ptr<const Graph> graph, LaunchOptions options);
  ~ClusterLaunch();

  const Graph& graph() const { return launcher_->graph(); }

  // Why the host must run the ops instead.
  struct Fallback {
    // Set by the caller: there is none. See Launcher::Call::required.
    bool missing = false;
    bool needed = false;
    // The node that does not compile, when it is known: the others may be tried without it.
    std::string failed_node;
    // Opaque; HostRan takes it.
    std::shared_ptr<Launcher::Entry> entry;
  };

  // Runs the cluster. If it cannot be compiled for these arguments, is not yet, does not pay, or a check found that an
  // op fails, `fallback->needed` is set with the reason in the status, nothing has been changed, and the host must run
  // the ops. Unavailable stands for "not yet" and "does not pay".
  absl::Status Run(const std::vector<Tensor>& inputs, std::vector<Tensor>* outputs, Fallback* fallback);
  // The host ran in the place of the cluster: what it took is compared with the cluster's own time.
  void HostRan(const Fallback& fallback, double seconds);

  LaunchStats stats() const;
  // Signatures seen so far.
  std::vector<SignatureReport> Report() const { return launcher_->Report(); }
  std::vector<std::string> GeneralReport() const { return launcher_->GeneralReport(); }
  // Why the cluster is left to the host for further signatures; empty if it is not.
  std::string LimitReached() const { return launcher_->LimitReached(); }

 private:
  const LaunchOptions options_;
  LaunchCounters counters_;
  std::unique_ptr<Launcher> launcher_;
};

}  // namespace xc

#endif  // XC_JIT_HOST_LAUNCH_H_
