#include "backends/gpu/step_code.h"

#include <variant>

#include "absl/strings/str_cat.h"

namespace xc::gpu {

void StepCode::AddArgument(const BufferSlice& slice, Parameter parameter) {
  if (ordered_) parameter.written = parameter.shared = true;
  arguments_.push_back(slice);
  parameters_.push_back(parameter);
}

int StepCode::Add(const plan::Step& step, absl::string_view how) {
  const int first = static_cast<int>(arguments_.size());
  absl::StrAppend(&key_, how);
  if (const auto* copy = std::get_if<plan::Copy>(&step.action)) {
    const Parameter both{/*written=*/true, /*shared=*/true};  // copies may go where others come from
    AddArgument(copy->to, both);
    AddArgument(copy->from, both);
    absl::StrAppend(&key_, " copy ", CopyUnit(*copy), " ", copy->bytes.constant());
  } else if (const auto* clear = std::get_if<plan::Clear>(&step.action)) {
    AddArgument(clear->to, {/*written=*/true});
    absl::StrAppend(&key_, " fill ", FillUnit(*clear), " ", clear->bytes.constant());
  } else if (const auto* kernel = std::get_if<plan::Kernel>(&step.action)) {
    const bool aligned = IsAligned(*kernel);
    for (const plan::Argument& a : kernel->arguments) AddArgument(a.slice, {a.written, a.shared, aligned});
    absl::StrAppend(&key_, " kernel ", kernel->code, aligned ? " aligned" : "");
  }
  return first;
}

Regions StepCode::Write(KernelFunction& f, const plan::Step& step, int first) {
  if (const auto* copy = std::get_if<plan::Copy>(&step.action)) return {CopyRegion(f, first, *copy)};
  if (const auto* clear = std::get_if<plan::Clear>(&step.action)) return {FillRegion(f, first, *clear)};
  const auto* kernel = std::get_if<plan::Kernel>(&step.action);
  if (kernel == nullptr) return {};
  kernels_.push_back(std::make_unique<PlannedKernel>(f, step.instruction, *kernel, first));
  return RegionsOf(*kernels_.back());
}

}  // namespace xc::gpu
