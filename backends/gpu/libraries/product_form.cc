#include "backends/gpu/libraries/product_form.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "backends/gpu/libraries/cublaslt.h"

namespace xc::gpu {
namespace {

int DataType(int32_t type) {
  switch (static_cast<RtType>(type)) {
    case RtType::kF32:
      return cublaslt::CUDA_R_32F;
    case RtType::kF64:
      return cublaslt::CUDA_R_64F;
    case RtType::kF16:
      return cublaslt::CUDA_R_16F;
    case RtType::kBF16:
      return cublaslt::CUDA_R_16BF;
    default:
      return -1;
  }
}

// Sums are of f32, of f64 for f64. The pedantic ways leave f32 factors whole whatever the environment says; narrow
// factors are exact in tensor cores.
int ComputeType(int factors, bool tf32) {
  if (factors == cublaslt::CUDA_R_64F) return cublaslt::CUBLAS_COMPUTE_64F_PEDANTIC;
  if (factors != cublaslt::CUDA_R_32F) return cublaslt::CUBLAS_COMPUTE_32F;
  return tf32 ? cublaslt::CUBLAS_COMPUTE_32F_FAST_TF32 : cublaslt::CUBLAS_COMPUTE_32F_PEDANTIC;
}

// A matrix of `rows` by `columns` with these strides, as it is or as its transpose; false: neither is contiguous.
bool Lay(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride, ProductForm::Matrix* matrix) {
  const bool as_is = row_stride == 1 && column_stride >= rows;
  if (!as_is && !(column_stride == 1 && row_stride >= columns)) return false;
  matrix->transposed = !as_is;
  matrix->rows = as_is ? rows : columns;
  matrix->columns = as_is ? columns : rows;
  matrix->leading_dimension = as_is ? column_stride : row_stride;
  return true;
}

}  // namespace

absl::StatusOr<ProductForm> ProductFormOf(const MatmulDesc& desc, bool tf32) {
  ProductForm form;
  const int a = DataType(desc.a_type), b = DataType(desc.b_type), c = DataType(desc.c_type);
  if (a < 0 || a != b || (c != a && c != cublaslt::CUDA_R_32F) || (c != a && a == cublaslt::CUDA_R_64F)) {
    return absl::UnimplementedError("of types that the library is not asked for");
  }
  if (desc.num_batch_dims > 1) return absl::UnimplementedError("several batch dimensions that no one stride walks");
  form.batches = desc.num_batch_dims == 1 ? desc.batch[0] : 1;
  const int64_t side = std::min({desc.m, desc.n, desc.k});
  if (side < kLibrarySide) return absl::UnimplementedError(absl::StrCat("one of its sizes is ", side));
  const double multiplications = static_cast<double>(desc.m) * desc.n * desc.k * form.batches;
  if (multiplications < kLibraryMultiplications) {
    return absl::UnimplementedError(absl::StrCat("fewer than ", kLibraryMultiplications, " multiplications"));
  }
  form.compute_type = ComputeType(a, tf32);
  form.scale_type = a == cublaslt::CUDA_R_64F ? cublaslt::CUDA_R_64F : cublaslt::CUDA_R_32F;
  form.swapped = desc.c_n == 1;
  const bool s = form.swapped;
  const int64_t rows = s ? desc.n : desc.m, columns = s ? desc.m : desc.n;
  const bool dense = Lay(rows, desc.k, s ? desc.b_n : desc.a_m, s ? desc.b_k : desc.a_k, &form.first) &&
                     Lay(desc.k, columns, s ? desc.a_k : desc.b_k, s ? desc.a_m : desc.b_n, &form.second) &&
                     Lay(rows, columns, s ? desc.c_n : desc.c_m, s ? desc.c_m : desc.c_n, &form.result) &&
                     !form.result.transposed;
  if (!dense) return absl::UnimplementedError("its arrays have neither contiguous rows nor contiguous columns");
  form.first.type = form.second.type = a;
  form.result.type = c;
  if (desc.num_batch_dims == 1) {
    form.first.batch_stride = s ? desc.b_batch[0] : desc.a_batch[0];
    form.second.batch_stride = s ? desc.a_batch[0] : desc.b_batch[0];
    form.result.batch_stride = desc.c_batch[0];
  }
  return form;
}

}  // namespace xc::gpu
