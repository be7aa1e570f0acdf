// Numbers that are another value plus a constant: i and i + 2 are two apart whatever i is.
#ifndef XC_JIT_LOWERING_BASIC_OFFSET_H_
#define XC_JIT_LOWERING_BASIC_OFFSET_H_

#include <optional>

#include "jit/lowering/emitter.h"

namespace xc {

struct Offset {
  const HloInstruction* base = nullptr;  // null: the number is `constant`
  int64_t constant = 0;
};

// Element `i` of a vector of integers; none if it is not made from scalars. Sums in 32 bits may wrap, so that the
// distance of two elements holds only where neither does: who uses it checks that both are in range.
std::optional<Offset> ElementOf(const HloInstruction* vector, int64_t i);

}  // namespace xc

#endif  // XC_JIT_LOWERING_BASIC_OFFSET_H_
