// What the op families of shape inference share: error text, checked arithmetic and checks of lists of dimensions.
#ifndef XC_HLO_SHAPE_INFERENCE_INTERNAL_H_
#define XC_HLO_SHAPE_INFERENCE_INTERNAL_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hlo/base/status.h"
#include "hlo/shape_inference/shape_inference.h"

namespace xc::shape_inference {

// One query while it is answered. The dispatcher has checked operand count, required attributes and the number of
// called computations.
class Context {
 public:
  explicit Context(const ShapeQuery& query) : query_(query) {}

  HloOpcode opcode() const { return query_.opcode; }
  int64_t operand_count() const { return static_cast<int64_t>(query_.operands.size()); }
  const Shape& operand(int64_t i) const { return *query_.operands[i]; }
  absl::Span<const Shape* const> operands() const { return query_.operands; }
  const Shape* given() const { return query_.given; }
  int64_t called_count() const { return static_cast<int64_t>(query_.called.size()); }
  const HloComputation& called(int64_t i) const { return *query_.called[i]; }

  template <AttrKind kKind>
  const AttrType<kKind>& attr() const {
    return *query_.attributes->Find<kKind>();
  }
  template <AttrKind kKind>
  const AttrType<kKind>* find() const {
    return query_.attributes->Find<kKind>();
  }
  template <AttrKind kKind>
  AttrType<kKind> attr_or(AttrType<kKind> otherwise) const {
    const auto* value = find<kKind>();
    return value ? *value : std::move(otherwise);
  }

  // "add: " and the parts, as an invalid-argument error.
  template <typename... Parts>
  absl::Status Error(const Parts&... parts) const {
    return absl::InvalidArgumentError(absl::StrCat(OpcodeName(opcode()), ": ", parts...));
  }

  // "operand 1 is f32[2,3]".
  std::string Describe(int64_t i) const { return absl::StrCat("operand ", i, " is ", operand(i).ToString(false)); }

  // Operand i is an array (of at least `min_rank` dimensions).
  absl::Status NeedArray(int64_t i, int64_t min_rank = 0) const;
  absl::Status NeedArrays() const;
  // Operand i is a scalar of an integer type.
  absl::Status NeedIndexScalar(int64_t i) const;
  // A result shape was given, and is an array.
  absl::Status NeedGivenArray() const;
  // Every dimension of `dims` lies in [0, rank) and none occurs twice.
  absl::Status CheckDims(absl::string_view what, absl::Span<const int64_t> dims, int64_t rank) const;
  absl::Status CheckDim(absl::string_view what, int64_t dim, int64_t rank) const;
  absl::Status CheckSorted(absl::string_view what, absl::Span<const int64_t> dims) const;

