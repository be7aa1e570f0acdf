// Code for one number of rows serves calls of fewer: a cluster that is called with ever other numbers of rows (batch
// sizes) is compiled for a few of them, where that is proved to give the same rows.
#ifndef XC_JIT_HOST_ROW_BUCKETS_H_
#define XC_JIT_HOST_ROW_BUCKETS_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "jit/host/compile_queue.h"
#include "jit/host/compiled_cluster.h"
#include "jit/host/sibling_times.h"

namespace xc {

class RowBuckets {
 public:
  // `graph` must outlive this.
  RowBuckets(const Graph& graph, Client* client, std::string platform)
      : graph_(graph), client_(client), platform_(std::move(platform)) {}

  // The rows that code is made for when a call has `rows`: itself up to 8, then at most a quarter more, in four steps
  // for each power of two.
  static int64_t SizeFor(int64_t rows);
  // Whether code for `size` rows that is there may serve a call of `rows`: it has at most a quarter more.
  static bool Reaches(int64_t size, int64_t rows) { return rows <= size && size - rows <= rows / 4; }

  // What a new signature has in common with others.
  struct Siblings {
    std::vector<int>
        rows;           // the arguments in whose number of rows they differ, all else being equal; none: no siblings
    bool many = false;  // kOwn of them were there before: code may be made for more rows than the signature has
    // Calls that wait for code for the signature, or for one that the same code will serve.
    Demand demand = std::make_shared<std::atomic<int64_t>>(0);
    // How code for signatures with about as many rows compares with the host's kernels; null without siblings.
    std::shared_ptr<SiblingTimes> times;
  };
  // Siblings of a new signature, which is remembered for later ones.
  Siblings Look(const std::vector<ClusterArg>& args);

  // What Fit did besides finding code.
  struct Done {
    bool compiled = false;
    int64_t prepare = 0;  // the rows of code that has served no other number of them: Prepare has something to do
  };
  // Code for a signature with siblings: such as is there and has hardly more rows, or, if there are many, code that is
  // compiled for SizeFor its rows. NotFound: there is none. Unimplemented: the cluster does not compute its rows each
  // by itself, or needs more than `max_made` numbers of rows.
  absl::StatusOr<ClusterCode> Fit(const std::vector<ClusterArg>& args, const Siblings& siblings, int max_made,
                                  const CompileOptions& options, Done* done);
  // The same if nothing is left to be done for it; else null.
  ClusterCode Ready(const std::vector<ClusterArg>& args, const Siblings& siblings) const;
  // Prepares the numbers of rows that code for `size` serves, so that they are Ready, as far as its time goes.
  void Prepare(const std::vector<ClusterArg>& args, const Siblings& siblings, int64_t size);
  // Code that was compiled for the signature itself may serve others with fewer rows.
  void Offer(const std::vector<ClusterArg>& args, const Siblings& siblings, const ClusterCode& code);
  // Forgets everything: signatures have another form.
  void Clear();

 private:
  static constexpr int kOwn = 3;
  static constexpr size_t kMaxSeen = 256;  // signatures that are remembered
  static constexpr int kMaxRefusals = 3;   // after which no more is tried
  static constexpr double kPrepareSeconds = 0.3;

  struct Seen {
    std::vector<ClusterArg> args;
    ClusterCode code;  // of its own, if it was offered
  };
  // Code for one number of rows.
  struct Bucket {
    explicit Bucket(int64_t rows) : size(rows) {}
    const int64_t size;
    std::mutex mutex;
    LoweredCluster lowered;  // with its module, to compare others with, as long as there may be some
    std::shared_ptr<const Executable> executable;
    double compile_seconds = 0;
    std::shared_ptr<ArenaPool> pool;
    std::map<int64_t, ClusterCode> fits;  // by rows
  };
  // Signatures that differ in their number of rows only.
  struct Family {
    std::map<int64_t, std::shared_ptr<Bucket>> buckets;  // by rows
    std::map<int64_t, Demand> demands;
    std::map<int, std::shared_ptr<SiblingTimes>> times;  // by the power of two that the rows reach
  };
  // The bucket with the fewest rows that reaches the signature, or a new one, in which case *made is set.
  absl::StatusOr<std::shared_ptr<Bucket>> Choose(const std::vector<ClusterArg>& args, const Siblings& siblings,
                                                 int max_made, bool* made);
  absl::StatusOr<ClusterCode> FitIn(Bucket& bucket, const std::vector<ClusterArg>& args, const std::vector<int>& rows,
                                    const CompileOptions& options, Done* done);
  std::shared_ptr<Bucket> BucketOf(const ClusterCode& code, int64_t rows) const;

  const Graph& graph_;
  Client* const client_;
  const std::string platform_;
  mutable std::mutex mutex_;
  std::vector<Seen> seen_;
  std::map<std::string, Family> families_;
  int made_ = 0;  // buckets that were not offered
  int refusals_ = 0;
};

}  // namespace xc

#endif  // XC_JIT_HOST_ROW_BUCKETS_H_
