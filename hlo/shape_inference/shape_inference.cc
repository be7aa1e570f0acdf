// Dispatch of shape inference: which rule an opcode follows, which attributes it requires, how many computations it
// calls; and the checks that all families share.
#include "hlo/shape_inference/shape_inference.h"

#include <limits>

#include "hlo/shape_inference/internal.h"

namespace xc {
namespace shape_inference {
namespace {

// How a text names the called computations of an op, and how many there are.
struct Calls {
  int64_t min, max;
};
constexpr int64_t kAnyCount = std::numeric_limits<int64_t>::max();

Calls CallsOf(HloOpcode opcode) {
  using O = HloOpcode;
  switch (opcode) {
    case O::kCall:
    case O::kFusion:
    case O::kMap:
    case O::kReduce:
    case O::kReduceWindow:
    case O::kScan:
    case O::kScatter:
    case O::kSort:
    case O::kAllReduce:
    case O::kAllReduceStart:
    case O::kReduceScatter:
    case O::kAsyncStart:
      return {1, 1};
    case O::kWhile:
    case O::kSelectAndScatter:
      return {2, 2};
    case O::kConditional:
      return {1, kAnyCount};
    case O::kAsyncUpdate:
    case O::kAsyncDone:
      return {0, 1};
    case O::kCustomCall:
      return {0, kAnyCount};
    default:
      return {0, 0};
  }
}

// The attributes without which an op has no meaning; all others have a default.
std::vector<AttrKind> RequiredAttributes(HloOpcode opcode) {
  using O = HloOpcode;
  using A = AttrKind;
  switch (opcode) {
    case O::kAllGather:
    case O::kAllGatherStart:
    case O::kBroadcast:
    case O::kConcatenate:
    case O::kGetDimensionSize:
    case O::kMap:
    case O::kReduce:
    case O::kReduceScatter:
    case O::kReverse:
    case O::kScan:
    case O::kSetDimensionSize:
    case O::kSort:
    case O::kTranspose:
      return {A::kDimensions};
    case O::kBatchNormGrad:
    case O::kBatchNormInference:
    case O::kBatchNormTraining:
      return {A::kEpsilon, A::kFeatureIndex};
    case O::kCollectivePermute:
    case O::kCollectivePermuteStart:
      return {A::kSourceTargetPairs};
    case O::kCompare:
      return {A::kDirection};
    case O::kConvolution:
      return {A::kWindow, A::kDimLabels};
    case O::kCustomCall:
      return {A::kCustomCallTarget};
    case O::kDomain:
      return {A::kDomain};
    case O::kDot:
    case O::kScaledDot:
      return {A::kDotDims};
    case O::kDynamicSlice:
      return {A::kDynamicSliceSizes};
    case O::kFft:
      return {A::kFftType, A::kFftLength};
    case O::kFusion:
      return {A::kFusionKind};
    case O::kGather:
      return {A::kGatherDims, A::kSliceSizes};
    case O::kGetTupleElement:
      return {A::kIndex};
    case O::kIota:
      return {A::kIotaDimension};
    case O::kPad:
      return {A::kPadding};
    case O::kRaggedDot:
      return {A::kDotDims, A::kRaggedDims};
    case O::kReducePrecision:
      return {A::kExponentBits, A::kMantissaBits};
    case O::kReduceWindow:
    case O::kSelectAndScatter:
      return {A::kWindow};
    case O::kRng:
      return {A::kDistribution};
    case O::kRngBitGenerator:
      return {A::kRngAlgorithm};
    case O::kRngGetAndUpdateState:
      return {A::kDelta};
    case O::kScatter:
      return {A::kScatterDims};
    case O::kSlice:
      return {A::kSlice};
    case O::kTopk:
      return {A::kK};
    default:
      return {};
  }
}

Rule RuleOf(HloOpcode opcode) {
  using O = HloOpcode;
  switch (opcode) {
    case O::kAddDependency:
      return InferAddDependency;
    case O::kAfterAll:
      return InferAfterAll;
    case O::kAllReduce:
    case O::kAllReduceStart:
      return InferAllReduce;
    case O::kAllGather:
    case O::kAllGatherStart:
    case O::kAllToAll:
    case O::kCollectiveBroadcast:
    case O::kCollectivePermute:
    case O::kCollectivePermuteStart:
    case O::kRaggedAllToAll:
    case O::kReduceScatter:
      return InferCollective;
    case O::kAllGatherDone:
    case O::kAllReduceDone:
    case O::kCollectivePermuteDone:
    case O::kCopyDone:
      return InferStartDone;
    case O::kAsyncDone:
    case O::kAsyncStart:
    case O::kAsyncUpdate:
      return InferAsync;
    case O::kBatchNormGrad:
    case O::kBatchNormInference:
    case O::kBatchNormTraining:
      return InferBatchNorm;
    case O::kBitcast:
      return InferBitcast;
    case O::kBitcastConvert:
      return InferBitcastConvert;
    case O::kBroadcast:
      return InferBroadcast;
    case O::kCall:
    case O::kFusion:
      return InferCall;
    case O::kCholesky:
      return InferCholesky;
    case O::kClamp:
      return InferClamp;
    case O::kCompare:
      return InferCompare;
    case O::kComplex:
      return InferComplex;
    case O::kConcatenate:
      return InferConcatenate;
    case O::kConditional:
      return InferConditional;
    case O::kConstant:
    case O::kParameter:
      return InferGiven;
    case O::kConvert:
      return InferConvert;
    case O::kConvolution:
      return InferConvolution;
    case O::kCopy:
    case O::kDomain:
    case O::kOptBarrier:
      return InferSame;
    case O::kCopyStart:
      return InferCopyStart;
    case O::kCustomCall:
      return InferCustomCall;
    case O::kDot:
      return InferDot;
    case O::kDynamicReshape:
      return InferDynamicReshape;
    case O::kDynamicSlice:
      return InferDynamicSlice;
    case O::kDynamicUpdateSlice:
      return InferDynamicUpdateSlice;
    case O::kFft:
      return InferFft;
    case O::kGather:
      return InferGather;
    case O::kGetDimensionSize:
      return InferGetDimensionSize;
    case O::kGetTupleElement:
      return InferGetTupleElement;
    case O::kInfeed:
      return InferInfeed;
    case O::kIota:
      return InferIota;
    case O::kMap:
      return InferMap;
    case O::kOutfeed:
      return InferOutfeed;
    case O::kPad:
      return InferPad;
    case O::kPartitionId:
    case O::kReplicaId:
      return InferPartitionId;
    case O::kRaggedDot:
      return InferRaggedDot;
    case O::kRecv:
      return InferRecv;
    case O::kRecvDone:
      return InferRecvDone;
    case O::kReduce:
      return InferReduce;
    case O::kReducePrecision:
      return InferReducePrecision;
    case O::kReduceWindow:
      return InferReduceWindow;
    case O::kReshape:
      return InferReshape;
    case O::kReverse:
      return InferReverse;
    case O::kRng:
      return InferRng;
    case O::kRngBitGenerator:
      return InferRngBitGenerator;
    case O::kRngGetAndUpdateState:
      return InferRngState;
    case O::kScaledDot:
      return InferScaledDot;
    case O::kScan:
      return InferScan;
    case O::kScatter:
      return InferScatter;
    case O::kSelect:
      return InferSelect;
    case O::kSelectAndScatter:
      return InferSelectAndScatter;
    case O::kSend:
      return InferSend;
    case O::kSendDone:
      return InferSendDone;
    case O::kSetDimensionSize:
      return InferSetDimensionSize;
    case O::kSlice:
      return InferSlice;
    case O::kSort:
      return InferSort;
    case O::kStochasticConvert:
      return InferStochasticConvert;
    case O::kTopk:
      return InferTopk;
    case O::kTranspose:
      return InferTranspose;
    case O::kTriangularSolve:
      return InferTriangularSolve;
    case O::kTuple:
      return InferTuple;
    case O::kWhile:
      return InferWhile;
    default:  // the elementwise rest
      return OpcodeArity(opcode) == 1 ? InferUnary : InferBinary;
  }
}

}  // namespace

absl::Status Context::NeedArray(int64_t i, int64_t min_rank) const {
  if (!operand(i).IsArray()) return Error(Describe(i), ", should be an array");
  if (operand(i).rank() < min_rank) return Error(Describe(i), ", should have at least ", min_rank, " dimensions");
  return absl::OkStatus();
}

absl::Status Context::NeedArrays() const {
  for (int64_t i = 0; i < operand_count(); ++i) XC_RETURN_IF_ERROR(NeedArray(i));
  return absl::OkStatus();
}

absl::Status Context::NeedIndexScalar(int64_t i) const {
  if (operand(i).IsScalar() && IsIntegral(operand(i).type())) return absl::OkStatus();
  return Error(Describe(i), ", should be an integer scalar");
}

absl::Status Context::NeedGivenArray() const {
  if (given() == nullptr) return Error("needs its result shape");
  if (!given()->IsArray()) return Error("the result is ", given()->ToString(false), ", should be an array");
  return absl::OkStatus();
}

absl::Status Context::CheckDim(absl::string_view what, int64_t dim, int64_t rank) const {
  if (dim >= 0 && dim < rank) return absl::OkStatus();
  return Error(what, " has ", dim, ", should be between 0 and ", rank - 1);
}

absl::Status Context::CheckDims(absl::string_view what, absl::Span<const int64_t> dims, int64_t rank) const {
  std::vector<bool> seen(rank);
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= rank) {
      return Error(what, "=", DimsText(dims), " has ", dim, ", should be at least 0 and less than ", rank);
    }
    if (seen[dim]) return Error(what, "=", DimsText(dims), " has ", dim, " twice, should have it once");
    seen[dim] = true;
  }
  return absl::OkStatus();
}

