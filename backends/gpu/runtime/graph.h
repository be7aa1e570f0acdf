// A stream's work, captured once and launched as a whole: what an executable launches costs one call.
#ifndef XC_BACKENDS_GPU_RUNTIME_GRAPH_H_
#define XC_BACKENDS_GPU_RUNTIME_GRAPH_H_

#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/gpu/runtime/stream.h"

namespace xc::gpu {

class Graph {
 public:
  // Captures what `record` puts into the stream: launches, fills and copies, with the addresses that they have then; it
  // may neither allocate nor wait. Errors are those of `record`, or the driver's, and leave the stream as it was.
  static absl::StatusOr<std::unique_ptr<Graph>> Capture(Stream* stream, absl::FunctionRef<absl::Status()> record);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Puts all of it into a stream of the same device.
  absl::Status Launch(Stream* stream) const;
  int64_t nodes() const { return nodes_; }

 private:
  Graph(std::shared_ptr<Device> device, cuda::CUgraphExec executable, int64_t nodes)
      : device_(std::move(device)), executable_(executable), nodes_(nodes) {}
  const std::shared_ptr<Device> device_;
  const cuda::CUgraphExec executable_;
  const int64_t nodes_;
};

}  // namespace xc::gpu

#endif  // XC_BACKENDS_GPU_RUNTIME_GRAPH_H_
