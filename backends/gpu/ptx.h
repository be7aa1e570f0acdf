// Turns LLVM modules of kernels into PTX text: the target, a short pass list, code generation. No LLVM header is needed
// to include this file.
#ifndef XC_BACKENDS_GPU_PTX_H_
#define XC_BACKENDS_GPU_PTX_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "backends/gpu/target.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace xc::gpu {

// One LLVM context and one empty module of it, to be filled by an emitter.
class PtxModule {
 public:
  // Errors: this build of LLVM has no NVPTX target.
  static absl::StatusOr<std::unique_ptr<PtxModule>> Make(const std::string& name, const Target& target);
  ~PtxModule();

  llvm::LLVMContext& context();
  llvm::Module& module();

  // Checks the module, runs the passes and generates PTX; the module is not used afterwards. `ir` (may be null)
  // receives its text from before the passes. Errors name the module and the cause.
  absl::StatusOr<std::string> Compile(std::string* ir);

 private:
  struct Impl;
  explicit PtxModule(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace xc::gpu

#endif  // XC_BACKENDS_GPU_PTX_H_
