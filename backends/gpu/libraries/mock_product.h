// For tests: the products of the mock of cuBLASLt, on memory of the host.
#ifndef XC_BACKENDS_GPU_LIBRARIES_MOCK_PRODUCT_H_
#define XC_BACKENDS_GPU_LIBRARIES_MOCK_PRODUCT_H_

#include <cstdint>

namespace xc::cublaslt::mock {

// Column-major.
struct Matrix {
  int type = 0;  // cudaDataType
  int64_t rows = 0, columns = 0, leading_dimension = 0;
  int32_t batches = 1;
  int64_t batch_stride = 0;

  bool operator==(const Matrix&) const = default;
  // Bytes from its first element to behind its last.
  int64_t ExtentBytes() const;
};

// d = alpha * a * b, for each batch.
struct Product {
  int compute_type = 0, scale_type = 0;
  bool transpose_a = false, transpose_b = false;
  Matrix a, b, d;
  const char* memory_a = nullptr;
  const char* memory_b = nullptr;
  char* memory_d = nullptr;
  char* workspace = nullptr;
  int64_t workspace_bytes = 0;
  double alpha = 1;

  // Whether types, sizes, leading dimensions and batches fit together.
  bool IsValid() const;
  // Of all but memory and alpha.
  uint64_t Fingerprint() const;
  // Reads the factors, of scale_type; false: one is missing, or the old result would count.
  bool SetScales(const void* alpha, const void* beta);
  // Whether the result or the workspace overlaps what is read, or each other.
  bool MemoryOverlaps() const;
  // Sums from the last term to the first, so that nobody can rely on an order; writes into the whole workspace.
  void Compute() const;
};

}  // namespace xc::cublaslt::mock

#endif  // XC_BACKENDS_GPU_LIBRARIES_MOCK_PRODUCT_H_
