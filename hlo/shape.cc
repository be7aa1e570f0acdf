#include "hlo/shape.h"

#include <limits>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace xc {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 62;

std::string TileToString(const std::vector<int64_t>& tile) {
  return absl::StrCat("(",
                      absl::StrJoin(tile, ",",
                                    [](std::string* out, int64_t d) {
                                      if (d == std::numeric_limits<int64_t>::min()) {
                                        out->push_back('*');
                                      } else {
                                        absl::StrAppend(out, d);
                                      }
                                    }),
                      ")");
}

}  // namespace

Layout Layout::Descending(int64_t rank) {
  Layout layout;
  layout.minor_to_major.resize(rank);
  for (int64_t i = 0; i < rank; ++i) layout.minor_to_major[i] = rank - 1 - i;
  return layout;
}

bool Layout::operator==(const Layout& o) const {
  return minor_to_major == o.minor_to_major && tiles == o.tiles &&
         tail_padding_alignment_in_elements == o.tail_padding_alignment_in_elements && index_type == o.index_type &&
         pointer_type == o.pointer_type && element_size_in_bits == o.element_size_in_bits &&
         memory_space == o.memory_space && split_configs == o.split_configs &&
         dynamic_shape_metadata_prefix_bytes == o.dynamic_shape_metadata_prefix_bytes &&
         physical_shape == o.physical_shape;
}

std::string Layout::ToString() const {
  std::string extra;
  if (!tiles.empty()) {
    absl::StrAppend(&extra, "T");
    for (const auto& tile : tiles) absl::StrAppend(&extra, TileToString(tile));
  }
  if (tail_padding_alignment_in_elements != 1) absl::StrAppend(&extra, "L(", tail_padding_alignment_in_elements, ")");
  if (index_type != ElementType::kInvalid) absl::StrAppend(&extra, "#(", ElementTypeName(index_type), ")");
  if (pointer_type != ElementType::kInvalid) absl::StrAppend(&extra, "*(", ElementTypeName(pointer_type), ")");
  if (element_size_in_bits != 0) absl::StrAppend(&extra, "E(", element_size_in_bits, ")");
  if (memory_space != 0) absl::StrAppend(&extra, "S(", memory_space, ")");
  if (!split_configs.empty()) {
    absl::StrAppend(&extra, "SC");
    for (const auto& split : split_configs) {
      absl::StrAppend(&extra, "(", split.dimension, ":", absl::StrJoin(split.split_indices, ","), ")");
    }
  }
  if (!physical_shape.empty()) absl::StrAppend(&extra, "P(", physical_shape[0].ToString(), ")");
  if (dynamic_shape_metadata_prefix_bytes != 0) absl::StrAppend(&extra, "M(", dynamic_shape_metadata_prefix_bytes, ")");
  return absl::StrCat("{", absl::StrJoin(minor_to_major, ","), extra.empty() ? "" : ":", extra, "}");
}

Shape Shape::Tuple(std::vector<Shape> elements) {
  Shape shape;
  shape.type_ = ElementType::kTuple;
  shape.tuple_ = std::move(elements);
  return shape;
}

void Shape::set_dynamic_dim(int64_t i, bool dynamic) {
  if (static_cast<int64_t>(dynamic_.size()) <= i) {
    if (!dynamic) return;
    dynamic_.resize(dims_.size());
  }
  dynamic_[i] = dynamic;
}

bool Shape::has_dynamic_dims() const {
  for (bool d : dynamic_) {
    if (d) return true;
  }
  return false;
}

bool Shape::has_unknown_size() const {
  return absl::c_linear_search(dims_, kUnknownSize) ||
         absl::c_any_of(tuple_, [](const Shape& element) { return element.has_unknown_size(); });
}

bool Shape::is_dynamic() const {
  if (has_dynamic_dims()) return true;
  for (const Shape& s : tuple_) {
    if (s.is_dynamic()) return true;
  }
  return false;
}

Layout* Shape::mutable_layout() {
  if (!layout_) layout_ = Layout::Descending(rank());
  return &*layout_;
}

