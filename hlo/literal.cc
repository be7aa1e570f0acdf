#include "hlo/literal.h"

namespace xc {
namespace {

template <typename T>
struct IsNarrowInt : std::false_type {};
template <int kBits, bool kSigned>
struct IsNarrowInt<NarrowInt<kBits, kSigned>> : std::true_type {};

template <typename T>
std::complex<double> Load(const T& value) {
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    return std::complex<double>(value.real(), value.imag());
  } else if constexpr (IsNarrowInt<T>::value) {
    return {static_cast<double>(static_cast<int64_t>(value)), 0};
  } else {
    return {static_cast<double>(value), 0};
  }
}

template <typename T>
T FromInt(int64_t value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(value);
  } else if constexpr (IsNarrowInt<T>::value) {
    return T(value);
  } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    return T(static_cast<typename T::value_type>(value), 0);
  } else {
    return T(static_cast<double>(value));
  }
}

template <typename T>
T FromComplex(std::complex<double> value) {
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    using F = typename T::value_type;
    return T(static_cast<F>(value.real()), static_cast<F>(value.imag()));
  } else if constexpr (std::is_same_v<T, bool>) {
    return value.real() != 0;
  } else if constexpr (std::is_integral_v<T> || IsNarrowInt<T>::value) {
    const double v = value.real();
    const int64_t i = std::isnan(v)  ? 0
                      : v >= 0x1p63  ? static_cast<int64_t>(v < 0x1p64 ? static_cast<uint64_t>(v) : UINT64_MAX)
                      : v <= -0x1p63 ? INT64_MIN
                                     : static_cast<int64_t>(v);
    return FromInt<T>(i);
  } else {
    return T(value.real());
  }
}

}  // namespace

Literal::Literal(Shape shape) : shape_(std::move(shape)) {
  if (shape_.IsTuple()) {
    for (const Shape& s : shape_.tuple_shapes()) tuple_.emplace_back(s);
  } else {
    bytes_.reserve(1);  // so that there is an address even of no elements
    bytes_.resize(shape_.ByteSize());
  }
}

Literal Literal::Clone() const {
  Literal out;
  out.shape_ = shape_;
  out.bytes_.reserve(1);
  out.bytes_ = bytes_;
  for (const Literal& l : tuple_) out.tuple_.push_back(l.Clone());
  out.dynamic_sizes_ = dynamic_sizes_;
  out.elided_ = elided_;
  return out;
}

Literal Literal::Tuple(std::vector<Literal> elements) {
  Literal out;
  std::vector<Shape> shapes;
  shapes.reserve(elements.size());
  for (const Literal& l : elements) shapes.push_back(l.shape());
  out.shape_ = Shape::Tuple(std::move(shapes));
  out.tuple_ = std::move(elements);
  return out;
}

std::complex<double> Literal::GetComplex(int64_t i) const {
  return DispatchArrayType(
      shape_.type(),
      [&]<ElementType kType>() {
        using T = Native<kType>;
        return Load(reinterpret_cast<const T*>(bytes_.data())[i]);
      },
      [] { return std::complex<double>(); });
}

double Literal::GetDouble(int64_t i) const { return GetComplex(i).real(); }

int64_t Literal::GetInt(int64_t i) const {
  return DispatchArrayType(
      shape_.type(),
      [&]<ElementType kType>() -> int64_t {
        using T = Native<kType>;
        const T value = reinterpret_cast<const T*>(bytes_.data())[i];
        if constexpr (std::is_integral_v<T> || IsNarrowInt<T>::value) {
          return static_cast<int64_t>(value);
        } else {
          return FromComplex<int64_t>(Load(value));
        }
      },
      [] { return int64_t{0}; });
}

void Literal::SetComplex(int64_t i, std::complex<double> value) {
  DispatchArrayType(
      shape_.type(),
      [&]<ElementType kType>() {
        using T = Native<kType>;
        reinterpret_cast<T*>(bytes_.data())[i] = FromComplex<T>(value);
      },
      [] {});
}

void Literal::SetDouble(int64_t i, double value) { SetComplex(i, {value, 0}); }

void Literal::SetInt(int64_t i, int64_t value) {
  DispatchArrayType(
      shape_.type(),
      [&]<ElementType kType>() {
        using T = Native<kType>;
        reinterpret_cast<T*>(bytes_.data())[i] = FromInt<T>(value);
      },
      [] {});
}

