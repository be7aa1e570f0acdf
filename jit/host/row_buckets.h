// Code for one number of rows serves calls of fewer: a cluster that is called with ever other numbers of rows (batch
// sizes) is compiled for a few of them, where that is proved to give the same rows.
#ifndef XC_JIT_HOST_ROW_BUCKETS_H_
#define XC_JIT_HOST_ROW_BUCKETS_H_

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "jit/host/compiled_cluster.h"

namespace xc {

class RowBuckets {
 public:
  // `graph` must outlive this.
  RowBuckets(const Graph& graph, Client* client, std::string platform)
      : graph_(graph), client_(client), platform_(std::move(platform)) {}

  // The rows that code is made for when a call has `rows`: itself up to 8, then at most a quarter more, in four steps
  // for each power of two.
  static int64_t SizeFor(int64_t rows);

  // The arguments of a new signature that hold rows, if code for more rows may serve it: there were kOwn signatures
  // already that differ from this one in the number of rows only. Else none, and the signature counts as one of those.
  std::vector<int> RowArgs(const std::vector<ClusterArg>& args);

  // The code for a signature, whose arguments `rows` hold the rows; what is missing is compiled. `compiled` says
  // whether that was so. Unimplemented: the cluster does not compute its rows each by itself, or needs as many buckets
  // as `max_buckets` and more.
  absl::StatusOr<ClusterCode> Fit(const std::vector<ClusterArg>& args, const std::vector<int>& rows, int max_buckets,
                                  const CompileOptions& options, bool* compiled);
  // The same if nothing is left to be done for it; else null.
  ClusterCode Ready(const std::vector<ClusterArg>& args, const std::vector<int>& rows) const;
  // Prepares the numbers of rows that the bucket of `args` serves, so that they are Ready, as far as its time goes.
  void Prepare(const std::vector<ClusterArg>& args, const std::vector<int>& rows);
  // Forgets everything: signatures have another form.
  void Clear();

 private:
  static constexpr int kOwn = 3;
  static constexpr size_t kMaxSeen = 256;  // signatures that are remembered
  static constexpr int kMaxRefusals = 3;   // after which no more is tried
  static constexpr double kPrepareSeconds = 0.3;

  // Code for one number of rows.
  struct Bucket {
    std::mutex mutex;
    LoweredCluster lowered;  // with its module, to compare others with
    std::shared_ptr<const Executable> executable;
    std::shared_ptr<ArenaPool> pool;
    std::map<int64_t, ClusterCode> fits;  // by rows
  };
  std::shared_ptr<Bucket> Find(const std::vector<ClusterArg>& args, const std::vector<int>& rows) const;
  absl::StatusOr<ClusterCode> FitIn(Bucket& bucket, const std::vector<ClusterArg>& args, const std::vector<int>& rows,
                                    const CompileOptions& options, bool* compiled);

  const Graph& graph_;
  Client* const client_;
  const std::string platform_;
  mutable std::mutex mutex_;
  std::vector<std::vector<ClusterArg>> seen_;
  std::map<std::string, std::shared_ptr<Bucket>> buckets_;
  int refusals_ = 0;
};

}  // namespace xc

#endif  // XC_JIT_HOST_ROW_BUCKETS_H_
