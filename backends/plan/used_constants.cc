// Constants that steps read: what was packed leaves others behind.
#include <variant>
#include <vector>

#include "backends/plan/plan.h"

namespace xc::plan {
namespace {

struct Marker {
  void operator()(const BufferSlice& slice) {
    if (slice.kind == BufferSlice::Kind::kConstant) used[slice.index] = true;
  }
  void operator()(const std::vector<BufferSlice>& slices) {
    for (const BufferSlice& slice : slices) (*this)(slice);
  }
  void operator()(const Alias&) {}
  void operator()(const Copy& copy) { (*this)(copy.from); }
  void operator()(const Clear&) {}
  void operator()(const Kernel& kernel) {
    for (const Argument& argument : kernel.arguments) (*this)(argument.slice);
  }
  void operator()(const LibraryCall& call) {
    for (const CallArgument& argument : call.arguments) {
      if (const auto* slice = std::get_if<BufferSlice>(&argument)) (*this)(*slice);
      if (const auto* slices = std::get_if<std::vector<BufferSlice>>(&argument)) (*this)(*slices);
    }
    if (call.then != nullptr) (*this)(*call.then);
  }
  void operator()(const CustomCall& call) { (*this)(call.inputs); }
  void operator()(const Loop& loop) { (*this)(loop.more); }
  void operator()(const Branch& branch) { (*this)(branch.selector); }
  void operator()(const Call&) {}
  void operator()(const Evaluate& evaluate) { (*this)(evaluate.inputs); }

  std::vector<bool>& used;
};

}  // namespace

std::vector<bool> UsedConstants(const Plan& plan, int64_t assigned) {
  std::vector<bool> used(assigned + plan.constants.size());
  Marker mark{used};
  for (const Computation& computation : plan.computations) {
    for (const Step& step : computation.steps) std::visit(mark, step.action);
  }
  return used;
}

}  // namespace xc::plan
