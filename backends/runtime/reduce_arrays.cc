#include "backends/runtime/reduce_arrays.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <type_traits>

#include "absl/strings/str_cat.h"

namespace xc {
namespace {

// bf16, computed in f32 and rounded to nearest even.
struct Bf16 {
  uint16_t bits;
  Bf16() = default;
  explicit Bf16(float value) {
    uint32_t wide;
    std::memcpy(&wide, &value, sizeof(wide));
    bits = static_cast<uint16_t>(value != value ? (wide >> 16) | 0x40 : (wide + 0x7fff + ((wide >> 16) & 1)) >> 16);
  }
  explicit operator float() const {
    const uint32_t wide = uint32_t{bits} << 16;
    float value;
    std::memcpy(&value, &wide, sizeof(value));
    return value;
  }
};

// The type that arithmetic is done in.
template <typename T>
struct WideOf {
  using type = T;
};
template <>
struct WideOf<Bf16> {
  using type = float;
};
template <>
struct WideOf<_Float16> {
  using type = float;
};

template <typename T>
constexpr bool kIsComplex = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;
template <typename T>
constexpr bool kIsFloat = std::is_floating_point_v<T>;

template <typename W>
W Combine(Reduction reduction, W a, W b) {
  if constexpr (kIsComplex<W>) {
    using F = typename W::value_type;
    if (reduction == Reduction::kAdd) return a + b;
    return W(std::fma(a.real(), b.real(), -(a.imag() * b.imag())),
             std::fma(a.real(), b.imag(), F(a.imag() * b.real())));
  } else if constexpr (kIsFloat<W>) {
    switch (reduction) {
      case Reduction::kAdd:
        return a + b;
      case Reduction::kMultiply:
        return a * b;
      case Reduction::kMaximum:
        if (a != a) return a;
        if (b != b) return b;
        return a > b || (a == b && !std::signbit(a)) ? a : b;
      default:
        if (a != a) return a;
        if (b != b) return b;
        return a < b || (a == b && std::signbit(a)) ? a : b;
    }
  } else {
    using U = std::make_unsigned_t<W>;
    switch (reduction) {
      case Reduction::kAdd:
        return static_cast<W>(static_cast<U>(a) + static_cast<U>(b));
      case Reduction::kMultiply:
        return static_cast<W>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
      case Reduction::kMaximum:
        return std::max(a, b);
      case Reduction::kMinimum:
        return std::min(a, b);
      case Reduction::kAnd:
        return a & b;
      case Reduction::kOr:
        return a | b;
      default:
        return a ^ b;
    }
  }
}

template <typename T>
void Reduce(Reduction reduction, int64_t elements, absl::Span<const void* const> arrays, void* out) {
  using W = typename WideOf<T>::type;
  constexpr int64_t kBlock = 1024;  // stays in the first cache
  T sums[kBlock];
  for (int64_t begin = 0; begin < elements; begin += kBlock) {
    const int64_t n = std::min(kBlock, elements - begin);
    std::memcpy(static_cast<void*>(sums), static_cast<const T*>(arrays[0]) + begin, n * sizeof(T));
    for (size_t a = 1; a < arrays.size(); ++a) {
      const T* array = static_cast<const T*>(arrays[a]) + begin;
      for (int64_t i = 0; i < n; ++i) {
        sums[i] = static_cast<T>(Combine<W>(reduction, static_cast<W>(sums[i]), static_cast<W>(array[i])));
      }
    }
    std::memcpy(static_cast<T*>(out) + begin, static_cast<const void*>(sums), n * sizeof(T));
  }
}

}  // namespace

absl::Status ReductionNamed(absl::string_view name, Reduction* reduction) {
  static constexpr const char* kNames[] = {"add", "multiply", "maximum", "minimum", "and", "or", "xor"};
  for (int i = 0; i < 7; ++i) {
    if (name == kNames[i]) {
      *reduction = static_cast<Reduction>(i);
      return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no reduction \"", name, "\""));
}

absl::Status ReduceArrays(Reduction reduction, RtType type, int64_t elements, absl::Span<const void* const> arrays,
                          void* out) {
  const bool bits = reduction == Reduction::kAnd || reduction == Reduction::kOr || reduction == Reduction::kXor;
  const bool ordered = reduction == Reduction::kMaximum || reduction == Reduction::kMinimum;
  const auto refuse = [&] {
    return absl::UnimplementedError(absl::StrCat("reductions of this kind over element type ", static_cast<int>(type)));
  };
  switch (type) {
    case RtType::kPred: {
      // Sums of truth values are "or", products "and".
      const Reduction as = reduction == Reduction::kAdd || reduction == Reduction::kMaximum        ? Reduction::kOr
                           : reduction == Reduction::kMultiply || reduction == Reduction::kMinimum ? Reduction::kAnd
                                                                                                   : reduction;
      Reduce<uint8_t>(as, elements, arrays, out);
      return absl::OkStatus();
    }
#define XC_REDUCE(rt, T)                         \
  case RtType::rt:                               \
    Reduce<T>(reduction, elements, arrays, out); \
    return absl::OkStatus();
      XC_REDUCE(kS8, int8_t)
      XC_REDUCE(kS16, int16_t)
      XC_REDUCE(kS32, int32_t)
      XC_REDUCE(kS64, int64_t)
      XC_REDUCE(kU8, uint8_t)
      XC_REDUCE(kU16, uint16_t)
      XC_REDUCE(kU32, uint32_t)
      XC_REDUCE(kU64, uint64_t)
#undef XC_REDUCE
#define XC_REDUCE(rt, T, refused)                \
  case RtType::rt:                               \
    if (refused) return refuse();                \
    Reduce<T>(reduction, elements, arrays, out); \
    return absl::OkStatus();
      XC_REDUCE(kF16, _Float16, bits)
      XC_REDUCE(kBF16, Bf16, bits)
      XC_REDUCE(kF32, float, bits)
      XC_REDUCE(kF64, double, bits)
      XC_REDUCE(kC64, std::complex<float>, bits || ordered)
      XC_REDUCE(kC128, std::complex<double>, bits || ordered)
#undef XC_REDUCE
    default:
      return refuse();
  }
}

}  // namespace xc
