// What stands behind the driver's handles: devices, streams of deferred work, events, modules, graphs.
#ifndef XC_BACKENDS_GPU_EMULATOR_DEVICE_H_
#define XC_BACKENDS_GPU_EMULATOR_DEVICE_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "backends/gpu/driver/cuda.h"
#include "backends/gpu/emulator/decoder.h"
#include "backends/gpu/emulator/machine.h"
#include "backends/gpu/emulator/memory.h"

namespace xc::emulator {

// What the environment asks for; read by cuInit.
struct EmulatorOptions {
  int arch = 90;                            // XC_GPU_EMULATOR_ARCH
  int devices = 1;                          // XC_GPU_EMULATOR_DEVICES
  int64_t memory_bytes = int64_t{8} << 30;  // XC_GPU_EMULATOR_MEMORY
  int driver_version = 13000;               // XC_GPU_EMULATOR_DRIVER_VERSION
  LaunchOptions launch;                     // XC_GPU_EMULATOR_RACES, _REVERSED, _MAX_INSTRUCTIONS
  // XC_GPU_EMULATOR_FAIL=cuMemAllocAsync:3:2,…: the third call from now on gives error 2, once.
  struct Failure {
    std::string function;
    int64_t call;
    int result;
  };
  std::vector<Failure> failures;

  static EmulatorOptions FromEnvironment();
};

// Work of a stream, in order. It is done when somebody waits for it, as late as may be, so that code that forgets to
// wait reads what is not there yet.
struct Queue {
  std::deque<std::function<void()>> work;
  uint64_t enqueued = 0, completed = 0;
  // Does the work up to `position`, which counts from 1.
  void RunUntil(uint64_t position);
  void RunAll() { RunUntil(enqueued); }
};

}  // namespace xc::emulator

namespace xc::cuda {

struct CUgraph_st {
  std::vector<std::function<void()>> work;
  bool is_invalid = false;
};
struct CUgraphExec_st {
  std::vector<std::function<void()>> work;
};

struct CUctx_st;

struct CUstream_st {
  CUctx_st* context = nullptr;
  bool is_blocking = true;  // the default stream waits for it
  std::shared_ptr<xc::emulator::Queue> queue = std::make_shared<xc::emulator::Queue>();
  std::shared_ptr<CUgraph_st> capture;  // null: not capturing
  bool is_origin = false;               // where the capture began
};

struct CUevent_st {
  CUctx_st* context = nullptr;
  bool has_timing = true;
  // Of the last record; null: never recorded.
  std::shared_ptr<xc::emulator::Queue> queue;
  uint64_t position = 0;
  std::shared_ptr<CUgraph_st> capture;
  std::shared_ptr<std::chrono::steady_clock::time_point> time;
};

struct CUfunc_st {
  CUmod_st* module = nullptr;
  std::unique_ptr<xc::emulator::Kernel> kernel;
  int64_t dynamic_shared_limit = 48 << 10;
};

struct CUmod_st {
  CUctx_st* context = nullptr;
  std::map<std::string, std::unique_ptr<CUfunc_st>> functions;
  struct Global {
    uint64_t address;
    int64_t bytes;
  };
  std::map<std::string, Global> globals;
};

struct CUmemPoolHandle_st {
  CUctx_st* context = nullptr;
  uint64_t release_threshold = 0;
  uint64_t used = 0, high = 0, limit = 0;  // 0: no limit
};

// A device with its primary context, the only one that it has.
struct CUctx_st {
  CUctx_st(int ordinal, int64_t memory_bytes) : ordinal(ordinal), memory(memory_bytes) {
    default_stream.context = this;
  }
  const int ordinal;
  xc::emulator::Memory memory;
  int retained = 0;
  CUstream_st default_stream;
  std::set<CUstream_st*> streams;
  std::set<CUevent_st*> events;
  std::set<CUmod_st*> modules;
  std::map<uint64_t, int64_t> pinned;  // host memory that copies may use later
  std::map<uint64_t, CUmemPoolHandle_st*> pool_of;
  CUmemPoolHandle_st default_pool;
  int fault = 0;  // of a kernel: every call fails with it until the context is reset
  std::string fault_text;
  uint64_t launches = 0;
};

}  // namespace xc::cuda

namespace xc::emulator {

// The process's emulated driver.
struct DriverState {
  std::recursive_mutex mu;
  bool is_initialised = false;
  EmulatorOptions options;
  std::vector<std::unique_ptr<cuda::CUctx_st>> devices;
  std::set<std::string> texts;  // that callers have pointers to
  std::string last_fault;
  int last_fault_code = 0;
  uint64_t executed = 0;  // instructions of warps
};
DriverState& State();

// Every exported function begins with one: takes the lock, and says what went wrong before the function did anything.
class Call {
 public:
  enum Needs { kNothing, kDriver, kContext };
  Call(const char* function, Needs needs);
  int result() const { return result_; }

 private:
  std::lock_guard<std::recursive_mutex> lock_;
  int result_ = cuda::CUDA_SUCCESS;
};

cuda::CUctx_st* CurrentContext();
void SetCurrentContext(cuda::CUctx_st* context);
// The stream that a handle means; null if it is none of the current context.
cuda::CUstream_st* StreamOf(cuda::CUstream handle);
// Appends to the stream's work, or to the graph that it captures.
void Enqueue(cuda::CUstream_st* stream, std::function<void()> work);
// Does the work that the default stream would wait for.
void RunBlockingStreams(cuda::CUctx_st* context);
// The result of a call that has waited: what a kernel's fault left.
int AfterWaiting(cuda::CUctx_st* context);
// Frees everything in a context.
void ResetContext(cuda::CUctx_st* context);

}  // namespace xc::emulator

// Begins an exported function.
#define XC_EMULATED(function, needs)                             \
  xc::emulator::Call call(#function, xc::emulator::Call::needs); \
  if (call.result() != xc::cuda::CUDA_SUCCESS) return call.result()

#define XC_EXPORTED extern "C" __attribute__((visibility("default")))

#endif  // XC_BACKENDS_GPU_EMULATOR_DEVICE_H_
