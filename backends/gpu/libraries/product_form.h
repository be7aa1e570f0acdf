// Matrix products in cuBLASLt's terms: which of them it is given, and how their arrays lie.
#ifndef XC_BACKENDS_GPU_LIBRARIES_PRODUCT_FORM_H_
#define XC_BACKENDS_GPU_LIBRARIES_PRODUCT_FORM_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "backends/runtime/matmul.h"

namespace xc::gpu {

// result = first * second, all column-major. The first factor is the descriptor's b where the result's rows are
// contiguous, since a row-major matrix is its transpose column by column.
struct ProductForm {
  // As it lies in memory, before it is transposed.
  struct Matrix {
    int type = 0;  // cudaDataType
    int64_t rows = 0, columns = 0;
    int64_t leading_dimension = 0;  // elements from a column to the next
    int64_t batch_stride = 0;       // elements; 0: all batches have the same
    bool transposed = false;
  };
  Matrix first, second, result;
  bool swapped = false;  // `first` is the descriptor's b
  int64_t batches = 1;
  int compute_type = 0;  // cublasComputeType_t
  int scale_type = 0;    // cudaDataType
};

// Multiplications from which on a product is the library's: 256 x 256 x 256. Smaller ones take about as long as a start
// does, whoever makes them, and generated kernels do with the result what follows without another start.
inline constexpr int64_t kLibraryMultiplications = int64_t{1} << 24;
// Fewer rows, columns or terms than this: a matrix by a few vectors waits for memory, and not for a better kernel.
inline constexpr int64_t kLibrarySide = 16;

// Unimplemented: a kernel makes the product, with the reason (its size, its types, how its arrays lie). `tf32`: the
// program wants f32 factors cut to the digits that tensor cores take; never done otherwise.
absl::StatusOr<ProductForm> ProductFormOf(const MatmulDesc& desc, bool tf32);

}  // namespace xc::gpu

#endif  // XC_BACKENDS_GPU_LIBRARIES_PRODUCT_FORM_H_
