#include "backends/gpu/library_products.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/gpu/libraries/product_form.h"
#include "hlo/base/status.h"

namespace xc::gpu {
namespace {

// What an address in memory of ours, which begins at multiples of 256, is a multiple of.
uint32_t AlignmentOf(const BufferSlice& slice) {
  const int64_t offset = slice.offset | 256;
  return static_cast<uint32_t>(offset & -offset);
}

bool WantsTf32(const HloInstruction& dot) {
  const std::string* algorithm = dot.FindAttr<AttrKind::kAlgorithm>();
  return algorithm != nullptr && *algorithm == "dot_tf32_tf32_f32";
}

}  // namespace

void LibraryProducts::Use(std::shared_ptr<Device> device, bool emulate, bool enabled) {
  device_ = std::move(device);
  emulate_ = emulate;
  enabled_ = enabled;
}

absl::StatusOr<LibraryProducts::Product> LibraryProducts::Make(const plan::Step& step, const MatmulDesc& desc,
                                                               const ProductArrays& arrays) {
  if (!enabled_) return absl::UnimplementedError("the option gpu_libraries is off");
  XC_ASSIGN_OR_RETURN(const ProductForm form, ProductFormOf(desc, WantsTf32(*step.instruction)));
  if (!library_.has_value()) library_ = ProductLibrary::Open(device_, emulate_);
  XC_RETURN_IF_ERROR(library_->status());
  ProductAlignment alignment{AlignmentOf(arrays.a), AlignmentOf(arrays.b), AlignmentOf(arrays.result)};
  if (form.swapped) std::swap(alignment.first, alignment.second);
  Product product{nullptr, arrays};
  XC_ASSIGN_OR_RETURN(product.product, LibraryProduct::Make(**library_, form, alignment));
  return product;
}

absl::Status LibraryProducts::Take(const plan::Step& step, const MatmulDesc& desc, const ProductArrays& arrays) {
  absl::StatusOr<Product> product = Make(step, desc, arrays);
  lines_.push_back(absl::StrCat(
      OpcodeName(step.instruction->opcode()), " ", step.instruction->name(), ": ",
      product.ok() ? product->product->Description() : absl::StrCat("generated kernel: ", product.status().message())));
  if (!product.ok()) return product.status();
  products_[&step] = *std::move(product);
  return absl::OkStatus();
}

const LibraryProducts::Product* LibraryProducts::Find(const plan::Step* step) const {
  const auto it = products_.find(step);
  return it == products_.end() ? nullptr : &it->second;
}

int64_t LibraryProducts::workspace_bytes() const {
  int64_t bytes = 0;
  for (const auto& [step, product] : products_) bytes = std::max(bytes, product.product->workspace_bytes());
  return bytes;
}

std::string LibraryProducts::Report() const { return absl::StrJoin(lines_, "\n"); }

}  // namespace xc::gpu