absl::Status Context::CheckSorted(absl::string_view what, absl::Span<const int64_t> dims) const {
  for (size_t i = 1; i < dims.size(); ++i) {
    if (dims[i] < dims[i - 1]) return Error(what, "=", DimsText(dims), ", should be sorted");
  }
  return absl::OkStatus();
}

bool DimsAgree(absl::Span<const int64_t> a, absl::Span<const int64_t> b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!SizesAgree(a[i], b[i])) return false;
  }
  return true;
}

std::optional<int64_t> Narrow(__int128 size) {
  if (size < 0 || size > std::numeric_limits<int64_t>::max()) return std::nullopt;
  return static_cast<int64_t>(size);
}

Dim MergeDims(Dim a, Dim b) {
  if (IsUnknown(a.size)) return b;
  if (IsUnknown(b.size)) return a;
  return {a.size, a.dynamic || b.dynamic};
}

Shape MakeShape(ElementType type, absl::Span<const Dim> dims) {
  std::vector<int64_t> sizes;
  sizes.reserve(dims.size());
  for (const Dim& d : dims) sizes.push_back(d.size);
  Shape shape(type, std::move(sizes));
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].dynamic) shape.set_dynamic_dim(i, true);
  }
  return shape;
}

Shape Plain(const Shape& shape) { return shape.has_layout() || !shape.IsArray() ? WithoutLayout(shape) : shape; }

}  // namespace shape_inference

