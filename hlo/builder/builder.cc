#include "hlo/builder/builder.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hlo/base/status.h"
#include "hlo/builder/make_instruction.h"
#include "hlo/shape_inference/shape_inference.h"

namespace xc {
namespace {

using A = AttrKind;
using E = ElementType;
using O = HloOpcode;

// Parameters are kept in a dense list; more than this is a mistake.
constexpr int64_t kMaxParameters = int64_t{1} << 20;

Int64List List(absl::Span<const int64_t> values) { return Int64List(values.begin(), values.end()); }

template <AttrKind kKind>
Attributes With(AttrType<kKind> value) {
  Attributes attributes;
  attributes.Set<kKind>(std::move(value));
  return attributes;
}

// The bits of the greatest or least finite value of a floating-point type.
uint64_t LastFiniteBits(E type, bool max) {
  if (type == E::kF8E8M0FNU) return max ? 0xfe : 0;  // powers of two without a sign
  int bits = ElementBits(type);
  uint64_t sign = max ? 0 : uint64_t{1} << (bits - 1);
  if (type == E::kF64) return 0x7fefffffffffffff | sign;
  if (type == E::kF32) return 0x7f7fffff | sign;
  if (type == E::kBF16) return 0x7f7f | sign;
  if (type == E::kF16) return 0x7bff | sign;
  // Positive values are ordered as their bits; what follows the last finite one is infinity or NaN.
  Literal probe{Shape::Scalar(type)};
  uint64_t pattern = (uint64_t{1} << (bits - 1)) - 1;
  for (; pattern > 0; --pattern) {
    *probe.mutable_bytes() = static_cast<uint8_t>(pattern);
    if (std::isfinite(probe.GetDouble(0))) break;
  }
  return pattern | sign;
}

std::vector<Op> Joined(Ops a, Ops b) {
  std::vector<Op> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

}  // namespace

const Shape& Op::shape() const {
  static const Shape* const kNothing = new Shape();
  return instruction_ != nullptr ? instruction_->shape() : *kNothing;
}

HloBuilder::HloBuilder(absl::string_view name)
    : state_(std::make_shared<State>()), owned_(std::make_unique<HloModule>(std::string(name))) {
  module_ = owned_.get();
  computation_ = module_->AddComputation("main");
  module_->set_entry(computation_);
}

HloBuilder::HloBuilder(HloModule* module, absl::string_view computation_name)
    : state_(std::make_shared<State>()), module_(module), computation_(module->AddComputation(computation_name)) {}

HloBuilder::HloBuilder(HloComputation* computation)
    : state_(std::make_shared<State>()), module_(computation->module()), computation_(computation) {}

std::unique_ptr<HloBuilder> HloBuilder::SubBuilder(absl::string_view name) {
  auto sub = std::make_unique<HloBuilder>(module_, name);
  sub->state_ = state_;
  sub->metadata_ = metadata_;
  return sub;
}

void HloBuilder::SetError(absl::Status error) {
  if (!state_->status.ok() || error.ok()) return;
  if (metadata_ && !metadata_->op_name.empty()) {
    error = absl::Status(error.code(), absl::StrCat(error.message(), " (while lowering ", metadata_->op_type, " ",
                                                    metadata_->op_name, ")"));
  }
  state_->status = std::move(error);
}

absl::StatusOr<HloComputation*> HloBuilder::BuildComputation(Op root) {
  XC_RETURN_IF_ERROR(status());
  if (computation_->instruction_count() == 0) {
    return absl::InvalidArgumentError(absl::StrCat("computation ", computation_->name(), " has no instructions"));
  }
  HloInstruction* last = root ? root.instruction() : computation_->instructions().back().get();
  if (last->parent() != computation_) {
    return absl::InvalidArgumentError(
        absl::StrCat("the root ", last->name(), " is not in computation ", computation_->name()));
  }
  computation_->set_root(last);
  for (int64_t i = 0; i < computation_->parameter_count(); ++i) {
    if (computation_->parameter(i) == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("computation ", computation_->name(), " has no parameter ", i, ", but one of a higher number"));
    }
  }
  return computation_;
}

absl::StatusOr<std::unique_ptr<HloModule>> HloBuilder::Build(Op root) {
  XC_RETURN_IF_ERROR(BuildComputation(root).status());
  if (owned_ == nullptr) return absl::FailedPreconditionError("this builder does not own its module");
  return std::move(owned_);
}

HloComputation* HloBuilder::Finish(Op root) {
  absl::StatusOr<HloComputation*> computation = BuildComputation(root);
  if (computation.ok()) return *computation;
  SetError(computation.status());
  return nullptr;
}

Op HloBuilder::Make(HloOpcode opcode, Ops operands, Attributes attributes, absl::Span<HloComputation* const> called,
                    const Shape* given) {
  if (!ok()) return {};
  std::vector<HloInstruction*> instructions;
  instructions.reserve(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    HloInstruction* operand = operands[i].instruction();
    if (operand == nullptr) {
      SetError(absl::InvalidArgumentError(absl::StrCat(OpcodeName(opcode), ": operand ", i, " is missing")));
      return {};
    }
    if (operand->parent() != computation_) {
      SetError(absl::InvalidArgumentError(absl::StrCat(OpcodeName(opcode), ": operand ", i, ", ", operand->name(),
                                                       ", is not in computation ", computation_->name())));
      return {};
    }
    instructions.push_back(operand);
  }
  for (const HloComputation* computation : called) {
    if (computation == nullptr) {
      SetError(absl::InvalidArgumentError(absl::StrCat(OpcodeName(opcode), ": a called computation is missing")));
      return {};
    }
  }
  absl::StatusOr<HloInstruction*> made =
      MakeInstruction(computation_, opcode, instructions, std::move(attributes), called, given);
  if (!made.ok()) {
    SetError(made.status());
    return {};
  }
  if (metadata_) (*made)->set_attr<A::kMetadata>(*metadata_);
  return *made;
}

// Values from nothing.

Op HloBuilder::Parameter(int64_t number, const Shape& shape, absl::string_view name) {
  if (!ok()) return {};
  if (absl::Status status = ValidateShape(shape); !status.ok()) {
    SetError(absl::InvalidArgumentError(absl::StrCat("parameter ", number, ": ", status.message())));
    return {};
  }
  if (number < 0 || number >= kMaxParameters ||
      (number < computation_->parameter_count() && computation_->parameter(number) != nullptr)) {
    SetError(absl::InvalidArgumentError(
        absl::StrCat("parameter number ", number, " of ", computation_->name(), " is out of range or taken")));
    return {};
  }
  auto parameter = HloInstruction::CreateParameter(number, shape, name);
  if (metadata_) parameter->set_attr<A::kMetadata>(*metadata_);
  return computation_->Add(std::move(parameter));
}

Op HloBuilder::Constant(Literal literal) { return Constant(std::make_shared<const Literal>(std::move(literal))); }

Op HloBuilder::Constant(std::shared_ptr<const Literal> literal) {
  if (!ok()) return {};
  auto constant = HloInstruction::CreateConstant(std::move(literal));
  if (metadata_) constant->set_attr<A::kMetadata>(*metadata_);
  return computation_->Add(std::move(constant));
}

Op HloBuilder::Scalar(ElementType type, double value) {
  if (!IsArrayType(type)) {
    SetError(absl::InvalidArgumentError(absl::StrCat("a constant cannot be of type ", ElementTypeName(type))));
    return {};
  }
  return Constant(RoundedScalar(type, value));
}

Op HloBuilder::ScalarInt(ElementType type, int64_t value) {
  if (!IsArrayType(type)) return Scalar(type, 0);
  return Constant(ScalarOfInt(type, value));
}

Op HloBuilder::Extreme(ElementType type, bool max, bool finite) {
  if (!IsArrayType(type) || IsComplex(type)) {
    SetError(absl::InvalidArgumentError(absl::StrCat(ElementTypeName(type), " has no least and greatest value")));
    return {};
  }
  Literal literal{Shape::Scalar(type)};
  int bits = ElementBits(type);
  if (type == E::kPred) {
    literal.SetInt(0, max);
  } else if (IsUnsignedInt(type)) {
    literal.SetInt(0, max ? -1 : 0);
  } else if (IsSignedInt(type)) {
    int64_t least = std::numeric_limits<int64_t>::min() >> (64 - bits);
    literal.SetInt(0, max ? -(least + 1) : least);
  } else {
    double infinity = std::numeric_limits<double>::infinity();
    literal.SetDouble(0, max ? infinity : -infinity);
    if (finite || !std::isinf(literal.GetDouble(0))) {
      uint64_t pattern = LastFiniteBits(type, max);
      std::memcpy(literal.mutable_bytes(), &pattern, literal.byte_size());
    }
  }
  return Constant(std::move(literal));
}

Op HloBuilder::MinValue(ElementType type) { return Extreme(type, false, false); }
Op HloBuilder::MaxValue(ElementType type) { return Extreme(type, true, false); }
Op HloBuilder::MinFinite(ElementType type) { return Extreme(type, false, true); }
Op HloBuilder::MaxFinite(ElementType type) { return Extreme(type, true, true); }

Op HloBuilder::Full(ElementType type, absl::Span<const int64_t> dims, double value) {
  Op scalar = Scalar(type, value);
  return dims.empty() ? scalar : Broadcast(scalar, dims, {});
}

Op HloBuilder::FullLike(Op like, double value) {
  if (!like.shape().IsArray()) {
    SetError(absl::InvalidArgumentError("FullLike needs an array"));
    return {};
  }
  return Full(like.type(), like.dims(), value);
}

Op HloBuilder::Iota(ElementType type, absl::Span<const int64_t> dims, int64_t dimension) {
  Shape shape(type, List(dims));
  return Make(O::kIota, {}, With<A::kIotaDimension>(dimension), {}, &shape);
}

// Elementwise.

Op HloBuilder::Binary(HloOpcode opcode, Op x, Op y) {
  if (x.shape().IsScalar() && y.shape().IsArray() && y.rank() > 0) x = Broadcast(x, y.dims(), {});
  if (y.shape().IsScalar() && x.shape().IsArray() && x.rank() > 0) y = Broadcast(y, x.dims(), {});
  return Make(opcode, {x, y});
}

Op HloBuilder::Compare(CompareDirection direction, Op x, Op y, std::optional<CompareType> type) {
  if (x.shape().IsScalar() && y.shape().IsArray() && y.rank() > 0) x = Broadcast(x, y.dims(), {});
  if (y.shape().IsScalar() && x.shape().IsArray() && x.rank() > 0) y = Broadcast(y, x.dims(), {});
  Attributes attributes = With<A::kDirection>(direction);
  if (type) attributes.Set<A::kCompareType>(*type);
  return Make(O::kCompare, {x, y}, std::move(attributes));
}

Op HloBuilder::Select(Op pred, Op on_true, Op on_false) {
  const Shape* largest = &pred.shape();
  for (Op op : {on_true, on_false}) {
    if (op.rank() > largest->rank()) largest = &op.shape();
  }
  const std::vector<int64_t> dims = largest->dims();
  if (!dims.empty()) {
    if (on_true.shape().IsScalar()) on_true = Broadcast(on_true, dims, {});
    if (on_false.shape().IsScalar()) on_false = Broadcast(on_false, dims, {});
    if (pred.shape().IsScalar()) pred = Broadcast(pred, dims, {});
  }
  return Make(O::kSelect, {pred, on_true, on_false});
}

Op HloBuilder::Clamp(Op low, Op x, Op high) { return Make(O::kClamp, {low, x, high}); }

Op HloBuilder::Convert(Op x, ElementType type) {
  if (x && x.type() == type) return x;
  Shape shape(type, x.dims());
  return Make(O::kConvert, {x}, {}, {}, &shape);
}

Op HloBuilder::BitcastConvert(Op x, ElementType type) {
  if (x && x.type() == type) return x;
  Shape shape = Shape::Scalar(type);  // only its type is looked at
  return Make(O::kBitcastConvert, {x}, {}, {}, &shape);
}

Op HloBuilder::ReducePrecision(Op x, int64_t exponent_bits, int64_t mantissa_bits) {
  Attributes attributes = With<A::kExponentBits>(exponent_bits);
  attributes.Set<A::kMantissaBits>(mantissa_bits);
  return Make(O::kReducePrecision, {x}, std::move(attributes));
}

// Movement.

Op HloBuilder::Broadcast(Op x, absl::Span<const int64_t> result_dims, absl::Span<const int64_t> dimensions) {
  Shape shape(x.type(), List(result_dims));
  if (!x) return Make(O::kBroadcast, {x});
  return Make(O::kBroadcast, {x}, With<A::kDimensions>(List(dimensions)), {}, &shape);
}

Op HloBuilder::BroadcastInDim(Op x, absl::Span<const int64_t> result_dims, absl::Span<const int64_t> dimensions) {
  if (!ok() || !x) return Make(O::kBroadcast, {x});
  if (x.rank() != static_cast<int64_t>(dimensions.size())) return Broadcast(x, result_dims, dimensions);
  Int64List kept_sizes, kept_dims;
  for (int64_t d = 0; d < x.rank(); ++d) {
    int64_t to = dimensions[d];
    bool stretched = to >= 0 && to < static_cast<int64_t>(result_dims.size()) && x.dim(d) == 1 && result_dims[to] != 1;
    if (stretched) continue;
    kept_sizes.push_back(x.dim(d));
    kept_dims.push_back(to);
  }
  if (kept_sizes.size() != dimensions.size()) x = Reshape(x, kept_sizes);
  return Broadcast(x, result_dims, kept_dims);
}

Op HloBuilder::BroadcastTo(Op x, absl::Span<const int64_t> result_dims) {
  if (!ok() || !x) return Make(O::kBroadcast, {x});
  if (absl::MakeConstSpan(x.dims()) == result_dims) return x;
  int64_t added = static_cast<int64_t>(result_dims.size()) - x.rank();
  Int64List dims;
  for (int64_t d = 0; d < x.rank(); ++d) dims.push_back(d + added);
  return BroadcastInDim(x, result_dims, dims);
}

std::pair<Op, Op> HloBuilder::BroadcastTogether(Op x, Op y) {
  if (!ok() || !x || !y) return {x, y};
  Int64List dims(std::max(x.rank(), y.rank()));
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t a = static_cast<int64_t>(i) < x.rank() ? x.dim(x.rank() - 1 - i) : 1;
    int64_t b = static_cast<int64_t>(i) < y.rank() ? y.dim(y.rank() - 1 - i) : 1;
    if (a != b && a != 1 && b != 1) {
      SetError(absl::InvalidArgumentError(absl::StrCat(x.shape().ToString(false), " and ", y.shape().ToString(false),
                                                       " cannot be broadcast together: sizes ", a, " and ", b,
                                                       " should be equal or one of them 1")));
      return {};
    }
    dims[dims.size() - 1 - i] = a == 1 ? b : a;
  }
  return {BroadcastTo(x, dims), BroadcastTo(y, dims)};
}

