// Elementwise reductions of several arrays into one, in order.
#ifndef XC_BACKENDS_RUNTIME_REDUCE_ARRAYS_H_
#define XC_BACKENDS_RUNTIME_REDUCE_ARRAYS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "backends/runtime/types.h"

namespace xc {

enum class Reduction { kAdd, kMultiply, kMaximum, kMinimum, kAnd, kOr, kXor };

// By its HLO name; InvalidArgument for another.
absl::Status ReductionNamed(absl::string_view name, Reduction* reduction);

// out[i] = ((a[0][i] ∘ a[1][i]) ∘ a[2][i]) …, each step rounded to the type as HLO's op rounds it; maximum and minimum
// give NaN where one of both is. `out` may be one of `arrays`. Unimplemented for types without the operation.
absl::Status ReduceArrays(Reduction reduction, RtType type, int64_t elements, absl::Span<const void* const> arrays,
                          void* out);

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_REDUCE_ARRAYS_H_
