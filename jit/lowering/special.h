// Special functions that several lowerings use, on arrays of f32 or f64.
#ifndef XC_JIT_LOWERING_SPECIAL_H_
#define XC_JIT_LOWERING_SPECIAL_H_

#include "jit/lowering/emitter.h"

namespace xc {

Val Lgamma(Emitter& b, Val x);   // log |gamma(x)|
Val Digamma(Emitter& b, Val x);  // its derivative

}  // namespace xc

#endif  // XC_JIT_LOWERING_SPECIAL_H_