bool Literal::BitEqual(const Literal& other) const {
  if (!Compatible(shape_, other.shape_) || elided_ != other.elided_) return false;
  if (bytes_ != other.bytes_ || tuple_.size() != other.tuple_.size()) return false;
  for (size_t i = 0; i < tuple_.size(); ++i) {
    if (!tuple_[i].BitEqual(other.tuple_[i])) return false;
  }
  return true;
}

bool Literal::IsBroadcastScalar() const {
  if (!shape_.IsArray() || elided_) return false;
  const size_t width = StorageBytes(shape_.type());
  if (bytes_.size() <= width) return true;
  return std::memcmp(bytes_.data(), bytes_.data() + width, bytes_.size() - width) == 0;
}

namespace {

template <typename T>
void RelayoutTyped(absl::Span<const int64_t> dims, absl::Span<const int64_t> from_strides, const uint8_t* from_bytes,
                   absl::Span<const int64_t> to_strides, uint8_t* to_bytes) {
  typedef T Unaligned __attribute__((aligned(1), may_alias));
  const auto* from = reinterpret_cast<const Unaligned*>(from_bytes);
  auto* to = reinterpret_cast<Unaligned*>(to_bytes);
  const int64_t rank = dims.size();
  int64_t count = 1;
  for (int64_t d : dims) count *= d;
  if (count == 0) return;
  if (rank == 0) {
    *to = *from;
    return;
  }
  std::vector<int64_t> index(rank);
  const int64_t minor = rank - 1;
  const bool runs = from_strides[minor] == 1 && to_strides[minor] == 1;
  int64_t f = 0, t = 0;
  while (true) {
    if (runs) {
      std::memcpy(to + t, from + f, dims[minor] * sizeof(T));
    } else {
      for (int64_t i = 0; i < dims[minor]; ++i) to[t + i * to_strides[minor]] = from[f + i * from_strides[minor]];
    }
    int64_t d = minor - 1;
    for (; d >= 0; --d) {
      f += from_strides[d];
      t += to_strides[d];
      if (++index[d] < dims[d]) break;
      f -= from_strides[d] * dims[d];
      t -= to_strides[d] * dims[d];
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

std::vector<int64_t> RowMajorStrides(const Shape& shape) {
  std::vector<int64_t> strides(shape.rank());
  int64_t stride = 1;
  for (int64_t d = shape.rank() - 1; d >= 0; --d) {
    strides[d] = stride;
    stride *= shape.dim(d);
  }
  return strides;
}

}  // namespace

// Files give elements at any place: neither address need be a multiple of their size.
void Relayout(int element_bytes, absl::Span<const int64_t> dims, absl::Span<const int64_t> from_strides,
              const uint8_t* from, absl::Span<const int64_t> to_strides, uint8_t* to) {
  struct Wide {
    uint64_t a, b;
  };
  switch (element_bytes) {
    case 1:
      return RelayoutTyped<uint8_t>(dims, from_strides, from, to_strides, to);
    case 2:
      return RelayoutTyped<uint16_t>(dims, from_strides, from, to_strides, to);
    case 4:
      return RelayoutTyped<uint32_t>(dims, from_strides, from, to_strides, to);
    case 8:
      return RelayoutTyped<uint64_t>(dims, from_strides, from, to_strides, to);
    default:
      return RelayoutTyped<Wide>(dims, from_strides, from, to_strides, to);
  }
}

void Literal::ToLayout(uint8_t* out) const {
  if (shape_.IsRowMajor()) {
    if (!bytes_.empty()) std::memcpy(out, bytes_.data(), bytes_.size());
    return;
  }
  Relayout(StorageBytes(shape_.type()), shape_.dims(), RowMajorStrides(shape_), bytes_.data(), ElementStrides(shape_),
           out);
}

void Literal::FromLayout(const uint8_t* in) {
  if (shape_.IsRowMajor()) {
    if (!bytes_.empty()) std::memcpy(bytes_.data(), in, bytes_.size());
    return;
  }
  Relayout(StorageBytes(shape_.type()), shape_.dims(), ElementStrides(shape_), in, RowMajorStrides(shape_),
           bytes_.data());
}

}  // namespace xc