bool Shape::IsRowMajor() const {
  if (!layout_) return true;
  // Dimensions of size 1 may stand anywhere.
  int64_t last = std::numeric_limits<int64_t>::max();
  for (int64_t d : layout_->minor_to_major) {
    if (dims_[d] == 1) continue;
    if (d > last) return false;
    last = d;
  }
  return true;
}

int64_t Shape::ElementCount() const {
  int64_t count = 1;
  for (int64_t d : dims_) count *= d;
  return count;
}

int64_t Shape::ByteSize() const {
  if (IsArray()) return ElementCount() * StorageBytes(type_);
  if (IsTuple()) return 8 * tuple_size();
  return 0;
}

int64_t Shape::TotalByteSize() const {
  if (!IsTuple() && !IsBuffer()) return ByteSize();
  int64_t bytes = 0;
  for (const Shape& s : tuple_) bytes += s.TotalByteSize();
  return bytes;
}

int64_t Shape::LeafCount() const {
  if (!IsTuple()) return 1;
  int64_t count = 0;
  for (const Shape& s : tuple_) count += s.LeafCount();
  return count;
}

std::string Shape::ToString(bool with_layout) const {
  if (IsTuple()) {
    std::string out = "(";
    for (int64_t i = 0; i < tuple_size(); ++i) {
      if (i > 0) absl::StrAppend(&out, ", ");
      if (i > 0 && i % 5 == 0) absl::StrAppend(&out, "/*index=", i, "*/");
      absl::StrAppend(&out, tuple_[i].ToString(with_layout));
    }
    return out + ")";
  }
  if (IsBuffer()) return absl::StrCat("b(", tuple_.empty() ? "" : tuple_[0].ToString(with_layout), ")");
  std::string out(ElementTypeName(type_));
  out.push_back('[');
  for (int64_t i = 0; i < rank(); ++i) {
    if (i > 0) out.push_back(',');
    if (dims_[i] == kUnknownSize) {
      out.push_back('?');
    } else {
      absl::StrAppend(&out, is_dynamic_dim(i) ? "<=" : "", dims_[i]);
    }
  }
  out.push_back(']');
  if (with_layout && layout_ && (rank() > 0 || *layout_ != Layout())) absl::StrAppend(&out, layout_->ToString());
  return out;
}

bool Shape::operator==(const Shape& o) const {
  if (type_ != o.type_ || dims_ != o.dims_ || tuple_ != o.tuple_) return false;
  for (int64_t i = 0; i < rank(); ++i) {
    if (is_dynamic_dim(i) != o.is_dynamic_dim(i)) return false;
  }
  return layout_ == o.layout_;
}

bool SameDims(const Shape& a, const Shape& b) { return a.dims() == b.dims(); }

bool Compatible(const Shape& a, const Shape& b) {
  if (a.type() != b.type() || a.dims() != b.dims() || a.tuple_size() != b.tuple_size()) return false;
  for (int64_t i = 0; i < a.tuple_size(); ++i) {
    if (!Compatible(a.tuple_shape(i), b.tuple_shape(i))) return false;
  }
  return true;
}

bool SameShape(const Shape& a, const Shape& b) {
  if (a.type() != b.type() || a.dims() != b.dims() || a.tuple_size() != b.tuple_size()) return false;
  for (int64_t i = 0; i < a.rank(); ++i) {
    if (a.is_dynamic_dim(i) != b.is_dynamic_dim(i)) return false;
  }
  for (int64_t i = 0; i < a.tuple_size(); ++i) {
    if (!SameShape(a.tuple_shape(i), b.tuple_shape(i))) return false;
  }
  return true;
}

