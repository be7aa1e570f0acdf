#include "jit/graph/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hlo/base/check.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

constexpr int64_t kMaxTensorBytes = int64_t{1} << 36;
constexpr int64_t kMaxStrings = int64_t{1} << 28;
constexpr size_t kAlignment = 64;

std::shared_ptr<void> Allocate(size_t bytes, bool zero) {
  size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* p = std::aligned_alloc(kAlignment, rounded == 0 ? kAlignment : rounded);
  if (p == nullptr) return nullptr;
  if (zero) std::memset(p, 0, rounded == 0 ? kAlignment : rounded);
  return std::shared_ptr<void>(p, std::free);
}

// Copies the typed repeated field; missing elements repeat the last one, as TensorFlow does.
template <typename T, typename Field, typename Convert>
absl::Status FillFrom(const Field& field, int64_t count, T* out, Convert convert) {
  if (field.size() > count) {
    return absl::InvalidArgumentError(absl::StrCat("tensor has ", field.size(), " values for ", count, " elements"));
  }
  for (int64_t i = 0; i < count; ++i) {
    if (field.size() == 0) {
      out[i] = T{};
    } else {
      out[i] = convert(field[static_cast<int>(std::min<int64_t>(i, field.size() - 1))]);
    }
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status FillCast(const auto& field, Tensor& t) {
  return FillFrom(field, t.num_elements(), t.data<T>(), [](auto v) { return static_cast<T>(v); });
}

template <typename T>
absl::Status FillComplex(const auto& field, Tensor& t) {
  int64_t pairs = field.size() / 2;
  if (field.size() % 2 != 0 || pairs > t.num_elements()) {
    return absl::InvalidArgumentError("complex tensor has a wrong number of values");
  }
  T* out = t.data<T>();
  for (int64_t i = 0; i < t.num_elements() && pairs > 0; ++i) {
    int64_t j = std::min(i, pairs - 1);
    out[2 * i] = field[static_cast<int>(2 * j)];
    out[2 * i + 1] = field[static_cast<int>(2 * j + 1)];
  }
  return absl::OkStatus();
}

template <typename From, typename To>
std::vector<To> Widen(const Tensor& t) {
  const From* p = t.data<From>();
  return std::vector<To>(p, p + t.num_elements());
}

}  // namespace

absl::StatusOr<int64_t> CheckedNumElements(absl::Span<const int64_t> dims) {
  int64_t count = 1;
  bool zero = false;
  for (int64_t d : dims) {
    if (d < 0) return absl::InvalidArgumentError(absl::StrCat("negative dimension in shape ", DimsToString(dims)));
    if (d == 0) {
      zero = true;
    } else if (__builtin_mul_overflow(count, d, &count)) {
      return absl::InvalidArgumentError(absl::StrCat("shape ", DimsToString(dims), " has too many elements"));
    }
  }
  return zero ? 0 : count;
}

std::string DimsToString(absl::Span<const int64_t> dims) { return absl::StrCat("[", absl::StrJoin(dims, ","), "]"); }

bool PartialShape::IsFullyKnown() const {
  if (!known_rank) return false;
  for (int64_t d : dims) {
    if (d < 0) return false;
  }
  return true;
}

bool PartialShape::Accepts(absl::Span<const int64_t> other) const {
  if (!known_rank) return true;
  if (other.size() != dims.size()) return false;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] >= 0 && other[i] >= 0 && dims[i] != other[i]) return false;
  }
  return true;
}

std::string PartialShape::ToString() const {
  if (!known_rank) return "[...]";
  return absl::StrCat(
      "[",
      absl::StrJoin(dims, ",",
                    [](std::string* out, int64_t d) { absl::StrAppend(out, d < 0 ? "?" : absl::StrCat(d)); }),
      "]");
}

absl::StatusOr<Tensor> Tensor::Create(DataType type, Dims dims) { return Make(type, std::move(dims), true); }

absl::StatusOr<Tensor> Tensor::Uninitialized(DataType type, Dims dims) { return Make(type, std::move(dims), false); }

absl::StatusOr<Tensor> Tensor::Make(DataType type, Dims dims, bool zero) {
  Tensor t;
  XC_ASSIGN_OR_RETURN(t.count_, CheckedNumElements(dims));
  t.type_ = type;
  t.dims_ = std::move(dims);
  if (type == DT_STRING) {
    if (t.count_ > kMaxStrings) return absl::ResourceExhaustedError("string tensor has too many elements");
    t.strings_ = std::make_shared<std::vector<std::string>>(t.count_);
    return t;
  }
  if (type == DT_VARIANT) {
    if (t.count_ > kMaxStrings) return absl::ResourceExhaustedError("variant tensor has too many elements");
    if (!t.dims_.empty()) t.variants_ = std::make_shared<std::vector<Tensor>>(t.count_);
    return t;
  }
  int64_t size = DataTypeSize(type);
  if (size == 0) return absl::InvalidArgumentError(absl::StrCat("no dense tensor of type ", DataTypeName(type)));
  if (t.count_ > kMaxTensorBytes / size) {
    return absl::ResourceExhaustedError(
        absl::StrCat("tensor ", DataTypeName(type), DimsToString(t.dims_), " is too large"));
  }
  t.buffer_ = Allocate(t.count_ * size, zero);
  if (t.buffer_ == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for tensor ", DataTypeName(type), DimsToString(t.dims_)));
  }
  t.data_ = t.buffer_.get();
  return t;
}

