#include "backends/gpu/runtime/graph.h"

#include <utility>

namespace xc::gpu {

absl::StatusOr<std::unique_ptr<Graph>> Graph::Capture(Stream* stream, absl::FunctionRef<absl::Status()> record) {
  const std::shared_ptr<Device>& device = stream->device();
  absl::Status status = device->Usable();
  if (!status.ok()) return status;
  const Driver& driver = device->driver();
  const ContextScope scope(*device);
  status = device->Check(driver.cuStreamBeginCapture_v2(stream->handle(), cuda::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                         "beginning a capture");
  if (!status.ok()) return status;
  const absl::Status recorded = record();
  cuda::CUgraph graph = nullptr;
  status = device->Check(driver.cuStreamEndCapture(stream->handle(), &graph), "ending a capture");
  // If the call did nothing, the stream still captures.
  if (!status.ok() && !device->lost()) driver.cuStreamEndCapture(stream->handle(), &graph);
  if (!recorded.ok()) status = recorded;
  if (!status.ok()) {
    if (graph != nullptr) driver.cuGraphDestroy(graph);
    return status;
  }
  size_t nodes = 0;
  cuda::CUgraphExec executable = nullptr;
  status = device->Check(driver.cuGraphGetNodes(graph, nullptr, &nodes), "counting a graph's nodes");
  if (status.ok()) {
    status = device->Check(driver.cuGraphInstantiateWithFlags(&executable, graph, 0), "making a graph executable");
  }
  driver.cuGraphDestroy(graph);
  if (!status.ok()) return status;
  return std::unique_ptr<Graph>(new Graph(device, executable, static_cast<int64_t>(nodes)));
}

Graph::~Graph() {
  if (device_->lost()) return;
  const ContextScope scope(*device_);
  device_->driver().cuGraphExecDestroy(executable_);
}

absl::Status Graph::Launch(Stream* stream) const {
  if (absl::Status status = device_->Usable(); !status.ok()) return status;
  const ContextScope scope(*device_);
  return device_->Check(device_->driver().cuGraphLaunch(executable_, stream->handle()), "launching a graph");
}

}  // namespace xc::gpu
