#include "backends/gpu/runtime/device.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace xc::gpu {
namespace {

struct OpenDevices {
  std::mutex mu;
  std::map<std::pair<int, bool>, std::weak_ptr<Device>> devices;
};
OpenDevices& TheOpenDevices() {
  static auto* open = new OpenDevices();
  return *open;
}

absl::StatusOr<const Driver*> DriverOf(bool emulate) {
  if (!emulate) return OpenDriver("");
  const std::string library = EmulatorLibrary();
  if (library.empty()) {
    return absl::UnavailableError(
        "no emulator: libxc_gpu_emulator.so is neither where XC_GPU_EMULATOR says nor beside this program");
  }
  return OpenDriver(library);
}

int64_t LimitFromEnvironment() {
  const char* text = std::getenv("XC_GPU_MEMORY_LIMIT");
  int64_t bytes = 0;
  return text != nullptr && absl::SimpleAtoi(text, &bytes) && bytes > 0 ? bytes : 0;
}

}  // namespace

Device::Device(const Driver* driver, int ordinal, cuda::CUcontext context)
    : driver_(driver), ordinal_(ordinal), context_(context), limit_(LimitFromEnvironment()) {
  const auto attribute = [&](int which) {
    int value = 0;
    driver->cuDeviceGetAttribute(&value, which, ordinal);
    return value;
  };
  char name[256] = {};
  driver->cuDeviceGetName(name, sizeof(name), ordinal);
  info_.name = name;
  size_t bytes = 0;
  driver->cuDeviceTotalMem_v2(&bytes, ordinal);
  info_.memory_bytes = static_cast<int64_t>(bytes);
  info_.compute_capability = 10 * attribute(cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                             attribute(cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  info_.multiprocessors = attribute(cuda::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  info_.shared_bytes = attribute(cuda::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  info_.shared_bytes_opt_in = attribute(cuda::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  info_.shared_bytes_per_multiprocessor = attribute(cuda::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  info_.l2_bytes = attribute(cuda::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  info_.threads_per_block = attribute(cuda::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  info_.threads_per_multiprocessor = attribute(cuda::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  info_.registers_per_multiprocessor = attribute(cuda::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  info_.has_pools = attribute(cuda::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) != 0;
}

Device::~Device() { driver_->cuDevicePrimaryCtxRelease_v2(ordinal_); }

absl::StatusOr<int> Device::Count(bool emulate) {
  absl::StatusOr<const Driver*> driver = DriverOf(emulate);
  if (!driver.ok()) return driver.status();
  int count = 0;
  const absl::Status status = (*driver)->Check((*driver)->cuDeviceGetCount(&count), "counting GPUs");
  if (!status.ok()) return status;
  return count;
}

absl::StatusOr<std::shared_ptr<Device>> Device::Open(int ordinal, bool emulate) {
  OpenDevices& open = TheOpenDevices();
  std::lock_guard<std::mutex> lock(open.mu);
  std::weak_ptr<Device>& known = open.devices[{ordinal, emulate}];
  const std::shared_ptr<Device> old = known.lock();
  if (old != nullptr && !old->lost()) return old;
  absl::StatusOr<const Driver*> found = DriverOf(emulate);
  if (!found.ok()) return found.status();
  const Driver* driver = *found;
  int count = 0;
  absl::Status status = driver->Check(driver->cuDeviceGetCount(&count), "counting GPUs");
  if (!status.ok()) return status;
  if (count == 0) return absl::UnavailableError("the CUDA driver finds no GPU");
  if (ordinal < 0 || ordinal >= count) {
    return absl::UnavailableError(absl::StrCat("there is no GPU ", ordinal, ": the driver finds ", count));
  }
  cuda::CUdevice device = 0;
  status = driver->Check(driver->cuDeviceGet(&device, ordinal), absl::StrCat("opening GPU ", ordinal));
  if (!status.ok()) return status;
  if (old != nullptr) driver->cuDevicePrimaryCtxReset_v2(device);
  cuda::CUcontext context = nullptr;
  status = driver->Check(driver->cuDevicePrimaryCtxRetain(&context, device),
                         absl::StrCat("making a context on GPU ", ordinal));
  if (!status.ok()) return status;
  std::shared_ptr<Device> made(new Device(driver, device, context));
  known = made;
  return made;
}

absl::Status Device::Check(int result, absl::string_view what) {
  if (result == cuda::CUDA_SUCCESS) return absl::OkStatus();
  if (IsSticky(result)) lost_.store(true);
  return driver_->Check(result, what);
}

absl::Status Device::Usable() const {
  if (!lost()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("GPU ", ordinal_, " is lost since an earlier fault: open it anew"));
}

void Device::AddReclaimable(Reclaimable* reclaimable) {
  std::lock_guard<std::mutex> lock(reclaimable_mu_);
  reclaimable_.push_back(reclaimable);
}

void Device::RemoveReclaimable(Reclaimable* reclaimable) {
  std::lock_guard<std::mutex> lock(reclaimable_mu_);
  std::erase(reclaimable_, reclaimable);
}

void Device::Reclaim() {
  std::lock_guard<std::mutex> lock(reclaimable_mu_);
  for (Reclaimable* reclaimable : reclaimable_) reclaimable->Reclaim();
}

absl::Status Device::Take(int64_t bytes) {
  const int64_t limit = limit_.load();
  const int64_t used = used_.fetch_add(bytes) + bytes;
  if (limit > 0 && used > limit) {
    used_.fetch_sub(bytes);
    return absl::ResourceExhaustedError(absl::StrCat("allocating ", bytes, " bytes on GPU ", ordinal_, ": ",
                                                     used - bytes,
                                                     " are in use, and the limit (XC_GPU_MEMORY_LIMIT) is ", limit));
  }
  int64_t peak = peak_.load();
  while (used > peak && !peak_.compare_exchange_weak(peak, used)) {
  }
  return absl::OkStatus();
}

}  // namespace xc::gpu
