// The code of steps that start together (start_groups.h).
#include <utility>
#include <variant>

#include "backends/gpu/emitter_impl.h"
#include "backends/gpu/sequence.h"
#include "backends/gpu/step_code.h"
#include "hlo/base/status.h"

namespace xc::gpu {
namespace {

KernelShape ShapeOf(const plan::Kernel& kernel, const HloInstruction& instruction) {
  switch (kernel.form) {
    case plan::Form::kTranspose:
      return {-1, 0};
    case plan::Form::kColumnReduce:
      return ColumnShape(kernel, instruction);
    case plan::Form::kStitched:
      return StitchedShape(kernel, instruction);
    case plan::Form::kScatter:
    case plan::Form::kSelectAndScatter:
      return {0, 1};  // its cost is one thread's
    default:
      return LoopShape(kernel, instruction);
  }
}

}  // namespace

absl::Status Emitter::EmitGroup(const plan::Computation& computation, const StartGroup& group) {
  StepCode code("group");
  std::vector<std::pair<const plan::Step*, int>> parts;
  std::vector<plan::Copy> at_once;
  for (int member : group.members) {
    const plan::Step& step = computation.steps[member];
    emitted_.launches[&step];
    const auto* copy = std::get_if<plan::Copy>(&step.action);
    if (copy != nullptr && IsAtOnce(*copy)) {
      at_once.push_back(*copy);
    } else {
      parts.push_back({&step, code.Add(step)});
    }
  }
  const int first_at_once = static_cast<int>(code.arguments().size());
  at_once = AtOnce(std::move(at_once));
  for (const plan::Copy& copy : at_once) code.Add(plan::Step{nullptr, copy}, " at once");
  return AddLaunch(computation.steps[group.at], code.key(), code.parameters(), code.arguments(), 0, /*index_bits=*/32,
                   [&](KernelFunction& f) {
                     Regions regions;
                     for (const auto& [step, first] : parts) {
                       for (KernelFunction::Region& region : code.Write(f, *step, first)) {
                         regions.push_back(std::move(region));
                       }
                     }
                     if (!at_once.empty()) regions.push_back(CopyAtOnce(f, first_at_once, at_once));
                     return f.ForEach(regions);
                   });
}

absl::Status Emitter::EmitSequence(const plan::Computation& computation, const StartGroup& group) {
  Sequence sequence(plan_, accesses_);
  for (int member : group.members) sequence.Add(computation.steps[member]);
  for (const plan::Step* step : sequence.steps()) emitted_.launches[step];
  return AddLaunch(computation.steps[group.at], sequence.key(), sequence.parameters(), sequence.arguments(), 0,
                   /*index_bits=*/32, [&](KernelFunction& f) { return sequence.Write(f); });
}

void Emitter::StartAlone(const plan::Step& step) {
  if (const auto* kernel = std::get_if<plan::Kernel>(&step.action)) alone_.insert(kernel->code);
  for (int callee : CalleesOf(step)) {
    for (const plan::Step& inner : plan_.computations[callee].steps) StartAlone(inner);
  }
}

absl::Status Emitter::EmitGroups() {
  const auto shape_of = [&](const plan::Step& step, const plan::Kernel& kernel) {
    if (alone_.contains(kernel.code) || AnyWide(*step.instruction)) return KernelShape{-1, 0};
    return ShapeOf(kernel, *step.instruction);
  };
  // What has no code beside others starts alone, and the others are grouped again.
  for (bool again = true; again;) {
    again = false;
    emitted_.launches.clear();
    const std::vector<std::vector<StartGroup>> groups = GroupStarts(plan_, shape_of);
    for (size_t c = 0; c < groups.size(); ++c) {
      for (const StartGroup& group : groups[c]) {
        const absl::Status status =
            group.sequence ? EmitSequence(plan_.computations[c], group) : EmitGroup(plan_.computations[c], group);
        if (status.ok()) continue;
        if (!absl::IsUnimplemented(status)) return status;
        again = true;
        for (int member : group.members) StartAlone(plan_.computations[c].steps[member]);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace xc::gpu
