// The driver's functions for initialisation, devices, contexts and errors.
#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "backends/gpu/emulator/device.h"

namespace xc::cuda {
namespace {

using emulator::State;

struct ErrorRow {
  int error;
  const char* name;
  const char* text;
};
constexpr ErrorRow kErrors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {CUDA_ERROR_LAUNCH_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {CUDA_ERROR_ASSERT, "CUDA_ERROR_ASSERT", "device-side assert triggered"},
    {CUDA_ERROR_ILLEGAL_INSTRUCTION, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"},
    {CUDA_ERROR_MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const ErrorRow* FindError(int error) {
  for (const ErrorRow& row : kErrors) {
    if (row.error == error) return &row;
  }
  return nullptr;
}

CUctx_st* DeviceAt(CUdevice device) {
  auto& devices = State().devices;
  return device < 0 || device >= static_cast<int>(devices.size()) ? nullptr
                                                                  : devices[static_cast<size_t>(device)].get();
}

struct Attribute {
  int attribute, value;
};
// Of an H100 or H200, as far as kernels can tell.
constexpr Attribute kAttributes[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {2, 1024},  // MAX_BLOCK_DIM_X, Y, Z
    {3, 1024},
    {4, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 3201000},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 6144},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 62914560},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
    {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
};

thread_local std::vector<CUctx_st*> pushed;

}  // namespace

XC_EXPORTED CUresult cuInit(unsigned flags) {
  // First, since it is here that failures are planted.
  {
    emulator::DriverState& state = State();
    std::lock_guard<std::recursive_mutex> lock(state.mu);
    state.options = emulator::EmulatorOptions::FromEnvironment();
  }
  XC_EMULATED(cuInit, kNothing);
  emulator::DriverState& state = State();
  // What the handlers are compiled for.
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return CUDA_ERROR_NOT_SUPPORTED;
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (state.options.devices < 1) return CUDA_ERROR_NO_DEVICE;
  while (static_cast<int>(state.devices.size()) < std::min(state.options.devices, 16)) {
    state.devices.push_back(
        std::make_unique<CUctx_st>(static_cast<int>(state.devices.size()), state.options.memory_bytes));
    state.devices.back()->default_pool.context = state.devices.back().get();
  }
  for (auto& device : state.devices) device->memory.set_capacity(state.options.memory_bytes);
  state.is_initialised = true;
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuDriverGetVersion(int* version) {
  XC_EMULATED(cuDriverGetVersion, kNothing);
  *version = emulator::EmulatorOptions::FromEnvironment().driver_version;
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuGetErrorName(CUresult error, const char** text) {
  const ErrorRow* row = FindError(error);
  *text = row ? row->name : nullptr;
  return row ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// What a kernel did wrong is part of the text of its error.
XC_EXPORTED CUresult cuGetErrorString(CUresult error, const char** text) {
  const ErrorRow* row = FindError(error);
  *text = row ? row->text : nullptr;
  if (row == nullptr) return CUDA_ERROR_INVALID_VALUE;
  emulator::DriverState& state = State();
  std::lock_guard<std::recursive_mutex> lock(state.mu);
  if (error == state.last_fault_code && error != CUDA_SUCCESS) {
    *text = state.texts.insert(absl::StrCat(row->text, ": ", state.last_fault)).first->c_str();
  }
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuDeviceGetCount(int* count) {
  XC_EMULATED(cuDeviceGetCount, kDriver);
  *count = std::min(static_cast<int>(State().devices.size()), State().options.devices);
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  XC_EMULATED(cuDeviceGet, kDriver);
  if (DeviceAt(ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuDeviceGetName(char* name, int size, CUdevice device) {
  XC_EMULATED(cuDeviceGetName, kDriver);
  if (DeviceAt(device) == nullptr || size < 1) return CUDA_ERROR_INVALID_VALUE;
  const std::string text = absl::StrCat("emulated sm_", State().options.arch);
  const size_t n = std::min(text.size(), static_cast<size_t>(size) - 1);
  std::memcpy(name, text.data(), n);
  name[n] = 0;
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  XC_EMULATED(cuDeviceGetUuid_v2, kDriver);
  if (DeviceAt(device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  std::memset(uuid->bytes, 0, sizeof(uuid->bytes));
  std::memcpy(uuid->bytes, "emulated", 8);
  uuid->bytes[15] = static_cast<char>(device);
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice device) {
  XC_EMULATED(cuDeviceGetAttribute, kDriver);
  if (DeviceAt(device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  const int arch = State().options.arch;
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = arch / 10;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = arch % 10;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      *value = arch >= 90 ? 232448 : 166912;
      return CUDA_SUCCESS;
  }
  for (const Attribute& row : kAttributes) {
    if (row.attribute != attribute) continue;
    *value = row.value;
    return CUDA_SUCCESS;
  }
  *value = 0;
  return attribute < 1 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  XC_EMULATED(cuDeviceTotalMem_v2, kDriver);
  const CUctx_st* found = DeviceAt(device);
  if (found == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  *bytes = static_cast<size_t>(found->memory.capacity());
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  XC_EMULATED(cuDevicePrimaryCtxRetain, kDriver);
  CUctx_st* found = DeviceAt(device);
  if (found == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  ++found->retained;
  *context = found;
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  XC_EMULATED(cuDevicePrimaryCtxRelease_v2, kDriver);
  CUctx_st* found = DeviceAt(device);
  if (found == nullptr || found->retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--found->retained == 0) emulator::ResetContext(found);
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  XC_EMULATED(cuDevicePrimaryCtxReset_v2, kDriver);
  CUctx_st* found = DeviceAt(device);
  if (found == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  emulator::ResetContext(found);
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuCtxSetCurrent(CUcontext context) {
  XC_EMULATED(cuCtxSetCurrent, kDriver);
  emulator::SetCurrentContext(context);
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuCtxGetCurrent(CUcontext* context) {
  XC_EMULATED(cuCtxGetCurrent, kDriver);
  *context = emulator::CurrentContext();
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuCtxPushCurrent_v2(CUcontext context) {
  XC_EMULATED(cuCtxPushCurrent_v2, kDriver);
  pushed.push_back(emulator::CurrentContext());
  emulator::SetCurrentContext(context);
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  XC_EMULATED(cuCtxPopCurrent_v2, kDriver);
  if (pushed.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (context != nullptr) *context = emulator::CurrentContext();
  emulator::SetCurrentContext(pushed.back());
  pushed.pop_back();
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuCtxSynchronize() {
  XC_EMULATED(cuCtxSynchronize, kContext);
  CUctx_st* context = emulator::CurrentContext();
  for (CUstream_st* stream : context->streams) {
    if (stream->capture != nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  for (CUstream_st* stream : context->streams) stream->queue->RunAll();
  context->default_stream.queue->RunAll();
  return emulator::AfterWaiting(context);
}

// Beyond the driver's interface: instructions of warps executed so far.
XC_EXPORTED uint64_t xcEmulatorExecutedInstructions() { return State().executed; }

}  // namespace xc::cuda
