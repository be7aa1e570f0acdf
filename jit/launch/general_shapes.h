// Code for all shapes: a cluster that is called with ever other sizes, in more than the batch, is compiled once for
// sizes that are not known. The sizes that vary, and those that are always equal, are told from the calls; each shape
// is lowered by itself, and gets the code if its program is the same but for numbers (service/general_code.h).
#ifndef XC_JIT_LAUNCH_GENERAL_SHAPES_H_
#define XC_JIT_LAUNCH_GENERAL_SHAPES_H_

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "jit/launch/compile_queue.h"
#include "jit/launch/compiled_cluster.h"
#include "jit/launch/general_times.h"
#include "service/general_code.h"
#include "service/size_classes.h"

namespace xc {

class GeneralShapes {
 public:
  // `graph` must outlive this.
  GeneralShapes(const Graph& graph, std::shared_ptr<ClusterCompiler> compiler, Clock now, Clock thread_now)
      : graph_(graph), compiler_(std::move(compiler)), now_(now), thread_now_(thread_now) {}

  // Signatures that differ in sizes alone, and in known integers that are sizes. Sizes of 0 and 1 are others: programs
  // treat them in their own way.
  struct Group {
    std::mutex mutex;
    std::vector<ClusterArg> args;  // of the first signature
    std::atomic<int> seen{0};      // signatures
    int attempt = 1;               // to make the code, of kMostAttempts: each has twice the signatures of the last
    SizeClasses classes;           // of the sizes of all arguments
    std::unique_ptr<GeneralCode> code;
    // Code for all sizes is wanted: kFew signatures were there, they differ in another dimension than the first as
    // well. `code` is set and the classes stay as they are.
    std::atomic<bool> wanted{false};
    // The batch alone is enough of that: no code serves other batch sizes than its own (BatchBuckets).
    std::atomic<bool> batch_counts{false};
    int cancel = 0;                  // from then on 1: compilations for single signatures need not go on (CancelScope)
    std::atomic<bool> ready{false};  // the code serves some signature
    std::atomic<bool> refused{false};
    std::atomic<double> compile_seconds{0};                     // of the code, the last time
    std::atomic<int64_t> served{0}, others{0};                  // signatures: with this code, with another program
    Demand demand = std::make_shared<std::atomic<int64_t>>(0);  // calls that wait for the code
    GeneralTimes times;
    std::atomic<int64_t> host_ns{0};  // of all calls that the host ran
    std::string last_other;           // why; under `mutex`
  };
  // Notes a new signature. Its group, or null where there will be no code for all sizes.
  std::shared_ptr<Group> Find(const std::vector<ClusterArg>& args);

  // Code for the signature; *compiled where that took a compilation, and not only lowering. Unimplemented: its program
  // is another one; the message says why. Unavailable: without `may_compile` there is no code.
  absl::StatusOr<ClusterCode> GetCode(const std::vector<ClusterArg>& args, const std::shared_ptr<Group>& group,
                                      const CompileOptions& options, bool may_compile, bool* compiled);
  // For each group that wanted such code a line: its arguments, with letters for sizes that vary, and what became of
  // it.
  std::vector<std::string> Report() const;
  // Forgets everything: signatures have another form.
  void Clear();

  // Elements of the arguments that vary in the group, for which code is wanted.
  static int64_t VaryingElements(const Group& group, const std::vector<ClusterArg>& args);

 private:
  static constexpr int kFew = 3, kMostAttempts = 3;
  static constexpr size_t kMaxGroups = 64;  // that are remembered

  absl::StatusOr<std::unique_ptr<HloModule>> Lower(const std::vector<ClusterArg>& args, LoweredCluster* lowered);

  const Graph& graph_;
  const std::shared_ptr<ClusterCompiler> compiler_;
  const Clock now_, thread_now_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Group>> groups_;
};

}  // namespace xc

#endif  // XC_JIT_LAUNCH_GENERAL_SHAPES_H_
