// Special functions made of elementwise instructions, in the type of their operands: f32 or f64, from which callers
// round to narrower ones.
#ifndef XC_HLO_BUILDER_SPECIAL_FUNCTIONS_H_
#define XC_HLO_BUILDER_SPECIAL_FUNCTIONS_H_

#include "hlo/builder/builder.h"

namespace xc {

Op Lgamma(HloBuilder& b, Op x);   // log |gamma(x)|
Op Digamma(HloBuilder& b, Op x);  // its derivative
Op Erfc(HloBuilder& b, Op x);     // 1 - erf(x)
Op ErfInv(HloBuilder& b, Op x);   // the inverse of erf
// Sum of (q + k)^-x over k >= 0. In f64 only: its series cancels too much for less, as do those of the next two.
Op Zeta(HloBuilder& b, Op x, Op q);
Op Polygamma(HloBuilder& b, Op n, Op x);  // the n-th derivative of digamma
// The modified Bessel function I of `order` 0 or 1, times exp(-|x|) if `scaled`.
Op BesselI(HloBuilder& b, Op x, int order, bool scaled);
// The neighbour of x in the direction of y, of any IEEE type of 16 to 64 bits.
Op NextAfter(HloBuilder& b, Op x, Op y);

}  // namespace xc

#endif  // XC_HLO_BUILDER_SPECIAL_FUNCTIONS_H_
