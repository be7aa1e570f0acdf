#include "backends/gpu/libraries/product.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"

namespace xc::gpu {

namespace lt = cublaslt;

absl::StatusOr<std::shared_ptr<ProductLibrary>> ProductLibrary::Open(std::shared_ptr<Device> device, bool emulate) {
  XC_ASSIGN_OR_RETURN(const CublasLt* functions, FindCublasLt(emulate));
  XC_RETURN_IF_ERROR(device->Usable());
  const ContextScope scope(*device);
  lt::cublasLtHandle_t handle = nullptr;
  XC_RETURN_IF_ERROR(functions->Check(functions->cublasLtCreate(&handle), "making a handle"));
  return std::shared_ptr<ProductLibrary>(new ProductLibrary(std::move(device), functions, handle));
}

ProductLibrary::~ProductLibrary() {
  if (device_->lost()) return;
  const ContextScope scope(*device_);
  functions_->cublasLtDestroy(handle_);
}

absl::StatusOr<std::unique_ptr<LibraryProduct>> LibraryProduct::Make(std::shared_ptr<ProductLibrary> library,
                                                                     const ProductForm& form,
                                                                     const ProductAlignment& alignment) {
  XC_RETURN_IF_ERROR(library->device().Usable());
  const ContextScope scope(library->device());
  std::unique_ptr<LibraryProduct> product(new LibraryProduct(std::move(library)));
  XC_RETURN_IF_ERROR(product->Describe(form));
  XC_RETURN_IF_ERROR(product->Choose(alignment));
  return product;
}

LibraryProduct::~LibraryProduct() {
  const CublasLt& f = library_->functions();
  for (lt::cublasLtMatrixLayout_t layout : {first_, second_, result_}) {
    if (layout != nullptr) f.cublasLtMatrixLayoutDestroy(layout);
  }
  if (desc_ != nullptr) f.cublasLtMatmulDescDestroy(desc_);
}

absl::StatusOr<lt::cublasLtMatrixLayout_t> LibraryProduct::Layout(const ProductForm::Matrix& matrix,
                                                                  int64_t batches) const {
  const CublasLt& f = library_->functions();
  lt::cublasLtMatrixLayout_t layout = nullptr;
  XC_RETURN_IF_ERROR(
      f.Check(f.cublasLtMatrixLayoutCreate(&layout, matrix.type, static_cast<uint64_t>(matrix.rows),
                                           static_cast<uint64_t>(matrix.columns), matrix.leading_dimension),
              "describing a matrix"));
  const int32_t count = static_cast<int32_t>(batches);
  absl::Status status =
      f.Check(f.cublasLtMatrixLayoutSetAttribute(layout, lt::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)),
              "setting a number of batches");
  if (status.ok()) {
    status = f.Check(f.cublasLtMatrixLayoutSetAttribute(layout, lt::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                        &matrix.batch_stride, sizeof(matrix.batch_stride)),
                     "setting the distance of batches");
  }
  if (status.ok()) return layout;
  f.cublasLtMatrixLayoutDestroy(layout);
  return status;
}

absl::Status LibraryProduct::Describe(const ProductForm& form) {
  const CublasLt& f = library_->functions();
  if (form.batches != static_cast<int32_t>(form.batches)) {
    return absl::UnimplementedError(absl::StrCat("it has ", form.batches, " batches"));
  }
  swapped_ = form.swapped;
  double_scale_ = form.scale_type == lt::CUDA_R_64F;
  XC_RETURN_IF_ERROR(
      f.Check(f.cublasLtMatmulDescCreate(&desc_, form.compute_type, form.scale_type), "describing a product"));
  for (const auto& [attribute, matrix] : {std::pair{lt::CUBLASLT_MATMUL_DESC_TRANSA, &form.first},
                                          std::pair{lt::CUBLASLT_MATMUL_DESC_TRANSB, &form.second}}) {
    const int32_t operation = matrix->transposed ? lt::CUBLAS_OP_T : lt::CUBLAS_OP_N;
    XC_RETURN_IF_ERROR(f.Check(f.cublasLtMatmulDescSetAttribute(desc_, attribute, &operation, sizeof(operation)),
                               "transposing a factor"));
  }
  XC_ASSIGN_OR_RETURN(first_, Layout(form.first, form.batches));
  XC_ASSIGN_OR_RETURN(second_, Layout(form.second, form.batches));
  XC_ASSIGN_OR_RETURN(result_, Layout(form.result, form.batches));
  return absl::OkStatus();
}

absl::Status LibraryProduct::Choose(const ProductAlignment& alignment) {
  const CublasLt& f = library_->functions();
  lt::cublasLtMatmulPreference_t preference = nullptr;
  XC_RETURN_IF_ERROR(f.Check(f.cublasLtMatmulPreferenceCreate(&preference), "making preferences"));
  absl::Status status;
  const auto prefer = [&](int attribute, const auto& value) {
    status.Update(f.Check(f.cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value)),
                          "stating a preference"));
  };
  prefer(lt::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(kMostWorkspaceBytes));
  prefer(lt::CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, lt::CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
  prefer(lt::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment.first);
  prefer(lt::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment.second);
  prefer(lt::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment.result);
  prefer(lt::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment.result);
  int found = 0;
  if (status.ok()) {
    status = f.Check(f.cublasLtMatmulAlgoGetHeuristic(library_->handle(), desc_, first_, second_, result_, result_,
                                                      preference, /*requested=*/1, &chosen_, &found),
                     "choosing an algorithm");
  }
  f.cublasLtMatmulPreferenceDestroy(preference);
  if (!status.ok()) return status;
  if (found == 0) return absl::UnimplementedError(absl::StrCat(f.Name(), " has no algorithm for it"));
  XC_RETURN_IF_ERROR(f.Check(chosen_.state, "choosing an algorithm"));
  if (workspace_bytes() <= kMostWorkspaceBytes) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(f.Name(), " wants ", workspace_bytes(), " bytes of workspace, of ",
                                          kMostWorkspaceBytes, " that it may have"));
}

absl::Status LibraryProduct::Start(Stream* stream, uint64_t a, uint64_t b, uint64_t result, uint64_t workspace) const {
  XC_RETURN_IF_ERROR(library_->device().Usable());
  const ContextScope scope(library_->device());
  const CublasLt& f = library_->functions();
  const auto memory = [](uint64_t address) { return reinterpret_cast<void*>(address); };
  static constexpr float kOne = 1, kZero = 0;
  static constexpr double kOneDouble = 1, kZeroDouble = 0;
  const void* alpha = double_scale_ ? static_cast<const void*>(&kOneDouble) : &kOne;
  const void* beta = double_scale_ ? static_cast<const void*>(&kZeroDouble) : &kZero;
  return f.Check(f.cublasLtMatmul(library_->handle(), desc_, alpha, memory(swapped_ ? b : a), first_,
                                  memory(swapped_ ? a : b), second_, beta, memory(result), result_, memory(result),
                                  result_, &chosen_.algo, memory(workspace), chosen_.workspaceSize, stream->handle()),
                 "starting a product");
}

std::string LibraryProduct::Description() const {
  const CublasLt& f = library_->functions();
  int32_t id = -1;
  size_t written = 0;
  f.cublasLtMatmulAlgoConfigGetAttribute(&chosen_.algo, lt::CUBLASLT_ALGO_CONFIG_ID, &id, sizeof(id), &written);
  return absl::StrCat(f.Name(), ", algorithm ", id, ", ", workspace_bytes(), " bytes of workspace");
}

}  // namespace xc::gpu
