#include "backends/gpu/runtime/stream.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace xc::gpu {

absl::StatusOr<std::shared_ptr<Stream>> Stream::Make(std::shared_ptr<Device> device) {
  absl::Status status = device->Usable();
  if (!status.ok()) return status;
  const ContextScope scope(*device);
  cuda::CUstream stream = nullptr;
  status = device->Check(device->driver().cuStreamCreate(&stream, cuda::CU_STREAM_NON_BLOCKING), "making a stream");
  if (!status.ok()) return status;
  return std::shared_ptr<Stream>(new Stream(std::move(device), stream));
}

Stream::~Stream() {
  if (device_->lost()) return;
  const ContextScope scope(*device_);
  device_->driver().cuStreamSynchronize(stream_);
  device_->driver().cuStreamDestroy_v2(stream_);
}

absl::Status Stream::Launch(const Kernel& kernel, const LaunchDims& dims, absl::Span<void* const> arguments) {
  if (absl::Status status = device_->Usable(); !status.ok()) return status;
  const ContextScope scope(*device_);
  const int result = device_->driver().cuLaunchKernel(
      kernel.function, dims.grid[0], dims.grid[1], dims.grid[2], dims.block[0], dims.block[1], dims.block[2],
      dims.dynamic_shared_bytes, stream_, const_cast<void**>(arguments.data()), nullptr);
  if (result == cuda::CUDA_SUCCESS) return absl::OkStatus();
  return device_->Check(
      result, absl::StrCat("launching kernel ", kernel.name, ", grid ", dims.grid[0], "x", dims.grid[1], "x",
                           dims.grid[2], ", block ", dims.block[0], "x", dims.block[1], "x", dims.block[2], ", ",
                           dims.dynamic_shared_bytes, " bytes of shared memory"));
}

absl::Status Stream::CopyToDevice(uint64_t to, const void* from, int64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  const ContextScope scope(*device_);
  return device_->Check(device_->driver().cuMemcpyHtoDAsync_v2(to, from, static_cast<size_t>(bytes), stream_),
                        "copying to the device");
}

absl::Status Stream::CopyToHost(void* to, uint64_t from, int64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  const ContextScope scope(*device_);
  return device_->Check(device_->driver().cuMemcpyDtoHAsync_v2(to, from, static_cast<size_t>(bytes), stream_),
                        "copying from the device");
}

absl::Status Stream::CopyOnDevice(uint64_t to, uint64_t from, int64_t bytes) {
  if (bytes == 0 || to == from) return absl::OkStatus();
  const ContextScope scope(*device_);
  return device_->Check(device_->driver().cuMemcpyDtoDAsync_v2(to, from, static_cast<size_t>(bytes), stream_),
                        "copying on the device");
}

absl::Status Stream::Fill(uint64_t to, uint8_t value, int64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  const ContextScope scope(*device_);
  return device_->Check(device_->driver().cuMemsetD8Async(to, value, static_cast<size_t>(bytes), stream_),
                        "filling memory of the device");
}

absl::Status Stream::Fill32(uint64_t to, uint32_t value, int64_t count) {
  if (count == 0) return absl::OkStatus();
  const ContextScope scope(*device_);
  return device_->Check(device_->driver().cuMemsetD32Async(to, value, static_cast<size_t>(count), stream_),
                        "filling memory of the device");
}

absl::Status Stream::Synchronize() {
  if (absl::Status status = device_->Usable(); !status.ok()) return status;
  const ContextScope scope(*device_);
  return device_->Check(device_->driver().cuStreamSynchronize(stream_), "running on the device");
}

absl::StatusOr<bool> Stream::Done() {
  if (absl::Status status = device_->Usable(); !status.ok()) return status;
  const ContextScope scope(*device_);
  const int result = device_->driver().cuStreamQuery(stream_);
  if (result == cuda::CUDA_ERROR_NOT_READY) return false;
  absl::Status status = device_->Check(result, "running on the device");
  if (!status.ok()) return status;
  return true;
}

absl::Status Stream::Record(const Event& event) {
  const ContextScope scope(*device_);
  return device_->Check(device_->driver().cuEventRecord(event.handle(), stream_), "recording an event");
}

absl::Status Stream::Wait(const Event& event) {
  const ContextScope scope(*device_);
  return device_->Check(device_->driver().cuStreamWaitEvent(stream_, event.handle(), 0), "waiting for an event");
}

absl::StatusOr<std::unique_ptr<Event>> Event::Make(std::shared_ptr<Device> device) {
  absl::Status status = device->Usable();
  if (!status.ok()) return status;
  const ContextScope scope(*device);
  cuda::CUevent event = nullptr;
  status = device->Check(device->driver().cuEventCreate(&event, 0), "making an event");
  if (!status.ok()) return status;
  return std::unique_ptr<Event>(new Event(std::move(device), event));
}