 private:
  const ShapeQuery& query_;
};

inline bool IsUnknown(int64_t size) { return size == Shape::kUnknownSize; }
inline bool SizesAgree(int64_t a, int64_t b) { return a == b || IsUnknown(a) || IsUnknown(b); }
inline bool Contains(absl::Span<const int64_t> list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}
bool DimsAgree(absl::Span<const int64_t> a, absl::Span<const int64_t> b);
inline std::string DimsText(absl::Span<const int64_t> dims) { return absl::StrCat("{", absl::StrJoin(dims, ","), "}"); }

// `size` cut to an int64, or nothing when it does not fit.
std::optional<int64_t> Narrow(__int128 size);

// An array shape whose dimension i is dynamic if source[i] is (a dimension of some operand).
struct Dim {
  int64_t size = 0;
  bool dynamic = false;
};
inline Dim DimOf(const Shape& shape, int64_t i) { return {shape.dim(i), shape.is_dynamic_dim(i)}; }
// The more specific of two dimensions that agree; dynamic if either is.
Dim MergeDims(Dim a, Dim b);
Shape MakeShape(ElementType type, absl::Span<const Dim> dims);
// `shape` without layout.
Shape Plain(const Shape& shape);

// Checks that `computation` takes 2·n scalars (accumulators, then values), all accumulators of `types`, and returns an
// accumulator, or a tuple of n. `init` shapes must be scalars of those types as well.
absl::Status CheckReducer(const Context& c, const HloComputation& computation, absl::Span<const Shape* const> inputs,
                          absl::Span<const Shape* const> inits);
// Checks parameter count and shapes against `arguments`; `role` is how a message names the computation.
absl::Status CheckSignature(const Context& c, absl::string_view role, const HloComputation& computation,
                            absl::Span<const Shape* const> arguments);
// The result shape of a computation, or an error when it has no root.
absl::StatusOr<Shape> RootShape(const Context& c, absl::string_view role, const HloComputation& computation);

// The families. Each takes the opcodes that its name says; the dispatcher (shape_inference.cc) maps opcodes to them.
using Rule = absl::StatusOr<Shape> (*)(const Context&);
absl::StatusOr<Shape> InferUnary(const Context& c);
absl::StatusOr<Shape> InferBinary(const Context& c);
absl::StatusOr<Shape> InferConvert(const Context& c);
absl::StatusOr<Shape> InferBitcastConvert(const Context& c);
absl::StatusOr<Shape> InferReducePrecision(const Context& c);
absl::StatusOr<Shape> InferStochasticConvert(const Context& c);
absl::StatusOr<Shape> InferCompare(const Context& c);
absl::StatusOr<Shape> InferComplex(const Context& c);
absl::StatusOr<Shape> InferSelect(const Context& c);
absl::StatusOr<Shape> InferClamp(const Context& c);

absl::StatusOr<Shape> InferBroadcast(const Context& c);
absl::StatusOr<Shape> InferReshape(const Context& c);
absl::StatusOr<Shape> InferBitcast(const Context& c);
absl::StatusOr<Shape> InferDynamicReshape(const Context& c);
absl::StatusOr<Shape> InferTranspose(const Context& c);
absl::StatusOr<Shape> InferReverse(const Context& c);
absl::StatusOr<Shape> InferSlice(const Context& c);
absl::StatusOr<Shape> InferPad(const Context& c);
absl::StatusOr<Shape> InferConcatenate(const Context& c);
absl::StatusOr<Shape> InferIota(const Context& c);
absl::StatusOr<Shape> InferDynamicSlice(const Context& c);
absl::StatusOr<Shape> InferDynamicUpdateSlice(const Context& c);
absl::StatusOr<Shape> InferGetDimensionSize(const Context& c);
absl::StatusOr<Shape> InferSetDimensionSize(const Context& c);

absl::StatusOr<Shape> InferGather(const Context& c);
absl::StatusOr<Shape> InferScatter(const Context& c);

absl::StatusOr<Shape> InferReduce(const Context& c);
absl::StatusOr<Shape> InferReduceWindow(const Context& c);
absl::StatusOr<Shape> InferSelectAndScatter(const Context& c);
absl::StatusOr<Shape> InferSort(const Context& c);
absl::StatusOr<Shape> InferTopk(const Context& c);
absl::StatusOr<Shape> InferMap(const Context& c);
absl::StatusOr<Shape> InferScan(const Context& c);

absl::StatusOr<Shape> InferDot(const Context& c);
absl::StatusOr<Shape> InferScaledDot(const Context& c);
absl::StatusOr<Shape> InferRaggedDot(const Context& c);
absl::StatusOr<Shape> InferConvolution(const Context& c);
absl::StatusOr<Shape> InferCholesky(const Context& c);
absl::StatusOr<Shape> InferTriangularSolve(const Context& c);
absl::StatusOr<Shape> InferFft(const Context& c);
absl::StatusOr<Shape> InferBatchNorm(const Context& c);

absl::StatusOr<Shape> InferSame(const Context& c);
absl::StatusOr<Shape> InferGiven(const Context& c);
absl::StatusOr<Shape> InferTuple(const Context& c);
absl::StatusOr<Shape> InferGetTupleElement(const Context& c);
absl::StatusOr<Shape> InferCall(const Context& c);
absl::StatusOr<Shape> InferCustomCall(const Context& c);
absl::StatusOr<Shape> InferWhile(const Context& c);
absl::StatusOr<Shape> InferConditional(const Context& c);
absl::StatusOr<Shape> InferAfterAll(const Context& c);
absl::StatusOr<Shape> InferAddDependency(const Context& c);
absl::StatusOr<Shape> InferRng(const Context& c);
absl::StatusOr<Shape> InferRngBitGenerator(const Context& c);
absl::StatusOr<Shape> InferRngState(const Context& c);
absl::StatusOr<Shape> InferPartitionId(const Context& c);

absl::StatusOr<Shape> InferInfeed(const Context& c);
absl::StatusOr<Shape> InferOutfeed(const Context& c);
absl::StatusOr<Shape> InferSend(const Context& c);
absl::StatusOr<Shape> InferSendDone(const Context& c);
absl::StatusOr<Shape> InferRecv(const Context& c);
absl::StatusOr<Shape> InferRecvDone(const Context& c);
absl::StatusOr<Shape> InferCopyStart(const Context& c);
absl::StatusOr<Shape> InferStartDone(const Context& c);
absl::StatusOr<Shape> InferAsync(const Context& c);
absl::StatusOr<Shape> InferAllReduce(const Context& c);
absl::StatusOr<Shape> InferCollective(const Context& c);

}  // namespace xc::shape_inference

#endif  // XC_HLO_SHAPE_INFERENCE_INTERNAL_H_
