// Streams of work on a device, events between them, and memory that is freed in a stream's order.
#ifndef XC_BACKENDS_GPU_RUNTIME_STREAM_H_
#define XC_BACKENDS_GPU_RUNTIME_STREAM_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/gpu/runtime/device.h"
#include "backends/gpu/runtime/module.h"

namespace xc::gpu {

struct LaunchDims {
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t dynamic_shared_bytes = 0;
};

class Event;

// Work in order. Calls return before it is done; what it needs must stay until then. Not thread-safe.
class Stream {
 public:
  static absl::StatusOr<std::shared_ptr<Stream>> Make(std::shared_ptr<Device> device);
  ~Stream();  // waits
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // `arguments[i]` points to the value of parameter i, which is copied.
  absl::Status Launch(const Kernel& kernel, const LaunchDims& dims, absl::Span<void* const> arguments);
  // Host memory need not be pinned: then the call may wait for the copy.
  absl::Status CopyToDevice(uint64_t to, const void* from, int64_t bytes);
  absl::Status CopyToHost(void* to, uint64_t from, int64_t bytes);
  absl::Status CopyOnDevice(uint64_t to, uint64_t from, int64_t bytes);
  absl::Status Fill(uint64_t to, uint8_t value, int64_t bytes);
  // `count` values of 4 bytes each; `to` a multiple of 4.
  absl::Status Fill32(uint64_t to, uint32_t value, int64_t count);
  // Waits until all is done. The first fault of a kernel ends here, or at any later call, as an error that names it.
  absl::Status Synchronize();
  // Whether all is done.
  absl::StatusOr<bool> Done();
  absl::Status Record(const Event& event);
  // What follows begins when what was before the event's last record is done.
  absl::Status Wait(const Event& event);

  const std::shared_ptr<Device>& device() const { return device_; }
  cuda::CUstream handle() const { return stream_; }

 private:
  Stream(std::shared_ptr<Device> device, cuda::CUstream stream) : device_(std::move(device)), stream_(stream) {}
  const std::shared_ptr<Device> device_;
  const cuda::CUstream stream_;
};

class Event {
 public:
  static absl::StatusOr<std::unique_ptr<Event>> Make(std::shared_ptr<Device> device);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  absl::Status Synchronize() const;
  absl::StatusOr<bool> Done() const;
  // Milliseconds from this event to `end`, both recorded and done.
  absl::StatusOr<float> Until(const Event& end) const;
  cuda::CUevent handle() const { return event_; }

 private:
  Event(std::shared_ptr<Device> device, cuda::CUevent event) : device_(std::move(device)), event_(event) {}
  const std::shared_ptr<Device> device_;
  const cuda::CUevent event_;
};

// Memory of the device, 256-byte aligned, from the driver's stream-ordered pool: nothing is taken in advance. Freed in
// the order of the stream.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  // No bytes give a buffer without memory. Errors: ResourceExhausted, beyond the device's limit or its memory even
  // without what is reclaimable.
  static absl::StatusOr<DeviceBuffer> Allocate(std::shared_ptr<Stream> stream, int64_t bytes);
  ~DeviceBuffer() { Reset(); }
  DeviceBuffer(DeviceBuffer&& other) noexcept { *this = std::move(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  void Reset();

  uint64_t pointer() const { return pointer_; }
  int64_t bytes() const { return bytes_; }

 private:
  static absl::StatusOr<DeviceBuffer> TryToAllocate(const std::shared_ptr<Stream>& stream, int64_t bytes);

  std::shared_ptr<Stream> stream_;
  uint64_t pointer_ = 0;
  int64_t bytes_ = 0;
};

// Host memory that copies reach without the driver's help, and go on with after the call.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  static absl::StatusOr<PinnedBuffer> Allocate(std::shared_ptr<Device> device, int64_t bytes);
  ~PinnedBuffer() { Reset(); }
  PinnedBuffer(PinnedBuffer&& other) noexcept { *this = std::move(other); }
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept;
  void Reset();

  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<Device> device_;
  void* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace xc::gpu

#endif  // XC_BACKENDS_GPU_RUNTIME_STREAM_H_
