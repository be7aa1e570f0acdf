// The CPU backend behind the common interface.
#ifndef XC_BACKENDS_CPU_BACKEND_H_
#define XC_BACKENDS_CPU_BACKEND_H_

#include "backends/backend.h"

namespace xc {

// Made once per process, lives forever.
Backend* CpuBackend();

}  // namespace xc

#endif  // XC_BACKENDS_CPU_BACKEND_H_
