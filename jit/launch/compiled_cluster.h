// A cluster compiled for the shapes of its arguments: what a launch needs to run it.
#ifndef XC_JIT_LAUNCH_COMPILED_CLUSTER_H_
#define XC_JIT_LAUNCH_COMPILED_CLUSTER_H_

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "jit/launch/batch/batch_padding.h"
#include "jit/launch/clock.h"
#include "jit/launch/cluster_compiler.h"

namespace xc {

struct CompiledCluster {
  std::string name;                              // of the cluster
  LoweredCluster lowered;                        // without its module
  std::shared_ptr<const Executable> executable;  // null when all results are known
  std::vector<Dims> result_dims;                 // of the module's results
  std::vector<DataType> result_types;
  double seconds = 0;
  // Whether the executable's code serves other shapes as well (general_shapes.h), and the seconds it took to compile.
  bool general = false;
  double general_seconds = 0;
  // If the executable is for a larger batch than the arguments have (batch_buckets.h): how it runs, its batch size, how
  // much of that is padding (0 to 1), and the seconds it took to compile.
  std::shared_ptr<const BatchPadding> padding;
  int64_t padded_batch = 0;
  double padding_part = 0, padded_seconds = 0;

  // Results of `graph`, which this was lowered from, with these shapes.
  void SetResults(const Graph& graph, absl::Span<const Shape> shapes);
  // Runs the executable, which must be there.
  absl::Status Run(absl::Span<const void* const> parameters, absl::Span<void* const> results,
                   const RunOptions& options) const;
};

// A result that is a loop-carried dynamic array: its length, which only the run knew, cut out of its capacity.
class CutResult {
 public:
  // `size`: the length along dimension `axis` of an array whose capacity is `dims`. Internal: there is no such length.
  static absl::StatusOr<CutResult> Make(const Dims& dims, int64_t axis, int64_t size);
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
absl::StatusOr<ClusterCode> CompileCluster(const Graph& graph, const std::vector<ClusterArg>& args,
                                           ClusterCompiler& compiler, const CompileOptions& options, Clock now,
                                           std::set<int>* needed, std::string* failed_node);

}  // namespace xc

#endif  // XC_JIT_LAUNCH_COMPILED_CLUSTER_H_
