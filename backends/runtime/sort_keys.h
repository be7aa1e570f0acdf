// Order-preserving maps from elements to unsigned integers, for sort and top-k.
#ifndef XC_BACKENDS_RUNTIME_SORT_KEYS_H_
#define XC_BACKENDS_RUNTIME_SORT_KEYS_H_

#include <cstdint>

#include "backends/runtime/sort.h"
#include "backends/runtime/types.h"

namespace xc {

enum class KeyKind { kUnsigned, kSigned, kFloat };

// Bytes of the key, 0 for types without an order.
inline int KeyBytes(RtType type, KeyKind* kind) {
  switch (type) {
    case RtType::kPred:
    case RtType::kU8:
    case RtType::kU16:
    case RtType::kU32:
    case RtType::kU64:
    case RtType::kF8E8M0FNU:
      *kind = KeyKind::kUnsigned;
      return static_cast<int>(SizeOf(type));
    case RtType::kS8:
    case RtType::kS16:
    case RtType::kS32:
    case RtType::kS64:
      *kind = KeyKind::kSigned;
      return static_cast<int>(SizeOf(type));
    case RtType::kF16:
    case RtType::kBF16:
    case RtType::kF32:
    case RtType::kF64:
      *kind = KeyKind::kFloat;
      return static_cast<int>(SizeOf(type));
    default:
      return 0;
  }
}

// The bit pattern of infinity: larger magnitudes are NaN.
inline uint64_t Infinity(RtType type) {
  switch (type) {
    case RtType::kF16:
      return 0x7c00;
    case RtType::kBF16:
      return 0x7f80;
    case RtType::kF32:
      return 0x7f800000;
    default:
      return 0x7ff0000000000000;
  }
}

// Element bits to a key that ascends in the order wanted. U is the unsigned type of the element's size.
template <typename U>
struct KeyMap {
  KeyMap(RtType type, KeyKind kind, SortKey order, bool descending)
      : flip(descending ? static_cast<U>(~U{0}) : U{0}),
        infinity(static_cast<U>(kind == KeyKind::kFloat ? Infinity(type) : 0)),
        kind(kind),
        merge(kind == KeyKind::kFloat && order != SortKey::kTotalOrder) {}

  U operator()(U bits) const {
    constexpr U kSign = static_cast<U>(U{1} << (sizeof(U) * 8 - 1));
    if (kind == KeyKind::kSigned) return static_cast<U>((bits ^ kSign) ^ flip);
    if (kind == KeyKind::kFloat) {
      if (merge) {
        const U magnitude = static_cast<U>(bits & static_cast<U>(~kSign));
        if (magnitude == 0) bits = 0;
        if (magnitude > infinity) bits = static_cast<U>(~kSign);
      }
      bits = static_cast<U>((bits & kSign) ? ~bits : (bits | kSign));
    }
    return static_cast<U>(bits ^ flip);
  }
  // Whether elements can be had back from their keys.
  bool Invertible() const { return !merge; }
  U Inverse(U key) const {
    constexpr U kSign = static_cast<U>(U{1} << (sizeof(U) * 8 - 1));
    key = static_cast<U>(key ^ flip);
    if (kind == KeyKind::kSigned) return static_cast<U>(key ^ kSign);
    if (kind == KeyKind::kFloat) return static_cast<U>((key & kSign) ? key ^ kSign : ~key);
    return key;
  }

  const U flip, infinity;
  const KeyKind kind;
  const bool merge;
};

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_SORT_KEYS_H_
