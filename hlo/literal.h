// Constant values: an array of elements, or a tuple of literals.
#ifndef XC_HLO_LITERAL_H_
#define XC_HLO_LITERAL_H_

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo/base/check.h"
#include "hlo/float_types.h"
#include "hlo/shape.h"

namespace xc {

// Elements are always stored densely in row-major order of the logical dimensions, whatever layout the shape names, one
// element per StorageBytes() (4-bit and 2-bit types take a byte each). Whoever hands a literal to code that follows
// layouts converts with ToLayout/FromLayout.
class Literal {
 public:
  Literal() = default;
  // Zero-filled. `shape` must have passed ValidateShape.
  explicit Literal(Shape shape);
  Literal(Literal&&) = default;
  Literal& operator=(Literal&&) = default;
  Literal(const Literal&) = delete;
  Literal& operator=(const Literal&) = delete;
  Literal Clone() const;

  static Literal Tuple(std::vector<Literal> elements);
  template <typename T>
  static Literal Scalar(ElementType type, T value) {
    Literal l{Shape::Scalar(type)};
    XC_CHECK(sizeof(T) == l.bytes_.size());
    std::memcpy(l.bytes_.data(), &value, sizeof(T));
    return l;
  }
  // A row-major literal of `shape` that holds `values`.
  template <typename T>
  static Literal FromValues(Shape shape, absl::Span<const T> values) {
    Literal l{std::move(shape)};
    XC_CHECK(values.size() * sizeof(T) == l.bytes_.size());
    if (!values.empty()) std::memcpy(l.bytes_.data(), values.data(), l.bytes_.size());
    return l;
  }

  const Shape& shape() const { return shape_; }
  Shape* mutable_shape() { return &shape_; }
  bool IsTuple() const { return shape_.IsTuple(); }
  int64_t size() const { return shape_.ElementCount(); }

  const std::vector<Literal>& tuple() const { return tuple_; }
  std::vector<Literal>& mutable_tuple() { return tuple_; }

  const uint8_t* bytes() const { return bytes_.data(); }
  uint8_t* mutable_bytes() { return bytes_.data(); }
  int64_t byte_size() const { return static_cast<int64_t>(bytes_.size()); }
  template <typename T>
  absl::Span<const T> data() const {
    XC_DCHECK(sizeof(T) == StorageBytes(shape_.type()));
    return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }
  template <typename T>
  absl::Span<T> mutable_data() {
    XC_DCHECK(sizeof(T) == StorageBytes(shape_.type()));
    return {reinterpret_cast<T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }

  // For bounded-dynamic shapes: the actual sizes, one per dimension (empty: all dimensions have their full size).
  const std::vector<int64_t>& dynamic_sizes() const { return dynamic_sizes_; }
  void set_dynamic_sizes(std::vector<int64_t> sizes) { dynamic_sizes_ = std::move(sizes); }

  // True for a literal that text gave as `{...}`: shape known, elements not. Zero-filled.
  bool elided() const { return elided_; }
  void set_elided(bool elided) { elided_ = elided; }

  // Element `i` (row-major) as a number; pred as 0/1, complex as its real part.
  double GetDouble(int64_t i) const;
  int64_t GetInt(int64_t i) const;  // integers and pred exact; floats truncated
  std::complex<double> GetComplex(int64_t i) const;
  // Stores with rounding or, for integers, truncation to the low bits.
  void SetDouble(int64_t i, double value);
  void SetInt(int64_t i, int64_t value);
  void SetComplex(int64_t i, std::complex<double> value);

  // Bit-for-bit equality of shapes (layouts apart) and elements.
  bool BitEqual(const Literal& other) const;
  // Whether every element equals the first one, bit for bit (true when empty; false for tuples).
  bool IsBroadcastScalar() const;

  // Elements in the memory order of `shape().layout`, and back. Sizes are shape().ByteSize().
  void ToLayout(uint8_t* out) const;
  void FromLayout(const uint8_t* in);

 private:
  Shape shape_;
  std::vector<uint8_t> bytes_;
  std::vector<Literal> tuple_;
  std::vector<int64_t> dynamic_sizes_;
  bool elided_ = false;
};

// Copies an array of `element_bytes`-wide elements between two layouts of the same dimensions.
void Relayout(int element_bytes, absl::Span<const int64_t> dims, absl::Span<const int64_t> from_strides,
              const uint8_t* from, absl::Span<const int64_t> to_strides, uint8_t* to);

}  // namespace xc

#endif  // XC_HLO_LITERAL_H_
