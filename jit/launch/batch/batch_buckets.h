// Batch bucketing: code for one batch size serves calls of smaller batches. A cluster that is called with ever other
// batch sizes is compiled for a few of them, where padding is proved not to change results.
#ifndef XC_JIT_LAUNCH_BATCH_BATCH_BUCKETS_H_
#define XC_JIT_LAUNCH_BATCH_BATCH_BUCKETS_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "jit/launch/batch/family_times.h"
#include "jit/launch/compile_queue.h"
#include "jit/launch/compiled_cluster.h"

namespace xc {

// The batch dimension of an argument is its first one.
class BatchBuckets {
 public:
  // `graph` must outlive this.
  BatchBuckets(const Graph& graph, std::shared_ptr<ClusterCompiler> compiler, Clock now)
      : graph_(graph), compiler_(std::move(compiler)), now_(now) {}

  // The batch size that code is made for when a call has `batch`: itself up to 8, then at most a quarter more, in four
  // steps for each power of two.
  static int64_t SizeFor(int64_t batch);
  // Whether code for a batch of `size` that is there may serve a call of `batch`: it is at most a quarter larger.
  static bool Reaches(int64_t size, int64_t batch) { return batch <= size && size - batch <= batch / 4; }

  // What a signature has in common with those of other batch sizes, all else being equal.
  struct Family {
    std::vector<int> batch_args;  // the arguments with a batch dimension; none: the signature is alone
    bool many = false;            // kExact of them were there before: code may be made for a larger batch
    // Calls that wait for code for the signature, or for one that the same code will serve.
    Demand demand = std::make_shared<std::atomic<int64_t>>(0);
    // How code for signatures with about as large a batch compares with the host's kernels; null where it is alone.
    std::shared_ptr<FamilyTimes> times;

    bool alone() const { return batch_args.empty(); }
  };
  // The family of a new signature, which is remembered for later ones.
  Family FindFamily(const std::vector<ClusterArg>& args);

  // What GetCode did besides finding code.
  struct Done {
    bool compiled = false;
    int64_t prepare = 0;  // the batch size of code that has served no other one: Prepare has something to do
  };
  // Code for a signature that is not alone: such as is there and is for a hardly larger batch, or, if there are many,
  // code that is compiled for SizeFor its batch. NotFound: there is none. Unimplemented: padding would change results,
  // or the cluster needs more than `max_made` batch sizes.
  absl::StatusOr<ClusterCode> GetCode(const std::vector<ClusterArg>& args, const Family& family, int max_made,
                                      const CompileOptions& options, Done* done);
  // The same if nothing is left to be done for it; else null.
  ClusterCode ReadyCode(const std::vector<ClusterArg>& args, const Family& family) const;
  // Prepares the batch sizes that code for `size` serves, so that ReadyCode has them, as far as its time goes.
  void Prepare(const std::vector<ClusterArg>& args, const Family& family, int64_t size);
  // Exact code that was compiled for the signature may serve smaller batches.
  void AddExact(const std::vector<ClusterArg>& args, const Family& family, const ClusterCode& code);
  // Forgets everything: signatures have another form.
  void Clear();

 private:
  static constexpr int kExact = 3;
  static constexpr size_t kMaxSeen = 256;    // signatures that are remembered
  static constexpr size_t kMaxServed = 512;  // batch sizes that a bucket remembers
  static constexpr int kMaxRefusals = 3;     // after which no more is tried
  static constexpr int64_t kPrepareNs = 300'000'000;

  struct Seen {
    std::vector<ClusterArg> args;
    ClusterCode code;  // exact, if it was added
  };
  // Code for one batch size.
  struct Bucket {
    explicit Bucket(int64_t batch) : size(batch) {}
    const int64_t size;
    std::mutex mutex;
    LoweredCluster lowered;  // with its module, to compare others with, as long as there may be some
    std::shared_ptr<const Executable> executable;
    double compile_seconds = 0;
    std::shared_ptr<ArenaPool> pool;
    std::map<int64_t, ClusterCode> serves;  // by batch size
  };
  struct Members {
    std::map<int64_t, std::shared_ptr<Bucket>> buckets;  // by batch size
    std::map<int64_t, Demand> demands;                   // by that of the bucket
    std::map<int, std::shared_ptr<FamilyTimes>> times;   // by the power of two that the batch size reaches
  };
  // The smallest bucket that reaches the signature, or a new one, in which case *made is set.
  absl::StatusOr<std::shared_ptr<Bucket>> Choose(const std::vector<ClusterArg>& args, const Family& family,
                                                 int max_made, bool* made);
  absl::StatusOr<ClusterCode> CodeIn(Bucket& bucket, const std::vector<ClusterArg>& args,
                                     const std::vector<int>& batch_args, const CompileOptions& options, Done* done);
  absl::StatusOr<LoweredCluster> Lower(const std::vector<ClusterArg>& args);
  // Whether padding the batch of `small` to that of the bucket keeps results as they are; Unimplemented says why not.
  absl::Status CheckPadding(const LoweredCluster& small, const Bucket& bucket) const;

  const Graph& graph_;
  const std::shared_ptr<ClusterCompiler> compiler_;
  const Clock now_;
  mutable std::mutex mutex_;
  std::vector<Seen> seen_;
  std::map<std::string, Members> families_;
  int made_ = 0;  // buckets that were not added as exact code
  int refusals_ = 0;
};

}  // namespace xc

#endif  // XC_JIT_LAUNCH_BATCH_BATCH_BUCKETS_H_