bool Agree(const Shape& have, const Shape& want) {
  if (have.type() != want.type() || have.tuple_size() != want.tuple_size()) return false;
  if (!shape_inference::DimsAgree(have.dims(), want.dims())) return false;
  for (int64_t i = 0; i < have.tuple_size(); ++i) {
    if (!Agree(have.tuple_shape(i), want.tuple_shape(i))) return false;
  }
  return true;
}

absl::Status CheckRequiredAttributes(HloOpcode opcode, const Attributes& attributes) {
  for (AttrKind kind : shape_inference::RequiredAttributes(opcode)) {
    if (!attributes.Has(kind)) {
      return absl::InvalidArgumentError(
          absl::StrCat(OpcodeName(opcode), ": has no attribute ", AttrName(kind), ", which it should have"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckCalledComputationCount(HloOpcode opcode, int64_t count) {
  auto [min, max] = shape_inference::CallsOf(opcode);
  if (count >= min && count <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(OpcodeName(opcode), ": calls ", count, " computations, should call ",
                                                 count < min && max != min ? "at least " : "",
                                                 count < min ? min : max));
}

absl::StatusOr<Shape> InferShape(const ShapeQuery& query) {
  shape_inference::Context c(query);
  int arity = OpcodeArity(query.opcode);
  if (arity != kVariadic && c.operand_count() != arity) {
    return c.Error("has ", c.operand_count(), " operands, should have ", arity);
  }
  XC_RETURN_IF_ERROR(CheckRequiredAttributes(query.opcode, *query.attributes));
  XC_RETURN_IF_ERROR(CheckCalledComputationCount(query.opcode, c.called_count()));
  if (query.given != nullptr) {
    if (absl::Status status = ValidateShape(*query.given); !status.ok()) return c.Error(status.message());
  }
  absl::StatusOr<Shape> shape = shape_inference::RuleOf(query.opcode)(c);
  if (!shape.ok()) return shape;
  if (absl::Status status = ValidateShape(*shape); !status.ok()) return c.Error(status.message());
  return shape;
}

absl::StatusOr<Shape> InferShape(const HloInstruction& instruction) {
  absl::InlinedVector<const Shape*, 6> operands;
  for (const HloInstruction* operand : instruction.operands()) {
    if (operand == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(OpcodeName(instruction.opcode()), ": an operand is missing"));
    }
    operands.push_back(&operand->shape());
  }
  for (const HloComputation* computation : instruction.called_computations()) {
    if (computation == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(OpcodeName(instruction.opcode()), ": a called computation is missing"));
    }
  }
  return InferShape({instruction.opcode(), operands, &instruction.attributes(), instruction.called_computations(),
                     &instruction.shape()});
}

}  // namespace xc
