// Host tensors: what flows along the edges of a host graph between kernels and compiled clusters.
#ifndef XC_JIT_GRAPH_TENSOR_H_
#define XC_JIT_GRAPH_TENSOR_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jit/graph/types.h"

namespace xc {

using Dims = std::vector<int64_t>;

// Product of `dims`; an error if one is negative or the product does not fit.
absl::StatusOr<int64_t> CheckedNumElements(absl::Span<const int64_t> dims);

std::string DimsToString(absl::Span<const int64_t> dims);  // "[2,3]"

// A shape of which some dimensions (-1) or even the rank may be unknown.
struct PartialShape {
  bool known_rank = false;
  Dims dims;

  bool IsFullyKnown() const;
  bool Accepts(absl::Span<const int64_t> other) const;
  std::string ToString() const;
};

struct TensorList;
struct Variable;

// What else a resource handle can stand for: lookup tables, stacks, arrays of tensors.
struct HostResource {
  virtual ~HostResource() = default;
};

// A dense array, an array of strings or of variants, a TensorList or a handle of a variable or another resource. Copies
// share the buffer; whoever made the tensor may write to it before it is shared, nobody afterwards.
class Tensor {
 public:
  Tensor() = default;

  // Allocates zeroed memory; refuses sizes that are negative, overflow or exceed the limit of one tensor.
  static absl::StatusOr<Tensor> Create(DataType type, Dims dims);
  // The same without zeroing, for whoever writes every element.
  static absl::StatusOr<Tensor> Uninitialized(DataType type, Dims dims);
  static absl::StatusOr<Tensor> FromProto(const TensorProto& proto);
  // Wraps memory that `owner` keeps alive. The bytes are row-major and of the right number.
  static Tensor FromBuffer(DataType type, Dims dims, std::shared_ptr<void> owner, void* data);
  static Tensor FromList(std::shared_ptr<TensorList> list);
  static Tensor FromVariable(std::shared_ptr<Variable> variable);
  static Tensor FromResource(std::shared_ptr<HostResource> resource);

  template <typename T>
  static Tensor Scalar(DataType type, T value) {
    Tensor t = Create(type, {}).value();
    *t.data<T>() = value;
    return t;
  }
  static Tensor Int32s(absl::Span<const int64_t> values);
  static Tensor Int64s(absl::Span<const int64_t> values);
  // A vector, or a scalar, of int64 where that is the type, else of int32.
  static Tensor Integers(DataType type, absl::Span<const int64_t> values) {
    return type == DT_INT64 ? Int64s(values) : Int32s(values);
  }
  static Tensor Integer(DataType type, int64_t value) {
    return type == DT_INT64 ? Scalar<int64_t>(type, value) : Scalar<int32_t>(DT_INT32, static_cast<int32_t>(value));
  }

  bool initialized() const { return type_ != DT_INVALID; }
  DataType dtype() const { return type_; }
  const Dims& dims() const { return dims_; }
  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t num_elements() const { return count_; }
  int64_t byte_size() const { return count_ * DataTypeSize(type_); }

  const void* raw() const { return data_; }
  void* raw() { return data_; }
  const std::shared_ptr<void>& buffer() const { return buffer_; }
  template <typename T>
  T* data() {
    return static_cast<T*>(data_);
  }
  template <typename T>
  const T* data() const {
    return static_cast<const T*>(data_);
  }
  std::vector<std::string>& strings() { return *strings_; }
  const std::vector<std::string>& strings() const { return *strings_; }
  // The elements of an array of variants; a scalar variant is its element itself.
  std::vector<Tensor>& variants() { return *variants_; }
  const std::vector<Tensor>& variants() const { return *variants_; }
  const std::shared_ptr<TensorList>& list() const { return list_; }
  const std::shared_ptr<Variable>& variable() const { return variable_; }
  const std::shared_ptr<HostResource>& resource() const { return resource_; }

  // The same elements with another shape; the number of elements must be equal.
  Tensor Reshaped(Dims dims) const;
  // Row `index` of the major dimension, or the `count` rows from `first` on, sharing memory unless they are strings or
  // variants; rank must be at least 1.
  Tensor Row(int64_t index) const;
  Tensor Rows(int64_t first, int64_t count) const;

  // Elements of an integer or bool tensor as int64; an error for other types.
  absl::StatusOr<std::vector<int64_t>> AsInt64s() const;
  // Elements of an integer, bool or real floating tensor as double.
  absl::StatusOr<std::vector<double>> AsDoubles() const;

  std::string ShapeString() const;           // "float32[2,3]"
  std::string Summary(int limit = 8) const;  // shape and the first elements

 private:
  static absl::StatusOr<Tensor> Make(DataType type, Dims dims, bool zero);

  DataType type_ = DT_INVALID;
  Dims dims_;
  int64_t count_ = 0;
  void* data_ = nullptr;
  std::shared_ptr<void> buffer_;
  std::shared_ptr<std::vector<std::string>> strings_;
  std::shared_ptr<std::vector<Tensor>> variants_;
  std::shared_ptr<TensorList> list_;
  std::shared_ptr<Variable> variable_;
  std::shared_ptr<HostResource> resource_;
};

// The value of a TensorFlow TensorList variant; an uninitialized item reads as zeros of the element shape.
struct TensorList {
  DataType element_type = DT_INVALID;
  PartialShape element_shape;
  std::vector<Tensor> items;
};

// A resource variable; `value` is replaced under `mutex`, never written in place.
struct Variable {
  std::string name;
  DataType type = DT_INVALID;
  std::mutex mutex;
  Tensor value;
};

class Literal;

// A tensor whose value is fixed: its form as an IR literal is made once (by whoever lowers it first) and shared.
struct HostConstant {
  explicit HostConstant(Tensor t) : tensor(std::move(t)) {}
  const Tensor tensor;
  mutable std::mutex mutex;
  mutable std::shared_ptr<const Literal> literal;
};

// Conversions between half-width floats and float, rounding to nearest even.
float HalfToFloat(uint16_t bits);
uint16_t FloatToHalf(float value);
inline float Bfloat16ToFloat(uint16_t bits) {
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float out;
  __builtin_memcpy(&out, &wide, 4);
  return out;
}
uint16_t FloatToBfloat16(float value);

}  // namespace xc

#endif  // XC_JIT_GRAPH_TENSOR_H_
