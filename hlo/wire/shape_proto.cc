#include "hlo/wire/shape_proto.h"

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "hlo/text/structure.h"

namespace xc {
namespace {

constexpr int kMaxNesting = 100;

void LayoutToProto(const Layout& layout, pb::LayoutProto* proto) {
  for (int64_t d : layout.minor_to_major) proto->add_minor_to_major(d);
  for (const auto& tile : layout.tiles) {
    pb::TileProto* t = proto->add_tiles();
    for (int64_t d : tile) t->add_dimensions(d);
  }
  proto->set_tail_padding_alignment_in_elements(layout.tail_padding_alignment_in_elements);
  proto->set_index_primitive_type(static_cast<pb::PrimitiveType>(layout.index_type));
  proto->set_pointer_primitive_type(static_cast<pb::PrimitiveType>(layout.pointer_type));
  proto->set_element_size_in_bits(layout.element_size_in_bits);
  proto->set_memory_space(layout.memory_space);
  for (const SplitConfig& split : layout.split_configs) {
    pb::SplitConfigProto* s = proto->add_split_configs();
    s->set_dimension(split.dimension);
    for (int64_t i : split.split_indices) s->add_split_indices(i);
  }
  proto->set_dynamic_shape_metadata_prefix_bytes(layout.dynamic_shape_metadata_prefix_bytes);
  if (!layout.physical_shape.empty()) ShapeToProto(layout.physical_shape[0], proto->mutable_physical_shape());
}

absl::StatusOr<ElementType> TypeFromProto(int value) {
  if (value < 0 || value >= kElementTypeCount) {
    return absl::InvalidArgumentError(absl::StrCat("element type ", value, " is not known"));
  }
  return static_cast<ElementType>(value);
}

absl::StatusOr<Shape> FromProto(const pb::ShapeProto& proto, int depth);

absl::StatusOr<Layout> LayoutFromProto(const pb::LayoutProto& proto, int depth) {
  Layout layout;
  layout.minor_to_major.assign(proto.minor_to_major().begin(), proto.minor_to_major().end());
  for (const pb::TileProto& tile : proto.tiles()) {
    layout.tiles.emplace_back(tile.dimensions().begin(), tile.dimensions().end());
  }
  if (proto.tail_padding_alignment_in_elements() != 0) {
    layout.tail_padding_alignment_in_elements = proto.tail_padding_alignment_in_elements();
  }
  XC_ASSIGN_OR_RETURN(layout.index_type, TypeFromProto(proto.index_primitive_type()));
  XC_ASSIGN_OR_RETURN(layout.pointer_type, TypeFromProto(proto.pointer_primitive_type()));
  layout.element_size_in_bits = proto.element_size_in_bits();
  layout.memory_space = proto.memory_space();
  for (const pb::SplitConfigProto& split : proto.split_configs()) {
    layout.split_configs.push_back({split.dimension(), {split.split_indices().begin(), split.split_indices().end()}});
  }
  layout.dynamic_shape_metadata_prefix_bytes = proto.dynamic_shape_metadata_prefix_bytes();
  for (int level : proto.dim_level_types()) {
    if (level != pb::DIM_DENSE) return absl::InvalidArgumentError("sparse layouts are not supported");
  }
  if (proto.has_physical_shape()) {
    XC_ASSIGN_OR_RETURN(Shape physical, FromProto(proto.physical_shape(), depth + 1));
    layout.physical_shape.push_back(std::move(physical));
  }
  return layout;
}

absl::StatusOr<Shape> FromProto(const pb::ShapeProto& proto, int depth) {
  if (depth > kMaxNesting) {
    return absl::InvalidArgumentError(absl::StrCat("a shape is nested more than ", kMaxNesting, " deep"));
  }
  XC_ASSIGN_OR_RETURN(const ElementType type, TypeFromProto(proto.element_type()));
  if (type == ElementType::kInvalid) return absl::InvalidArgumentError("a shape has no element type");
  if (type == ElementType::kTuple || type == ElementType::kBuffer) {
    std::vector<Shape> elements;
    for (const pb::ShapeProto& element : proto.tuple_shapes()) {
      XC_ASSIGN_OR_RETURN(Shape shape, FromProto(element, depth + 1));
      elements.push_back(std::move(shape));
    }
    if (type == ElementType::kBuffer && elements.size() != 1) {
      return absl::InvalidArgumentError("a buffer shape needs one shape inside");
    }
    Shape shape = Shape::Tuple(std::move(elements));
    shape.set_type(type);
    return shape;
  }
  Shape shape(type, {proto.dimensions().begin(), proto.dimensions().end()});
  for (int64_t i = 0; i < shape.rank(); ++i) {
    const bool dynamic = i < proto.is_dynamic_dimension_size() && proto.is_dynamic_dimension(i);
    if (shape.dim(i) == -1 && dynamic) shape.set_dim(i, Shape::kUnknownSize);
    shape.set_dynamic_dim(i, dynamic || shape.dim(i) == Shape::kUnknownSize);
  }
  if (proto.has_layout() && IsArrayType(type)) {
    XC_ASSIGN_OR_RETURN(Layout layout, LayoutFromProto(proto.layout(), depth));
    if (shape.rank() > 0 || layout != Layout()) shape.set_layout(std::move(layout));
  }
  return shape;
}

// Fields of LiteralProto by element type. X(type, repeated field, entries per element)
#define XC_REPEATED_FIELDS(X) \
  X(kPred, preds, 1)          \
  X(kS32, s32s, 1)            \
  X(kS64, s64s, 1)            \
  X(kU32, u32s, 1)            \
  X(kU64, u64s, 1)            \
  X(kF32, f32s, 1)            \
  X(kF64, f64s, 1)            \
  X(kC64, c64s, 2)            \
  X(kC128, c128s, 2)
// X(type, bytes field)
#define XC_BYTES_FIELDS(X)          \
  X(kU8, u8s)                       \
  X(kS8, s8s)                       \
  X(kU16, u16s)                     \
  X(kS16, s16s)                     \
  X(kF16, f16s)                     \
  X(kBF16, bf16s)                   \
  X(kF8E5M2, f8e5m2s)               \
  X(kF8E4M3FN, f8e4m3fns)           \
  X(kF8E4M3B11FNUZ, f8e4m3b11fnuzs) \
  X(kF8E5M2FNUZ, f8e5m2fnuzs)       \
  X(kF8E4M3FNUZ, f8e4m3fnuzs)       \
  X(kF8E4M3, f8e4m3s)               \
  X(kF8E3M4, f8e3m4s)               \
  X(kF8E8M0FNU, f8e8m0fnus)         \
  X(kF4E2M1FN, f4e2m1fns)           \
  X(kF6E2M3FN, f6e2m3fns)           \
  X(kF6E3M2FN, f6e3m2fns)           \
  X(kS4, s4s)                       \
  X(kU4, u4s)                       \
  X(kS2, s2s)                       \
  X(kU2, u2s)                       \
  X(kS1, s1s)                       \
  X(kU1, u1s)

struct Elements {
  const void* data = nullptr;
  int64_t count = -1;  // -1: the field does not hold whole elements
};

Elements FindElements(ElementType type, const pb::LiteralProto& proto) {
  switch (type) {
#define XC_X(e, field, per)                     \
  case ElementType::e:                          \
    if (proto.field##_size() % per != 0) break; \
    return {proto.field().data(), proto.field##_size() / per};
    XC_REPEATED_FIELDS(XC_X)
#undef XC_X
#define XC_X(e, field)                                         \
  case ElementType::e:                                         \
    if (proto.field().size() % StorageBytes(type) != 0) break; \
    return {proto.field().data(), static_cast<int64_t>(proto.field().size()) / StorageBytes(type)};
    XC_BYTES_FIELDS(XC_X)
#undef XC_X
    default:
      break;
  }
  return {};
}

// Stores the elements of `literal`, given in the order of its layout.
void StoreElements(const Literal& literal, const uint8_t* data, pb::LiteralProto* proto) {
  switch (literal.shape().type()) {
#define XC_X(e, field, per)                                                                                   \
  case ElementType::e:                                                                                        \
    proto->mutable_##field()->Resize(static_cast<int>(literal.size() * per), 0);                              \
    if (literal.size() > 0) std::memcpy(proto->mutable_##field()->mutable_data(), data, literal.byte_size()); \
    break;
    XC_REPEATED_FIELDS(XC_X)
#undef XC_X
#define XC_X(e, field)                                                                         \
  case ElementType::e:                                                                         \
    proto->set_##field(std::string(reinterpret_cast<const char*>(data), literal.byte_size())); \
    break;
    XC_BYTES_FIELDS(XC_X)
#undef XC_X
    default:
      break;
  }
}

absl::StatusOr<Literal> LiteralOfShape(const pb::LiteralProto& proto, const Shape& shape, int64_t* elided_bytes) {
  const google::protobuf::UnknownFieldSet& unknown = proto.GetReflection()->GetUnknownFields(proto);
  for (int i = 0; i < unknown.field_count(); ++i) {
    if (unknown.field(i).number() != kPrivateField) continue;
    const int64_t bytes = BoundedBytes(shape, *elided_bytes);
    if (bytes < 0) {
      return absl::InvalidArgumentError("a constant that is left out needs known dimensions and a size within bounds");
    }
    *elided_bytes -= bytes;
    Literal literal(shape);
    literal.set_elided(true);
    return literal;
  }
  if (shape.IsTuple()) {
    if (proto.tuple_literals_size() != shape.tuple_size()) {
      return absl::InvalidArgumentError(absl::StrCat("the literal has ", proto.tuple_literals_size(),
                                                     " elements, its shape ", shape.ToString(false), " has ",
                                                     shape.tuple_size()));
    }
    std::vector<Literal> elements;
    for (int64_t i = 0; i < shape.tuple_size(); ++i) {
      XC_ASSIGN_OR_RETURN(Literal element, LiteralOfShape(proto.tuple_literals(static_cast<int>(i)),
                                                          shape.tuple_shape(i), elided_bytes));
      elements.push_back(std::move(element));
    }
    return Literal::Tuple(std::move(elements));
  }
  if (!shape.IsArray()) {
    return absl::InvalidArgumentError(absl::StrCat("a literal cannot be a ", ElementTypeName(shape.type())));
  }
  if (shape.has_unknown_size()) return absl::InvalidArgumentError("a literal needs known dimensions");
  // The size is compared before memory is taken.
  const int64_t count = shape.ElementCount();
  const auto [data, found] = FindElements(shape.type(), proto);
  if (found != count) {
    return absl::InvalidArgumentError(absl::StrCat("the literal ", shape.ToString(false), " needs ", count,
                                                   " elements, found ",
                                                   found < 0 ? "a broken number" : absl::StrCat(found)));
  }
  Literal literal(shape);
  if (count == 0) return literal;
  const uint8_t* elements = static_cast<const uint8_t*>(data);
  std::vector<uint8_t> narrow;
  if (IsSubByte(shape.type())) {
    // Only the low bits count.
    narrow.resize(count);
    const int bits = ElementBits(shape.type());
    for (int64_t i = 0; i < count; ++i) {
      const uint8_t low = elements[i] & ((1 << bits) - 1);
      const bool negative = IsSignedInt(shape.type()) && (low >> (bits - 1));
      narrow[i] = negative ? static_cast<uint8_t>(low | ~((1 << bits) - 1)) : low;
    }
    elements = narrow.data();
  }
  if (shape.IsRowMajor()) {
    std::memcpy(literal.mutable_bytes(), elements, literal.byte_size());
  } else {
    literal.FromLayout(elements);
  }
  if (proto.dynamic_sizes_size() > 0) {
    if (proto.dynamic_sizes_size() != shape.rank()) {
      return absl::InvalidArgumentError("a literal's dynamic sizes do not match its dimensions");
    }
    std::vector<int64_t> sizes(proto.dynamic_sizes().begin(), proto.dynamic_sizes().end());
    for (int64_t i = 0; i < shape.rank(); ++i) {
      if (sizes[i] < 0 || sizes[i] > shape.dim(i)) {
        return absl::InvalidArgumentError("a literal's dynamic size is larger than its bound");
      }
    }
    literal.set_dynamic_sizes(std::move(sizes));
  }
  return literal;
}

}  // namespace

void ShapeToProto(const Shape& shape, pb::ShapeProto* proto) {
  proto->set_element_type(static_cast<pb::PrimitiveType>(shape.type()));
  for (int64_t i = 0; i < shape.rank(); ++i) {
    proto->add_dimensions(shape.dim(i));
    proto->add_is_dynamic_dimension(shape.is_dynamic_dim(i));
  }
  for (const Shape& element : shape.tuple_shapes()) ShapeToProto(element, proto->add_tuple_shapes());
  if (shape.has_layout()) {
    LayoutToProto(shape.layout(), proto->mutable_layout());
  } else if (shape.IsScalar()) {
    LayoutToProto(Layout(), proto->mutable_layout());
  }
}

absl::StatusOr<Shape> ShapeFromProto(const pb::ShapeProto& proto) {
  XC_ASSIGN_OR_RETURN(Shape shape, FromProto(proto, 0));
  XC_RETURN_IF_ERROR(ValidateShape(shape));
  return shape;
}

void LiteralToProto(const Literal& literal, pb::LiteralProto* proto) {
  const Shape& shape = literal.shape();
  ShapeToProto(shape, proto->mutable_shape());
  if (literal.elided()) {
    proto->GetReflection()->MutableUnknownFields(proto)->AddVarint(kPrivateField, 1);
    return;
  }
  for (const Literal& element : literal.tuple()) LiteralToProto(element, proto->add_tuple_literals());
  if (!shape.IsArray()) return;
  for (int64_t size : literal.dynamic_sizes()) proto->add_dynamic_sizes(static_cast<int>(size));
  const uint8_t* data = literal.bytes();
  std::vector<uint8_t> ordered;
  if (!shape.IsRowMajor()) {
    ordered.resize(literal.byte_size());
    literal.ToLayout(ordered.data());
    data = ordered.data();
  }
  std::vector<uint8_t> masked;
  if (IsSubByte(shape.type())) {
    masked.assign(data, data + literal.byte_size());
    for (uint8_t& element : masked) element &= (1 << ElementBits(shape.type())) - 1;
    data = masked.data();
  }
  StoreElements(literal, data, proto);
}

absl::StatusOr<Literal> LiteralFromProto(const pb::LiteralProto& proto, int64_t* elided_bytes) {
  XC_ASSIGN_OR_RETURN(const Shape shape, ShapeFromProto(proto.shape()));
  return LiteralOfShape(proto, shape, elided_bytes);
}

absl::StatusOr<Literal> LiteralFromProto(const pb::LiteralProto& proto) {
  int64_t elided_bytes = int64_t{1} << 30;
  return LiteralFromProto(proto, &elided_bytes);
}

}  // namespace xc
