// Copies between tensors of the same dimensions and different strides, of any element size.
#ifndef XC_BACKENDS_RUNTIME_STRIDED_COPY_H_
#define XC_BACKENDS_RUNTIME_STRIDED_COPY_H_

#include <cstdint>

#include "absl/types/span.h"
#include "backends/runtime/run_context.h"

namespace xc {

// to[sum i_d * to_strides[d]] = from[sum i_d * from_strides[d]] for all indices within `dims`. Strides are in elements
// and may be negative or, for `from`, 0. Element sizes 1, 2, 4, 8, 16. Runs on the context's threads.
void StridedCopy(RunContext* ctx, absl::Span<const int64_t> dims, int64_t element_size, const void* from,
                 absl::Span<const int64_t> from_strides, void* to, absl::Span<const int64_t> to_strides);

// Row-major (last dimension contiguous) strides of `dims`.
void RowMajorStrides(absl::Span<const int64_t> dims, int64_t* strides);

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_STRIDED_COPY_H_
