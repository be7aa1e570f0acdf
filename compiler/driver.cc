// The loop over the pass table: groups, stopping, disabling, verification, dumps and the report.
#include "compiler/driver.h"

#include <algorithm>
#include <cstdio>

#include "absl/hash/hash.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "hlo/base/cancel.h"
#include "hlo/base/choices.h"
#include "hlo/base/status.h"
#include "hlo/base/timeline.h"

namespace xc {
namespace {

absl::Status Annotate(const absl::Status& status, int number, absl::string_view pass, absl::string_view what) {
  return absl::Status(status.code(), absl::StrCat(what, " pass ", number, " (", pass, "): ", status.message()));
}

// A hash of how a module's instructions are connected, in the order in which passes meet them.
size_t OrderOf(const HloModule& module) {
  size_t hash = 0;
  for (const auto& computation : module.computations()) {
    hash = absl::HashOf(hash, computation->id(), computation->root()->id());
    for (const auto& instruction : computation->instructions()) {
      hash = absl::HashOf(hash, instruction->id(), instruction->opcode());
      for (const HloInstruction* operand : instruction->operands()) hash = absl::HashOf(hash, operand->id());
      hash = absl::HashOf(hash, instruction->users().size());
      for (const HloInstruction* user : instruction->users()) hash = absl::HashOf(hash, user->id());
      for (const HloInstruction* before : instruction->control_predecessors()) hash = absl::HashOf(hash, before->id());
    }
  }
  return hash;
}

class Driver {
 public:
  Driver(HloModule* module, PassContext& context, const DriverCallbacks& callbacks, absl::Span<const PipelineRow> rows)
      : module_(module), context_(context), callbacks_(callbacks), rows_(rows) {}

  absl::StatusOr<PipelineReport> Run() {
    XC_RETURN_IF_ERROR(CheckNames());
    if (callbacks_.verify && callbacks_.verify_all) {
      if (absl::Status status = callbacks_.verify(*module_); !status.ok()) return status;
    }
    if (callbacks_.dump) callbacks_.dump(0, "before", *module_);
    for (size_t begin = 0; begin < rows_.size();) {
      size_t end = begin + 1;
      if (rows_[begin].group != 0) {
        while (end < rows_.size() && rows_[end].group == rows_[begin].group) ++end;
      }
      const int rounds = rows_[begin].group == 0 ? 1 : kMaxGroupRounds;
      for (int round = 0; round < rounds; ++round) {
        bool any = false;
        for (size_t i = begin; i < end; ++i) {
          XC_ASSIGN_OR_RETURN(const bool changed, RunUnlessIdle(rows_[i]));
          any |= changed;
        }
        if (!any) break;
      }
      begin = end;
    }
    return std::move(report_);
  }

 private:
  bool Known(absl::string_view name) const {
    return std::any_of(rows_.begin(), rows_.end(), [&](const PipelineRow& row) { return name == row.pass; });
  }

  absl::Status CheckNames() const {
    for (const std::string& name : context_.options.disabled_passes) {
      if (!Known(name) && name != "all")
        return absl::InvalidArgumentError(
            absl::StrCat("there is no pass '", name, "' to disable: `xla opt --list` names all passes"));
    }
    int64_t number;
    const std::string& stop = context_.options.stop_after;
    if (!stop.empty() && !Known(stop) && !absl::SimpleAtoi(stop, &number)) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no pass '", stop, "' to stop after: `xla opt --list` names all passes"));
    }
    return absl::OkStatus();
  }

  // What did nothing for the program whose choices are replayed is left out, but for what backends rest on: modules are
  // right without it.
  absl::StatusOr<bool> RunUnlessIdle(const PipelineRow& row) {
    Choices* choices = Choices::current();
    if (choices == nullptr || row.required) return RunOne(row);
    if (!choices->Begin()) return false;
    const size_t before = choices->replays() ? 0 : OrderOf(*module_);
    absl::StatusOr<bool> changed = RunOne(row);
    if (!changed.ok()) return changed;
    // What was tried and taken back may have left users in another order, which later passes go by.
    return choices->End(*changed, !choices->replays() && !*changed && OrderOf(*module_) != before);
  }

  absl::StatusOr<bool> RunOne(const PipelineRow& row) {
    if (!row.RunsFor(context_.target)) return false;
    const auto is_disabled = [&row](const std::string& name) { return name == row.pass || name == "all"; };
    const auto& disabled = context_.options.disabled_passes;
    const bool wanted = !stopped_ && std::none_of(disabled.begin(), disabled.end(), is_disabled);
    if (!wanted && !(row.required && context_.options.run_required)) return false;
    const int number = ++number_;
    if (absl::Status status = context_.CheckDeadline(); !status.ok())
      return Annotate(status, number, row.pass, "before");
    XC_RETURN_IF_ERROR(CheckCancel());
    PassRun run;
    run.number = number;
    run.pass = row.pass;
    run.instructions_before = module_->InstructionCount();
    run.start_ns = ProfileClock();
    absl::StatusOr<bool> changed = row.run(module_, context_);
    run.end_ns = ProfileClock();
    run.milliseconds = static_cast<double>(run.end_ns - run.start_ns) / 1e6;
    if (!changed.ok()) return Annotate(changed.status(), number, row.pass, "in");
    run.changed = *changed;
    run.instructions_after = module_->InstructionCount();
    report_.runs.push_back(run);
    const bool verified = (*changed || context_.options.verify_always) && callbacks_.verify_all;
    if (callbacks_.verify && (verified || module_->suspect())) {
      if (absl::Status status = callbacks_.verify(*module_); !status.ok()) {
        return Annotate(absl::InternalError(status.message()), number, row.pass, "after");
      }
      module_->set_suspect(false);
    }
    if (callbacks_.dump && *changed) callbacks_.dump(number, row.pass, *module_);
    const std::string& stop = context_.options.stop_after;
    if (!stop.empty() && (stop == row.pass || stop == absl::StrCat(number))) stopped_ = true;
    return *changed;
  }

  HloModule* module_;
  PassContext& context_;
  const DriverCallbacks& callbacks_;
  absl::Span<const PipelineRow> rows_;
  PipelineReport report_;
  int number_ = 0;
  bool stopped_ = false;
};

}  // namespace

std::string PipelineReport::ToString(const PassContext& context) const {
  // Not absl::StrFormat, which ends the process where there is no memory for its text.
  std::string text;
  double total = 0;
  char line[160];
  for (const PassRun& run : runs) {
    total += run.milliseconds;
    std::snprintf(line, sizeof(line), "%4d %-28s %9.3f ms  %s ", run.number, run.pass.c_str(), run.milliseconds,
                  run.changed ? "changed" : "      -");
    absl::StrAppend(&text, line, run.instructions_before, " -> ", run.instructions_after, "\n");
  }
  std::snprintf(line, sizeof(line), "     %-28s %9.3f ms\n", "all passes", total);
  text += line;
  for (const auto& [rule, count] : context.counters) {
    std::snprintf(line, sizeof(line), "%8lld ", static_cast<long long>(count));
    absl::StrAppend(&text, line, rule, "\n");
  }
  return text;
}

absl::StatusOr<PipelineReport> RunPipeline(HloModule* module, PassContext& context, const DriverCallbacks& callbacks,
                                           absl::Span<const PipelineRow> rows) {
  return Driver(module, context, callbacks, rows).Run();
}

}  // namespace xc
