// For tests: the matrix kernels of every instruction set.
#ifndef XC_BACKENDS_RUNTIME_ALL_GEMM_KERNELS_H_
#define XC_BACKENDS_RUNTIME_ALL_GEMM_KERNELS_H_

#include <vector>

#include "backends/runtime/gemm_kernels.h"

namespace xc {

// Those that this CPU runs.
inline std::vector<const GemmKernels*> AllGemmKernels() {
  std::vector<const GemmKernels*> all = {&gemm_v2::kKernels};
  if (&BestGemmKernels() != &gemm_v2::kKernels) all.push_back(&gemm_v3::kKernels);
  if (&BestGemmKernels() == &gemm_v4::kKernels) all.push_back(&gemm_v4::kKernels);
  return all;
}

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_ALL_GEMM_KERNELS_H_
