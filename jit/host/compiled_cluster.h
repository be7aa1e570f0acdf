// A cluster compiled for the shapes of its arguments: what a launch needs to run it.
#ifndef XC_JIT_HOST_COMPILED_CLUSTER_H_
#define XC_JIT_HOST_COMPILED_CLUSTER_H_

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "jit/host/row_padding.h"
#include "jit/lowering/graph_lowering.h"
#include "service/client.h"

namespace xc {

struct CompiledCluster {
  LoweredCluster lowered;                        // without its module
  std::shared_ptr<const Executable> executable;  // null when all results are known
  std::vector<Dims> result_dims;                 // of the module's results
  std::vector<DataType> result_types;
  double seconds = 0;
  // Of an executable for more rows than the arguments have (row_buckets.h): how it runs, its rows, the part of them
  // that are copies, and how long it took to compile.
  std::shared_ptr<const RowPadding> padding;
  int64_t rows = 0;
  double copies = 0, shared_seconds = 0;

  // Results of `graph`, which this was lowered from, with these shapes.
  void SetResults(const Graph& graph, absl::Span<const Shape> shapes);
  // Runs the executable, which must be there.
  absl::Status Run(absl::Span<const void* const> parameters, absl::Span<void* const> results,
                   const RunOptions& options) const;
};

// A result whose length only the run knew, cut out of the array that had room for it.
class CutResult {
 public:
  // `size`: the length along dimension `axis` of an array of shape `room`. Internal: there is no such length.
  static absl::StatusOr<CutResult> Make(const Dims& room, int64_t axis, int64_t size);
  const Dims& dims() const { return dims_; }
  // Copies dense arrays of elements of `element_bytes` bytes.
  void Copy(const void* from, void* to, size_t element_bytes) const;

 private:
  Dims dims_;
  size_t outer_ = 1, part_ = 0, whole_ = 0;  // copies of `part` of `whole` elements
};

using ClusterCode = std::shared_ptr<const CompiledCluster>;

// Types, shapes and known values, for reports.
std::string ArgsText(const std::vector<ClusterArg>& args);

// Lowers and compiles `graph`. `needed` gets the arguments whose values the lowering asks for; then the status is
// FailedPrecondition. When a node could not be lowered, `failed_node` gets its name.
absl::StatusOr<ClusterCode> CompileCluster(const Graph& graph, const std::vector<ClusterArg>& args, Client* client,
                                           absl::string_view platform, const CompileOptions& options,
                                           std::set<int>* needed, std::string* failed_node = nullptr);

}  // namespace xc

#endif  // XC_JIT_HOST_COMPILED_CLUSTER_H_
