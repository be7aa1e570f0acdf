// Shape rules of elementwise ops: operands agree in dimensions, and types follow one table.
#include <algorithm>

#include "hlo/shape_inference/internal.h"

namespace xc::shape_inference {
namespace {

using E = ElementType;
using enum TypeClass::Bits;

std::string GroupNames(int groups) {
  std::vector<std::string> names;
  if (groups & kPredType) names.push_back("pred");
  if ((groups & kIntegerTypes) == kIntegerTypes) {
    names.push_back("integer");
  } else if (groups & kSignedTypes) {
    names.push_back("signed integer");
  } else if (groups & kUnsignedTypes) {
    names.push_back("unsigned integer");
  }
  if (groups & kFloatTypes) names.push_back("floating-point");
  if (groups & kComplexTypes) names.push_back("complex");
  return absl::StrJoin(names, " or ");
}

absl::Status NeedType(const Context& c, int64_t i, int groups) {
  XC_RETURN_IF_ERROR(c.NeedArray(i));
  if (TypeClassOf(c.operand(i).type()) & groups) return absl::OkStatus();
  return c.Error(c.Describe(i), "; its element type should be ", GroupNames(groups));
}

// The common dimensions of operands `first`…; where `scalars` is set, scalars agree with anything.
absl::StatusOr<Shape> CommonDims(const Context& c, E type, int64_t like, absl::Span<const int64_t> others,
                                 bool scalars) {
  const Shape& a = c.operand(like);
  std::vector<Dim> dims(a.rank());
  for (int64_t d = 0; d < a.rank(); ++d) dims[d] = DimOf(a, d);
  for (int64_t i : others) {
    const Shape& b = c.operand(i);
    if (scalars && b.rank() == 0) continue;
    if (!DimsAgree(a.dims(), b.dims())) {
      return c.Error(c.Describe(like), " and ", c.Describe(i), "; both should have the same dimensions",
                     scalars ? absl::StrCat(", or operand ", i, " be a scalar") : std::string());
    }
    for (int64_t d = 0; d < a.rank(); ++d) dims[d] = MergeDims(dims[d], DimOf(b, d));
  }
  return MakeShape(type, dims);
}

}  // namespace

absl::StatusOr<Shape> InferUnary(const Context& c) {
  XC_RETURN_IF_ERROR(NeedType(c, 0, OpcodeTypes(c.opcode())));
  const Shape& x = c.operand(0);
  E type = x.type();
  if (c.opcode() == HloOpcode::kIsFinite) type = E::kPred;
  if (c.opcode() == HloOpcode::kReal || c.opcode() == HloOpcode::kImag || c.opcode() == HloOpcode::kAbs) {
    type = ComplexComponent(type);
  }
  return WithType(Plain(x), type);
}

absl::StatusOr<Shape> InferBinary(const Context& c) {
  int groups = OpcodeTypes(c.opcode());
  XC_RETURN_IF_ERROR(NeedType(c, 0, groups));
  XC_RETURN_IF_ERROR(NeedType(c, 1, groups));
  if (c.operand(0).type() != c.operand(1).type()) {
    return c.Error(c.Describe(0), " and ", c.Describe(1), "; both should have the same element type");
  }
  return CommonDims(c, c.operand(0).type(), 0, {1}, false);
}

absl::StatusOr<Shape> InferConvert(const Context& c) {
  XC_RETURN_IF_ERROR(c.NeedArray(0));
  XC_RETURN_IF_ERROR(c.NeedGivenArray());
  if (IsComplex(c.operand(0).type()) && !IsComplex(c.given()->type())) {
    return c.Error(c.Describe(0), ", the result ", ElementTypeName(c.given()->type()),
                   "; a complex value converts to complex types only (take real or imag first)");
  }
  return WithType(Plain(c.operand(0)), c.given()->type());
}

absl::StatusOr<Shape> InferBitcastConvert(const Context& c) {
  XC_RETURN_IF_ERROR(c.NeedArray(0));
  XC_RETURN_IF_ERROR(c.NeedGivenArray());
  const Shape& x = c.operand(0);
  E type = c.given()->type();
  if (IsComplex(x.type()) != IsComplex(type)) {
    return c.Error(c.Describe(0), ", the result ", ElementTypeName(type),
                   "; bits of complex elements cannot be taken as another kind of element");
  }
  int from = ElementBits(x.type()), to = ElementBits(type);
  std::vector<Dim> dims;
  for (int64_t d = 0; d < x.rank(); ++d) dims.push_back(DimOf(x, d));
  if (from > to) {
    if (from % to != 0) return c.Error(from, "-bit elements of the operand do not divide into ", to, "-bit elements");
    dims.push_back({from / to, false});
  } else if (from < to) {
    if (to % from != 0 || dims.empty() || !SizesAgree(dims.back().size, to / from)) {
      return c.Error(c.Describe(0), "; to become ", ElementTypeName(type), " its last dimension should have size ",
                     to / from);
    }
    dims.pop_back();
  }
  return MakeShape(type, dims);
}

absl::StatusOr<Shape> InferReducePrecision(const Context& c) {
  XC_RETURN_IF_ERROR(NeedType(c, 0, kFloatTypes));
  int64_t exponent = c.attr<AttrKind::kExponentBits>(), mantissa = c.attr<AttrKind::kMantissaBits>();
  if (exponent < 1) return c.Error("exponent_bits is ", exponent, ", should be at least 1");
  if (mantissa < 0) return c.Error("mantissa_bits is ", mantissa, ", should be at least 0");
  return Plain(c.operand(0));
}

absl::StatusOr<Shape> InferStochasticConvert(const Context& c) {
  XC_RETURN_IF_ERROR(NeedType(c, 0, kFloatTypes));
  XC_RETURN_IF_ERROR(NeedType(c, 1, kUnsignedTypes));
  XC_RETURN_IF_ERROR(c.NeedGivenArray());
  if (ElementBits(c.operand(0).type()) != ElementBits(c.operand(1).type())) {
    return c.Error(c.Describe(0), " and ", c.Describe(1), "; the random bits should be as wide as the value");
  }
  return CommonDims(c, c.given()->type(), 0, {1}, false);
}

absl::StatusOr<Shape> InferCompare(const Context& c) {
  XC_RETURN_IF_ERROR(c.NeedArrays());
  const Shape &a = c.operand(0), &b = c.operand(1);
  if (a.type() != b.type()) {
    return c.Error(c.Describe(0), " and ", c.Describe(1), "; both should have the same element type");
  }
  CompareDirection direction = c.attr<AttrKind::kDirection>();
  if (IsComplex(a.type()) && direction != CompareDirection::kEq && direction != CompareDirection::kNe) {
    return c.Error(c.Describe(0), ", direction is ", CompareDirectionName(direction),
                   "; complex numbers have no order, direction should be EQ or NE");
  }
  if (const CompareType* type = c.find<AttrKind::kCompareType>()) {
    int group = TypeClassOf(a.type());
    int wants = *type == CompareType::kFloat        ? kInexactTypes
                : *type == CompareType::kTotalOrder ? kFloatTypes
                : *type == CompareType::kSigned     ? kSignedTypes
                                                    : kUnsignedTypes | kPredType;
    if (!(group & wants)) {
      return c.Error(c.Describe(0), "; with this comparison type its element type should be ", GroupNames(wants));
    }
  }
  return CommonDims(c, E::kPred, 0, {1}, false);
}

absl::StatusOr<Shape> InferComplex(const Context& c) {
  XC_RETURN_IF_ERROR(c.NeedArrays());
  E type = c.operand(0).type();
  if (type != c.operand(1).type() || (type != E::kF32 && type != E::kF64)) {
    return c.Error(c.Describe(0), " and ", c.Describe(1), "; both should be f32 or both f64");
  }
  return CommonDims(c, type == E::kF32 ? E::kC64 : E::kC128, 0, {1}, false);
}

absl::StatusOr<Shape> InferSelect(const Context& c) {
  XC_RETURN_IF_ERROR(c.NeedArrays());
  if (c.operand(0).type() != E::kPred) return c.Error(c.Describe(0), "; its element type should be pred");
  if (c.operand(1).type() != c.operand(2).type()) {
    return c.Error(c.Describe(1), " and ", c.Describe(2), "; both should have the same element type");
  }
  XC_RETURN_IF_ERROR(CommonDims(c, E::kPred, 1, {0}, true).status());
  return CommonDims(c, c.operand(1).type(), 1, {2}, false);
}

absl::StatusOr<Shape> InferClamp(const Context& c) {
  XC_RETURN_IF_ERROR(c.NeedArrays());
  for (int64_t i = 0; i < 3; ++i) XC_RETURN_IF_ERROR(NeedType(c, i, kIntegerTypes | kFloatTypes));
  for (int64_t i : {0, 2}) {
    if (c.operand(i).type() != c.operand(1).type()) {
      return c.Error(c.Describe(i), " and ", c.Describe(1), "; both should have the same element type");
    }
  }
  return CommonDims(c, c.operand(1).type(), 1, {0, 2}, true);
}

}  // namespace xc::shape_inference
