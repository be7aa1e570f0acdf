// HloBuilder: makes computations op by op with inferred shapes. The first error sticks and is what Build() reports, so
// that callers need not look at every op.
#ifndef XC_HLO_BUILDER_BUILDER_H_
#define XC_HLO_BUILDER_BUILDER_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlo/module.h"

namespace xc {

// A value that a builder made, or nothing after an error. Ops on nothing give nothing.
class Op {
 public:
  Op() = default;
  Op(HloInstruction* instruction) : instruction_(instruction) {}  // NOLINT: instructions are ops
  HloInstruction* instruction() const { return instruction_; }
  explicit operator bool() const { return instruction_ != nullptr; }
  // Of nothing: an invalid shape without dimensions; ask the builder's ok() before reading single dimensions.
  const Shape& shape() const;
  ElementType type() const { return shape().type(); }
  int64_t rank() const { return shape().rank(); }
  int64_t dim(int64_t i) const { return shape().dim(i); }
  const std::vector<int64_t>& dims() const { return shape().dims(); }

 private:
  HloInstruction* instruction_ = nullptr;
};

using Ops = absl::Span<const Op>;

// The element type that holds a C++ number.
template <typename T>
constexpr ElementType ElementTypeOf() {
  if constexpr (std::is_same_v<T, bool>) {
    return ElementType::kPred;
  } else if constexpr (std::is_same_v<T, float>) {
    return ElementType::kF32;
  } else if constexpr (std::is_same_v<T, double>) {
    return ElementType::kF64;
  } else {
    static_assert(std::is_integral_v<T>, "no element type holds this");
    constexpr ElementType kSigned[] = {ElementType::kS8, ElementType::kS16, ElementType::kS32, ElementType::kS64};
    constexpr ElementType kUnsigned[] = {ElementType::kU8, ElementType::kU16, ElementType::kU32, ElementType::kU64};
    constexpr int kLog = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return std::is_signed_v<T> ? kSigned[kLog] : kUnsigned[kLog];
  }
}

// Builder methods of ops with one operand and no attributes: X(method, opcode).
#define XC_BUILDER_UNARY_OPS(X)   \
  X(Abs, kAbs)                    \
  X(Acos, kAcos)                  \
  X(Acosh, kAcosh)                \
  X(Asin, kAsin)                  \
  X(Asinh, kAsinh)                \
  X(Atanh, kAtanh)                \
  X(Cbrt, kCbrt)                  \
  X(Ceil, kCeil)                  \
  X(Clz, kCountLeadingZeros)      \
  X(Copy, kCopy)                  \
  X(Cos, kCosine)                 \
  X(Cosh, kCosh)                  \
  X(Erf, kErf)                    \
  X(Exp, kExponential)            \
  X(Expm1, kExponentialMinusOne)  \
  X(Floor, kFloor)                \
  X(Imag, kImag)                  \
  X(IsFinite, kIsFinite)          \
  X(Log, kLog)                    \
  X(Log1p, kLogPlusOne)           \
  X(Logistic, kLogistic)          \
  X(Neg, kNegate)                 \
  X(Not, kNot)                    \
  X(OptBarrier, kOptBarrier)      \
  X(Popcnt, kPopcnt)              \
  X(Real, kReal)                  \
  X(RoundAfz, kRoundNearestAfz)   \
  X(RoundEven, kRoundNearestEven) \
  X(Rsqrt, kRsqrt)                \
  X(Sign, kSign)                  \
  X(Sin, kSine)                   \
  X(Sinh, kSinh)                  \
  X(Sqrt, kSqrt)                  \
  X(Tan, kTan)                    \
  X(Tanh, kTanh)

// Methods of ops with two operands. If exactly one is a scalar it is broadcast to the other's shape.
#define XC_BUILDER_BINARY_OPS(X)                 \
  X(Add, kAdd)                                   \
  X(Sub, kSubtract)                              \
  X(Mul, kMultiply)                              \
  X(Div, kDivide)                                \
  X(Rem, kRemainder)                             \
  X(Pow, kPower)                                 \
  X(Atan2, kAtan2)                               \
  X(Max, kMaximum)                               \
  X(Min, kMinimum)                               \
  X(Mulhi, kMulhi)                               \
  X(And, kAnd)                                   \
  X(Or, kOr)                                     \
  X(Xor, kXor)                                   \
  X(Complex, kComplex)                           \
  X(ShiftLeft, kShiftLeft)                       \
  X(ShiftRightArithmetic, kShiftRightArithmetic) \
  X(ShiftRightLogical, kShiftRightLogical)

// Methods of comparisons; operands as for binary ops.
#define XC_BUILDER_COMPARISONS(X) \
  X(Eq, kEq)                      \
  X(Ne, kNe)                      \
  X(Ge, kGe)                      \
  X(Gt, kGt)                      \
  X(Le, kLe)                      \
  X(Lt, kLt)

class HloBuilder {
 public:
  // A new module `name` with an entry computation; Build() hands it over.
  explicit HloBuilder(absl::string_view name);
  // A new computation in an existing module.
  HloBuilder(HloModule* module, absl::string_view computation_name);
  // More instructions for an existing computation (expanders); Build functions are not used then, see status().
  explicit HloBuilder(HloComputation* computation);
  HloBuilder(const HloBuilder&) = delete;
  HloBuilder& operator=(const HloBuilder&) = delete;