absl::Status ValidateShape(const Shape& shape) {
  if (shape.IsTuple() || shape.IsBuffer()) {
    for (const Shape& s : shape.tuple_shapes()) {
      if (absl::Status status = ValidateShape(s); !status.ok()) return status;
    }
    return absl::OkStatus();
  }
  if (shape.type() == ElementType::kInvalid) return absl::InvalidArgumentError("the shape has no element type");
  if (!shape.IsArray()) {
    if (shape.rank() != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("a ", ElementTypeName(shape.type()), " has no dimensions, but ", shape.rank(), " are given"));
    }
    return absl::OkStatus();
  }
  for (int64_t i = 0; i < shape.rank(); ++i) {
    const int64_t d = shape.dim(i);
    if (d == Shape::kUnknownSize) continue;
    if (d < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("dimension ", i, " of ", shape.ToString(false), " is negative: sizes must be at least 0"));
    }
  }
  // Overflow is refused even beside a zero: strides and partial products must fit as well.
  int64_t bytes = StorageBytes(shape.type());
  for (int64_t i = 0; i < shape.rank(); ++i) {
    const int64_t d = shape.dim(i) == Shape::kUnknownSize ? 1 : shape.dim(i);
    if (d != 0 && bytes > kMaxBytes / d) {
      return absl::InvalidArgumentError(
          absl::StrCat("the byte size of ", shape.ToString(false), " does not fit into 63 bits"));
    }
    if (d != 0) bytes *= d;
  }
  if (shape.has_layout() && !shape.layout().minor_to_major.empty()) {
    const auto& order = shape.layout().minor_to_major;
    std::vector<bool> seen(shape.rank());
    bool ok = static_cast<int64_t>(order.size()) == shape.rank();
    for (int64_t d : order) {
      if (d < 0 || d >= shape.rank() || seen[d]) {
        ok = false;
        break;
      }
      seen[d] = true;
    }
    if (!ok) {
      return absl::InvalidArgumentError(absl::StrCat("layout {", absl::StrJoin(order, ","), "} of ",
                                                     shape.ToString(false), " is not a permutation of its ",
                                                     shape.rank(), " dimensions"));
    }
  } else if (shape.has_layout() && shape.rank() != 0) {
    return absl::InvalidArgumentError(absl::StrCat("layout {} of ", shape.ToString(false),
                                                   " is not a permutation of its ", shape.rank(), " dimensions"));
  }
  return absl::OkStatus();
}

Shape WithDefaultLayout(const Shape& shape) {
  Shape out = shape;
  if (out.IsTuple()) {
    for (Shape& s : out.mutable_tuple_shapes()) s = WithDefaultLayout(s);
  } else if (out.IsArray()) {
    out.set_layout(Layout::Descending(out.rank()));
  }
  return out;
}

Shape WithoutLayout(const Shape& shape) {
  Shape out = shape;
  out.clear_layout();
  for (Shape& s : out.mutable_tuple_shapes()) s = WithoutLayout(s);
  return out;
}

Shape WithType(const Shape& shape, ElementType type) {
  Shape out = shape;
  out.set_type(type);
  if (out.has_layout()) out.mutable_layout()->element_size_in_bits = 0;
  return out;
}

std::vector<int64_t> ElementStrides(const Shape& shape) {
  std::vector<int64_t> strides(shape.rank());
  int64_t stride = 1;
  const Layout layout = shape.layout_or_default();
  for (int64_t d : layout.minor_to_major) {
    strides[d] = stride;
    stride *= shape.dim(d);
  }
  return strides;
}

const Shape* SubshapeOrNull(const Shape& shape, absl::Span<const int64_t> index) {
  const Shape* s = &shape;
  for (int64_t i : index) {
    if (!s->IsTuple() || i < 0 || i >= s->tuple_size()) return nullptr;
    s = &s->tuple_shape(i);
  }
  return s;
}

namespace {
void AddLeaves(const Shape& shape, ShapeIndex* index, std::vector<std::pair<ShapeIndex, const Shape*>>* out) {
  if (!shape.IsTuple()) {
    out->emplace_back(*index, &shape);
    return;
  }
  for (int64_t i = 0; i < shape.tuple_size(); ++i) {
    index->push_back(i);
    AddLeaves(shape.tuple_shape(i), index, out);
    index->pop_back();
  }
}
}  // namespace

std::vector<std::pair<ShapeIndex, const Shape*>> Leaves(const Shape& shape) {
  std::vector<std::pair<ShapeIndex, const Shape*>> out;
  ShapeIndex index;
  AddLeaves(shape, &index, &out);
  return out;
}

}  // namespace xc
