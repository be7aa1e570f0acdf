// The driver's functions for streams, events and graphs.
#include <chrono>
#include <memory>

#include "backends/gpu/emulator/device.h"

namespace xc::cuda {
namespace {

using emulator::CurrentContext;
using emulator::StreamOf;

// A call that must not be made while the stream is captured ends the capture.
bool BreaksCapture(CUstream_st* stream) {
  if (stream->capture == nullptr) return false;
  stream->capture->is_invalid = true;
  return true;
}

}  // namespace

XC_EXPORTED CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  XC_EMULATED(cuStreamCreate, kContext);
  *stream = new CUstream_st();
  (*stream)->context = CurrentContext();
  (*stream)->is_blocking = (flags & CU_STREAM_NON_BLOCKING) == 0;
  CurrentContext()->streams.insert(*stream);
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuStreamDestroy_v2(CUstream stream) {
  XC_EMULATED(cuStreamDestroy_v2, kDriver);
  for (auto& device : emulator::State().devices) {
    if (device->streams.erase(stream) == 0) continue;
    stream->queue->RunAll();
    delete stream;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_HANDLE;
}

XC_EXPORTED CUresult cuStreamSynchronize(CUstream handle) {
  XC_EMULATED(cuStreamSynchronize, kContext);
  CUstream_st* stream = StreamOf(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (BreaksCapture(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  stream->queue->RunAll();
  return emulator::AfterWaiting(CurrentContext());
}

// Each question lets the stream do a piece of its work, so that asking for long enough is waiting.
XC_EXPORTED CUresult cuStreamQuery(CUstream handle) {
  XC_EMULATED(cuStreamQuery, kContext);
  CUstream_st* stream = StreamOf(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (BreaksCapture(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->queue->work.empty()) return emulator::AfterWaiting(CurrentContext());
  stream->queue->RunUntil(stream->queue->completed + 1);
  return CUDA_ERROR_NOT_READY;
}

XC_EXPORTED CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags) {
  XC_EMULATED(cuStreamWaitEvent, kContext);
  CUstream_st* stream = StreamOf(handle);
  if (stream == nullptr || event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (event->capture != nullptr) {
    // The stream joins the capture; its work follows what is there.
    if (stream->capture != nullptr && stream->capture != event->capture) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    stream->capture = event->capture;
    return CUDA_SUCCESS;
  }
  if (event->queue == nullptr) return CUDA_SUCCESS;
  const std::shared_ptr<emulator::Queue> queue = event->queue;
  const uint64_t position = event->position;
  if (queue == stream->queue) return CUDA_SUCCESS;
  emulator::Enqueue(stream, [queue, position] { queue->RunUntil(position); });
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
  XC_EMULATED(cuLaunchHostFunc, kContext);
  CUstream_st* stream = StreamOf(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  emulator::Enqueue(stream, [=] { function(data); });
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuStreamBeginCapture_v2(CUstream handle, int mode) {
  XC_EMULATED(cuStreamBeginCapture_v2, kContext);
  CUstream_st* stream = StreamOf(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream == &CurrentContext()->default_stream || stream->capture != nullptr) {
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  stream->capture = std::make_shared<CUgraph_st>();
  stream->is_origin = true;
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  XC_EMULATED(cuStreamEndCapture, kContext);
  CUstream_st* stream = StreamOf(handle);
  *graph = nullptr;
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture == nullptr || !stream->is_origin) return CUDA_ERROR_INVALID_VALUE;
  const std::shared_ptr<CUgraph_st> captured = stream->capture;
  for (CUstream_st* other : CurrentContext()->streams) {
    if (other->capture == captured) {
      other->capture = nullptr;
      other->is_origin = false;
    }
  }
  for (CUevent_st* event : CurrentContext()->events) {
    if (event->capture == captured) event->capture = nullptr;
  }
  if (captured->is_invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  *graph = new CUgraph_st(*captured);
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuStreamIsCapturing(CUstream handle, int* status) {
  XC_EMULATED(cuStreamIsCapturing, kContext);
  const CUstream_st* stream = StreamOf(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *status = stream->capture == nullptr    ? CU_STREAM_CAPTURE_STATUS_NONE
            : stream->capture->is_invalid ? 2
                                          : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuEventCreate(CUevent* event, unsigned flags) {
  XC_EMULATED(cuEventCreate, kContext);
  *event = new CUevent_st();
  (*event)->context = CurrentContext();
  (*event)->has_timing = (flags & CU_EVENT_DISABLE_TIMING) == 0;
  CurrentContext()->events.insert(*event);
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuEventDestroy_v2(CUevent event) {
  XC_EMULATED(cuEventDestroy_v2, kDriver);
  for (auto& device : emulator::State().devices) {
    if (device->events.erase(event) == 0) continue;
    delete event;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_HANDLE;
}

XC_EXPORTED CUresult cuEventRecord(CUevent event, CUstream handle) {
  XC_EMULATED(cuEventRecord, kContext);
  CUstream_st* stream = StreamOf(handle);
  if (stream == nullptr || event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture != nullptr) {
    event->capture = stream->capture;
    return CUDA_SUCCESS;
  }
  event->capture = nullptr;
  event->queue = stream->queue;
  event->time = std::make_shared<std::chrono::steady_clock::time_point>();
  const auto time = event->time;
  emulator::Enqueue(stream, [time] { *time = std::chrono::steady_clock::now(); });
  event->position = stream->queue->enqueued;
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuEventQuery(CUevent event) {
  XC_EMULATED(cuEventQuery, kContext);
  if (event->queue == nullptr || event->queue->completed >= event->position) {
    return emulator::AfterWaiting(CurrentContext());
  }
  event->queue->RunUntil(event->queue->completed + 1);
  return CUDA_ERROR_NOT_READY;
}

XC_EXPORTED CUresult cuEventSynchronize(CUevent event) {
  XC_EMULATED(cuEventSynchronize, kContext);
  if (event->capture != nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (event->queue != nullptr) event->queue->RunUntil(event->position);
  return emulator::AfterWaiting(CurrentContext());
}

XC_EXPORTED CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  XC_EMULATED(cuEventElapsedTime, kContext);
  if (!start->has_timing || !end->has_timing || start->queue == nullptr || end->queue == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (start->queue->completed < start->position || end->queue->completed < end->position) return CUDA_ERROR_NOT_READY;
  *milliseconds = std::chrono::duration<float, std::milli>(*end->time - *start->time).count();
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph,
                                                 unsigned long long flags) {  // NOLINT
  XC_EMULATED(cuGraphInstantiateWithFlags, kContext);
  if (graph == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *executable = new CUgraphExec_st{graph->work};
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  XC_EMULATED(cuGraphGetNodes, kContext);
  if (nodes != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  *count = graph->work.size();
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuGraphLaunch(CUgraphExec executable, CUstream handle) {
  XC_EMULATED(cuGraphLaunch, kContext);
  CUstream_st* stream = StreamOf(handle);
  if (stream == nullptr || executable == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  for (const std::function<void()>& work : executable->work) emulator::Enqueue(stream, work);
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuGraphExecDestroy(CUgraphExec executable) {
  XC_EMULATED(cuGraphExecDestroy, kDriver);
  delete executable;
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuGraphDestroy(CUgraph graph) {
  XC_EMULATED(cuGraphDestroy, kDriver);
  delete graph;
  return CUDA_SUCCESS;
}

}  // namespace xc::cuda