  // A builder of a new computation in the same module that shares this builder's error.
  std::unique_ptr<HloBuilder> SubBuilder(absl::string_view name);

  bool ok() const { return state_->status.ok(); }
  const absl::Status& status() const { return state_->status; }
  // Records an error of the caller; the first one stays.
  void SetError(absl::Status error);

  HloModule* module() const { return module_; }
  HloComputation* computation() const { return computation_; }

  // Sets the root, or the last instruction if there is none, and checks that parameters are numbered without gaps.
  absl::StatusOr<HloComputation*> BuildComputation(Op root = {});
  // The same for the entry of a module that this builder made.
  absl::StatusOr<std::unique_ptr<HloModule>> Build(Op root = {});
  // BuildComputation without a result to look at: nothing after an error, which sticks.
  HloComputation* Finish(Op root = {});

  // Metadata of all ops that follow.
  void SetMetadata(Metadata metadata) { metadata_ = std::move(metadata); }
  void ClearMetadata() { metadata_.reset(); }
  const std::optional<Metadata>& metadata() const { return metadata_; }

  // Any op: the general form behind all others. `given` is needed where operands do not determine the shape.
  Op Make(HloOpcode opcode, Ops operands, Attributes attributes = {}, absl::Span<HloComputation* const> called = {},
          const Shape* given = nullptr);

  // Values from nothing.
  Op Parameter(int64_t number, const Shape& shape, absl::string_view name);
  Op Constant(Literal literal);
  Op Constant(std::shared_ptr<const Literal> literal);
  // A scalar of `type`: the number rounded, or for integers truncated, to it.
  Op Scalar(ElementType type, double value);
  Op ScalarInt(ElementType type, int64_t value);
  template <typename T>
  Op R0(T value) {
    return Constant(Literal::Scalar<T>(ElementTypeOf<T>(), value));
  }
  template <typename T>
  Op R1(const std::vector<T>& values) {
    return Constant(Literal::FromValues<T>(Shape(ElementTypeOf<T>(), {static_cast<int64_t>(values.size())}), values));
  }
  Op Zero(ElementType type) { return ScalarInt(type, 0); }
  Op One(ElementType type) { return ScalarInt(type, 1); }
  // The identities of maximum and minimum: infinities where the type has them, else the last finite values.
  Op MinValue(ElementType type);
  Op MaxValue(ElementType type);
  Op MinFinite(ElementType type);
  Op MaxFinite(ElementType type);
  // A broadcast scalar.
  Op Full(ElementType type, absl::Span<const int64_t> dims, double value);
  Op FullLike(Op like, double value);
  Op Iota(ElementType type, absl::Span<const int64_t> dims, int64_t dimension);

