// The code of steps that start together (start_groups.h).
#include <memory>
#include <variant>

#include "absl/strings/str_cat.h"
#include "backends/gpu/emitter_impl.h"
#include "backends/gpu/sequence.h"
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
  std::vector<Parameter> parameters;
  std::vector<BufferSlice> arguments;
  std::string key = "group";
  const auto add = [&](const BufferSlice& slice, const Parameter& parameter) {
    arguments.push_back(slice);
    parameters.push_back(parameter);
  };
  const Parameter both{/*written=*/true, /*shared=*/true};  // copies may go where others come from
  struct Part {
    const plan::Step* step;
    int first;
  };
  std::vector<Part> parts;
  std::vector<plan::Copy> at_once;
  for (int member : group.members) {
    const plan::Step& step = computation.steps[member];
    emitted_.launches[&step];
    const auto* copy = std::get_if<plan::Copy>(&step.action);
    if (copy != nullptr && IsAtOnce(*copy)) {
      at_once.push_back(*copy);
      continue;
    }
    parts.push_back({&step, static_cast<int>(arguments.size())});
    if (copy != nullptr) {
      add(copy->to, both);
      add(copy->from, both);
      absl::StrAppend(&key, " copy ", CopyUnit(*copy), " ", copy->bytes.constant());
    } else if (const auto* clear = std::get_if<plan::Clear>(&step.action)) {
      add(clear->to, {/*written=*/true});
      absl::StrAppend(&key, " fill ", FillUnit(*clear), " ", clear->bytes.constant());
    } else {
      const auto& kernel = std::get<plan::Kernel>(step.action);
      const bool aligned = IsAligned(kernel);
      for (const plan::Argument& a : kernel.arguments) add(a.slice, {a.written, a.shared, aligned});
      absl::StrAppend(&key, " kernel ", kernel.code, aligned ? " aligned" : "");
    }
  }
  const int first_at_once = static_cast<int>(arguments.size());
  at_once = AtOnce(std::move(at_once));
  for (const plan::Copy& copy : at_once) {
    add(copy.to, both);
    add(copy.from, both);
    absl::StrAppend(&key, " at once ", CopyUnit(copy), " ", copy.bytes.constant());
  }
  return AddLaunch(
      computation.steps[group.at], key, parameters, std::move(arguments), 0, /*index_bits=*/32, [&](KernelFunction& f) {
        std::vector<std::unique_ptr<PlannedKernel>> kernels;
        Regions regions;
        for (const Part& part : parts) {
          if (const auto* copy = std::get_if<plan::Copy>(&part.step->action)) {
            regions.push_back(CopyRegion(f, part.first, *copy));
          } else if (const auto* clear = std::get_if<plan::Clear>(&part.step->action)) {
            regions.push_back(FillRegion(f, part.first, *clear));
          } else {
            const auto& kernel = std::get<plan::Kernel>(part.step->action);
            kernels.push_back(std::make_unique<PlannedKernel>(f, part.step->instruction, kernel, part.first));
            for (KernelFunction::Region& region : RegionsOf(*kernels.back())) regions.push_back(std::move(region));
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
                   /*index_bits=*/32, [&](KernelFunction& f) { return sequence.Write(f, RegionsOf); });
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
