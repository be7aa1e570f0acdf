// For tests: the driver's functions as the emulator has them, and a run of one kernel in one call.
#ifndef XC_BACKENDS_GPU_EMULATOR_TESTING_H_
#define XC_BACKENDS_GPU_EMULATOR_TESTING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "backends/gpu/driver/cuda.h"

namespace xc::cuda {
#define X(name, parameters) extern "C" CUresult name parameters;
#include "backends/gpu/driver/functions.def"
#undef X
extern "C" uint64_t xcEmulatorExecutedInstructions();
}  // namespace xc::cuda

namespace xc::emulator {

// How a run ended.
struct Outcome {
  int error = 0;     // CUresult
  std::string text;  // of the error: the load's log, or what the kernel did wrong
};

struct Dims {
  unsigned x = 1, y = 1, z = 1;
};

// Loads `ptx`, copies `buffers` to the device, runs `kernel` with their addresses and then `scalars` (of 4 bytes) as
// its parameters, and copies them back. The environment's options hold, as of now.
Outcome RunPtx(const std::string& ptx, const std::string& kernel, Dims grid, Dims block,
               const std::vector<std::vector<uint8_t>*>& buffers, const std::vector<uint32_t>& scalars = {},
               unsigned shared_bytes = 0);

template <typename T>
std::vector<uint8_t> Bytes(const std::vector<T>& values) {
  const uint8_t* begin = reinterpret_cast<const uint8_t*>(values.data());
  return std::vector<uint8_t>(begin, begin + values.size() * sizeof(T));
}
template <typename T>
std::vector<T> As(const std::vector<uint8_t>& bytes) {
  const T* begin = reinterpret_cast<const T*>(bytes.data());
  return std::vector<T>(begin, begin + bytes.size() / sizeof(T));
}

// A kernel `k` of one parameter `out` (64 bits, in %out) and `body`, with registers %p, %h (16 bits), %r, %d (64 bits),
// %f and %g (f64) numbered below 40, %tid in %r0 and the address of element %tid of 4 bytes of `out` in %d1.
std::string Kernel(const std::string& body, const std::string& declarations = "");

}  // namespace xc::emulator

#endif  // XC_BACKENDS_GPU_EMULATOR_TESTING_H_
