// The cholesky and triangular-solve instructions for generated code.
#ifndef XC_BACKENDS_RUNTIME_LINALG_H_
#define XC_BACKENDS_RUNTIME_LINALG_H_

#include <cstdint>

#include "absl/status/status.h"
#include "backends/runtime/run_context.h"
#include "backends/runtime/types.h"

namespace xc {

// Plain data, so that generated code can hold them as constants. Types: f32, f64, c64, c128. Matrices are batched over
// one dimension; strides are in elements: batch, row, column.
struct CholeskyDesc {
  int32_t type = 0;   // RtType
  int32_t lower = 1;  // else the factor is upper: a = u^H * u
  int64_t batch = 1, n = 0;
  int64_t in[3] = {}, out[3] = {};
};

struct TriangularSolveDesc {
  int32_t type = 0;  // RtType
  int32_t left_side = 1, lower = 1, unit_diagonal = 0;
  int32_t transpose_a = 1;  // HLO's numbers: 1 none, 2 transpose, 3 adjoint
  int32_t unused = 0;
  int64_t batch = 1, rows = 0, cols = 0;  // of b
  int64_t a[3] = {}, b[3] = {}, out[3] = {};
};

// Reads one triangle of `in`. The other triangle of `out` is 0. A matrix that is not positive definite gives NaN
// everywhere. `out` may be `in`.
absl::Status Cholesky(RunContext* ctx, const CholeskyDesc& desc, const void* in, void* out);

// out = op(a)^-1 * b, or b * op(a)^-1. `out` may be `b`.
absl::Status TriangularSolve(RunContext* ctx, const TriangularSolveDesc& desc, const void* a, const void* b, void* out);

}  // namespace xc

extern "C" {
int xc_rt_cholesky(void* ctx, const xc::CholeskyDesc* desc, const void* in, void* out);
int xc_rt_triangular_solve(void* ctx, const xc::TriangularSolveDesc* desc, const void* a, const void* b, void* out);
}

#endif  // XC_BACKENDS_RUNTIME_LINALG_H_
