// Comparison of results: the rules of the conformance programs and of golden outputs.
#ifndef XC_SERVICE_COMPARE_H_
#define XC_SERVICE_COMPARE_H_

#include <string>

#include "hlo/literal.h"

namespace xc {

// Both return "" if `actual` is right, or what is wrong: first differing element, largest error.

// Bit for bit, any NaN equal to any NaN.
std::string CompareExact(const Literal& actual, const Literal& expected);
// |actual - expected| <= t + t * |expected| per element, with t = 2e-2 for bf16 and narrower, 2e-3 for f16, 1e-4 for
// f32 and c64, 1e-6 for f64 and c128; integers exactly. Infinities and NaNs must agree.
std::string CompareClose(const Literal& actual, const Literal& expected);
// ||actual - expected|| <= t * ||expected|| over all elements, with t = 3e-2 for bf16 and narrower, 4e-3 for f16, 2e-4
// for f32 and c64, 1e-9 for f64 and c128, 0 for integers; non-finite elements must agree in being so.
std::string CompareNorm(const Literal& actual, const Literal& expected);

}  // namespace xc

#endif  // XC_SERVICE_COMPARE_H_
