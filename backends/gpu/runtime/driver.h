// The CUDA driver as a table of functions, opened at run time: libcuda.so.1, or the emulator in its place.
#ifndef XC_BACKENDS_GPU_RUNTIME_DRIVER_H_
#define XC_BACKENDS_GPU_RUNTIME_DRIVER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/gpu/driver/cuda.h"

namespace xc::gpu {

// Drivers below this one lack functions that are used here: CUDA 12.0.
inline constexpr int kOldestDriver = 12000;

struct Driver {
  std::string library;  // what was opened
  int version = 0;      // 12040 is CUDA 12.4

#define X(name, parameters) cuda::CUresult(*name) parameters = nullptr;
  // The names of the parameters' types are the driver's.
  using CUresult = cuda::CUresult;
  using CUdevice = cuda::CUdevice;
  using CUdeviceptr = cuda::CUdeviceptr;
  using CUcontext = cuda::CUcontext;
  using CUmodule = cuda::CUmodule;
  using CUfunction = cuda::CUfunction;
  using CUstream = cuda::CUstream;
  using CUevent = cuda::CUevent;
  using CUgraph = cuda::CUgraph;
  using CUgraphNode = cuda::CUgraphNode;
  using CUgraphExec = cuda::CUgraphExec;
  using CUmemoryPool = cuda::CUmemoryPool;
  using CUhostFn = cuda::CUhostFn;
  using CUuuid = cuda::CUuuid;
  using CUlaunchConfig = cuda::CUlaunchConfig;
  using CUmemPoolProps = cuda::CUmemPoolProps;
#include "backends/gpu/driver/functions.def"
#undef X

  // OK for CUDA_SUCCESS. Else what failed ("allocating 12 bytes"), the driver's name and text for the error, and for
  // what has no remedy in this process what to do. Out of memory is ResourceExhausted, no device and no driver are
  // Unavailable, a kernel's fault is Internal, what is not supported is Unimplemented.
  absl::Status Check(int result, absl::string_view what) const;
};

// Whether the error is a kernel's fault or a lost device, after which nothing of the context works.
bool IsSticky(int result);

// The driver in `library` ("": libcuda.so.1), opened and initialised once per process and library, for ever. Errors,
// Unavailable: there is no such library; it is too old; it lacks a function (which is named); it finds no device.
absl::StatusOr<const Driver*> OpenDriver(const std::string& library);

// Where the emulator is: XC_GPU_EMULATOR, else beside this library or program or, in a build, in the folder where it is
// built. Empty if there is none.
std::string EmulatorLibrary();

}  // namespace xc::gpu

#endif  // XC_BACKENDS_GPU_RUNTIME_DRIVER_H_
