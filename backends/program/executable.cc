#include "backends/program/executable.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "backends/plan/planner.h"
#include "backends/plan/prepare.h"
#include "backends/program/passes.h"
#include "backends/runtime/arena.h"
#include "backends/runtime/donated.h"
#include "backends/runtime/float_state.h"
#include "backends/runtime/profile.h"
#include "hlo/base/status.h"

namespace xc {

absl::StatusOr<PlannedModule> PlanModule(std::unique_ptr<HloModule> module, const CompileOptions& options,
                                         const TargetInfo& target, const Evaluate& evaluate) {
  PlannedModule planned;
  planned.module = std::move(module);
  HloModule* const m = planned.module.get();
  XC_ASSIGN_OR_RETURN(planned.pass_report, RunPasses(m, options, target, evaluate));
  {
    const TimelineScope scope(options.timeline, "buffer assignment", "plan");
    XC_ASSIGN_OR_RETURN(planned.buffers, plan::Prepare(m, {options.max_memory_bytes, options.deadline}));
  }
  {
    const TimelineScope scope(options.timeline, "plan", "plan");
    XC_ASSIGN_OR_RETURN(planned.plan, plan::MakePlan(*m, planned.buffers, target, options.deadline));
  }
  if (options.dump) options.dump("plan.txt", plan::ToString(planned.plan));
  return planned;
}

absl::Status ProgramExecutable::SetProgram(PlannedModule* planned, const CompileOptions& options) {
  if (options.keep_texts) plan_text_ = plan::ToString(planned->plan);
  std::string entry = std::move(program_.entry);
  XC_ASSIGN_OR_RETURN(program_, MakeProgram(planned->buffers, &planned->plan));
  program_.entry = std::move(entry);
  program_.module = std::move(planned->module);
  pass_report_ = std::move(planned->pass_report);
  buffers_ = std::move(planned->buffers);
  return absl::OkStatus();
}

absl::Status ProgramExecutable::SetProgram(Program program, const HloModule& module) {
  SetSignature(module);
  program_ = std::move(program);
  const auto sizes_match = [](const std::vector<Shape>& leaves, const auto& stored) {
    return std::equal(leaves.begin(), leaves.end(), stored.begin(), stored.end(),
                      [](const Shape& leaf, const auto& s) { return leaf.ByteSize() == s.bytes; });
  };
  if (!sizes_match(parameter_leaves(), program_.parameters) || !sizes_match(result_leaves(), program_.outputs)) {
    return absl::InvalidArgumentError("it has other parameters or results than the module");
  }
  return absl::OkStatus();
}

void ProgramExecutable::ForgetModule() {
  if (!program_.calls.sites.empty()) return;
  program_.module.reset();
  buffers_ = {};
}

void ProgramExecutable::Prepare(Evaluate evaluate, std::shared_ptr<ArenaPool> arenas) {
  program_.calls.evaluate = std::move(evaluate);
  std::vector<EvaluatedPart> evaluated;
  for (const CallTable::Site& site : program_.calls.sites) {
    evaluated.push_back(
        {absl::StrCat(OpcodeName(site.instruction->opcode()), " ", site.instruction->name()), site.reason});
  }
  SetEvaluated(std::move(evaluated));
  arenas_ = arenas != nullptr ? std::move(arenas) : std::make_shared<ArenaPool>(program_.arena_bytes);
  guarded_ = std::make_unique<ArenaPool>(program_.arena_bytes, /*guard=*/true);
}

absl::Status ProgramExecutable::Run(absl::Span<const void* const> parameters, absl::Span<void* const> results,
                                    const RunOptions& options, std::vector<std::vector<int64_t>>* dynamic_sizes) const {
  if (parameters.size() != parameter_leaves().size() || results.size() != result_leaves().size()) {
    return absl::InvalidArgumentError(absl::StrCat("program takes ", parameter_leaves().size(), " buffers and gives ",
                                                   result_leaves().size(), ", called with ", parameters.size(), " and ",
                                                   results.size()));
  }
  if (dynamic_sizes != nullptr) dynamic_sizes->assign(results.size(), {});
  ArenaPool* pool = options.guard_pages ? guarded_.get() : arenas_.get();
  XC_ASSIGN_OR_RETURN(ArenaPool::Lease lease, pool->Acquire());
  RunContext context(lease.data(), options.executor, options.thread_limit);
  context.infeed = options.infeed;
  context.outfeed = options.outfeed;
  context.device = options.device;
  context.profile = profile_sites_.empty() ? nullptr : options.profile;
  // Parameters that the module donates are written to.
  std::vector<void*> inputs;
  inputs.reserve(parameters.size());
  for (const void* p : parameters) inputs.push_back(const_cast<void*>(p));
  std::vector<Block> donated;
  const auto writable = [&](size_t i) { return i < options.writable.size() && options.writable[i] != 0; };
  XC_RETURN_IF_ERROR(PlaceDonated(program_.parameters, program_.outputs, results, writable, &inputs, &donated));
  const FloatScope floats(options.denormals_as_caller ? FloatScope::Denormals::kAsCaller
                                                      : FloatScope::Denormals::kKept);
  const int64_t start = context.profile == nullptr ? 0 : ProfileClock();
  Start({&context, inputs.data(), results.data(), lease.data(), program_.constants.data(), &program_.calls,
         sizes_.data()});
  if (context.profile != nullptr) context.profile->Ran(start, ProfileClock());
  XC_RETURN_IF_ERROR(context.status());
  CopyFromParameters(program_.outputs, inputs, results);
  return absl::OkStatus();
}

int64_t ProgramExecutable::ResultParameter(size_t i) const {
  const Program::Output& output = program_.outputs[i];
  const bool whole = output.parameter >= 0 && output.offset == 0 && program_.parameters[output.parameter].donated &&
                     program_.parameters[output.parameter].bytes == output.bytes;
  return whole ? output.parameter : -1;
}

std::string ProgramExecutable::Text(absl::string_view name) const {
  if (name == "optimized_hlo") return program_.module == nullptr ? "" : program_.module->ToString();
  if (name == "pass_times") return pass_report_;
  if (name == "buffer_assignment") return program_.module == nullptr ? "" : buffers_.Report();
  if (name == "plan") return plan_text_;
  return Executable::Text(name);
}

}  // namespace xc
