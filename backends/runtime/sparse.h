// Products of sparse matrices, as the custom calls of JAX's CPU lowering ask for them.
#ifndef XC_BACKENDS_RUNTIME_SPARSE_H_
#define XC_BACKENDS_RUNTIME_SPARSE_H_

#include "backends/runtime/custom_call.h"

namespace xc {

// cpu_csr_sparse_dense_ffi: data[n], s32 row_starts[rows + 1], s32 columns[n] and a dense x[cols] or x[cols, k] give
// y[rows] or y[rows, k], row-major, of data's type (integers of 8 to 64 bits, f32, f64, c64, c128). Entries add up in
// their order. Those whose column x does not have count as zero; a row's ends are clamped to 0 and n.
absl::Status CsrTimesDense(RunContext* ctx, const CallArgs& args);

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_SPARSE_H_