  // Elementwise.
#define XC_X(method, opcode) \
  Op method(Op x) { return Make(HloOpcode::opcode, {x}); }
  XC_BUILDER_UNARY_OPS(XC_X)
#undef XC_X
#define XC_X(method, opcode) \
  Op method(Op x, Op y) { return Binary(HloOpcode::opcode, x, y); }
  XC_BUILDER_BINARY_OPS(XC_X)
#undef XC_X
#define XC_X(method, direction) \
  Op method(Op x, Op y) { return Compare(CompareDirection::direction, x, y); }
  XC_BUILDER_COMPARISONS(XC_X)
#undef XC_X
  Op Unary(HloOpcode opcode, Op x) { return Make(opcode, {x}); }
  Op Binary(HloOpcode opcode, Op x, Op y);
  Op Compare(CompareDirection direction, Op x, Op y, std::optional<CompareType> type = {});
  // Scalars among the operands are broadcast (a scalar predicate too).
  Op Select(Op pred, Op on_true, Op on_false);
  Op Clamp(Op low, Op x, Op high);
  Op Convert(Op x, ElementType type);  // x itself if it has the type
  Op BitcastConvert(Op x, ElementType type);
  Op ReducePrecision(Op x, int64_t exponent_bits, int64_t mantissa_bits);

  // Movement.
  Op Broadcast(Op x, absl::Span<const int64_t> result_dims, absl::Span<const int64_t> dimensions);
  // As broadcast, and a dimension of size 1 may become larger.
  Op BroadcastInDim(Op x, absl::Span<const int64_t> result_dims, absl::Span<const int64_t> dimensions);
  // NumPy's rule: dimensions are aligned at the end, size 1 becomes any size.
  Op BroadcastTo(Op x, absl::Span<const int64_t> result_dims);
  // Both operands in the shape that NumPy's rule gives them; an error if there is none.
  std::pair<Op, Op> BroadcastTogether(Op x, Op y);
  Op Reshape(Op x, absl::Span<const int64_t> dims);
  Op Transpose(Op x, absl::Span<const int64_t> permutation);
  Op Reverse(Op x, absl::Span<const int64_t> dims);
  Op Slice(Op x, absl::Span<const int64_t> starts, absl::Span<const int64_t> limits,
           absl::Span<const int64_t> strides = {});
  Op SliceInDim(Op x, int64_t start, int64_t limit, int64_t stride, int64_t dim);
  Op Pad(Op x, Op value, std::vector<PaddingDim> padding);
  Op Concat(Ops operands, int64_t dim);
  Op DynamicSlice(Op x, Ops starts, absl::Span<const int64_t> sizes);
  Op DynamicUpdateSlice(Op x, Op update, Ops starts);
  Op Gather(Op x, Op indices, const GatherDims& dims, absl::Span<const int64_t> slice_sizes, bool sorted = false);
  Op Scatter(Ops operands, Op indices, Ops updates, HloComputation* combine, const ScatterDims& dims,
             bool sorted = false, bool unique = false);
  Op GetDimensionSize(Op x, int64_t dim);
  Op SetDimensionSize(Op x, Op size, int64_t dim);

