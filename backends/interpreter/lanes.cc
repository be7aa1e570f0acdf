// The loads and stores of lanes.h for every element type.
#include "backends/interpreter/lanes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>

#include "hlo/float_types.h"

namespace xc::interp {
namespace {

template <typename T>
inline constexpr bool kIsComplex = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;
template <ElementType kType>
inline constexpr bool kIsInt = kType == ElementType::kPred ||
                               (std::is_integral_v<Native<kType>>) || kType == ElementType::kS4
                               || kType == ElementType::kU4 || kType == ElementType::kS2 || kType == ElementType::kU2
                               || kType == ElementType::kS1 || kType == ElementType::kU1;

// All values of an 8-bit or 16-bit type, by their bits.
template <typename T>
const double* ValueTable() {
  static const std::unique_ptr<double[]> table = [] {
    const int count = 1 << (8 * sizeof(T));
    auto values = std::make_unique<double[]>(count);
    for (int i = 0; i < count; ++i) {
      T t;
      t.bits = static_cast<decltype(t.bits)>(i);
      values[i] = static_cast<double>(t);
    }
    return values;
  }();
  return table.get();
}

// The limits of an integer type, as they come out of 8 * sizeof(T) or fewer bits.
template <ElementType kType>
constexpr int64_t MinOf() {
  using T = Native<kType>;
  if constexpr (std::is_integral_v<T>) return static_cast<int64_t>(std::numeric_limits<T>::min());
  if constexpr (kType == ElementType::kS4) return -8;
  if constexpr (kType == ElementType::kS2) return -2;
  if constexpr (kType == ElementType::kS1) return -1;
  return 0;
}
template <ElementType kType>
constexpr uint64_t MaxOf() {
  using T = Native<kType>;
  if constexpr (std::is_integral_v<T>) return static_cast<uint64_t>(std::numeric_limits<T>::max());
  if constexpr (kType == ElementType::kS4) return 7;
  if constexpr (kType == ElementType::kU4) return 15;
  if constexpr (kType == ElementType::kS2 || kType == ElementType::kU1) return 1;
  if constexpr (kType == ElementType::kU2) return 3;
  return 0;
}

template <ElementType kType, typename F>
Native<kType> Saturate(F x) {
  using T = Native<kType>;
  using Wide = std::conditional_t<MinOf<kType>() == 0, uint64_t, int64_t>;
  constexpr Wide kMin = static_cast<Wide>(MinOf<kType>());
  constexpr Wide kMax = static_cast<Wide>(MaxOf<kType>());
  Wide value;
  if (std::isnan(x)) {
    value = 0;
  } else if (x <= static_cast<F>(kMin)) {
    value = kMin;
  } else if (x >= static_cast<F>(kMax)) {
    value = kMax;
  } else {
    value = static_cast<Wide>(x);
  }
  return static_cast<T>(static_cast<std::conditional_t<std::is_integral_v<T>, Wide, int64_t>>(value));
}

// An integer as a double with the lowest bit set when it is not exact, so that a further rounding to a type with at
// most half the precision is right.
double RoundToOdd(int64_t x) {
  double d = static_cast<double>(x);
  if (std::fabs(d) < 9007199254740992.0) return d;
  if (d == 9223372036854775808.0) d = std::nextafter(d, 0.0);
  const int64_t back = static_cast<int64_t>(d);
  if (back == x) return d;
  uint64_t bits = std::bit_cast<uint64_t>(d);
  if ((back > x) == (d > 0)) --bits;
  return std::bit_cast<double>(bits | 1);
}
double RoundToOdd(uint64_t x) {
  double d = static_cast<double>(x);
  if (d < 9007199254740992.0) return d;
  if (d == 18446744073709551616.0) d = std::nextafter(d, 0.0);
  const uint64_t back = static_cast<uint64_t>(d);
  if (back == x) return d;
  uint64_t bits = std::bit_cast<uint64_t>(d);
  if (back > x) --bits;
  return std::bit_cast<double>(bits | 1);
}

template <ElementType kType, typename C>
C Widen(const Native<kType>& x) {
  using T = Native<kType>;
  if constexpr (kIsComplex<T>) {
    if constexpr (std::is_same_v<C, Complex>) {
      return C(x.real(), x.imag());
    } else {
      return static_cast<C>(x.real());
    }
  } else if constexpr (kIsInt<kType>) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<C>(x);
    } else {
      return static_cast<C>(static_cast<int64_t>(x));
    }
  } else if constexpr (std::is_same_v<C, int64_t>) {
    return Saturate<ElementType::kS64>(static_cast<double>(x));
  } else if constexpr (std::is_same_v<C, uint64_t>) {
    return Saturate<ElementType::kU64>(static_cast<double>(x));
  } else if constexpr (std::is_same_v<C, float> && kType == ElementType::kBF16) {
    return static_cast<float>(x);
  } else if constexpr (std::is_same_v<C, float>) {
    return static_cast<float>(static_cast<double>(x));
  } else {
    return C(static_cast<double>(x));
  }
}

