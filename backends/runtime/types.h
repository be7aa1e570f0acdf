// Element types as the runtime's descriptors name them: the numbers of HLO's PrimitiveType.
#ifndef XC_BACKENDS_RUNTIME_TYPES_H_
#define XC_BACKENDS_RUNTIME_TYPES_H_

#include <stdint.h>

namespace xc {

enum class RtType : int32_t {
  kInvalid = 0,
  kPred = 1,
  kS8 = 2,
  kS16 = 3,
  kS32 = 4,
  kS64 = 5,
  kU8 = 6,
  kU16 = 7,
  kU32 = 8,
  kU64 = 9,
  kF16 = 10,
  kF32 = 11,
  kF64 = 12,
  kC64 = 15,
  kBF16 = 16,
  kToken = 17,  // no array
  kC128 = 18,
  kF8E5M2 = 19,
  kF8E4M3FN = 20,
  kF8E4M3B11FNUZ = 23,
  kF8E5M2FNUZ = 24,
  kF8E4M3FNUZ = 25,
  kF8E4M3 = 28,
  kF8E3M4 = 29,
  kF8E8M0FNU = 33,
};

// The floating-point types that kernels compute with.
constexpr bool IsFloat(RtType type) {
  return type == RtType::kF16 || type == RtType::kBF16 || type == RtType::kF32 || type == RtType::kF64;
}

// Bytes of an element; 0 for types that the runtime does not know.
constexpr int64_t SizeOf(RtType type) {
  switch (type) {
    case RtType::kPred:
    case RtType::kS8:
    case RtType::kU8:
    case RtType::kF8E5M2:
    case RtType::kF8E4M3FN:
    case RtType::kF8E4M3B11FNUZ:
    case RtType::kF8E5M2FNUZ:
    case RtType::kF8E4M3FNUZ:
    case RtType::kF8E4M3:
    case RtType::kF8E3M4:
    case RtType::kF8E8M0FNU:
      return 1;
    case RtType::kS16:
    case RtType::kU16:
    case RtType::kF16:
    case RtType::kBF16:
      return 2;
    case RtType::kS32:
    case RtType::kU32:
    case RtType::kF32:
      return 4;
    case RtType::kS64:
    case RtType::kU64:
    case RtType::kF64:
    case RtType::kC64:
      return 8;
    case RtType::kC128:
      return 16;
    case RtType::kToken:
    case RtType::kInvalid:
      return 0;
  }
  return 0;
}

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_TYPES_H_
