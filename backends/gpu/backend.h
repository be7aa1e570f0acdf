// The GPU backend behind the common interface.
#ifndef XC_BACKENDS_GPU_BACKEND_H_
#define XC_BACKENDS_GPU_BACKEND_H_

#include "backends/backend.h"

namespace xc {

// Made once per process, lives forever.
Backend* GpuBackend();

}  // namespace xc

#endif  // XC_BACKENDS_GPU_BACKEND_H_
