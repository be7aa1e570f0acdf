// Matrix products by cuBLASLt: a handle for a device, and products that are ready to be started any number of times.
#ifndef XC_BACKENDS_GPU_LIBRARIES_PRODUCT_H_
#define XC_BACKENDS_GPU_LIBRARIES_PRODUCT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/gpu/libraries/cublaslt_library.h"
#include "backends/gpu/libraries/product_form.h"
#include "backends/gpu/runtime/device.h"
#include "backends/gpu/runtime/stream.h"

namespace xc::gpu {

// Scratch memory that an algorithm may ask for: what NVIDIA recommends for devices of compute capability 9.0.
inline constexpr int64_t kMostWorkspaceBytes = int64_t{32} << 20;

// Thread-safe.
class ProductLibrary {
 public:
  // `emulate`: the device is the emulator's. Errors as FindCublasLt's; what the library says to the device.
  static absl::StatusOr<std::shared_ptr<ProductLibrary>> Open(std::shared_ptr<Device> device, bool emulate);
  ~ProductLibrary();
  ProductLibrary(const ProductLibrary&) = delete;
  ProductLibrary& operator=(const ProductLibrary&) = delete;

  const CublasLt& functions() const { return *functions_; }
  cublaslt::cublasLtHandle_t handle() const { return handle_; }
  Device& device() const { return *device_; }

 private:
  ProductLibrary(std::shared_ptr<Device> device, const CublasLt* functions, cublaslt::cublasLtHandle_t handle)
      : device_(std::move(device)), functions_(functions), handle_(handle) {}
  const std::shared_ptr<Device> device_;
  const CublasLt* const functions_;
  const cublaslt::cublasLtHandle_t handle_;
};

// Bytes that the addresses of a product's arrays are multiples of, at most 256.
struct ProductAlignment {
  uint32_t first = 256, second = 256, result = 256;
};

// Thread-safe.
class LibraryProduct {
 public:
  // The first algorithm that the library proposes: it proposes the same ones for the same product, device and version.
  // Sums that it divides among blocks are put together from parts of the sum's type and in one order. Errors:
  // Unimplemented, it proposes none; a descriptor that the library refuses is Internal.
  static absl::StatusOr<std::unique_ptr<LibraryProduct>> Make(std::shared_ptr<ProductLibrary> library,
                                                              const ProductForm& form,
                                                              const ProductAlignment& alignment);
  ~LibraryProduct();
  LibraryProduct(const LibraryProduct&) = delete;
  LibraryProduct& operator=(const LibraryProduct&) = delete;

  // Puts the product into the stream. `a` and `b` are the addresses of the MatmulDesc's factors; `workspace` that of
  // workspace_bytes() of memory which nobody else uses meanwhile, a multiple of 256.
  absl::Status Start(Stream* stream, uint64_t a, uint64_t b, uint64_t result, uint64_t workspace) const;
  int64_t workspace_bytes() const { return static_cast<int64_t>(chosen_.workspaceSize); }
  // "cuBLASLt 13.1.0, algorithm 21, 0 bytes of workspace".
  std::string Description() const;

 private:
  explicit LibraryProduct(std::shared_ptr<ProductLibrary> library) : library_(std::move(library)) {}
  absl::Status Describe(const ProductForm& form);
  absl::StatusOr<cublaslt::cublasLtMatrixLayout_t> Layout(const ProductForm::Matrix& matrix, int64_t batches) const;
  absl::Status Choose(const ProductAlignment& alignment);

  const std::shared_ptr<ProductLibrary> library_;
  bool swapped_ = false, double_scale_ = false;
  cublaslt::cublasLtMatmulDesc_t desc_ = nullptr;
  cublaslt::cublasLtMatrixLayout_t first_ = nullptr, second_ = nullptr, result_ = nullptr;
  cublaslt::cublasLtMatmulHeuristicResult_t chosen_ = {};
};

}  // namespace xc::gpu

#endif  // XC_BACKENDS_GPU_LIBRARIES_PRODUCT_H_
