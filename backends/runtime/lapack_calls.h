// The LAPACK custom calls of JAX's CPU lowering: lapack_…_ffi, with their operands, results and attributes, and the
// form from before 2024 (lapack_…, blas_…trsm), which has sizes and choices as scalar operands and workspaces as
// results.
#ifndef XC_BACKENDS_RUNTIME_LAPACK_CALLS_H_
#define XC_BACKENDS_RUNTIME_LAPACK_CALLS_H_

#include <string>
#include <utility>
#include <vector>

#include "backends/runtime/custom_call.h"

namespace xc {

using NamedCalls = std::vector<std::pair<std::string, CallFunction>>;

// All of them: {potrf, trsm, getrf, geqrf, geqp3, orgqr, ormqr, gtsv, gehrd, sytrd, syevd, gesdd, gesvd, geev, gees}
// under the names that LAPACK gives them for f32, f64, c64 and c128, and tridiagonal_solve_perturbed_ffi; and those of
// XLA's own builder, which TensorFlow's bridge writes: Qr, ProductOfElementaryHouseholderReflectors, LuDecomposition
// and Eigh, each for all four types.
NamedCalls LapackCalls();

// The parts, by file.
NamedCalls LapackFactorCalls();
NamedCalls LapackReductionCalls();
NamedCalls LapackSpectralCalls();
// The older form of those in `calls`.
NamedCalls LapackOriginalCalls(const NamedCalls& calls);

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_LAPACK_CALLS_H_