  // Reductions. With an opcode: that op as the reducer, from its identity (add, multiply, maximum, minimum, and, or,
  // xor).
  Op Reduce(Op x, Op init, HloComputation* reducer, absl::Span<const int64_t> dims);
  Op Reduce(Ops operands, Ops inits, HloComputation* reducer, absl::Span<const int64_t> dims);
  Op Reduce(HloOpcode opcode, Op x, absl::Span<const int64_t> dims);
  Op ReduceAll(HloOpcode opcode, Op x);
  Op ReduceWindow(Op x, Op init, HloComputation* reducer, WindowAttr window);
  Op ReduceWindow(Ops operands, Ops inits, HloComputation* reducer, WindowAttr window);
  Op ReduceWindow(HloOpcode opcode, Op x, WindowAttr window);
  Op SelectAndScatter(Op x, HloComputation* select, WindowAttr window, Op source, Op init, HloComputation* scatter);
  // One array for one operand, else a tuple.
  Op Sort(Ops operands, int64_t dim, bool stable, HloComputation* comparator);
  Op TopK(Op x, int64_t k, bool largest = true);
  // The identity of a reduction opcode for a type.
  Op Identity(HloOpcode opcode, ElementType type);

  // Computations that others apply. Made once per module and builder family.
  HloComputation* ScalarComputation(HloOpcode opcode, ElementType type);
  // (a, b) → a direction b on the first operand's scalars; floats by total order. `types` are those of the sort
  // operands.
  HloComputation* SortComparator(absl::Span<const ElementType> types, CompareDirection direction);
  // (a, b) → a direction b, the plain comparison (select-and-scatter's `select`).
  HloComputation* ScalarCompare(CompareDirection direction, ElementType type);

  // Products and decompositions. The result has the operands' type unless another is asked for.
  Op Dot(Op x, Op y, const DotDims& dims, std::optional<ElementType> type = {}, StringList precision = {});
  // Of the last two dimensions; those before are batch dimensions and equal.
  Op MatMul(Op x, Op y, bool transpose_x = false, bool transpose_y = false, std::optional<ElementType> type = {});
  Op Conv(Op x, Op kernel, WindowAttr window, const ConvDims& labels, int64_t feature_groups = 1,
          int64_t batch_groups = 1, std::optional<ElementType> type = {}, StringList precision = {});
  Op Cholesky(Op a, bool lower);
  Op TriangularSolve(Op a, Op b, bool left_side, bool lower, bool unit_diagonal, TriangularTranspose transpose);
  Op Fft(Op x, FftType type, absl::Span<const int64_t> lengths);
  Op BatchNormTraining(Op x, Op scale, Op offset, float epsilon, int64_t feature);
  Op BatchNormInference(Op x, Op scale, Op offset, Op mean, Op variance, float epsilon, int64_t feature);
  Op BatchNormGrad(Op x, Op scale, Op mean, Op variance, Op grad, float epsilon, int64_t feature);

  // Control and the rest.
  Op Tuple(Ops elements);
  Op GetTupleElement(Op tuple, int64_t index);
  Op Call(HloComputation* computation, Ops operands);
  Op Map(Ops operands, HloComputation* computation);
  Op While(HloComputation* condition, HloComputation* body, Op init);
  // `selector` is pred (branches true, false) or s32.
  Op Conditional(Op selector, absl::Span<HloComputation* const> branches, Ops operands);
  Op AfterAll(Ops tokens) { return Make(HloOpcode::kAfterAll, tokens); }
  Op Rng(RandomDistribution distribution, Op a, Op b, const Shape& shape);
  // A tuple of the new state and random bits of `shape`.
  Op RngBitGenerator(RandomAlgorithm algorithm, Op state, const Shape& shape);
  Op CustomCall(absl::string_view target, Ops operands, const Shape& shape, absl::string_view backend_config = "",
                bool side_effect = false);

 private:
  // Shared by a builder and its sub-builders.
  struct State {
    absl::Status status;
    absl::flat_hash_map<std::string, HloComputation*> computations;
  };
  Op Extreme(ElementType type, bool max, bool finite);
  // A computation built by `make` unless one of this name has been built.
  template <typename F>
  HloComputation* Cached(const std::string& name, F make);

  std::shared_ptr<State> state_;
  std::unique_ptr<HloModule> owned_;
  HloModule* module_ = nullptr;
  HloComputation* computation_ = nullptr;
  std::optional<Metadata> metadata_;
};

}  // namespace xc

#endif  // XC_HLO_BUILDER_BUILDER_H_