Tensor Tensor::FromBuffer(DataType type, Dims dims, std::shared_ptr<void> owner, void* data) {
  Tensor t;
  t.type_ = type;
  t.count_ = CheckedNumElements(dims).value();
  t.dims_ = std::move(dims);
  t.buffer_ = std::move(owner);
  t.data_ = data;
  return t;
}

Tensor Tensor::FromList(std::shared_ptr<TensorList> list) {
  Tensor t;
  t.type_ = DT_VARIANT;
  t.count_ = 1;
  t.list_ = std::move(list);
  return t;
}

Tensor Tensor::FromVariable(std::shared_ptr<Variable> variable) {
  Tensor t;
  t.type_ = DT_RESOURCE;
  t.count_ = 1;
  t.variable_ = std::move(variable);
  return t;
}

Tensor Tensor::FromResource(std::shared_ptr<HostResource> resource) {
  Tensor t;
  t.type_ = DT_RESOURCE;
  t.count_ = 1;
  t.resource_ = std::move(resource);
  return t;
}

Tensor Tensor::Int32s(absl::Span<const int64_t> values) {
  Tensor t = Create(DT_INT32, {static_cast<int64_t>(values.size())}).value();
  for (size_t i = 0; i < values.size(); ++i) t.data<int32_t>()[i] = static_cast<int32_t>(values[i]);
  return t;
}

Tensor Tensor::Int64s(absl::Span<const int64_t> values) {
  Tensor t = Create(DT_INT64, {static_cast<int64_t>(values.size())}).value();
  for (size_t i = 0; i < values.size(); ++i) t.data<int64_t>()[i] = values[i];
  return t;
}

absl::StatusOr<Tensor> Tensor::FromProto(const TensorProto& proto) {
  DataType type = BaseType(proto.dtype());
  if (proto.tensor_shape().unknown_rank()) return absl::InvalidArgumentError("constant tensor of unknown rank");
  Dims dims;
  for (const auto& d : proto.tensor_shape().dim()) dims.push_back(d.size());
  XC_ASSIGN_OR_RETURN(int64_t count, CheckedNumElements(dims));
  int64_t size = DataTypeSize(type);
  if (size > 0 && count > (int64_t{1} << 32) / size) {
    return absl::InvalidArgumentError(absl::StrCat("constant tensor ", DimsToString(dims), " is too large"));
  }
  XC_ASSIGN_OR_RETURN(Tensor t, Create(type, dims));
  if (type == DT_STRING) {
    int n = proto.string_val_size();
    if (n > count) return absl::InvalidArgumentError("string tensor has too many values");
    for (int64_t i = 0; i < count && n > 0; ++i) t.strings()[i] = proto.string_val(std::min<int64_t>(i, n - 1));
    return t;
  }
  if (!proto.tensor_content().empty()) {
    if (static_cast<int64_t>(proto.tensor_content().size()) != t.byte_size()) {
      return absl::InvalidArgumentError(absl::StrCat("tensor content has ", proto.tensor_content().size(),
                                                     " bytes, shape ", t.ShapeString(), " needs ", t.byte_size()));
    }
    std::memcpy(t.raw(), proto.tensor_content().data(), t.byte_size());
    return t;
  }
  absl::Status status;
  switch (type) {
    case DT_FLOAT:
      status = FillCast<float>(proto.float_val(), t);
      break;
    case DT_DOUBLE:
      status = FillCast<double>(proto.double_val(), t);
      break;
    case DT_INT32:
    case DT_QINT32:
      status = FillCast<int32_t>(proto.int_val(), t);
      break;
    case DT_UINT16:
    case DT_QUINT16:
      status = FillCast<uint16_t>(proto.int_val(), t);
      break;
    case DT_INT16:
    case DT_QINT16:
      status = FillCast<int16_t>(proto.int_val(), t);
      break;
    case DT_UINT8:
    case DT_QUINT8:
      status = FillCast<uint8_t>(proto.int_val(), t);
      break;
    case DT_INT8:
    case DT_QINT8:
      status = FillCast<int8_t>(proto.int_val(), t);
      break;
    case DT_INT64:
      status = FillCast<int64_t>(proto.int64_val(), t);
      break;
    case DT_UINT32:
      status = FillCast<uint32_t>(proto.uint32_val(), t);
      break;
    case DT_UINT64:
      status = FillCast<uint64_t>(proto.uint64_val(), t);
      break;
    case DT_BOOL:
      status = FillCast<uint8_t>(proto.bool_val(), t);
      break;
    case DT_HALF:
    case DT_BFLOAT16:
      status = FillCast<uint16_t>(proto.half_val(), t);
      break;
    case DT_COMPLEX64:
      status = FillComplex<float>(proto.scomplex_val(), t);
      break;
    case DT_COMPLEX128:
      status = FillComplex<double>(proto.dcomplex_val(), t);
      break;
    default:
      return absl::UnimplementedError(absl::StrCat("constant of type ", DataTypeName(type)));
  }
  XC_RETURN_IF_ERROR(status);
  return t;
}

