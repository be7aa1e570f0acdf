#include "backends/gpu/runtime/driver.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"

namespace xc::gpu {
namespace {

constexpr char kEmulator[] = "libxc_gpu_emulator.so";

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

bool IsFile(const std::string& path) { return access(path.c_str(), R_OK) == 0; }

// The emulator beside `file` or, where it is built, in the folders above.
std::string FindNear(const std::string& file) {
  std::string folder = FolderOf(file);
  for (int up = 0; up < 8 && !folder.empty(); ++up, folder = FolderOf(folder)) {
    for (const char* place : {"/", "/libs/", "/backends/gpu/emulator/"}) {
      std::string path = absl::StrCat(folder, place, kEmulator);
      if (IsFile(path)) return path;
    }
  }
  return "";
}

absl::StatusOr<std::unique_ptr<Driver>> Load(const std::string& library) {
  auto driver = std::make_unique<Driver>();
  driver->library = library.empty() ? "libcuda.so.1" : library;
  void* handle = dlopen(driver->library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* error = dlerror();
    return absl::UnavailableError(absl::StrCat(
        "no CUDA driver: ", error ? error : driver->library,
        library.empty() ? "; install NVIDIA's driver, or run on the emulator (--emulate) or the CPU" : ""));
  }
  // First the version: what an old driver lacks is not the point.
  *reinterpret_cast<void**>(&driver->cuDriverGetVersion) = dlsym(handle, "cuDriverGetVersion");
  if (driver->cuDriverGetVersion == nullptr) {
    return absl::UnavailableError(absl::StrCat(driver->library, " is no CUDA driver: it has no cuDriverGetVersion"));
  }
  if (driver->cuDriverGetVersion(&driver->version) == cuda::CUDA_SUCCESS && driver->version < kOldestDriver) {
    return absl::UnavailableError(absl::StrCat("the CUDA driver is too old: ", driver->library, " is for CUDA ",
                                               driver->version / 1000, ".", driver->version % 1000 / 10,
                                               ", needed is 12.0 or newer"));
  }
#define X(name, parameters)                                                                                            \
  *reinterpret_cast<void**>(&driver->name) = dlsym(handle, #name);                                                     \
  if (driver->name == nullptr) {                                                                                       \
    return absl::UnavailableError(absl::StrCat("the CUDA driver ", driver->library, " (CUDA ", driver->version / 1000, \
                                               ".", driver->version % 1000 / 10,                                       \
                                               ") lacks the function " #name ": install a complete driver"));          \
  }
#include "backends/gpu/driver/functions.def"
#undef X
  const int result = driver->cuInit(0);
  if (result != cuda::CUDA_SUCCESS) return driver->Check(result, "initialising the CUDA driver");
  return driver;
}

}  // namespace

bool IsSticky(int result) {
  switch (result) {
    case cuda::CUDA_ERROR_ILLEGAL_ADDRESS:
    case cuda::CUDA_ERROR_LAUNCH_TIMEOUT:
    case cuda::CUDA_ERROR_ASSERT:
    case cuda::CUDA_ERROR_MISALIGNED_ADDRESS:
    case cuda::CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case cuda::CUDA_ERROR_LAUNCH_FAILED:
    case cuda::CUDA_ERROR_DEINITIALIZED:
    case cuda::CUDA_ERROR_DEVICE_UNAVAILABLE:
    case cuda::CUDA_ERROR_ECC_UNCORRECTABLE:
    case cuda::CUDA_ERROR_HARDWARE_STACK_ERROR:
    case cuda::CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case cuda::CUDA_ERROR_INVALID_PC:
    case cuda::CUDA_ERROR_UNKNOWN:
      return true;
    default:
      return false;
  }
}

absl::Status Driver::Check(int result, absl::string_view what) const {
  if (result == cuda::CUDA_SUCCESS) return absl::OkStatus();
  const char* name = nullptr;
  const char* text = nullptr;
  if (cuGetErrorName == nullptr || cuGetErrorName(result, &name) != cuda::CUDA_SUCCESS) name = nullptr;
  if (cuGetErrorString == nullptr || cuGetErrorString(result, &text) != cuda::CUDA_SUCCESS) text = nullptr;
  std::string message = absl::StrCat(what, ": ", text ? text : "error", " (",
                                     name ? std::string(name) : absl::StrCat("CUDA error ", result), ")");
  if (IsSticky(result)) {
    absl::StrAppend(&message, "; what was on this device is lost, it is opened anew for the next run");
    return absl::InternalError(message);
  }
  switch (result) {
    case cuda::CUDA_ERROR_OUT_OF_MEMORY:
    case cuda::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
      return absl::ResourceExhaustedError(message);
    case cuda::CUDA_ERROR_NO_DEVICE:
    case cuda::CUDA_ERROR_INVALID_DEVICE:
    case cuda::CUDA_ERROR_STUB_LIBRARY:
    case cuda::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
      return absl::UnavailableError(message);
    case cuda::CUDA_ERROR_NOT_SUPPORTED:
    case cuda::CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case cuda::CUDA_ERROR_NO_BINARY_FOR_GPU:
      return absl::UnimplementedError(message);
    case cuda::CUDA_ERROR_NOT_FOUND:
      return absl::NotFoundError(message);
    default:
      return absl::InternalError(message);
  }
}

absl::StatusOr<const Driver*> OpenDriver(const std::string& library) {
  static std::mutex mu;
  static auto* drivers = new std::map<std::string, std::unique_ptr<Driver>>();
  std::lock_guard<std::mutex> lock(mu);
  const auto known = drivers->find(library);
  if (known != drivers->end()) return known->second.get();
  absl::StatusOr<std::unique_ptr<Driver>> driver = Load(library);
  if (!driver.ok()) return driver.status();
  return ((*drivers)[library] = *std::move(driver)).get();
}

std::string EmulatorLibrary() {
  if (const char* path = getenv("XC_GPU_EMULATOR")) return path;
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&EmulatorLibrary), &info) != 0 && info.dli_fname != nullptr) {
    char real[PATH_MAX];
    std::string found = realpath(info.dli_fname, real) ? FindNear(real) : "";
    if (!found.empty()) return found;
  }
  char self[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof(self));
  return length > 0 ? FindNear(std::string(self, static_cast<size_t>(length))) : "";
}

}  // namespace xc::gpu
