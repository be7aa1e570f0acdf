// cuBLASLt as a table of functions, opened at run time: NVIDIA's library on a device, a mock of it on the emulator.
#ifndef XC_BACKENDS_GPU_LIBRARIES_CUBLASLT_LIBRARY_H_
#define XC_BACKENDS_GPU_LIBRARIES_CUBLASLT_LIBRARY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/gpu/libraries/cublaslt.h"

namespace xc::gpu {

// Major versions whose interface is known.
inline constexpr int kOldestCublasLt = 12, kNewestCublasLt = 13;

struct CublasLt {
  std::string library;  // what was opened
  size_t version = 0;   // 130100 is 13.1.0

  // The names of the functions' types are the library's.
  using cublasStatus_t = cublaslt::cublasStatus_t;
  using cublasLtHandle_t = cublaslt::cublasLtHandle_t;
  using cublasLtMatmulDesc_t = cublaslt::cublasLtMatmulDesc_t;
  using cublasLtMatrixLayout_t = cublaslt::cublasLtMatrixLayout_t;
  using cublasLtMatmulPreference_t = cublaslt::cublasLtMatmulPreference_t;
  using cublasLtMatmulAlgo_t = cublaslt::cublasLtMatmulAlgo_t;
  using cublasLtMatmulHeuristicResult_t = cublaslt::cublasLtMatmulHeuristicResult_t;
  using cudaStream_t = cublaslt::cudaStream_t;
#define X(result, name, parameters) result(*name) parameters = nullptr;
#include "backends/gpu/libraries/cublaslt_functions.def"
#undef X

  // "cuBLASLt 13.1.0".
  std::string Name() const;
  // OK for CUBLAS_STATUS_SUCCESS; else what failed ("choosing an algorithm") with the library's text. What it does not
  // support is Unimplemented, no memory ResourceExhausted, all else Internal.
  absl::Status Check(int status, absl::string_view what) const;
};

// The library in the file `library`, opened once per process, for ever. Errors, Unavailable: there is no such library;
// it is of another major version; it lacks a function (which is named); it works on devices and not on the emulator, or
// the other way round.
absl::StatusOr<const CublasLt*> OpenCublasLt(const std::string& library, bool emulate);

// The same for the file that the environment's XC_GPU_CUBLASLT names or, on a device, where the system has it.
absl::StatusOr<const CublasLt*> FindCublasLt(bool emulate);

}  // namespace xc::gpu

#endif  // XC_BACKENDS_GPU_LIBRARIES_CUBLASLT_LIBRARY_H_
