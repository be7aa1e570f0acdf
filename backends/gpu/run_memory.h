// The memory of runs of a program on a device, and what is kept of it from one run to the next.
#ifndef XC_BACKENDS_GPU_RUN_MEMORY_H_
#define XC_BACKENDS_GPU_RUN_MEMORY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/gpu/runtime/device.h"
#include "backends/gpu/runtime/graph.h"
#include "backends/gpu/runtime/stream.h"
#include "backends/program/executable.h"

namespace xc::gpu {

// What one run has to itself.
struct RunMemory {
  std::shared_ptr<Stream> stream;
  std::vector<DeviceBuffer> parameters, outputs;
  DeviceBuffer arena, scratch;
  // What the program starts, with the addresses of this memory; null: not captured.
  std::unique_ptr<Graph> graph;

  static absl::StatusOr<std::unique_ptr<RunMemory>> Allocate(std::shared_ptr<Device> device, const Program& program,
                                                             int64_t arena_bytes, int64_t scratch_bytes);
};

// Programs that need more than this have kernels beside which starts take no time, and give it back after each run.
inline constexpr int64_t kMostKeptBytes = int64_t{32} << 20;

// Keeps the memory of one run for the next one, whose starts are then captured as a graph for all later ones: its
// addresses stay. Counts why runs are launched how. Thread-safe.
class KeptMemory : public Reclaimable {
 public:
  // `refusal`: why the program's starts are no graph; empty: they may be one.
  KeptMemory(std::shared_ptr<Device> device, std::string refusal);
  ~KeptMemory() override;

  // What an earlier run left, for this run alone; null: there is none.
  std::unique_ptr<RunMemory> Take();
  // Ends a run that had no errors.
  void Keep(std::unique_ptr<RunMemory> memory);
  // From now on each run starts step by step.
  void Refuse(std::string refusal);
  void Reclaim() override;

  void CountGraph(int64_t nodes);
  // A run whose starts are no graph: on memory that no run had before, or as Refuse says.
  void CountSteps();
  // "N runs as a graph of M nodes", "N runs step by step: WHY"; a line each.
  std::string Report() const;

 private:
  const std::shared_ptr<Device> device_;
  mutable std::mutex mu_;
  std::string refusal_;
  std::unique_ptr<RunMemory> kept_;
  std::map<std::string, int64_t> counts_;
};

}  // namespace xc::gpu

#endif  // XC_BACKENDS_GPU_RUN_MEMORY_H_
