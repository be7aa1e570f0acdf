// Launching a cluster: which code serves a call, when it is made, and when the host runs the cluster instead.
//
// Each signature of a cluster (argument shapes, and the values that must be constant) is in one of these states:
//
//              WorthCode, a place in the queue                    compiled, or served by what another one got
//     kNew ----------------------------------------> kQueued -----------------------------------------> kReady
//      |  ^------------------------------------------'  |     no longer worth it                        |   |
//      |  compiled in the call (kNow, kLazy, required)  |                                               |   |
//      |------------------------------------------------+-----------------------------------------------'   |
//      |                                                |  does not compile, too many signatures            | slower
//      '------------------------------------------------+---------------------------------> kFallsBack <----'
//
// Where more than the batch changes, code for sizes that are not known serves (GeneralShapes): a further shape then
// costs its lowering, and no compilation; where that is less than what the host's kernels would take longer than the
// code, the call waits for it. Once such code is wanted, compilations for single signatures of that form are given up.
//
// In kReady, code may be shared: made for a larger batch (BatchBuckets), which costs padding. Once padding has cost as
// much time as compiling takes, exact code is made in the background and runs, unless it is not quicker (ServedCode).
// The cost gate compares code with the host's kernels (CostGate).
//
// When the lowering of a signature asks for the value of an argument, that value becomes part of every signature, and
// the signatures known until then are dropped.
//
// Signatures that have not been called for long are forgotten, with their code, so that any number of them may come.
#ifndef XC_JIT_LAUNCH_LAUNCHER_H_
#define XC_JIT_LAUNCH_LAUNCHER_H_

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "jit/launch/batch/batch_buckets.h"
#include "jit/launch/batch/served_code.h"
#include "jit/launch/counters.h"
#include "jit/launch/general_shapes.h"
#include "jit/launch/policy/code_worth.h"
#include "jit/launch/policy/cost_gate.h"
#include "jit/launch/policy/policy.h"
#include "jit/launch/run_code.h"
#include "jit/launch/signature.h"

namespace xc {

// What a host may want to know as it happens. Called by any thread that launches or compiles.
class LaunchEvents {
 public:
  virtual ~LaunchEvents() = default;
  virtual void Compiling(const std::vector<ClusterArg>& args) {}
  // The host runs a signature from now on, for the reason `why`. `node` is the cluster's node that does not compile:
  // clusters of the other nodes might. Empty if it is not known which one it is.
  virtual void FallsBack(const std::string& node, const std::string& why) {}
  // No further signature is compiled: `signatures` of them, the most that may be, have code of their own.
  virtual void TooManySignatures(int signatures) {}
};

// What is known about one signature.
struct SignatureReport {
  std::string arguments;
  bool compiled = false;
  std::string note;     // of compiled code: for which batch, why it is not shared, and what it has evaluated
  std::string problem;  // why there is none, or why the host runs it
  double compile_seconds = 0;
  int64_t runs = 0, best_ns = 0, host_runs = 0, host_best_ns = 0;  // 0 where there was no run
  int64_t temp_bytes = 0, code_bytes = 0;

  // In one line: compiled, with the note, or the problem.
  std::string State() const { return compiled ? "compiled" + note : problem; }
};

// Thread-safe.
class Launcher {
 public:
  struct Services {
    std::shared_ptr<ClusterCompiler> compiler;
    // Runs a task some time on another thread; see CompileQueue::Add. Null: code is made in the calls. The host keeps
    // this launcher, its events and its counters alive as long as there are tasks.
    std::function<bool(Demand, std::function<void()>)> background;
    LaunchEvents* events = nullptr;  // may be null
    LaunchCounters* counters = nullptr;
    Clock now = &SteadyNow;
    Clock thread_now = &ThreadNow;  // of the thread that compiles
  };
  Launcher(std::shared_ptr<const Graph> graph, Services services);

  const Graph& graph() const { return *graph_; }

