// Arrays that are rotated along a dimension, as `jnp.roll` writes it: the rest of a slice before the slice.
#ifndef XC_COMPILER_SHARDING_ROTATION_H_
#define XC_COMPILER_SHARDING_ROTATION_H_

#include <optional>

#include "compiler/sharding/exchange.h"

namespace xc {

// Element j along the dimension is element j + by of the array, modulo the dimension's size; 0 < by < size.
struct Rotation {
  const HloInstruction* array = nullptr;
  int64_t dimension = 0, by = 0;
};

// What a concatenation of two slices rotates; nothing for other instructions.
std::optional<Rotation> RotationOf(const HloInstruction& i);

// Whether a slice is nothing but half of such a concatenation.
bool IsOnlyRotated(const HloInstruction& i);

// A device's part of the rotated array, which lies as the array.
HloInstruction* RotatedPart(const Rotation& rotation, const DevicePart& array, DeviceExchange* exchange);

}  // namespace xc

#endif  // XC_COMPILER_SHARDING_ROTATION_H_
