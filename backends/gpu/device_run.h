// A program on a device, and one run of it: memory, copies, starts of kernels, and what the host does in between.
#ifndef XC_BACKENDS_GPU_DEVICE_RUN_H_
#define XC_BACKENDS_GPU_DEVICE_RUN_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "backends/gpu/emitter.h"
#include "backends/gpu/library_products.h"
#include "backends/gpu/run_memory.h"
#include "backends/gpu/runtime/device.h"
#include "backends/gpu/runtime/module.h"
#include "backends/gpu/runtime/stream.h"
#include "backends/plan/plan.h"
#include "backends/program/executable.h"

namespace xc::gpu {

// What stays the same from run to run.
struct DeviceProgram {
  struct Function {
    Kernel kernel;
    LaunchDims dims;
  };
  std::shared_ptr<Device> device;
  std::vector<std::shared_ptr<Module>> modules;
  std::vector<Function> kernels;
  plan::Plan plan;
  BufferAssignment buffers;
  absl::flat_hash_map<const plan::Step*, std::vector<Launch>> launches;  // of steps with code
  LibraryProducts products;                                              // each before its step's launches
  std::shared_ptr<Stream> stream;                                        // on which constants were copied
  std::vector<DeviceBuffer> constants;
  int64_t arena_bytes = 0;
  int64_t scratch_bytes = 0;  // the most that a launch or a product takes
  std::unique_ptr<KeptMemory> kept;
};

// Why what one run starts is not captured as a graph: the host has a part in it, there is too little of it, or its
// memory is too large to be kept. Empty: nothing is in the way.
std::string NoGraphReason(const DeviceProgram& code, const Program& program);

// Whether the step is done by the host and never by kernels: infeed, outfeed, send and recv; the state of
// random numbers; the numbers of replica and partition.
bool RunsOnHost(const plan::Step& step);

// Copies the program's constants to the device.
absl::Status UploadConstants(DeviceProgram* code, const Program& program);

// Runs on the frame's parameters and results, which are the host's. Steps without code are evaluated on the host.
absl::Status RunOnDevice(const DeviceProgram& code, const Program& program, const Frame& frame);

}  // namespace xc::gpu

#endif  // XC_BACKENDS_GPU_DEVICE_RUN_H_