  // One signature's code and times.
  struct Entry;
  struct Call {
    absl::Span<const ArgView> args;  // one for each argument of the cluster, of the right type
    const LaunchPolicy& policy;
    ResultAllocator& results;
    const RunOptions& options;
    // The host has no other way: the cluster is compiled at once, for as many signatures as there are.
    bool required = false;
  };
  enum class Outcome {
    kRan,          // the results are set; in all other cases the host must run the cluster
    kNotYet,       // code is being made, or will be for later calls
    kFallsBack,    // there is no code for the signature, or it does not pay
    kTimesHost,    // there is code: the host's time is wanted
    kCheckFailed,  // an op fails on these values
    kFailed,       // the code gave an error, `why`
  };
  struct Result {
    Outcome outcome = Outcome::kRan;
    // Of kNotYet, kFallsBack and kTimesHost: HostRan takes it. Null if the host's time is not wanted.
    std::shared_ptr<Entry> entry;
    absl::Status why;  // of kFailed, and of kFallsBack without an entry
  };
  // Runs the cluster. An error is the call's.
  absl::StatusOr<Result> Run(const Call& call);
  // The host ran in the place of the cluster and took so long.
  void HostRan(Entry& entry, int64_t ns, const LaunchPolicy& policy);

  // Of kFallsBack: the reason, Unavailable where code would not pay, and the node that does not compile, as far as
  // known.
  struct Reason {
    absl::Status why;
    std::string failed_node;
  };
  Reason WhyFallsBack(const Entry& entry) const;

  // Signatures seen so far.
  std::vector<SignatureReport> Report() const;
  // Lines about code for all sizes: for which arguments, how many signatures it serves, why others are not served.
  std::vector<std::string> GeneralReport() const;
  // Why further signatures fall back to the host; empty if they do not.
  std::string LimitReached() const;

 private:
  enum State { kNew, kQueued, kReady, kFallsBack };
  // From so many on, those are forgotten whose last calls are longest ago, down to kKeptEntries.
  static constexpr size_t kMaxEntries = 2048, kKeptEntries = 1536;
  static constexpr size_t kMaxRequired = 256;  // of calls with no other way; then they are made anew

  std::shared_ptr<Entry> Find(absl::Span<const ArgView> args) const;
  // The entry for the call, made if there is none; null if there can be none, with the reason.
  std::shared_ptr<Entry> FindOrMake(const Call& call, absl::Status* why);
  absl::StatusOr<std::vector<ClusterArg>> MakeArgs(absl::Span<const ArgView> args) const;
  // The entry for the call with its code made, or asked for, as the policy has it.
  std::shared_ptr<Entry> Prepare(const Call& call, absl::Status* why);
  // Whether the call may run the entry's code.
  static bool Serves(const Entry& entry, const Call& call);
  // After a run: exact code, or none, may follow.
  void AfterRun(const std::shared_ptr<Entry>& entry, ServedCode::Choice& choice, int64_t ns,
                const LaunchPolicy& policy);

