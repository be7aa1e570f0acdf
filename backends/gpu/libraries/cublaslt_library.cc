#include "backends/gpu/libraries/cublaslt_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"

namespace xc::gpu {
namespace {

std::string VersionText(size_t version) {
  return absl::StrCat(version / 10000, ".", version % 10000 / 100, ".", version % 100);
}

absl::StatusOr<std::unique_ptr<CublasLt>> Load(const std::string& library) {
  auto opened = std::make_unique<CublasLt>();
  opened->library = library;
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* error = dlerror();
    return absl::UnavailableError(absl::StrCat("no cuBLASLt: ", error != nullptr ? error : library.c_str()));
  }
  // First the version: what another version lacks is not the point.
  *reinterpret_cast<void**>(&opened->cublasLtGetVersion) = dlsym(handle, "cublasLtGetVersion");
  if (opened->cublasLtGetVersion == nullptr) {
    return absl::UnavailableError(absl::StrCat(library, " is no cuBLASLt: it has no cublasLtGetVersion"));
  }
  opened->version = opened->cublasLtGetVersion();
  const int major = static_cast<int>(opened->version / 10000);
  if (major < kOldestCublasLt || major > kNewestCublasLt) {
    return absl::UnavailableError(absl::StrCat(library, " is cuBLASLt ", VersionText(opened->version),
                                               "; known are the versions ", kOldestCublasLt, " to ", kNewestCublasLt));
  }
#define X(result, name, parameters)                                                                            \
  *reinterpret_cast<void**>(&opened->name) = dlsym(handle, #name);                                             \
  if (opened->name == nullptr) {                                                                               \
    return absl::UnavailableError(absl::StrCat(library, " (", opened->Name(), ") lacks the function " #name)); \
  }
#include "backends/gpu/libraries/cublaslt_functions.def"
#undef X
  return opened;
}

// Whether the library computes on the emulator's memory, which is the host's.
bool IsMock(const CublasLt& library) {
  void* handle = dlopen(library.library.c_str(), RTLD_NOW | RTLD_NOLOAD);
  const bool mock = handle != nullptr && dlsym(handle, "xcMockCublasLt") != nullptr;
  if (handle != nullptr) dlclose(handle);
  return mock;
}

}  // namespace

std::string CublasLt::Name() const { return absl::StrCat("cuBLASLt ", VersionText(version)); }

absl::Status CublasLt::Check(int status, absl::string_view what) const {
  if (status == cublaslt::CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
  const char* text = cublasLtGetStatusString(status);
  const std::string message =
      absl::StrCat(Name(), ": ", what, ": ", text != nullptr ? text : "error", " (status ", status, ")");
  switch (status) {
    case cublaslt::CUBLAS_STATUS_ALLOC_FAILED:
      return absl::ResourceExhaustedError(message);
    case cublaslt::CUBLAS_STATUS_NOT_SUPPORTED:
    case cublaslt::CUBLAS_STATUS_ARCH_MISMATCH:
      return absl::UnimplementedError(message);
    default:
      return absl::InternalError(message);
  }
}

absl::StatusOr<const CublasLt*> OpenCublasLt(const std::string& library, bool emulate) {
  static std::mutex mu;
  static auto* libraries = new std::map<std::string, std::unique_ptr<CublasLt>>();
  std::lock_guard<std::mutex> lock(mu);
  std::unique_ptr<CublasLt>& known = (*libraries)[library];
  if (known == nullptr) {
    absl::StatusOr<std::unique_ptr<CublasLt>> loaded = Load(library);
    if (!loaded.ok()) return loaded.status();
    known = *std::move(loaded);
  }
  if (IsMock(*known) == emulate) return known.get();
  return absl::UnavailableError(
      absl::StrCat(library, emulate ? " needs a device and does not work on the emulator"
                                    : " is a mock for the emulator and does not work on a device"));
}

absl::StatusOr<const CublasLt*> FindCublasLt(bool emulate) {
  if (const char* library = std::getenv("XC_GPU_CUBLASLT")) return OpenCublasLt(library, emulate);
  if (emulate) return absl::UnavailableError("no cuBLASLt: on the emulator only what XC_GPU_CUBLASLT names");
  absl::Status newest;
  for (int major = kNewestCublasLt; major >= kOldestCublasLt; --major) {
    absl::StatusOr<const CublasLt*> library = OpenCublasLt(absl::StrCat("libcublasLt.so.", major), emulate);
    if (library.ok()) return library;
    newest.Update(library.status());
  }
  return newest;
}

}  // namespace xc::gpu
