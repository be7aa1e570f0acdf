// The runtime's name of a C++ element type.
#ifndef XC_BACKENDS_RUNTIME_TYPE_OF_H_
#define XC_BACKENDS_RUNTIME_TYPE_OF_H_

#include <complex>
#include <cstdint>
#include <type_traits>

#include "backends/runtime/types.h"

namespace xc {

template <typename T>
constexpr RtType TypeOf() {
  if constexpr (std::is_same_v<T, float>) return RtType::kF32;
  if constexpr (std::is_same_v<T, double>) return RtType::kF64;
  if constexpr (std::is_same_v<T, std::complex<float>>) return RtType::kC64;
  if constexpr (std::is_same_v<T, std::complex<double>>) return RtType::kC128;
  if constexpr (std::is_same_v<T, int32_t>) return RtType::kS32;
  return RtType::kInvalid;
}

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_TYPE_OF_H_
