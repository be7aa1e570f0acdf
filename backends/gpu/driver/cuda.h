// The part of the CUDA driver's interface that is used here, declared by ourselves: types, constants and functions,
// with the values and layouts of its headers (cuda_headers_test.cc compares). Nothing is linked: the runtime opens the
// driver.
#ifndef XC_BACKENDS_GPU_DRIVER_CUDA_H_
#define XC_BACKENDS_GPU_DRIVER_CUDA_H_

#include <cstddef>
#include <cstdint>

namespace xc::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;  // NOLINT: the type of the headers
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphNode = struct CUgraphNode_st*;
using CUgraphExec = struct CUgraphExec_st*;
using CUmemoryPool = struct CUmemPoolHandle_st*;
using CUhostFn = void (*)(void* data);

struct CUuuid {
  char bytes[16];
};

struct CUlaunchAttribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    int cooperative;
    uint64_t alignment;
  } value;
};

struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute* attrs;
  unsigned numAttrs;
};

struct CUmemLocation {
  int type;
  int id;
};
struct CUmemPoolProps {
  int allocType;
  int handleTypes;
  CUmemLocation location;
  void* win32SecurityAttributes;
  size_t maxSize;
  unsigned short usage;  // NOLINT: the type of the headers
  unsigned char reserved[54];
};

// CUresult.
inline constexpr int CUDA_SUCCESS = 0;
inline constexpr int CUDA_ERROR_INVALID_VALUE = 1;
inline constexpr int CUDA_ERROR_OUT_OF_MEMORY = 2;
inline constexpr int CUDA_ERROR_NOT_INITIALIZED = 3;
inline constexpr int CUDA_ERROR_DEINITIALIZED = 4;
inline constexpr int CUDA_ERROR_STUB_LIBRARY = 34;
inline constexpr int CUDA_ERROR_DEVICE_UNAVAILABLE = 46;
inline constexpr int CUDA_ERROR_NO_DEVICE = 100;
inline constexpr int CUDA_ERROR_INVALID_DEVICE = 101;
inline constexpr int CUDA_ERROR_INVALID_IMAGE = 200;
inline constexpr int CUDA_ERROR_INVALID_CONTEXT = 201;
inline constexpr int CUDA_ERROR_NO_BINARY_FOR_GPU = 209;
inline constexpr int CUDA_ERROR_ECC_UNCORRECTABLE = 214;
inline constexpr int CUDA_ERROR_INVALID_PTX = 218;
inline constexpr int CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222;
inline constexpr int CUDA_ERROR_INVALID_HANDLE = 400;
inline constexpr int CUDA_ERROR_NOT_FOUND = 500;
inline constexpr int CUDA_ERROR_NOT_READY = 600;
inline constexpr int CUDA_ERROR_ILLEGAL_ADDRESS = 700;
inline constexpr int CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701;
inline constexpr int CUDA_ERROR_LAUNCH_TIMEOUT = 702;
inline constexpr int CUDA_ERROR_ASSERT = 710;
inline constexpr int CUDA_ERROR_HARDWARE_STACK_ERROR = 714;
inline constexpr int CUDA_ERROR_ILLEGAL_INSTRUCTION = 715;
inline constexpr int CUDA_ERROR_MISALIGNED_ADDRESS = 716;
inline constexpr int CUDA_ERROR_INVALID_ADDRESS_SPACE = 717;
inline constexpr int CUDA_ERROR_INVALID_PC = 718;
inline constexpr int CUDA_ERROR_LAUNCH_FAILED = 719;
inline constexpr int CUDA_ERROR_NOT_SUPPORTED = 801;
inline constexpr int CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803;
inline constexpr int CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900;
inline constexpr int CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901;
inline constexpr int CUDA_ERROR_UNKNOWN = 999;

// CUdevice_attribute.
inline constexpr int CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1;
inline constexpr int CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5;
inline constexpr int CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = 6;
inline constexpr int CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = 7;
inline constexpr int CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8;
inline constexpr int CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10;
inline constexpr int CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12;
inline constexpr int CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13;
inline constexpr int CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16;
inline constexpr int CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36;
inline constexpr int CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37;
inline constexpr int CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38;
inline constexpr int CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39;
inline constexpr int CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75;
inline constexpr int CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76;
inline constexpr int CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81;
inline constexpr int CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82;
inline constexpr int CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 95;
inline constexpr int CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97;
inline constexpr int CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK = 111;
inline constexpr int CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115;

// CUfunction_attribute.
inline constexpr int CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0;
inline constexpr int CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1;
inline constexpr int CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES = 2;
inline constexpr int CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3;
inline constexpr int CU_FUNC_ATTRIBUTE_NUM_REGS = 4;
inline constexpr int CU_FUNC_ATTRIBUTE_PTX_VERSION = 5;
inline constexpr int CU_FUNC_ATTRIBUTE_BINARY_VERSION = 6;
inline constexpr int CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8;

// CUjit_option.
inline constexpr int CU_JIT_INFO_LOG_BUFFER = 3;
inline constexpr int CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4;
inline constexpr int CU_JIT_ERROR_LOG_BUFFER = 5;
inline constexpr int CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6;

// Flags and modes.
inline constexpr unsigned CU_STREAM_NON_BLOCKING = 1;
inline constexpr unsigned CU_EVENT_DISABLE_TIMING = 2;
inline constexpr int CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1;
inline constexpr int CU_STREAM_CAPTURE_STATUS_NONE = 0;
inline constexpr int CU_STREAM_CAPTURE_STATUS_ACTIVE = 1;
inline constexpr int CU_MEM_ALLOCATION_TYPE_PINNED = 1;
inline constexpr int CU_MEM_LOCATION_TYPE_DEVICE = 1;
inline constexpr int CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4;
inline constexpr int CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5;
inline constexpr int CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7;
inline constexpr int CU_MEMPOOL_ATTR_USED_MEM_HIGH = 8;

}  // namespace xc::cuda

#endif  // XC_BACKENDS_GPU_DRIVER_CUDA_H_
