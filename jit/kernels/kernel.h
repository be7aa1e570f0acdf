// Host kernels: plain C++ implementations of host ops, for what stays outside clusters and for constant folding.
#ifndef XC_JIT_KERNELS_KERNEL_H_
#define XC_JIT_KERNELS_KERNEL_H_

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/base/status.h"
#include "jit/graph/graph.h"
#include "jit/kernels/state/resources.h"

namespace xc {

// The inputs and outputs of one run of a kernel.
class KernelContext {
 public:
  KernelContext(const Node& node, const std::vector<Tensor>& inputs)
      : node(node), inputs(inputs), outputs(node.num_outputs()) {}

  const Node& node;
  const std::vector<Tensor>& inputs;
  std::vector<Tensor> outputs;
  int64_t max_elements = std::numeric_limits<int64_t>::max();
  ResourceStore* resources = nullptr;  // null while folding constants

  const Tensor& in(int i) const { return inputs[i]; }
  int num_inputs() const { return static_cast<int>(inputs.size()); }
  // A fresh output of the node's type.
  absl::StatusOr<Tensor> Alloc(int i, Dims dims);
  absl::StatusOr<Tensor> AllocType(DataType type, Dims dims);
  absl::StatusOr<int64_t> Int(int i) const;
  absl::StatusOr<std::vector<int64_t>> Ints(int i) const;
  absl::StatusOr<int64_t> Axis(int64_t axis, int64_t rank) const;
  absl::Status Error(const std::string& what) const;
};

struct HostKernel {
  absl::Status (*fn)(KernelContext&) = nullptr;
  bool foldable = false;  // pure and cheap: may run while lowering, on constants
};

class KernelRegistry {
 public:
  void Add(std::vector<std::string> ops, absl::Status (*fn)(KernelContext&), bool foldable);
  const HostKernel* Find(const std::string& op) const;
  const std::map<std::string, HostKernel>& all() const { return rows_; }
  static const KernelRegistry& Get();

 private:
  std::map<std::string, HostKernel> rows_;
};

void RegisterShapeKernels(KernelRegistry& r);       // shapes, and arrays given other ones
void RegisterMovementKernels(KernelRegistry& r);    // slices, concatenates, gathers, …: any type
void RegisterArithmeticKernels(KernelRegistry& r);  // small element-wise and reduction kernels
void RegisterStringKernels(KernelRegistry& r);
void RegisterTextKernels(KernelRegistry& r);  // strings hashed, split, matched, joined, encoded
void RegisterSparseKernels(KernelRegistry& r);
void RegisterSparseMathKernels(KernelRegistry& r);  // sums, reductions and gradients of sparse tensors
void RegisterRaggedKernels(KernelRegistry& r);
void RegisterListKernels(KernelRegistry& r);
void RegisterUniqueKernels(KernelRegistry& r);  // results whose size depends on values
void RegisterStateKernels(KernelRegistry& r);   // variables, Assert, Print
void RegisterDetectionKernels(KernelRegistry& r);
void RegisterSegmentKernels(KernelRegistry& r);
void RegisterRandomKernels(KernelRegistry& r);  // stateful random numbers
void RegisterBoundedNormalKernels(KernelRegistry& r);
void RegisterTableKernels(KernelRegistry& r);    // lookup tables
void RegisterStackKernels(KernelRegistry& r);    // v1 stacks and TensorArrays
void RegisterExampleKernels(KernelRegistry& r);  // records parsed
void RegisterSequenceExampleKernels(KernelRegistry& r);
void RegisterAudioKernels(KernelRegistry& r);
void RegisterCountKernels(KernelRegistry& r);      // counts of values in rows
void RegisterCtcKernels(KernelRegistry& r);        // labels of sequences not aligned with their steps
void RegisterRejectionKernels(KernelRegistry& r);  // random numbers drawn by rejection
void RegisterMatrixKernels(KernelRegistry& r);     // functions of matrices
void RegisterDrawingKernels(KernelRegistry& r);
void RegisterRecurrentKernels(KernelRegistry& r);
void RegisterImageWarpKernels(KernelRegistry& r);
void RegisterQuantizedKernels(KernelRegistry& r);        // arrays of levels of a range
void RegisterCandidateKernels(KernelRegistry& r);        // classes sampled beside the true ones
void RegisterSpecialKernels(KernelRegistry& r);          // special functions
void RegisterSparseOptimizerKernels(KernelRegistry& r);  // steps that update single rows of variables
void RegisterSetKernels(KernelRegistry& r);              // set operations, edit distance, feature crosses

// Element `i` of `t`, whose type is an integer's (a floating one), is `v`, wrapped (rounded) to that type.
void StoreInt(Tensor& t, int64_t i, int64_t v);
void StoreDouble(Tensor& t, int64_t i, double v);
// Copies element `from` of `src` to element `to` of `dst` (same type).
void CopyElement(const Tensor& src, int64_t from, Tensor& dst, int64_t to);
// Tensors of one type and shape added; the types are numbers.
absl::StatusOr<Tensor> AddTensors(const Tensor& a, const Tensor& b);
// A list of the same length whose elements are zeros, and the sum of lists element by element.
absl::StatusOr<Tensor> ZerosLikeList(const TensorList& list);
absl::StatusOr<Tensor> AddLists(const std::vector<Tensor>& lists);
// "[1,2]": where element `at` of an array of shape `dims` stands.
std::string PlaceIn(const Dims& dims, int64_t at);
// The shape that NumPy's broadcasting gives, or an error.
absl::StatusOr<Dims> BroadcastDims(const Dims& a, const Dims& b);

// What StridedSlice's operands mean for an input of shape `dims`. Dimensions of `processing` are those of the input
// after slicing; `final_dims` drops shrunk and adds new ones.
struct StridedSliceSpec {
  std::vector<int64_t> begin, end, strides;  // per input dimension; end is exclusive in the direction of the stride
  Dims processing;
  Dims final_dims;
};
absl::StatusOr<StridedSliceSpec> ResolveStridedSlice(const Node& node, const Dims& dims,
                                                     const std::vector<int64_t>& begin, const std::vector<int64_t>& end,
                                                     const std::vector<int64_t>& strides);

}  // namespace xc

#endif  // XC_JIT_KERNELS_KERNEL_H_
