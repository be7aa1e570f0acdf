// Which matrix products of a program NVIDIA's library makes, and which a generated kernel does, with the reason.
#ifndef XC_BACKENDS_GPU_LIBRARY_PRODUCTS_H_
#define XC_BACKENDS_GPU_LIBRARY_PRODUCTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/gpu/emitter.h"
#include "backends/gpu/libraries/product.h"
#include "backends/gpu/runtime/device.h"

namespace xc::gpu {

// Decides while code is emitted; afterwards it does not change.
class LibraryProducts {
 public:
  struct Product {
    std::unique_ptr<LibraryProduct> product;
    ProductArrays arrays;
  };

  // The library is opened for the first product that is large enough for it; without `enabled`, never.
  void Use(std::shared_ptr<Device> device, bool emulate, bool enabled);
  // As TakeProduct. What decides is the product's descriptor, its memory's alignment, device and library: each run does
  // the same.
  absl::Status Take(const plan::Step& step, const MatmulDesc& desc, const ProductArrays& arrays);

  // Null where a kernel makes the step's product.
  const Product* Find(const plan::Step* step) const;
  int64_t count() const { return static_cast<int64_t>(products_.size()); }
  // Scratch memory of the one that needs the most.
  int64_t workspace_bytes() const;
  // A line "OPCODE NAME: WHO: WHY" for each product that was offered.
  std::string Report() const;

 private:
  absl::StatusOr<Product> Make(const plan::Step& step, const MatmulDesc& desc, const ProductArrays& arrays);

  std::shared_ptr<Device> device_;
  bool emulate_ = false, enabled_ = false;
  std::optional<absl::StatusOr<std::shared_ptr<ProductLibrary>>> library_;
  absl::flat_hash_map<const plan::Step*, Product> products_;
  std::vector<std::string> lines_;
};

}  // namespace xc::gpu

#endif  // XC_BACKENDS_GPU_LIBRARY_PRODUCTS_H_
