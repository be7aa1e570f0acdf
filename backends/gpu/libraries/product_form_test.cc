// Which products the library is given, and what it is told of them.
#include "backends/gpu/libraries/product_form.h"

#include <gtest/gtest.h>

#include <string>

#include "backends/gpu/libraries/cublaslt.h"
#include "backends/runtime/testing/dense_product.h"

namespace xc::gpu {
namespace {

void ExpectRefused(const MatmulDesc& desc, const std::string& reason) {
  const auto form = ProductFormOf(desc, /*tf32=*/false);
  EXPECT_TRUE(absl::IsUnimplemented(form.status()));
  EXPECT_NE(std::string(form.status().message()).find(reason), std::string::npos) << form.status();
}

void ExpectMatrix(const ProductForm::Matrix& matrix, int64_t rows, int64_t columns, int64_t leading, bool transposed) {
  EXPECT_EQ(matrix.rows, rows);
  EXPECT_EQ(matrix.columns, columns);
  EXPECT_EQ(matrix.leading_dimension, leading);
  EXPECT_EQ(matrix.transposed, transposed);
}

TEST(ProductFormTest, RowMajorResultsAreTransposedProducts) {
  const ProductForm form = ProductFormOf(DenseProduct(RtType::kF32, 300, 400, 500), false).value();
  EXPECT_TRUE(form.swapped);
  EXPECT_EQ(form.batches, 1);
  EXPECT_EQ(form.compute_type, cublaslt::CUBLAS_COMPUTE_32F_PEDANTIC);
  EXPECT_EQ(form.scale_type, cublaslt::CUDA_R_32F);
  ExpectMatrix(form.first, 400, 500, 400, false);
  ExpectMatrix(form.second, 500, 300, 500, false);
  ExpectMatrix(form.result, 400, 300, 400, false);
}

TEST(ProductFormTest, FactorsMayBeTransposed) {
  MatmulDesc desc = DenseProduct(RtType::kBF16, 300, 400, 500);
  desc.a_m = 1, desc.a_k = 300;
  desc.b_k = 1, desc.b_n = 500;
  const ProductForm form = ProductFormOf(desc, false).value();
  EXPECT_EQ(form.compute_type, cublaslt::CUBLAS_COMPUTE_32F);
  EXPECT_EQ(form.first.type, cublaslt::CUDA_R_16BF);
  ExpectMatrix(form.first, 500, 400, 500, true);
  ExpectMatrix(form.second, 300, 500, 300, true);
}

TEST(ProductFormTest, ColumnMajorResultsAreNot) {
  MatmulDesc desc = DenseProduct(RtType::kF64, 300, 400, 500);
  desc.c_m = 1, desc.c_n = 300;
  const ProductForm form = ProductFormOf(desc, false).value();
  EXPECT_FALSE(form.swapped);
  EXPECT_EQ(form.compute_type, cublaslt::CUBLAS_COMPUTE_64F_PEDANTIC);
  EXPECT_EQ(form.scale_type, cublaslt::CUDA_R_64F);
  ExpectMatrix(form.first, 500, 300, 500, true);
  ExpectMatrix(form.result, 300, 400, 300, false);
}

TEST(ProductFormTest, Batches) {
  MatmulDesc desc = DenseProduct(RtType::kF16, 64, 64, 64);
  desc.num_batch_dims = 1;
  desc.batch[0] = 100, desc.a_batch[0] = 4096, desc.b_batch[0] = 0, desc.c_batch[0] = 4096;
  const ProductForm form = ProductFormOf(desc, false).value();
  EXPECT_EQ(form.batches, 100);
  EXPECT_EQ(form.first.batch_stride, 0);  // b
  EXPECT_EQ(form.second.batch_stride, 4096);
  desc.num_batch_dims = 2;
  ExpectRefused(desc, "several batch dimensions");
}

TEST(ProductFormTest, DigitsAreCutOnRequestOnly) {
  EXPECT_EQ(ProductFormOf(DenseProduct(RtType::kF32, 300, 400, 500), true).value().compute_type,
            cublaslt::CUBLAS_COMPUTE_32F_FAST_TF32);
  EXPECT_EQ(ProductFormOf(DenseProduct(RtType::kF64, 300, 400, 500), true).value().compute_type,
            cublaslt::CUBLAS_COMPUTE_64F_PEDANTIC);
}

TEST(ProductFormTest, OthersAreRefused) {
  ExpectRefused(DenseProduct(RtType::kF32, 128, 128, 128), "fewer than 16777216 multiplications");
  ExpectRefused(DenseProduct(RtType::kF32, 1 << 20, 1 << 10, 8), "one of its sizes is 8");
  ExpectRefused(DenseProduct(RtType::kS32, 300, 400, 500), "of types");
  MatmulDesc desc = DenseProduct(RtType::kBF16, 300, 400, 500);
  desc.c_type = static_cast<int32_t>(RtType::kF32);
  EXPECT_EQ(ProductFormOf(desc, false).value().result.type, cublaslt::CUDA_R_32F);
  desc.b_type = static_cast<int32_t>(RtType::kF16);
  ExpectRefused(desc, "of types");
  desc = DenseProduct(RtType::kF32, 300, 400, 500);
  desc.a_k = 2, desc.a_m = 1000;
  ExpectRefused(desc, "neither contiguous rows");
}

}  // namespace
}  // namespace xc::gpu
