// In a process of Python that has jaxlib: what JAX registers for custom calls on the CPU reaches this compiler, too,
// and so does its setting for the number of devices.
#ifndef XC_SERVICE_PJRT_PYTHON_HOST_H_
#define XC_SERVICE_PJRT_PYTHON_HOST_H_

#include <cstdint>

namespace xc::pjrt {

// jaxlib keeps handlers for its own client alone. Puts a function before its own one that hands each to both, and takes
// over those that are registered already. Once for the process; nothing happens in one without Python or jaxlib. What
// goes wrong is said on stderr, as such handlers are then missed by name when a program needs them.
void ShareHandlersOfJaxlib();

// What JAX's setting `jax_num_cpu_devices` says, which it gives its own client alone; 0 where it says nothing.
int64_t DevicesOfJaxSetting();

}  // namespace xc::pjrt

#endif  // XC_SERVICE_PJRT_PYTHON_HOST_H_