template <ElementType kType, typename C>
Native<kType> Narrow(const C& x) {
  using T = Native<kType>;
  if constexpr (std::is_same_v<C, Complex>) {
    if constexpr (kIsComplex<T>) {
      return T(static_cast<typename T::value_type>(x.real()), static_cast<typename T::value_type>(x.imag()));
    } else if constexpr (kType == ElementType::kPred) {
      return x != C(0);
    } else {
      return Narrow<kType, double>(x.real());
    }
  } else if constexpr (kIsComplex<T>) {
    return T(static_cast<typename T::value_type>(x), 0);
  } else if constexpr (kType == ElementType::kPred) {
    return x != C(0);
  } else if constexpr (kIsInt<kType>) {
    if constexpr (std::is_floating_point_v<C>) {
      return Saturate<kType>(x);
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(x);
    } else {
      return T(static_cast<int64_t>(x));
    }
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(x);
  } else if constexpr (std::is_floating_point_v<C>) {
    return T(x);
  } else {
    return T(RoundToOdd(x));
  }
}

template <ElementType kType, typename C>
void Load(const uint8_t* base, int64_t start, int64_t stride, int64_t n, C* out) {
  using T = Native<kType>;
  const T* in = reinterpret_cast<const T*>(base) + start;
  if constexpr (!kIsInt<kType> && sizeof(T) <= 2 && !std::is_same_v<T, BF16> && !std::is_integral_v<C>) {
    const double* values = ValueTable<T>();
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<C>(values[in[i * stride].bits]);
  } else if (stride == 1) {
    for (int64_t i = 0; i < n; ++i) out[i] = Widen<kType, C>(in[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = Widen<kType, C>(in[i * stride]);
  }
}

template <ElementType kType, typename C>
void Store(const C* in, int64_t n, uint8_t* base, int64_t start) {
  Native<kType>* out = reinterpret_cast<Native<kType>*>(base) + start;
  for (int64_t i = 0; i < n; ++i) out[i] = Narrow<kType, C>(in[i]);
}

template <ElementType kType>
inline constexpr bool kHasFloat = !kIsInt<kType> && !kIsComplex<Native<kType>> && sizeof(Native<kType>) <= 4;

}  // namespace

template <typename C>
LoadFn<C> GetLoad(ElementType type) {
  return DispatchArrayType(
      type,
      [&]<ElementType kType>() -> LoadFn<C> {
        if constexpr (!std::is_same_v<C, float> || kHasFloat<kType>) {
          return &Load<kType, C>;
        } else {
          return nullptr;
        }
      },
      [] { return static_cast<LoadFn<C>>(nullptr); });
}

template <typename C>
StoreFn<C> GetStore(ElementType type) {
  return DispatchArrayType(
      type,
      [&]<ElementType kType>() -> StoreFn<C> {
        if constexpr (!std::is_same_v<C, float> || kHasFloat<kType>) {
          return &Store<kType, C>;
        } else {
          return nullptr;
        }
      },
      [] { return static_cast<StoreFn<C>>(nullptr); });
}

template <typename C>
bool StoredAs(ElementType type) {
  return DispatchArrayType(
      type, [&]<ElementType kType>() { return std::is_same_v<Native<kType>, C>; }, [] { return false; });
}

#define XC_LANES(C)                             \
  template LoadFn<C> GetLoad<C>(ElementType);   \
  template StoreFn<C> GetStore<C>(ElementType); \
  template bool StoredAs<C>(ElementType);
XC_LANES(float)
XC_LANES(double)
XC_LANES(int64_t)
XC_LANES(uint64_t)
XC_LANES(Complex)
#undef XC_LANES

}  // namespace xc::interp
