// The part of cuBLASLt's interface that is used here, declared by ourselves: types and constants, with the values and
// layouts of its headers (cublaslt_headers_test.cc compares); the functions are in cublaslt_functions.def. Nothing is
// linked: the loader opens the library.
#ifndef XC_BACKENDS_GPU_LIBRARIES_CUBLASLT_H_
#define XC_BACKENDS_GPU_LIBRARIES_CUBLASLT_H_

#include <cstddef>
#include <cstdint>

#include "backends/gpu/driver/cuda.h"

namespace xc::cublaslt {

using cublasStatus_t = int;
using cublasLtHandle_t = struct HandleOpaque*;
using cublasLtMatmulDesc_t = struct MatmulDescOpaque*;
using cublasLtMatrixLayout_t = struct MatrixLayoutOpaque*;
using cublasLtMatmulPreference_t = struct MatmulPreferenceOpaque*;
// The runtime's streams are the driver's.
using cudaStream_t = cuda::CUstream;

struct cublasLtMatmulAlgo_t {
  uint64_t data[8];
};

struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
};

// cublasStatus_t.
inline constexpr int CUBLAS_STATUS_SUCCESS = 0;
inline constexpr int CUBLAS_STATUS_NOT_INITIALIZED = 1;
inline constexpr int CUBLAS_STATUS_ALLOC_FAILED = 3;
inline constexpr int CUBLAS_STATUS_INVALID_VALUE = 7;
inline constexpr int CUBLAS_STATUS_ARCH_MISMATCH = 8;
inline constexpr int CUBLAS_STATUS_EXECUTION_FAILED = 13;
inline constexpr int CUBLAS_STATUS_INTERNAL_ERROR = 14;
inline constexpr int CUBLAS_STATUS_NOT_SUPPORTED = 15;

// cublasComputeType_t. The pedantic ones are deaf to the environment's NVIDIA_TF32_OVERRIDE.
inline constexpr int CUBLAS_COMPUTE_32F = 68;
inline constexpr int CUBLAS_COMPUTE_32F_PEDANTIC = 69;
inline constexpr int CUBLAS_COMPUTE_64F_PEDANTIC = 71;
inline constexpr int CUBLAS_COMPUTE_32F_FAST_TF32 = 77;

// cudaDataType.
inline constexpr int CUDA_R_32F = 0;
inline constexpr int CUDA_R_64F = 1;
inline constexpr int CUDA_R_16F = 2;
inline constexpr int CUDA_R_16BF = 14;

// cublasOperation_t.
inline constexpr int32_t CUBLAS_OP_N = 0;
inline constexpr int32_t CUBLAS_OP_T = 1;

// cublasLtMatmulDescAttributes_t.
inline constexpr int CUBLASLT_MATMUL_DESC_TRANSA = 3;
inline constexpr int CUBLASLT_MATMUL_DESC_TRANSB = 4;

// cublasLtMatrixLayoutAttribute_t.
inline constexpr int CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5;
inline constexpr int CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6;

// cublasLtMatmulPreferenceAttributes_t.
inline constexpr int CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1;
inline constexpr int CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK = 3;
inline constexpr int CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5;
inline constexpr int CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES = 6;
inline constexpr int CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES = 7;
inline constexpr int CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES = 8;

// cublasLtReductionScheme_t. With no bit set sums are not divided.
inline constexpr uint32_t CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE = 2;

// cublasLtMatmulAlgoConfigAttributes_t.
inline constexpr int CUBLASLT_ALGO_CONFIG_ID = 0;

}  // namespace xc::cublaslt

#endif  // XC_BACKENDS_GPU_LIBRARIES_CUBLASLT_H_
