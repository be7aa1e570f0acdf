// Dispatch of shape inference by the op table, and the checks that all families share.
#include "hlo/shape_inference/shape_inference.h"

#include <limits>

#include "hlo/shape_inference/internal.h"

namespace xc {
namespace shape_inference {
namespace {

constexpr Rule kRules[kOpcodeCount] = {
#define XC_OPCODE(e, name, arity, rule, types, access, cost, traits, attributes) Infer##rule,
#include "hlo/opcode.def"
#undef XC_OPCODE
};

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
  for (AttrKind kind : OpcodeRequiredAttrs(opcode)) {
    if (!attributes.Has(kind)) {
      return absl::InvalidArgumentError(
          absl::StrCat(OpcodeName(opcode), ": has no attribute ", AttrName(kind), ", which it should have"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckCalledComputationCount(HloOpcode opcode, int64_t count) {
  const auto [min, max] = OpcodeCallCount(opcode);
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
  absl::StatusOr<Shape> shape = shape_inference::kRules[static_cast<int>(query.opcode)](c);
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