  // The following are in launcher_code.cc: how an entry gets its code.
  // Whether code for all sizes is to serve the entry.
  static bool WantsGeneral(const Entry& entry);
  // Elements of its arguments that vary then.
  static int64_t Varying(const Entry& entry);
  void AskForCode(const std::shared_ptr<Entry>& entry, const LaunchPolicy& policy);
  // Whether what became of the code so far, or of the entry's calls, speaks for code for the entry.
  bool WorthCode(const Entry& entry, const LaunchPolicy& policy) const;
  // A new entry gets the code that is there for it, or is told from the start that there will be none. Whether the
  // limit of codes was the reason; mutex_ is held.
  bool Begin(Entry& entry, const Call& call);
  // Forgets entries; mutex_ is held.
  void ForgetOldest();
  // Compiles the entry, unless somebody has; whether this call did.
  bool Compile(const std::shared_ptr<Entry>& entry, const LaunchPolicy& policy, int compile_threads);
  absl::StatusOr<ClusterCode> CompileExact(const Entry& entry, const CompileOptions& options, std::set<int>* needed,
                                           std::string* failed_node);
  void CountCompilation(const CompiledCluster& code);
  // The code for the entry, from a bucket or exact; null if it falls back, since there is too much code.
  absl::StatusOr<ClusterCode> MakeCode(const std::shared_ptr<Entry>& entry, const LaunchPolicy& policy,
                                       const CompileOptions& options, std::set<int>* needed, std::string* failed_node);
  // Code for all sizes, for an entry of a group that has or may get it; null: the entry's program is another one, or,
  // without `may_compile`, there is none that serves it.
  absl::StatusOr<ClusterCode> MakeGeneral(Entry& entry, const CompileOptions& options, bool may_compile);
  // Gives a new entry code for all sizes, if that is there and finding out that it serves takes less time than the call
  // by the host's kernels would. Whether it has code now.
  bool ServeInCall(Entry& entry);
  void CompileFailed(Entry& entry, const absl::Status& status, const std::set<int>& needed,
                     const std::string& failed_node);
  // The values of `needed` join the signatures. False if they are part of them already.
  bool AddConstants(Entry& entry, const std::set<int>& needed);
  std::string WhyNotInSignature(const Entry& entry, const std::set<int>& needed) const;
  // Code for a batch of `size`, which serves the entry, gets ready for the others of its family.
  void PrepareFamily(const Entry& entry, int64_t size);
  // Entries that wait, but whose code is there by now, get it; mutex_ is held.
  void ServeWaiting();
  // The entry, which shared code serves, gets exact code in the background; false if there is enough code already.
  bool AskForExactCode(const std::shared_ptr<Entry>& entry, const LaunchPolicy& policy);
  // Whether no further signature gets code of its own; mutex_ is held.
  bool OverLimit(const LaunchPolicy& policy) const;
  void FallBack(Entry& entry, absl::Status why, const std::string& failed_node);
  // The same with mutex_ held, where there is too much code.
  void FallBackOverLimit(Entry& entry);

  const std::shared_ptr<const Graph> graph_;
  const Services services_;
  LaunchCounters& counters_;
  std::vector<bool> is_variable_;  // of the arguments
  mutable std::shared_mutex mutex_;
  std::condition_variable_any compiled_;
  std::vector<int> constant_args_;  // whose values are part of the signature; grows
  absl::flat_hash_map<std::vector<int64_t>, std::shared_ptr<Entry>, SignatureHash, SignatureEq> entries_;
  size_t required_ = 0;                   // of entries_
  int exact_ = 0;                         // entries with code of their own
  int exact_later_ = 0;                   // of these: after shared code
  int limit_reached_ = 0;                 // so many entries had code when one got none
  CodeWorth worth_;                       // of code that is made in the background
  std::atomic<int64_t> calls_{0};         // counts all
  std::atomic<bool> shapes_vary_{false};  // code for all sizes is wanted for some signature
  BatchBuckets buckets_;
  GeneralShapes general_;
};

struct Launcher::Entry {
  std::atomic<int> state{kNew};
  std::atomic<bool> outdated{false};  // signatures have another form now
  std::atomic<bool> required{false};
  std::vector<ClusterArg> args;
  BatchBuckets::Family family;                    // in whose place code for a larger batch may serve
  std::shared_ptr<GeneralShapes::Group> general;  // whose code for all sizes may serve, once it is wanted; null: none
  mutable std::atomic<int64_t> varying{-1};       // see Varying
  std::atomic<int64_t> used{0};                   // Launcher::calls_ at the last call
  int exact = 0;                                  // how often it counts in exact_; under mutex_
  ServedCode code;                                // set before the state becomes kReady
  CostGate gate;
  std::mutex compiling;
  std::atomic<bool> general_failed{false};   // code for all sizes does not serve
  std::atomic<bool> tried_in_call{false};    // to give it that
  std::atomic<int> put_off{0};               // calls, by kLazy
  std::atomic<bool> exact_under_way{false};  // exact code in the place of shared code
  std::atomic<bool> unprofitable{false};     // of kFallsBack: code would not pay
  std::string note;                          // why code is not shared; under mutex_, as are:
  absl::Status why;                          // of kFallsBack
  std::string failed_node;
};

}  // namespace xc

#endif  // XC_JIT_LAUNCH_LAUNCHER_H_
