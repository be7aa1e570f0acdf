// The builder's reductions, products, control flow and standard computations.
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hlo/builder/builder.h"

namespace xc {
namespace {

using A = AttrKind;
using O = HloOpcode;

Int64List List(absl::Span<const int64_t> values) { return Int64List(values.begin(), values.end()); }

template <AttrKind kKind>
Attributes With(AttrType<kKind> value) {
  Attributes attributes;
  attributes.Set<kKind>(std::move(value));
  return attributes;
}

std::vector<Op> Joined(Ops a, Ops b) {
  std::vector<Op> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

}  // namespace

template <typename F>
HloComputation* HloBuilder::Cached(const std::string& name, F make) {
  if (!ok()) return nullptr;
  auto it = state_->computations.find(name);
  if (it != state_->computations.end()) return it->second;
  auto sub = SubBuilder(name);
  sub->ClearMetadata();
  HloComputation* computation = sub->Finish(make(*sub));
  if (computation != nullptr) state_->computations[name] = computation;
  return computation;
}

HloComputation* HloBuilder::ScalarComputation(HloOpcode opcode, ElementType type) {
  return Cached(absl::StrCat(OpcodeName(opcode), "_", ElementTypeName(type)), [&](HloBuilder& b) {
    Shape scalar = Shape::Scalar(type);
    Op x = b.Parameter(0, scalar, "x");
    Op y = b.Parameter(1, scalar, "y");
    // Arithmetic on truth values is their logic.
    HloOpcode op = opcode;
    if (type == ElementType::kPred && op == O::kAdd) op = O::kOr;
    if (type == ElementType::kPred && op == O::kMultiply) op = O::kAnd;
    return b.Binary(op, x, y);
  });
}

HloComputation* HloBuilder::SortComparator(absl::Span<const ElementType> types, CompareDirection direction) {
  std::string name = absl::StrCat("compare_", CompareDirectionName(direction));
  for (ElementType type : types) absl::StrAppend(&name, "_", ElementTypeName(type));
  return Cached(name, [&](HloBuilder& b) {
    std::vector<Op> parameters;
    for (size_t i = 0; i < 2 * types.size(); ++i) {
      parameters.push_back(b.Parameter(i, Shape::Scalar(types[i / 2]), absl::StrCat(i % 2 ? "y" : "x", i / 2)));
    }
    if (types.empty()) return Op();
    std::optional<CompareType> order;
    if (IsFloating(types[0])) order = CompareType::kTotalOrder;
    return b.Compare(direction, parameters[0], parameters[1], order);
  });
}

HloComputation* HloBuilder::ScalarCompare(CompareDirection direction, ElementType type) {
  return Cached(absl::StrCat("is_", CompareDirectionName(direction), "_", ElementTypeName(type)), [&](HloBuilder& b) {
    Shape scalar = Shape::Scalar(type);
    Op x = b.Parameter(0, scalar, "x");
    return b.Compare(direction, x, b.Parameter(1, scalar, "y"));
  });
}

Op HloBuilder::Identity(HloOpcode opcode, ElementType type) {
  switch (opcode) {
    case O::kAdd:
    case O::kOr:
    case O::kXor:
      return Zero(type);
    case O::kMultiply:
      return One(type);
    case O::kAnd:
      return ScalarInt(type, type == ElementType::kPred ? 1 : -1);
    case O::kMaximum:
      return MinValue(type);
    case O::kMinimum:
      return MaxValue(type);
    default:
      SetError(absl::InvalidArgumentError(absl::StrCat("no identity of reduction by ", OpcodeName(opcode))));
      return {};
  }
}

// Reductions.

Op HloBuilder::Reduce(Op x, Op init, HloComputation* reducer, absl::Span<const int64_t> dims) {
  return Reduce(Ops{x}, Ops{init}, reducer, dims);
}

Op HloBuilder::Reduce(Ops operands, Ops inits, HloComputation* reducer, absl::Span<const int64_t> dims) {
  return Make(O::kReduce, Joined(operands, inits), With<A::kDimensions>(List(dims)), {reducer});
}

Op HloBuilder::Reduce(HloOpcode opcode, Op x, absl::Span<const int64_t> dims) {
  Op init = Identity(opcode, x.type());
  return Reduce(x, init, ScalarComputation(opcode, x.type()), dims);
}

Op HloBuilder::ReduceAll(HloOpcode opcode, Op x) {
  Int64List dims(x.rank());
  std::iota(dims.begin(), dims.end(), 0);
  return Reduce(opcode, x, dims);
}

Op HloBuilder::ReduceWindow(Op x, Op init, HloComputation* reducer, WindowAttr window) {
  return ReduceWindow(Ops{x}, Ops{init}, reducer, std::move(window));
}

Op HloBuilder::ReduceWindow(Ops operands, Ops inits, HloComputation* reducer, WindowAttr window) {
  return Make(O::kReduceWindow, Joined(operands, inits), With<A::kWindow>(std::move(window)), {reducer});
}

Op HloBuilder::ReduceWindow(HloOpcode opcode, Op x, WindowAttr window) {
  Op init = Identity(opcode, x.type());
  return ReduceWindow(x, init, ScalarComputation(opcode, x.type()), std::move(window));
}

Op HloBuilder::SelectAndScatter(Op x, HloComputation* select, WindowAttr window, Op source, Op init,
                                HloComputation* scatter) {
  return Make(O::kSelectAndScatter, {x, source, init}, With<A::kWindow>(std::move(window)), {select, scatter});
}

Op HloBuilder::Sort(Ops operands, int64_t dim, bool stable, HloComputation* comparator) {
  Attributes attributes = With<A::kDimensions>({dim});
  if (stable) attributes.Set<A::kIsStable>(true);
  return Make(O::kSort, operands, std::move(attributes), {comparator});
}

Op HloBuilder::TopK(Op x, int64_t k, bool largest) {
  Attributes attributes = With<A::kK>(k);
  attributes.Set<A::kLargest>(largest);
  return Make(O::kTopk, {x}, std::move(attributes));
}

// Products and decompositions.

Op HloBuilder::Dot(Op x, Op y, const DotDims& dims, std::optional<ElementType> type, StringList precision) {
  Attributes attributes = With<A::kDotDims>(dims);
  if (!precision.empty()) attributes.Set<A::kOperandPrecision>(std::move(precision));
  Shape given = Shape::Scalar(type.value_or(ElementType::kInvalid));
  return Make(O::kDot, {x, y}, std::move(attributes), {}, type ? &given : nullptr);
}

Op HloBuilder::MatMul(Op x, Op y, bool transpose_x, bool transpose_y, std::optional<ElementType> type) {
  if (!ok() || !x || !y) return Make(O::kDot, {x, y});
  if (x.rank() < 2 || y.rank() != x.rank()) {
    SetError(absl::InvalidArgumentError(absl::StrCat("a matrix product of ", x.shape().ToString(false), " and ",
                                                     y.shape().ToString(false),
                                                     ": both should have the same rank, at least 2")));
    return {};
  }
  DotDims dims;
  int64_t batch = x.rank() - 2;
  for (int64_t d = 0; d < batch; ++d) dims.lhs_batch.push_back(d);
  dims.rhs_batch = dims.lhs_batch;
  dims.lhs_contracting = {batch + (transpose_x ? 0 : 1)};
  dims.rhs_contracting = {batch + (transpose_y ? 1 : 0)};
  return Dot(x, y, dims, type);
}

Op HloBuilder::Conv(Op x, Op kernel, WindowAttr window, const ConvDims& labels, int64_t feature_groups,
                    int64_t batch_groups, std::optional<ElementType> type, StringList precision) {
  Attributes attributes = With<A::kWindow>(std::move(window));
  attributes.Set<A::kDimLabels>(labels);
  if (feature_groups != 1) attributes.Set<A::kFeatureGroupCount>(feature_groups);
  if (batch_groups != 1) attributes.Set<A::kBatchGroupCount>(batch_groups);
  if (!precision.empty()) attributes.Set<A::kOperandPrecision>(std::move(precision));
  Shape given = Shape::Scalar(type.value_or(ElementType::kInvalid));
  return Make(O::kConvolution, {x, kernel}, std::move(attributes), {}, type ? &given : nullptr);
}

// Attributes that are false are left out, as in a module read from text.
Op HloBuilder::Cholesky(Op a, bool lower) {
  return Make(O::kCholesky, {a}, lower ? With<A::kLower>(true) : Attributes());
}

Op HloBuilder::TriangularSolve(Op a, Op b, bool left_side, bool lower, bool unit_diagonal,
                               TriangularTranspose transpose) {
  Attributes attributes;
  if (left_side) attributes.Set<A::kLeftSide>(true);
  if (lower) attributes.Set<A::kLower>(true);
  if (unit_diagonal) attributes.Set<A::kUnitDiagonal>(true);
  attributes.Set<A::kTransposeA>(transpose);
  return Make(O::kTriangularSolve, {a, b}, std::move(attributes));
}

Op HloBuilder::Fft(Op x, FftType type, absl::Span<const int64_t> lengths) {
  Attributes attributes = With<A::kFftType>(type);
  attributes.Set<A::kFftLength>(List(lengths));
  return Make(O::kFft, {x}, std::move(attributes));
}

namespace {
Attributes BatchNormAttributes(float epsilon, int64_t feature) {
  Attributes attributes = With<A::kEpsilon>(epsilon);
  attributes.Set<A::kFeatureIndex>(feature);
  return attributes;
}
}  // namespace

Op HloBuilder::BatchNormTraining(Op x, Op scale, Op offset, float epsilon, int64_t feature) {
  return Make(O::kBatchNormTraining, {x, scale, offset}, BatchNormAttributes(epsilon, feature));
}

Op HloBuilder::BatchNormInference(Op x, Op scale, Op offset, Op mean, Op variance, float epsilon, int64_t feature) {
  return Make(O::kBatchNormInference, {x, scale, offset, mean, variance}, BatchNormAttributes(epsilon, feature));
}

Op HloBuilder::BatchNormGrad(Op x, Op scale, Op mean, Op variance, Op grad, float epsilon, int64_t feature) {
  return Make(O::kBatchNormGrad, {x, scale, mean, variance, grad}, BatchNormAttributes(epsilon, feature));
}

// Control and the rest.

Op HloBuilder::Tuple(Ops elements) { return Make(O::kTuple, elements); }

Op HloBuilder::GetTupleElement(Op tuple, int64_t index) {
  return Make(O::kGetTupleElement, {tuple}, With<A::kIndex>(index));
}

Op HloBuilder::Call(HloComputation* computation, Ops operands) { return Make(O::kCall, operands, {}, {computation}); }

Op HloBuilder::Map(Ops operands, HloComputation* computation) {
  Int64List dims(operands.empty() ? 0 : operands[0].rank());
  std::iota(dims.begin(), dims.end(), 0);
  return Make(O::kMap, operands, With<A::kDimensions>(std::move(dims)), {computation});
}

Op HloBuilder::While(HloComputation* condition, HloComputation* body, Op init) {
  return Make(O::kWhile, {init}, {}, {condition, body});
}

Op HloBuilder::Conditional(Op selector, absl::Span<HloComputation* const> branches, Ops operands) {
  return Make(O::kConditional, Joined({selector}, operands), {}, branches);
}

Op HloBuilder::Rng(RandomDistribution distribution, Op a, Op b, const Shape& shape) {
  return Make(O::kRng, {a, b}, With<A::kDistribution>(distribution), {}, &shape);
}

Op HloBuilder::RngBitGenerator(RandomAlgorithm algorithm, Op state, const Shape& shape) {
  Shape given = Shape::Tuple({state.shape(), shape});
  return Make(O::kRngBitGenerator, {state}, With<A::kRngAlgorithm>(algorithm), {}, state ? &given : nullptr);
}

Op HloBuilder::CustomCall(absl::string_view target, Ops operands, const Shape& shape, absl::string_view backend_config,
                          bool side_effect) {
  Attributes attributes = With<A::kCustomCallTarget>(std::string(target));
  if (!backend_config.empty()) attributes.Set<A::kBackendConfig>(BackendConfig{std::string(backend_config), false});
  if (side_effect) attributes.Set<A::kCustomCallHasSideEffect>(true);
  return Make(O::kCustomCall, operands, std::move(attributes), {}, &shape);
}

}  // namespace xc
