#include "backends/gpu/runtime/module.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace xc::gpu {

absl::StatusOr<std::shared_ptr<Module>> Module::Load(std::shared_ptr<Device> device, absl::string_view image) {
  absl::Status status = device->Usable();
  if (!status.ok()) return status;
  // The driver takes PTX that ends with a zero.
  const std::string text(image);
  std::string log(8192, '\0');
  int options[] = {cuda::CU_JIT_ERROR_LOG_BUFFER, cuda::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  cuda::CUmodule module = nullptr;
  const ContextScope scope(*device);
  const int result = device->driver().cuModuleLoadDataEx(&module, text.c_str(), 2, options, values);
  log.resize(log.find('\0') == std::string::npos ? log.size() : log.find('\0'));
  while (!log.empty() && (log.back() == '\n' || log.back() == ' ')) log.pop_back();
  status = device->Check(result, log.empty() ? "loading code" : absl::StrCat("loading code: ", log));
  if (!status.ok()) return status;
  return std::shared_ptr<Module>(new Module(std::move(device), module));
}

Module::~Module() {
  if (device_->lost()) return;
  const ContextScope scope(*device_);
  device_->driver().cuModuleUnload(module_);
}

absl::StatusOr<Kernel> Module::GetKernel(const std::string& name, int dynamic_shared_bytes) const {
  absl::Status status = device_->Usable();
  if (!status.ok()) return status;
  const Driver& driver = device_->driver();
  const ContextScope scope(*device_);
  Kernel kernel;
  kernel.module = shared_from_this();
  kernel.name = name;
  status = device_->Check(driver.cuModuleGetFunction(&kernel.function, module_, name.c_str()),
                          absl::StrCat("looking for kernel ", name));
  if (!status.ok()) return status;
  const auto attribute = [&](int which) {
    int value = 0;
    driver.cuFuncGetAttribute(&value, which, kernel.function);
    return value;
  };
  kernel.registers = attribute(cuda::CU_FUNC_ATTRIBUTE_NUM_REGS);
  kernel.local_bytes = attribute(cuda::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  kernel.shared_bytes = attribute(cuda::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  kernel.threads_per_block = attribute(cuda::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  if (dynamic_shared_bytes + kernel.shared_bytes > device_->info().shared_bytes) {
    status = device_->Check(
        driver.cuFuncSetAttribute(kernel.function, cuda::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                  dynamic_shared_bytes),
        absl::StrCat("giving kernel ", name, " ", dynamic_shared_bytes,
                     " bytes of shared memory, of which the device has ", device_->info().shared_bytes_opt_in));
    if (!status.ok()) return status;
  }
  return kernel;
}

absl::StatusOr<uint64_t> Module::GetGlobal(const std::string& name, int64_t* bytes) const {
  absl::Status status = device_->Usable();
  if (!status.ok()) return status;
  const ContextScope scope(*device_);
  cuda::CUdeviceptr address = 0;
  size_t size = 0;
  status = device_->Check(device_->driver().cuModuleGetGlobal_v2(&address, &size, module_, name.c_str()),
                          absl::StrCat("looking for variable ", name));
  if (!status.ok()) return status;
  if (bytes != nullptr) *bytes = static_cast<int64_t>(size);
  return address;
}

}  // namespace xc::gpu
