// TensorLists in ops that also take arrays.
#ifndef XC_JIT_LOWERING_BASIC_LISTS_H_
#define XC_JIT_LOWERING_BASIC_LISTS_H_

#include "jit/lowering/lowering.h"

namespace xc {

absl::Status ZerosLikeList(OpContext& c);
absl::Status AddLists(OpContext& c);  // of equal length, element by element

}  // namespace xc

#endif  // XC_JIT_LOWERING_BASIC_LISTS_H_
