// Code on a device: modules from PTX or machine code, and their kernels.
#ifndef XC_BACKENDS_GPU_RUNTIME_MODULE_H_
#define XC_BACKENDS_GPU_RUNTIME_MODULE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/gpu/runtime/device.h"

namespace xc::gpu {

class Module;

// A kernel of a module, which it keeps loaded.
struct Kernel {
  std::shared_ptr<const Module> module;
  std::string name;
  cuda::CUfunction function = nullptr;
  int registers = 0;          // of a thread
  int64_t local_bytes = 0;    // of a thread: spilled registers and arrays
  int64_t shared_bytes = 0;   // static
  int threads_per_block = 0;  // at most
};

class Module : public std::enable_shared_from_this<Module> {
 public:
  // `image` is PTX text or a cubin. Errors: what the driver's compiler says of the PTX; Unimplemented for code of
  // another kind of device.
  static absl::StatusOr<std::shared_ptr<Module>> Load(std::shared_ptr<Device> device, absl::string_view image);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // NotFound if there is no such kernel. `dynamic_shared_bytes`: the most that launches will ask for.
  absl::StatusOr<Kernel> GetKernel(const std::string& name, int dynamic_shared_bytes = 0) const;
  // The address of a variable, and its bytes if `bytes` is not null.
  absl::StatusOr<uint64_t> GetGlobal(const std::string& name, int64_t* bytes) const;
  const std::shared_ptr<Device>& device() const { return device_; }

 private:
  Module(std::shared_ptr<Device> device, cuda::CUmodule module) : device_(std::move(device)), module_(module) {}
  const std::shared_ptr<Device> device_;
  const cuda::CUmodule module_;
};

}  // namespace xc::gpu

#endif  // XC_BACKENDS_GPU_RUNTIME_MODULE_H_
