#include "backends/gpu/emulator/device.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace xc::emulator {
namespace {

thread_local cuda::CUctx_st* current_context = nullptr;

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  int64_t value = 0;
  return text != nullptr && absl::SimpleAtoi(text, &value) ? value : otherwise;
}

}  // namespace

EmulatorOptions EmulatorOptions::FromEnvironment() {
  using emulator::FromEnvironment;
  EmulatorOptions options;
  options.arch = static_cast<int>(FromEnvironment("XC_GPU_EMULATOR_ARCH", options.arch));
  options.devices = static_cast<int>(FromEnvironment("XC_GPU_EMULATOR_DEVICES", options.devices));
  options.memory_bytes = FromEnvironment("XC_GPU_EMULATOR_MEMORY", options.memory_bytes);
  options.driver_version = static_cast<int>(FromEnvironment("XC_GPU_EMULATOR_DRIVER_VERSION", options.driver_version));
  options.launch.check_races = FromEnvironment("XC_GPU_EMULATOR_RACES", 1) != 0;
  options.launch.reversed = FromEnvironment("XC_GPU_EMULATOR_REVERSED", 0) != 0;
  options.launch.max_instructions =
      FromEnvironment("XC_GPU_EMULATOR_MAX_INSTRUCTIONS", options.launch.max_instructions);
  if (const char* text = std::getenv("XC_GPU_EMULATOR_FAIL")) {
    for (absl::string_view part : absl::StrSplit(text, ',', absl::SkipEmpty())) {
      const std::vector<std::string> fields = absl::StrSplit(part, ':');
      Failure failure;
      if (fields.size() != 3 || !absl::SimpleAtoi(fields[1], &failure.call) ||
          !absl::SimpleAtoi(fields[2], &failure.result)) {
        continue;
      }
      failure.function = fields[0];
      options.failures.push_back(failure);
    }
  }
  return options;
}

void Queue::RunUntil(uint64_t position) {
  while (completed < position && !work.empty()) {
    const std::function<void()> next = std::move(work.front());
    work.pop_front();
    next();
    ++completed;
  }
}

DriverState& State() {
  static DriverState* state = new DriverState();
  return *state;
}

Call::Call(const char* function, Needs needs) : lock_(State().mu) {
  DriverState& state = State();
  for (EmulatorOptions::Failure& failure : state.options.failures) {
    if (failure.function == function && --failure.call == 0) {
      result_ = failure.result;
      return;
    }
  }
  if (needs != kNothing && !state.is_initialised) {
    result_ = cuda::CUDA_ERROR_NOT_INITIALIZED;
  } else if (needs == kContext && CurrentContext() == nullptr) {
    result_ = cuda::CUDA_ERROR_INVALID_CONTEXT;
  } else if (needs == kContext) {
    result_ = CurrentContext()->fault;
  }
}

cuda::CUctx_st* CurrentContext() { return current_context; }
void SetCurrentContext(cuda::CUctx_st* context) { current_context = context; }

cuda::CUstream_st* StreamOf(cuda::CUstream handle) {
  cuda::CUctx_st* context = CurrentContext();
  // Null, and the handles for the default streams of process and thread.
  if (reinterpret_cast<uintptr_t>(handle) <= 2) return &context->default_stream;
  return context->streams.count(handle) ? handle : nullptr;
}

void Enqueue(cuda::CUstream_st* stream, std::function<void()> work) {
  if (stream->capture != nullptr) {
    stream->capture->work.push_back(std::move(work));
    return;
  }
  cuda::CUctx_st* context = stream->context;
  Queue& queue = *stream->queue;
  // After a fault nothing more happens on the device.
  queue.work.push_back([context, work = std::move(work)] {
    if (context->fault == 0) work();
  });
  ++queue.enqueued;
  // Nobody may ever wait for a stream; its work must not take memory without bound.
  if (queue.work.size() > 4096) queue.RunUntil(queue.completed + 1);
}

void RunBlockingStreams(cuda::CUctx_st* context) {
  for (cuda::CUstream_st* stream : context->streams) {
    if (stream->is_blocking) stream->queue->RunAll();
  }
  context->default_stream.queue->RunAll();
}

int AfterWaiting(cuda::CUctx_st* context) { return context->fault; }

void ResetContext(cuda::CUctx_st* context) {
  const int ordinal = context->ordinal;
  for (cuda::CUmod_st* module : context->modules) delete module;
  for (cuda::CUstream_st* stream : context->streams) delete stream;
  for (cuda::CUevent_st* event : context->events) delete event;
  if (CurrentContext() == context) SetCurrentContext(nullptr);
  DriverState& state = State();
  // In place, since other threads have pointers to it.
  const int retained = context->retained;
  context->~CUctx_st();
  new (context) cuda::CUctx_st(ordinal, state.options.memory_bytes);
  context->retained = retained;
  context->default_pool.context = context;
}

}  // namespace xc::emulator
