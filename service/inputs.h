// Deterministic inputs for an entry computation, the same as ../shared/tools/hlo_inputs.py defines them.
#ifndef XC_SERVICE_INPUTS_H_
#define XC_SERVICE_INPUTS_H_

#include "hlo/literal.h"

namespace xc {

// Leaf number `p` of the entry parameters: element i (row-major) is made from splitmix64((p << 40) + i). pred: its top
// bit; integers: its top two bits; floats: u = (bits >> 40) / 2^24, for rank >= 2 (u - 0.5) * 0.2, else u * 0.5 + 0.5,
// in f32, rounded to the type; complex: two consecutive elements of that stream.
Literal MakeInput(int64_t p, const Shape& shape);

}  // namespace xc

#endif  // XC_SERVICE_INPUTS_H_