Event::~Event() {
  if (device_->lost()) return;
  const ContextScope scope(*device_);
  device_->driver().cuEventDestroy_v2(event_);
}

absl::Status Event::Synchronize() const {
  const ContextScope scope(*device_);
  return device_->Check(device_->driver().cuEventSynchronize(event_), "running on the device");
}

absl::StatusOr<bool> Event::Done() const {
  const ContextScope scope(*device_);
  const int result = device_->driver().cuEventQuery(event_);
  if (result == cuda::CUDA_ERROR_NOT_READY) return false;
  absl::Status status = device_->Check(result, "running on the device");
  if (!status.ok()) return status;
  return true;
}

absl::StatusOr<float> Event::Until(const Event& end) const {
  const ContextScope scope(*device_);
  float milliseconds = 0;
  absl::Status status = device_->Check(device_->driver().cuEventElapsedTime(&milliseconds, event_, end.event_),
                                       "measuring the time between events");
  if (!status.ok()) return status;
  return milliseconds;
}

absl::StatusOr<DeviceBuffer> DeviceBuffer::Allocate(std::shared_ptr<Stream> stream, int64_t bytes) {
  if (bytes < 0) return absl::InvalidArgumentError("a buffer of fewer than no bytes");
  if (bytes == 0) return DeviceBuffer();
  absl::StatusOr<DeviceBuffer> buffer = TryToAllocate(stream, bytes);
  if (!absl::IsResourceExhausted(buffer.status())) return buffer;
  stream->device()->Reclaim();
  return TryToAllocate(stream, bytes);
}

absl::StatusOr<DeviceBuffer> DeviceBuffer::TryToAllocate(const std::shared_ptr<Stream>& stream, int64_t bytes) {
  DeviceBuffer buffer;
  Device& device = *stream->device();
  absl::Status status = device.Usable();
  if (status.ok()) status = device.Take(bytes);
  if (!status.ok()) return status;
  const ContextScope scope(device);
  cuda::CUdeviceptr pointer = 0;
  const size_t size = static_cast<size_t>(bytes);
  const Driver& driver = device.driver();
  const int result = device.info().has_pools ? driver.cuMemAllocAsync(&pointer, size, stream->handle())
                                             : driver.cuMemAlloc_v2(&pointer, size);
  status = device.Check(result, absl::StrCat("allocating ", bytes, " bytes on GPU ", device.ordinal(), ", where ",
                                             device.used_bytes() - bytes, " of ours are in use and there are ",
                                             device.info().memory_bytes, " in all"));
  if (!status.ok()) {
    device.GiveBack(bytes);
    return status;
  }
  buffer.stream_ = stream;
  buffer.pointer_ = pointer;
  buffer.bytes_ = bytes;
  return buffer;
}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  if (this == &other) return *this;
  Reset();
  stream_ = std::move(other.stream_);
  pointer_ = std::exchange(other.pointer_, 0);
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

void DeviceBuffer::Reset() {
  if (stream_ == nullptr) return;
  Device& device = *stream_->device();
  if (!device.lost()) {
    const ContextScope scope(device);
    if (device.info().has_pools) {
      device.driver().cuMemFreeAsync(pointer_, stream_->handle());
    } else {
      device.driver().cuMemFree_v2(pointer_);
    }
  }
  device.GiveBack(bytes_);
  stream_.reset();
  pointer_ = 0;
  bytes_ = 0;
}

absl::StatusOr<PinnedBuffer> PinnedBuffer::Allocate(std::shared_ptr<Device> device, int64_t bytes) {
  PinnedBuffer buffer;
  if (bytes <= 0) return buffer;
  absl::Status status = device->Usable();
  if (!status.ok()) return status;
  const ContextScope scope(*device);
  status = device->Check(device->driver().cuMemAllocHost_v2(&buffer.data_, static_cast<size_t>(bytes)),
                         absl::StrCat("allocating ", bytes, " bytes of pinned memory"));
  if (!status.ok()) return status;
  buffer.device_ = std::move(device);
  buffer.bytes_ = bytes;
  return buffer;
}

PinnedBuffer& PinnedBuffer::operator=(PinnedBuffer&& other) noexcept {
  if (this == &other) return *this;
  Reset();
  device_ = std::move(other.device_);
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

void PinnedBuffer::Reset() {
  if (device_ == nullptr) return;
  const ContextScope scope(*device_);
  device_->driver().cuMemFreeHost(data_);
  device_.reset();
  data_ = nullptr;
  bytes_ = 0;
}

}  // namespace xc::gpu
