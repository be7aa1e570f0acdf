// Batched matrix products for generated code: descriptor, kernel choice, parallel tiles.
#ifndef XC_BACKENDS_RUNTIME_MATMUL_H_
#define XC_BACKENDS_RUNTIME_MATMUL_H_

#include <cstdint>

#include "absl/status/status.h"
#include "backends/runtime/run_context.h"
#include "backends/runtime/types.h"

namespace xc {

inline constexpr int kMaxBatchDims = 4;

// c[batch, m, n] = sum over k of a[batch, m, k] * b[batch, k, n]. All strides are in elements; a stride of an input may
// be 0 (broadcast). Plain data, so that generated code can hold it as a constant (field order and types are part of the
// interface). Types: f32, f64, f16, bf16, c64, c128 and integers with a, b and c alike; f16 or bf16 with c = f32;
// s8/u8 with s8/u8 and c = s32.
struct MatmulDesc {
  int32_t a_type = 0, b_type = 0, c_type = 0;  // RtType
  int32_t num_batch_dims = 0;
  int64_t m = 1, n = 1, k = 1;
  int64_t a_m = 0, a_k = 0;
  int64_t b_k = 0, b_n = 0;
  int64_t c_m = 0, c_n = 0;
  int64_t batch[kMaxBatchDims] = {1, 1, 1, 1};
  int64_t a_batch[kMaxBatchDims] = {}, b_batch[kMaxBatchDims] = {}, c_batch[kMaxBatchDims] = {};
};

// Computes c in f32, f64 or integers as GemmTile says. Each output's sum is taken in an order that depends on the
// descriptor and the CPU only, not on the number of threads. `c` must not overlap the inputs. Unimplemented for types
// outside the list; InvalidArgument for a descriptor that makes no sense.
absl::Status Matmul(RunContext* ctx, const MatmulDesc& desc, const void* a, const void* b, void* c);

// For tests: never use oneDNN.
void SetMatmulUseOneDnn(bool use);

}  // namespace xc

extern "C" {
int xc_rt_matmul(void* ctx, const xc::MatmulDesc* desc, const void* a, const void* b, void* c);
}

#endif  // XC_BACKENDS_RUNTIME_MATMUL_H_