Op HloBuilder::Reshape(Op x, absl::Span<const int64_t> dims) {
  if (x && absl::MakeConstSpan(x.dims()) == dims) return x;
  Shape shape(x.type(), List(dims));
  return Make(O::kReshape, {x}, {}, {}, x ? &shape : nullptr);
}

Op HloBuilder::Transpose(Op x, absl::Span<const int64_t> permutation) {
  return Make(O::kTranspose, {x}, With<A::kDimensions>(List(permutation)));
}

Op HloBuilder::Reverse(Op x, absl::Span<const int64_t> dims) {
  return Make(O::kReverse, {x}, With<A::kDimensions>(List(dims)));
}

Op HloBuilder::Slice(Op x, absl::Span<const int64_t> starts, absl::Span<const int64_t> limits,
                     absl::Span<const int64_t> strides) {
  SliceAttr slice{List(starts), List(limits), List(strides)};
  if (slice.strides.empty()) slice.strides.assign(slice.starts.size(), 1);
  return Make(O::kSlice, {x}, With<A::kSlice>(std::move(slice)));
}

Op HloBuilder::SliceInDim(Op x, int64_t start, int64_t limit, int64_t stride, int64_t dim) {
  SliceAttr slice{Int64List(x.rank(), 0), x.dims(), Int64List(x.rank(), 1)};
  if (dim < 0 || dim >= x.rank()) {
    SetError(absl::InvalidArgumentError(absl::StrCat("slice: dimension ", dim, " of ", x.shape().ToString(false))));
    return {};
  }
  slice.starts[dim] = start;
  slice.limits[dim] = limit;
  slice.strides[dim] = stride;
  return Make(O::kSlice, {x}, With<A::kSlice>(std::move(slice)));
}

