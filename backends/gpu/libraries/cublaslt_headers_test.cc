// Our declarations of cuBLASLt against its own headers, where these are installed.
#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

#include "backends/gpu/driver/header_comparison.h"
#include "backends/gpu/libraries/cublaslt.h"

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>

namespace xc::cublaslt {
namespace {

TEST(CublasLtHeadersTest, FunctionsHaveTheirParameters) {
#define X(result, name, parameters) \
  EXPECT_TRUE((AlikeFunctions<result parameters, std::remove_pointer_t<decltype(&::name)>>::value)) << #name;
#include "backends/gpu/libraries/cublaslt_functions.def"
#undef X
}

TEST(CublasLtHeadersTest, StructuresHaveTheirLayout) {
  EXPECT_EQ(sizeof(cublasLtMatmulAlgo_t), sizeof(::cublasLtMatmulAlgo_t));
  EXPECT_EQ(sizeof(cublasLtMatmulHeuristicResult_t), sizeof(::cublasLtMatmulHeuristicResult_t));
  XC_SAME_FIELD(cublasLtMatmulHeuristicResult_t, algo);
  XC_SAME_FIELD(cublasLtMatmulHeuristicResult_t, workspaceSize);
  XC_SAME_FIELD(cublasLtMatmulHeuristicResult_t, state);
  XC_SAME_FIELD(cublasLtMatmulHeuristicResult_t, wavesCount);
}

TEST(CublasLtHeadersTest, ConstantsHaveTheirValues) {
  XC_SAME(CUBLAS_STATUS_SUCCESS);
  XC_SAME(CUBLAS_STATUS_NOT_INITIALIZED);
  XC_SAME(CUBLAS_STATUS_ALLOC_FAILED);
  XC_SAME(CUBLAS_STATUS_INVALID_VALUE);
  XC_SAME(CUBLAS_STATUS_ARCH_MISMATCH);
  XC_SAME(CUBLAS_STATUS_EXECUTION_FAILED);
  XC_SAME(CUBLAS_STATUS_INTERNAL_ERROR);
  XC_SAME(CUBLAS_STATUS_NOT_SUPPORTED);
  XC_SAME(CUBLAS_COMPUTE_32F);
  XC_SAME(CUBLAS_COMPUTE_32F_PEDANTIC);
  XC_SAME(CUBLAS_COMPUTE_64F_PEDANTIC);
  XC_SAME(CUBLAS_COMPUTE_32F_FAST_TF32);
  XC_SAME(CUDA_R_32F);
  XC_SAME(CUDA_R_64F);
  XC_SAME(CUDA_R_16F);
  XC_SAME(CUDA_R_16BF);
  XC_SAME(CUBLAS_OP_N);
  XC_SAME(CUBLAS_OP_T);
  XC_SAME(CUBLASLT_MATMUL_DESC_TRANSA);
  XC_SAME(CUBLASLT_MATMUL_DESC_TRANSB);
  XC_SAME(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  XC_SAME(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  XC_SAME(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  XC_SAME(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
  XC_SAME(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
  XC_SAME(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
  XC_SAME(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
  XC_SAME(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
  XC_SAME(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
  XC_SAME(CUBLASLT_ALGO_CONFIG_ID);
}

}  // namespace
}  // namespace xc::cublaslt

#else

TEST(CublasLtHeadersTest, NoHeaders) { GTEST_SKIP() << "no headers of cuBLASLt on this machine"; }

#endif
