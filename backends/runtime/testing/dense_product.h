// For tests: descriptors of matrix products.
#ifndef XC_BACKENDS_RUNTIME_TESTING_DENSE_PRODUCT_H_
#define XC_BACKENDS_RUNTIME_TESTING_DENSE_PRODUCT_H_

#include <cstdint>

#include "backends/runtime/matmul.h"

namespace xc {

// m x k by k x n, all arrays of one type, dense and row-major.
inline MatmulDesc DenseProduct(RtType type, int64_t m, int64_t n, int64_t k) {
  MatmulDesc desc;
  desc.a_type = desc.b_type = desc.c_type = static_cast<int32_t>(type);
  desc.m = m, desc.n = n, desc.k = k;
  desc.a_m = k, desc.a_k = 1;
  desc.b_k = n, desc.b_n = 1;
  desc.c_m = n, desc.c_n = 1;
  return desc;
}

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_TESTING_DENSE_PRODUCT_H_
