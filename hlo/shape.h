// Shapes of values: element type, dimensions (static or bounded-dynamic), layout, and tuples of shapes.
#ifndef XC_HLO_SHAPE_H_
#define XC_HLO_SHAPE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlo/element_type.h"

namespace xc {

struct SplitConfig {
  int64_t dimension = 0;
  std::vector<int64_t> split_indices;
  bool operator==(const SplitConfig&) const = default;
};

class Shape;

// The order of dimensions in memory, minor first, and what the text and wire formats say beyond it. Generated code
// honours `minor_to_major` only; tiles and the rest are carried.
struct Layout {
  std::vector<int64_t> minor_to_major;
  std::vector<std::vector<int64_t>> tiles;  // `*` (combine) is the smallest int64
  int64_t tail_padding_alignment_in_elements = 1;
  ElementType index_type = ElementType::kInvalid;    // `#(u32)`
  ElementType pointer_type = ElementType::kInvalid;  // `*(u32)`
  int64_t element_size_in_bits = 0;
  int64_t memory_space = 0;
  std::vector<SplitConfig> split_configs;
  int64_t dynamic_shape_metadata_prefix_bytes = 0;
  // `P(shape)`, at most one element.
  std::vector<Shape> physical_shape;

  // {rank-1, …, 1, 0}: row-major.
  static Layout Descending(int64_t rank);
  bool operator==(const Layout&) const;
  std::string ToString() const;  // "{1,0:T(8,128)}"
};

class Shape {
 public:
  Shape() = default;
  // An array shape without a layout (meaning row-major).
  Shape(ElementType type, std::vector<int64_t> dims) : type_(type), dims_(std::move(dims)) {}
  static Shape Tuple(std::vector<Shape> elements);
  static Shape Scalar(ElementType type) { return Shape(type, {}); }
  static Shape Token() { return Shape(ElementType::kToken, {}); }

  ElementType type() const { return type_; }
  void set_type(ElementType type) { type_ = type; }
  bool IsArray() const { return IsArrayType(type_); }
  bool IsTuple() const { return type_ == ElementType::kTuple; }
  bool IsToken() const { return type_ == ElementType::kToken; }
  // A `b(...)` shape: tuple_shapes() has the one shape inside.
  bool IsBuffer() const { return type_ == ElementType::kBuffer; }
  bool IsScalar() const { return IsArray() && dims_.empty(); }

  int64_t rank() const { return static_cast<int64_t>(dims_.size()); }
  // Sizes (upper bounds of bounded-dynamic dimensions; kUnknownSize for `?`).
  static constexpr int64_t kUnknownSize = INT64_MIN;
  const std::vector<int64_t>& dims() const { return dims_; }
  std::vector<int64_t>& mutable_dims() { return dims_; }
  int64_t dim(int64_t i) const { return dims_[i]; }
  void set_dim(int64_t i, int64_t size) { dims_[i] = size; }
  bool is_dynamic_dim(int64_t i) const { return i < static_cast<int64_t>(dynamic_.size()) && dynamic_[i]; }
  void set_dynamic_dim(int64_t i, bool dynamic);
  // Whether the size of any dimension here, or in an element of the tuple, is unknown.
  bool has_unknown_size() const;
  // Whether any dimension here, or in an element of the tuple, is dynamic.
  bool is_dynamic() const;
  bool has_dynamic_dims() const;

  bool has_layout() const { return layout_.has_value(); }
  // The layout given, or row-major if none was.
  Layout layout_or_default() const { return layout_ ? *layout_ : Layout::Descending(rank()); }
  const Layout& layout() const { return *layout_; }
  Layout* mutable_layout();
  void set_layout(Layout layout) { layout_ = std::move(layout); }
  void clear_layout() { layout_.reset(); }
  // Whether memory order is row-major (no layout, or descending; dimensions of size 1 count).
  bool IsRowMajor() const;

  const std::vector<Shape>& tuple_shapes() const { return tuple_; }
  std::vector<Shape>& mutable_tuple_shapes() { return tuple_; }
  const Shape& tuple_shape(int64_t i) const { return tuple_[i]; }
  int64_t tuple_size() const { return static_cast<int64_t>(tuple_.size()); }

  // Product of the dimensions. Shapes that passed ValidateShape cannot overflow.
  int64_t ElementCount() const;
  bool IsZeroSized() const { return IsArray() && ElementCount() == 0; }
  // Bytes of the array in memory (one element per byte below 8 bits); 0 for tokens; 8 per element for a tuple itself.
  int64_t ByteSize() const;
  // Bytes of all arrays in it.
  int64_t TotalByteSize() const;
  // The number of array/token leaves.
  int64_t LeafCount() const;

  // "f32[2,3]{1,0}"; without layouts "f32[2,3]". Dynamic dimensions are written `<=3`.
  std::string ToString(bool with_layout = true) const;

  // Equal in all, layouts included.
  bool operator==(const Shape& other) const;
  bool operator!=(const Shape& other) const { return !(*this == other); }

 private:
  ElementType type_ = ElementType::kInvalid;
  std::vector<int64_t> dims_;
  std::vector<bool> dynamic_;
  std::optional<Layout> layout_;
  std::vector<Shape> tuple_;
};

// Equal element types and dimensions (and tuple structure); layouts are not looked at. `Compatible` also ignores
// whether dimensions are dynamic.
bool SameShape(const Shape& a, const Shape& b);
bool Compatible(const Shape& a, const Shape& b);
bool SameDims(const Shape& a, const Shape& b);

// OK if sizes are non-negative and the byte size fits in int64 with room, else an error that says which dimension.
absl::Status ValidateShape(const Shape& shape);

// The shape with row-major layouts set everywhere / with layouts dropped.
Shape WithDefaultLayout(const Shape& shape);
Shape WithoutLayout(const Shape& shape);
// The same dimensions with another element type.
Shape WithType(const Shape& shape, ElementType type);

// Strides in elements of each dimension for `shape`'s layout (index = dimension number).
std::vector<int64_t> ElementStrides(const Shape& shape);

// A path into a nested tuple; {} is the whole value.
using ShapeIndex = std::vector<int64_t>;
const Shape* SubshapeOrNull(const Shape& shape, absl::Span<const int64_t> index);
// All leaves (arrays, tokens, opaque), in order.
std::vector<std::pair<ShapeIndex, const Shape*>> Leaves(const Shape& shape);

}  // namespace xc

#endif  // XC_HLO_SHAPE_H_
