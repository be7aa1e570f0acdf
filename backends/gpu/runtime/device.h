// A GPU: its primary context, what it can, and how much of its memory we have taken.
#ifndef XC_BACKENDS_GPU_RUNTIME_DEVICE_H_
#define XC_BACKENDS_GPU_RUNTIME_DEVICE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/gpu/runtime/driver.h"

namespace xc::gpu {

struct DeviceInfo {
  std::string name;
  int compute_capability = 0;  // 90 is 9.0
  int multiprocessors = 0;
  int64_t memory_bytes = 0;
  int64_t shared_bytes = 0;         // that a block has without asking
  int64_t shared_bytes_opt_in = 0;  // that it can ask for
  int64_t shared_bytes_per_multiprocessor = 0;
  int64_t l2_bytes = 0;
  int threads_per_block = 0;
  int threads_per_multiprocessor = 0;
  int registers_per_multiprocessor = 0;
  bool has_pools = false;
};

// Memory of a device that its owner keeps and can do without.
class Reclaimable {
 public:
  virtual ~Reclaimable() = default;
  // Frees it. Any thread may call this.
  virtual void Reclaim() = 0;
};

// Thread-safe. Holds the primary context, which other libraries of the process share.
class Device {
 public:
  // The device of that number, the emulator's if `emulate`: the same object for all that have it open, a new one after
  // the old one was lost. Errors as OpenDriver's; Unavailable if there are not so many devices.
  static absl::StatusOr<std::shared_ptr<Device>> Open(int ordinal, bool emulate);
  // How many there are.
  static absl::StatusOr<int> Count(bool emulate);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DeviceInfo& info() const { return info_; }
  const Driver& driver() const { return *driver_; }
  int ordinal() const { return ordinal_; }
  cuda::CUcontext context() const { return context_; }

  // The status of a driver's call, as Driver::Check. A fault marks the device lost.
  absl::Status Check(int result, absl::string_view what);
  // After a kernel's fault or an error of the hardware nothing on it works; its handles need not be freed.
  bool lost() const { return lost_.load(std::memory_order_relaxed); }
  // OK, or why the device is lost.
  absl::Status Usable() const;

  // Bytes of DeviceBuffers, now and at most so far; the limit (0: the memory itself), which Open takes from
  // XC_GPU_MEMORY_LIMIT.
  int64_t used_bytes() const { return used_.load(); }
  int64_t peak_bytes() const { return peak_.load(); }
  int64_t limit_bytes() const { return limit_.load(); }
  void set_limit_bytes(int64_t bytes) { limit_.store(bytes); }

  // What is asked to free memory before an allocation fails; each is removed before it ends.
  void AddReclaimable(Reclaimable* reclaimable);
  void RemoveReclaimable(Reclaimable* reclaimable);

 private:
  friend class DeviceBuffer;
  Device(const Driver* driver, int ordinal, cuda::CUcontext context);
  // Counts the bytes, or says that they are too many.
  absl::Status Take(int64_t bytes);
  void GiveBack(int64_t bytes) { used_.fetch_sub(bytes); }
  void Reclaim();

  const Driver* const driver_;
  const int ordinal_;
  const cuda::CUcontext context_;
  DeviceInfo info_;
  std::atomic<bool> lost_{false};
  std::atomic<int64_t> used_{0}, peak_{0}, limit_{0};
  std::mutex reclaimable_mu_;
  std::vector<Reclaimable*> reclaimable_;
};

// Makes the device's context current for a scope, and what was current before again afterwards.
class ContextScope {
 public:
  explicit ContextScope(const Device& device) : driver_(device.driver()) {
    pushed_ = driver_.cuCtxPushCurrent_v2(device.context()) == cuda::CUDA_SUCCESS;
  }
  ~ContextScope() {
    cuda::CUcontext ignored;
    if (pushed_) driver_.cuCtxPopCurrent_v2(&ignored);
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  const Driver& driver_;
  bool pushed_;
};

}  // namespace xc::gpu

#endif  // XC_BACKENDS_GPU_RUNTIME_DEVICE_H_
