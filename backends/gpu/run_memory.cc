#include "backends/gpu/run_memory.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"

namespace xc::gpu {

absl::StatusOr<std::unique_ptr<RunMemory>> RunMemory::Allocate(std::shared_ptr<Device> device, const Program& program,
                                                               int64_t arena_bytes, int64_t scratch_bytes) {
  auto memory = std::make_unique<RunMemory>();
  XC_ASSIGN_OR_RETURN(memory->stream, Stream::Make(std::move(device)));
  const auto allocate = [&](int64_t bytes) { return DeviceBuffer::Allocate(memory->stream, bytes); };
  for (const Program::Parameter& parameter : program.parameters) {
    XC_ASSIGN_OR_RETURN(memory->parameters.emplace_back(), allocate(parameter.bytes));
  }
  for (const Program::Output& output : program.outputs) {
    XC_ASSIGN_OR_RETURN(memory->outputs.emplace_back(), allocate(output.parameter >= 0 ? 0 : output.bytes));
  }
  XC_ASSIGN_OR_RETURN(memory->arena, allocate(arena_bytes));
  XC_ASSIGN_OR_RETURN(memory->scratch, allocate(scratch_bytes));
  return memory;
}

KeptMemory::KeptMemory(std::shared_ptr<Device> device, std::string refusal)
    : device_(std::move(device)), refusal_(std::move(refusal)) {
  device_->AddReclaimable(this);
}

KeptMemory::~KeptMemory() { device_->RemoveReclaimable(this); }

std::unique_ptr<RunMemory> KeptMemory::Take() {
  std::lock_guard<std::mutex> lock(mu_);
  return std::move(kept_);
}

void KeptMemory::Keep(std::unique_ptr<RunMemory> memory) {
  std::lock_guard<std::mutex> lock(mu_);
  // One of several runs at once is enough; the caller frees the others.
  if (refusal_.empty() && kept_ == nullptr) kept_ = std::move(memory);
}

void KeptMemory::Refuse(std::string refusal) {
  std::lock_guard<std::mutex> lock(mu_);
  refusal_ = std::move(refusal);
}

void KeptMemory::Reclaim() { Take(); }

void KeptMemory::CountGraph(int64_t nodes) {
  std::lock_guard<std::mutex> lock(mu_);
  ++counts_[absl::StrCat("as a graph of ", nodes, " nodes")];
}

void KeptMemory::CountSteps() {
  std::lock_guard<std::mutex> lock(mu_);
  ++counts_[absl::StrCat("step by step: ", refusal_.empty() ? "on memory that no run had before" : refusal_)];
}

std::string KeptMemory::Report() const {
  std::lock_guard<std::mutex> lock(mu_);
  std::string report;
  for (const auto& [how, runs] : counts_) {
    absl::StrAppend(&report, report.empty() ? "" : "\n", runs, runs == 1 ? " run " : " runs ", how);
  }
  return report;
}

}  // namespace xc::gpu
