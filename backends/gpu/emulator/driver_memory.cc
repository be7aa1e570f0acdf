// The driver's functions for memory: allocations, pools, copies, fills.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "backends/gpu/emulator/device.h"

namespace xc::cuda {
namespace {

using emulator::CurrentContext;

bool IsPinned(CUctx_st* context, const void* address, size_t bytes) {
  const uint64_t begin = reinterpret_cast<uint64_t>(address);
  auto next = context->pinned.upper_bound(begin);
  if (next == context->pinned.begin()) return false;
  --next;
  return begin + bytes <= next->first + static_cast<uint64_t>(next->second);
}

bool IsOnDevice(CUctx_st* context, CUdeviceptr address, size_t bytes) {
  return bytes == 0 || context->memory.Find(address).Holds(address, address + bytes);
}

CUresult AllocateFrom(CUmemPoolHandle_st* pool, CUdeviceptr* address, size_t bytes) {
  CUctx_st* context = pool->context;
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (pool->limit != 0 && pool->used + bytes > pool->limit) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = context->memory.Allocate(static_cast<int64_t>(bytes));
  if (*address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  context->pool_of[*address] = pool;
  pool->used += bytes;
  pool->high = std::max(pool->high, pool->used);
  return CUDA_SUCCESS;
}

template <typename T>
CUresult Fill(CUdeviceptr to, T value, size_t count, CUstream handle) {
  CUstream_st* stream = emulator::StreamOf(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (!IsOnDevice(CurrentContext(), to, count * sizeof(T)) || to % sizeof(T) != 0) return CUDA_ERROR_INVALID_VALUE;
  emulator::Enqueue(stream, [=] { std::fill_n(reinterpret_cast<T*>(to), count, value); });
  return CUDA_SUCCESS;
}

}  // namespace

XC_EXPORTED CUresult cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  XC_EMULATED(cuMemGetInfo_v2, kContext);
  const emulator::Memory& memory = CurrentContext()->memory;
  *free_bytes = static_cast<size_t>(std::max<int64_t>(0, memory.capacity() - memory.used()));
  *total_bytes = static_cast<size_t>(memory.capacity());
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  XC_EMULATED(cuMemAlloc_v2, kContext);
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  *address = CurrentContext()->memory.Allocate(static_cast<int64_t>(bytes));
  return *address == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

// Waits for the work that may use the memory, as the driver does.
XC_EXPORTED CUresult cuMemFree_v2(CUdeviceptr address) {
  XC_EMULATED(cuMemFree_v2, kContext);
  CUctx_st* context = CurrentContext();
  for (CUstream_st* stream : context->streams) stream->queue->RunAll();
  context->default_stream.queue->RunAll();
  const int64_t bytes = static_cast<int64_t>(context->memory.Find(address).end - address);
  if (!context->memory.Free(address)) return CUDA_ERROR_INVALID_VALUE;
  const auto pool = context->pool_of.find(address);
  if (pool != context->pool_of.end()) {
    pool->second->used -= static_cast<uint64_t>(bytes);
    context->pool_of.erase(pool);
  }
  return emulator::AfterWaiting(context);
}

XC_EXPORTED CUresult cuMemAllocHost_v2(void** address, size_t bytes) {
  XC_EMULATED(cuMemAllocHost_v2, kContext);
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (posix_memalign(address, 4096, bytes) != 0) return CUDA_ERROR_OUT_OF_MEMORY;
  CUctx_st* context = CurrentContext();
  context->pinned[reinterpret_cast<uint64_t>(*address)] = static_cast<int64_t>(bytes);
  context->memory.Register(reinterpret_cast<uint64_t>(*address), static_cast<int64_t>(bytes));
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuMemFreeHost(void* address) {
  XC_EMULATED(cuMemFreeHost, kContext);
  CUctx_st* context = CurrentContext();
  if (context->pinned.erase(reinterpret_cast<uint64_t>(address)) == 0) return CUDA_ERROR_INVALID_VALUE;
  context->memory.Unregister(reinterpret_cast<uint64_t>(address));
  std::free(address);
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuMemHostRegister_v2(void* address, size_t bytes, unsigned flags) {
  XC_EMULATED(cuMemHostRegister_v2, kContext);
  CUctx_st* context = CurrentContext();
  if (bytes == 0 || IsPinned(context, address, 1)) return CUDA_ERROR_INVALID_VALUE;
  context->pinned[reinterpret_cast<uint64_t>(address)] = static_cast<int64_t>(bytes);
  context->memory.Register(reinterpret_cast<uint64_t>(address), static_cast<int64_t>(bytes));
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuMemHostUnregister(void* address) {
  XC_EMULATED(cuMemHostUnregister, kContext);
  CUctx_st* context = CurrentContext();
  if (context->pinned.erase(reinterpret_cast<uint64_t>(address)) == 0) return CUDA_ERROR_INVALID_VALUE;
  context->memory.Unregister(reinterpret_cast<uint64_t>(address));
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream handle) {
  XC_EMULATED(cuMemAllocAsync, kContext);
  CUstream_st* stream = emulator::StreamOf(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  // What is freed by earlier work of the stream can be used again.
  if (bytes > static_cast<size_t>(CurrentContext()->memory.capacity() - CurrentContext()->memory.used())) {
    stream->queue->RunAll();
  }
  return AllocateFrom(&CurrentContext()->default_pool, address, bytes);
}

XC_EXPORTED CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool, CUstream handle) {
  XC_EMULATED(cuMemAllocFromPoolAsync, kContext);
  CUstream_st* stream = emulator::StreamOf(handle);
  if (stream == nullptr || pool == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  const size_t room = static_cast<size_t>(CurrentContext()->memory.capacity() - CurrentContext()->memory.used());
  if (bytes > room || (pool->limit != 0 && pool->used + bytes > pool->limit)) stream->queue->RunAll();
  return AllocateFrom(pool, address, bytes);
}

XC_EXPORTED CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
  XC_EMULATED(cuMemFreeAsync, kContext);
  CUstream_st* stream = emulator::StreamOf(handle);
  CUctx_st* context = CurrentContext();
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  const auto pool = context->pool_of.find(address);
  if (pool == context->pool_of.end()) return CUDA_ERROR_INVALID_VALUE;
  CUmemPoolHandle_st* from = pool->second;
  context->pool_of.erase(pool);
  emulator::Enqueue(stream, [context, address, from] {
    from->used -= context->memory.Find(address).end - address;
    context->memory.Free(address);
  });
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  XC_EMULATED(cuMemPoolCreate, kDriver);
  const auto& devices = emulator::State().devices;
  const int device = properties->location.id;
  if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE || device < 0 ||
      device >= static_cast<int>(devices.size())) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *pool = new CUmemPoolHandle_st();
  (*pool)->context = devices[static_cast<size_t>(device)].get();
  (*pool)->limit = properties->maxSize;
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  XC_EMULATED(cuMemPoolDestroy, kDriver);
  CUctx_st* context = pool->context;
  for (CUstream_st* stream : context->streams) stream->queue->RunAll();
  context->default_stream.queue->RunAll();
  for (auto& [address, owner] : context->pool_of) {
    if (owner == pool) owner = &context->default_pool;
  }
  delete pool;
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuMemPoolSetAttribute(CUmemoryPool pool, int attribute, void* value) {
  XC_EMULATED(cuMemPoolSetAttribute, kDriver);
  if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) std::memcpy(&pool->release_threshold, value, 8);
  if (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH) pool->high = pool->used;
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuMemPoolGetAttribute(CUmemoryPool pool, int attribute, void* value) {
  XC_EMULATED(cuMemPoolGetAttribute, kDriver);
  const uint64_t* from = attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD      ? &pool->release_threshold
                         : attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH        ? &pool->high
                         : attribute == CU_MEMPOOL_ATTR_USED_MEM_CURRENT     ? &pool->used
                         : attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT ? &pool->used
                                                                             : nullptr;
  if (from == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(value, from, 8);
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t bytes_to_keep) {
  XC_EMULATED(cuMemPoolTrimTo, kDriver);
  return CUDA_SUCCESS;  // nothing is kept
}

XC_EXPORTED CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  XC_EMULATED(cuMemcpyHtoD_v2, kContext);
  if (!IsOnDevice(CurrentContext(), to, bytes)) return CUDA_ERROR_INVALID_VALUE;
  emulator::RunBlockingStreams(CurrentContext());
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return emulator::AfterWaiting(CurrentContext());
}

XC_EXPORTED CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  XC_EMULATED(cuMemcpyDtoH_v2, kContext);
  if (!IsOnDevice(CurrentContext(), from, bytes)) return CUDA_ERROR_INVALID_VALUE;
  emulator::RunBlockingStreams(CurrentContext());
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return emulator::AfterWaiting(CurrentContext());
}

XC_EXPORTED CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  XC_EMULATED(cuMemcpyDtoD_v2, kContext);
  if (!IsOnDevice(CurrentContext(), from, bytes) || !IsOnDevice(CurrentContext(), to, bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  emulator::RunBlockingStreams(CurrentContext());
  std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  return emulator::AfterWaiting(CurrentContext());
}

// From memory that is not pinned the driver copies before it returns.
XC_EXPORTED CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream handle) {
  XC_EMULATED(cuMemcpyHtoDAsync_v2, kContext);
  CUctx_st* context = CurrentContext();
  CUstream_st* stream = emulator::StreamOf(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (!IsOnDevice(context, to, bytes)) return CUDA_ERROR_INVALID_VALUE;
  if (IsPinned(context, from, bytes) || stream->capture != nullptr) {
    emulator::Enqueue(stream, [=] { std::memcpy(reinterpret_cast<void*>(to), from, bytes); });
  } else {
    auto staged =
        std::make_shared<std::vector<char>>(static_cast<const char*>(from), static_cast<const char*>(from) + bytes);
    emulator::Enqueue(stream, [=] { std::memcpy(reinterpret_cast<void*>(to), staged->data(), bytes); });
  }
  return CUDA_SUCCESS;
}

// To memory that is not pinned it returns when all is there.
XC_EXPORTED CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream handle) {
  XC_EMULATED(cuMemcpyDtoHAsync_v2, kContext);
  CUctx_st* context = CurrentContext();
  CUstream_st* stream = emulator::StreamOf(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (!IsOnDevice(context, from, bytes)) return CUDA_ERROR_INVALID_VALUE;
  emulator::Enqueue(stream, [=] { std::memcpy(to, reinterpret_cast<const void*>(from), bytes); });
  if (stream->capture == nullptr && !IsPinned(context, to, bytes)) {
    stream->queue->RunAll();
    return emulator::AfterWaiting(context);
  }
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream handle) {
  XC_EMULATED(cuMemcpyDtoDAsync_v2, kContext);
  CUstream_st* stream = emulator::StreamOf(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (!IsOnDevice(CurrentContext(), from, bytes) || !IsOnDevice(CurrentContext(), to, bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  emulator::Enqueue(stream,
                    [=] { std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes); });
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  XC_EMULATED(cuMemsetD8Async, kContext);
  return Fill<uint8_t>(to, value, count, stream);
}
XC_EXPORTED CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count,  // NOLINT
                                      CUstream stream) {
  XC_EMULATED(cuMemsetD16Async, kContext);
  return Fill<uint16_t>(to, value, count, stream);
}
XC_EXPORTED CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  XC_EMULATED(cuMemsetD32Async, kContext);
  return Fill<uint32_t>(to, value, count, stream);
}

// Beyond the driver's interface: bytes from `address` to the end of the allocation that it lies in; 0: in none. For
// libraries that compute on the device's memory by themselves.
XC_EXPORTED uint64_t xcEmulatorBytesFrom(CUdeviceptr address) {
  std::lock_guard<std::recursive_mutex> lock(emulator::State().mu);
  CUctx_st* context = CurrentContext();
  const emulator::AddressRange found = context == nullptr ? emulator::AddressRange{} : context->memory.Find(address);
  return found.end == found.begin ? 0 : found.end - address;
}

}  // namespace xc::cuda