Op HloBuilder::Pad(Op x, Op value, std::vector<PaddingDim> padding) {
  return Make(O::kPad, {x, value}, With<A::kPadding>(PaddingAttr{std::move(padding)}));
}

Op HloBuilder::Concat(Ops operands, int64_t dim) {
  return Make(O::kConcatenate, operands, With<A::kDimensions>({dim}));
}

Op HloBuilder::DynamicSlice(Op x, Ops starts, absl::Span<const int64_t> sizes) {
  return Make(O::kDynamicSlice, Joined({x}, starts), With<A::kDynamicSliceSizes>(List(sizes)));
}

Op HloBuilder::DynamicUpdateSlice(Op x, Op update, Ops starts) {
  return Make(O::kDynamicUpdateSlice, Joined({x, update}, starts));
}

Op HloBuilder::Gather(Op x, Op indices, const GatherDims& dims, absl::Span<const int64_t> slice_sizes, bool sorted) {
  Attributes attributes = With<A::kGatherDims>(dims);
  attributes.Set<A::kSliceSizes>(List(slice_sizes));
  if (sorted) attributes.Set<A::kIndicesAreSorted>(true);
  return Make(O::kGather, {x, indices}, std::move(attributes));
}

Op HloBuilder::Scatter(Ops operands, Op indices, Ops updates, HloComputation* combine, const ScatterDims& dims,
                       bool sorted, bool unique) {
  Attributes attributes = With<A::kScatterDims>(dims);
  if (sorted) attributes.Set<A::kIndicesAreSorted>(true);
  if (unique) attributes.Set<A::kUniqueIndices>(true);
  return Make(O::kScatter, Joined(Joined(operands, {indices}), updates), std::move(attributes), {combine});
}

Op HloBuilder::GetDimensionSize(Op x, int64_t dim) {
  return Make(O::kGetDimensionSize, {x}, With<A::kDimensions>({dim}));
}

Op HloBuilder::SetDimensionSize(Op x, Op size, int64_t dim) {
  return Make(O::kSetDimensionSize, {x, size}, With<A::kDimensions>({dim}));
}

}  // namespace xc
