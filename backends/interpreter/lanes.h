// Elements of any array type as a few wide compute types: loads that widen, stores that round once. Operators are
// written for the compute types only, which keeps the number of template instances small.
#ifndef XC_BACKENDS_INTERPRETER_LANES_H_
#define XC_BACKENDS_INTERPRETER_LANES_H_

#include <complex>
#include <cstdint>

#include "hlo/element_type.h"

namespace xc::interp {

// Elements handled at a time by the loops that go through compute types.
inline constexpr int64_t kLanes = 512;

// The compute types.
using Complex = std::complex<double>;

// Reads elements base[start + i * stride], i < n, counted in elements, and widens them. Floats to integers truncate and
// saturate (NaN gives 0), integers to other integers keep the low bits, complex numbers give their real part.
template <typename C>
using LoadFn = void (*)(const uint8_t* base, int64_t start, int64_t stride, int64_t n, C* out);
// Writes n elements from base[start] on: floats round to nearest even, floats to integers truncate and saturate,
// integers keep the low bits, pred is x != 0.
template <typename C>
using StoreFn = void (*)(const C* in, int64_t n, uint8_t* base, int64_t start);

// Defined for C = double, int64_t, uint64_t and Complex over all array types, and for C = float over the real floats
// of at most 32 bits. Null for types that hold no array.
template <typename C>
LoadFn<C> GetLoad(ElementType type);
template <typename C>
StoreFn<C> GetStore(ElementType type);

// Whether elements of `type` are stored as C itself.
template <typename C>
bool StoredAs(ElementType type);

}  // namespace xc::interp

#endif  // XC_BACKENDS_INTERPRETER_LANES_H_