Tensor Tensor::Reshaped(Dims dims) const {
  Tensor t = *this;
  XC_CHECK(CheckedNumElements(dims).value() == count_);
  if (type_ == DT_VARIANT && dims.empty() != dims_.empty()) {
    if (dims.empty()) return (*variants_)[0];
    t = Create(type_, std::move(dims)).value();
    (*t.variants_)[0] = *this;
    return t;
  }
  t.dims_ = std::move(dims);
  return t;
}

Tensor Tensor::Row(int64_t index) const {
  XC_CHECK(rank() >= 1 && index >= 0 && index < dims_[0]);
  if (type_ == DT_VARIANT && rank() == 1) return (*variants_)[index];
  return Rows(index, 1).Reshaped(Dims(dims_.begin() + 1, dims_.end()));
}

Tensor Tensor::Rows(int64_t first, int64_t count) const {
  XC_CHECK(rank() >= 1 && first >= 0 && count >= 0 && first <= dims_[0] - count);
  const int64_t width = dims_[0] == 0 ? 0 : count_ / dims_[0];
  Dims dims = dims_;
  dims[0] = count;
  if (type_ == DT_STRING || type_ == DT_VARIANT) {
    Tensor rows = Create(type_, std::move(dims)).value();
    if (type_ == DT_STRING) std::copy_n(strings_->begin() + first * width, rows.count_, rows.strings_->begin());
    if (type_ == DT_VARIANT) std::copy_n(variants_->begin() + first * width, rows.count_, rows.variants_->begin());
    return rows;
  }
  Tensor rows = *this;
  XC_CHECK(data_ != nullptr);
  rows.dims_ = std::move(dims);
  rows.count_ = count * width;
  rows.data_ = static_cast<char*>(data_) + first * width * DataTypeSize(type_);
  return rows;
}

absl::StatusOr<std::vector<int64_t>> Tensor::AsInt64s() const {
  switch (type_) {
    case DT_INT32:
      return Widen<int32_t, int64_t>(*this);
    case DT_INT64:
      return Widen<int64_t, int64_t>(*this);
    case DT_INT16:
      return Widen<int16_t, int64_t>(*this);
    case DT_INT8:
      return Widen<int8_t, int64_t>(*this);
    case DT_UINT8:
    case DT_BOOL:
      return Widen<uint8_t, int64_t>(*this);
    case DT_UINT16:
      return Widen<uint16_t, int64_t>(*this);
    case DT_UINT32:
      return Widen<uint32_t, int64_t>(*this);
    case DT_UINT64:
      return Widen<uint64_t, int64_t>(*this);
    default:
      return absl::InvalidArgumentError(absl::StrCat("expected an integer tensor, got ", ShapeString()));
  }
}

absl::StatusOr<std::vector<double>> Tensor::AsDoubles() const {
  std::vector<double> out;
  if (type_ == DT_FLOAT) return Widen<float, double>(*this);
  if (type_ == DT_DOUBLE) return Widen<double, double>(*this);
  if (type_ == DT_HALF || type_ == DT_BFLOAT16) {
    for (int64_t i = 0; i < count_; ++i) {
      uint16_t bits = data<uint16_t>()[i];
      out.push_back(type_ == DT_HALF ? HalfToFloat(bits) : Bfloat16ToFloat(bits));
    }
    return out;
  }
  XC_ASSIGN_OR_RETURN(std::vector<int64_t> ints, AsInt64s());
  out.assign(ints.begin(), ints.end());
  return out;
}

std::string Tensor::ShapeString() const { return absl::StrCat(DataTypeName(type_), DimsToString(dims_)); }

std::string Tensor::Summary(int limit) const {
  std::string out = absl::StrCat(ShapeString(), " {");
  int64_t n = std::min<int64_t>(limit, count_);
  if (type_ == DT_STRING) {
    for (int64_t i = 0; i < n; ++i) absl::StrAppend(&out, i ? ", " : "", "\"", strings()[i], "\"");
  } else if (auto values = AsDoubles(); values.ok()) {
    for (int64_t i = 0; i < n; ++i) absl::StrAppend(&out, i ? ", " : "", (*values)[i]);
  }
  return absl::StrCat(out, n < count_ ? ", ...}" : "}");
}

float HalfToFloat(uint16_t h) {
  _Float16 v;
  std::memcpy(&v, &h, 2);
  return static_cast<float>(v);
}

uint16_t FloatToHalf(float value) {
  _Float16 v = static_cast<_Float16>(value);
  uint16_t bits;
  std::memcpy(&bits, &v, 2);
  return bits;
}

uint16_t FloatToBfloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

}  // namespace xc
